// Session: a model for inputs of fixed shapes, planned inside a budget and ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lowtide/bytes.h"
#include "lowtide/settings.h"

#include "core/machine.h"
#include "core/shape.h"
#include "memory/arena.h"
#include "onnx/read.h"
#include "run/kernels.h"
#include "run/program.h"

namespace lowtide::serve {

class Session {
 public:
  // What the caller holds beside it counts, too: so much, and so much for each place along the last
  // axis of the first output.
  struct Beside {
    Bytes bytes;
    Bytes per_place;
  };

  // Shapes are by input. Throws Error: what reading the model brings up, and kDoesNotFit with the
  // smallest budget that works.
  Session(const onnx::ModelFile& file,
          const std::map<std::string, core::Shape>& shapes,
          const MemorySettings& memory,
          const core::Machine& machine,
          const Beside& beside = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  // Where an input is to be written before a step; empty where nothing reads it.
  [[nodiscard]] std::span<std::byte> input(const std::string& name) const;
  // Of an input that holds indices: how many rows they pick from, if that can be told.
  [[nodiscard]] std::optional<std::int64_t> rows_picked_by(const std::string& name) const;
  void step() const { program_->step({}); }

  // The file's outputs, in its order and in row-major order, after a step.
  [[nodiscard]] std::size_t outputs() const { return model_.graph.outputs().size(); }
  [[nodiscard]] const std::string& output_name(std::size_t i) const {
    return model_.output_names[i];
  }
  [[nodiscard]] const core::TensorType& output_type(std::size_t i) const;
  [[nodiscard]] std::span<const std::byte> output(std::size_t i) const;

 private:
  [[nodiscard]] graph::ValueId input_value(const std::string& name) const;

  onnx::Model model_;
  run::Kernels kernels_;
  std::optional<memory::Arena> arena_;
  std::optional<run::Program> program_;
};

}  // namespace lowtide::serve
