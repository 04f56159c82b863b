// The log of a training run: one JSON object a step, written as the steps happen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lowtide/error.h"
#include "lowtide/infer.h"
#include "lowtide/trainer.h"

namespace lowtide::cli {

class StepLog {
 public:
  // Begins a new file; or, for a run that goes on after `steps_done` steps, keeps the lines of
  // these and cuts off what came later. An empty path: no log. Throws Error(kIo).
  StepLog(const std::filesystem::path& path, std::int64_t steps_done);
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;
  StepLog(StepLog&&) = delete;
  StepLog& operator=(StepLog&&) = delete;

  // `validation`: what followed the step, or null.
  void write(const StepReport& step, const EvalReport* validation);

 private:
  [[nodiscard]] Error failure(const std::string& reason) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace lowtide::cli
