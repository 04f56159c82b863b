#include "cli/train/event_log.h"

#include <vector>

#include "cli/report/metric_sums.h"

namespace lowtide::cli {

EventLog::EventLog(const std::filesystem::path& folder, std::int64_t steps_done) {
  if (!folder.empty()) file_.emplace(folder, steps_done + 1);
}

void EventLog::write(const StepReport& step, const EvalReport* validation) {
  if (!file_) return;
  std::vector<Scalar> scalars = {
      {"train/loss", step.loss},
      {"train/lr", step.lr},
      {"train/grad_norm", step.grad_norm},
      {"train/samples_per_second", step.samples_per_second()},
      {"train/resident_bytes", static_cast<double>(step.resident.count())}};
  for (const auto& [name, value] : step_metrics(step)) scalars.push_back({"train/" + name, value});
  if (validation != nullptr) {
    scalars.push_back({"validation/loss", validation->loss});
    for (const auto& [name, value] : validation->metrics) {
      scalars.push_back({"validation/" + name, value});
    }
  }
  file_->write(step.step, scalars);
}

}  // namespace lowtide::cli
