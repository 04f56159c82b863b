// The event file of a training run: what TensorBoard shows of its steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "lowtide/event_file.h"
#include "lowtide/infer.h"
#include "lowtide/trainer.h"

namespace lowtide::cli {

class EventLog {
 public:
  // Begins a file in the folder for a run with `steps_done` steps behind it. An empty path: no
  // file. Throws Error(kIo).
  EventLog(const std::filesystem::path& folder, std::int64_t steps_done);

  // `validation`: what followed the step, or null.
  void write(const StepReport& step, const EvalReport* validation);

 private:
  std::optional<EventFile> file_;
};

}  // namespace lowtide::cli
