// The log of a training run: one JSON object a step, written as the steps happen.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "lowtide/error.h"
#include "lowtide/infer.h"
#include "lowtide/trainer.h"

namespace lowtide::cli {

// What a step tells of its batch beside the loss, under the names of EvalReport's metrics.
std::map<std::string, double> step_metrics(const StepReport& step);

class StepLog {
 public:
  // Begins a new file; or, for a run that goes on after `steps_done` steps, keeps the lines of
  // these and cuts off what came later. An empty path: no log. Throws Error(kIo).
  StepLog(const std::filesystem::path& path, std::int64_t steps_done);

  // `validation`: what followed the step, or null.
  void write(const StepReport& step, const EvalReport* validation);

 private:
  [[nodiscard]] Error failure(const std::string& reason) const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace lowtide::cli
