#include "cli/train/step_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/report/metric_sums.h"

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

StepLog::StepLog(const std::filesystem::path& path, std::int64_t steps_done)
    : path_(path.string()) {
  if (path_.empty()) return;
  std::error_code error;
  const bool goes_on = steps_done > 0 && std::filesystem::exists(path, error);
  if (goes_on) std::filesystem::resize_file(path, end_of(path_, steps_done), error);
  if (error) throw failure(error.message());
  const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (goes_on ? 0 : O_TRUNC);
  descriptor_ = ::open(path_.c_str(), mode, 0666);
  if (descriptor_ < 0) throw failure(std::strerror(errno));
}

StepLog::~StepLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void StepLog::write(const StepReport& step, const EvalReport* validation) {
  if (descriptor_ < 0) return;
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
  const std::string text = line.dump() + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ::ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw failure(std::strerror(written < 0 ? errno : ENOSPC));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

Error StepLog::failure(const std::string& reason) const {
  return {ErrorCode::kIo, path_ + ": cannot write the log: " + reason};
}

}  // namespace lowtide::cli
