// Plans that outlive the process: a configuration's plans as a file, and a configuration that obeys
// one.
#pragma once

#include <string>

#include "plan/file/plan_file.h"
#include "train/fit/configuration.h"

namespace lowtide::train {

// Everything of a planned configuration. `costs` is where its seconds come from.
plan::PlanFile plan_file(const Recipe& recipe,
                         const TrainSettings& settings,
                         const Configuration& configuration,
                         const std::string& costs,
                         Bytes budget,
                         Bytes runtime);

// Memory that plan_file() takes of a planned configuration, at most.
Bytes report_bytes(const Configuration& configuration);

// The size of the passes that the file's plans are for. Throws Error(kInvalidArgument) naming the
// first option in which the run that they were made for differs from this one. `name` is the
// file's.
std::int64_t micro_batch_of(const plan::PlanFile& file,
                            const std::string& name,
                            const Recipe& recipe,
                            const TrainSettings& settings);

// Makes the configuration, of passes of that size and not planned yet, run the file's plans. Throws
// Error(kInvalidArgument) naming a node or value in which the graphs differ, Error(kInvalidFile)
// where a plan is wrong.
void obey(const plan::PlanFile& file, const std::string& name, Configuration& configuration);

}  // namespace lowtide::train
