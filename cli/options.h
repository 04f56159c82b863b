// Command-line options for the public settings: one function per struct, the same words everywhere.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "lowtide/settings.h"

namespace lowtide::cli {

// Options whose values need parsing after CLI11 has collected them.
struct RawModel {
  std::vector<std::string> shapes;  // NAME=D,D,...
};

struct RawLoss {
  std::string class_weights;  // an .npy
};

void add_model(CLI::App& command, ModelSettings& model, RawModel& raw);
// Returns the option of the source, so that commands which need it can say so.
CLI::Option* add_data(CLI::App& command, DataSettings& data);
void add_images(CLI::App& command, ImageSettings& image);
void add_loss(CLI::App& command, LossSettings& loss, RawLoss& raw);
void add_optimizer(CLI::App& command, OptimizerSettings& optimizer);
void add_schedule(CLI::App& command, Schedule& schedule);
void add_selection(CLI::App& command, SelectionSettings& selection);
void add_dropout(CLI::App& command, std::vector<DropoutSettings>& dropout);
void add_budget(CLI::App& command, MemorySettings& memory);
void add_planning(CLI::App& command, MemorySettings& memory);
void add_machine(CLI::App& command, MachineSettings& machine);
// Everything `train` and `plan` share: all of the above, epochs, steps and seeds. Returns the
// option of the data's source.
CLI::Option* add_training(CLI::App& command,
                          TrainSettings& settings,
                          RawModel& model,
                          RawLoss& loss);

// Moves what was collected into the settings. Throws lowtide::Error for what makes no sense.
void finish(const RawModel& raw, ModelSettings& model);
void finish(const RawLoss& raw, LossSettings& loss);

}  // namespace lowtide::cli
