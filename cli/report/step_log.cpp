#include "cli/report/step_log.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

namespace lowtide::cli {
namespace {

// Where the last whole line of the first `steps` steps ends.
std::uintmax_t end_of(const std::string& path, std::int64_t steps) {
  std::ifstream file(path, std::ios::binary);
  std::uintmax_t end = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const nlohmann::json step = nlohmann::json::parse(line, nullptr, false);
    if (!step.is_object() || !step.contains("step") || !step["step"].is_number_integer() ||
        step["step"].get<std::int64_t>() > steps) {
      break;
    }
    end += line.size() + 1;
  }
  return end;
}

}  // namespace

std::map<std::string, double> step_metrics(const StepReport& step) {
  std::map<std::string, double> metrics;
  if (step.correct >= 0 && step.counted > 0) {
    metrics["accuracy"] = static_cast<double>(step.correct) / static_cast<double>(step.counted);
  }
  if (step.of_tokens) metrics["perplexity"] = std::exp(step.loss);
  return metrics;
}

StepLog::StepLog(const std::filesystem::path& path, std::int64_t steps_done)
    : path_(path.string()) {
  if (path_.empty()) return;
  std::error_code error;
  const bool goes_on = steps_done > 0 && std::filesystem::exists(path, error);
  if (goes_on) std::filesystem::resize_file(path, end_of(path_, steps_done), error);
  if (error) throw failure(error.message());
  file_.reset(std::fopen(path_.c_str(), goes_on ? "ae" : "we"));
  if (!file_) throw failure(std::strerror(errno));
}

void StepLog::write(const StepReport& step, const EvalReport* validation) {
  if (!file_) return;
  nlohmann::json line = {{"step", step.step},
                         {"epoch", step.epoch},
                         {"loss", step.loss},
                         {"lr", step.lr},
                         {"grad_norm", step.grad_norm},
                         {"samples_per_second", step.samples_per_second()},
                         {"rss_bytes", step.resident.count()}};
  for (const auto& [name, value] : step_metrics(step)) line[name] = value;
  if (validation != nullptr) {
    line["val_loss"] = validation->loss;
    for (const auto& [name, value] : validation->metrics) line["val_" + name] = value;
  }
  if (std::fputs((line.dump() + "\n").c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
    throw failure(std::strerror(errno));
  }
}

Error StepLog::failure(const std::string& reason) const {
  return {ErrorCode::kIo, path_ + ": cannot write the log: " + reason};
}

}  // namespace lowtide::cli
