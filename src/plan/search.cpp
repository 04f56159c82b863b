#include "plan/search.h"

#include <algorithm>

#include "plan/schedule.h"

namespace lowtide::plan {

namespace {

Candidate evaluate(const Model& model, const Droppable& droppable, Fates fates) {
  const Schedule schedule = make_schedule(model, make_sequence(model, droppable, fates));
  const std::vector<Bytes> live = profile(schedule);
  return {std::move(fates), seconds(model, schedule.sequence),
          *std::max_element(live.begin(), live.end())};
}

}  // namespace

std::vector<Candidate> search(const Model& model, const Droppable& droppable, Policy policy) {
  static_cast<void>(policy);
  std::vector<Candidate> result;
  result.push_back(evaluate(model, droppable, droppable.keep_all()));
  return result;
}

}  // namespace lowtide::plan
