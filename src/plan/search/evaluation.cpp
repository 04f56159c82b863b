#include "plan/search/evaluation.h"

#include <algorithm>
#include <utility>

namespace lowtide::plan {

Evaluation::Evaluation(const Model& model, const Droppable& droppable, Fates chosen)
    : fates(std::move(chosen)),
      schedule(make_schedule(model, make_sequence(model, droppable, fates))),
      seconds(plan::seconds(model, schedule.sequence)) {
  const std::vector<Bytes> live = profile(schedule);
  const auto highest = std::max_element(live.begin(), live.end());
  peak = *highest;
  peak_step = static_cast<std::size_t>(highest - live.begin());
  steps_at_peak = std::count(live.begin(), live.end(), peak);
}

}  // namespace lowtide::plan
