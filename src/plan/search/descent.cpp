#include "plan/search/descent.h"

#include <algorithm>
#include <functional>

#include "core/check.h"

namespace lowtide::plan {

namespace {

constexpr double kInstant = 1e-9;  // seconds: what costs nothing can be compared, too
constexpr double kDoubt = 1.25;    // what is weighed may gain so many times what it seems to

}  // namespace

Descent::Descent(const Problem& problem) : line_(problem), editor_(line_) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[TensorId(i)];
    if (tensor.lasting || !tensor.producer.valid() || tensor.bytes == 0) continue;
    if (problem.tasks[tensor.producer].repeatable) droppable_.emplace_back(i);
  }
}

const Timeline* Descent::go(const Choices& start, std::int64_t limit, std::int64_t steps) {
  line_.assign(start);
  for (;; --steps) {
    const std::int64_t beyond = line_.excess(limit);
    if (beyond == 0) break;
    if (steps == 0 || !step(limit, beyond)) return nullptr;
  }
  take_back(limit);
  return &line_;
}

// Tries offers in the order of what they may gain at most, and stops where one has gained more.
// What is next is weighed before it is tried.
bool Descent::step(std::int64_t limit, std::int64_t beyond) {
  const auto promises_less = [](const Offer& a, const Offer& b) { return a.gain < b.gain; };
  const double seconds = line_.seconds();
  list_offers(sum_beyond(limit));
  std::make_heap(offers_.begin(), offers_.end(), promises_less);
  Offer best;
  for (auto end = offers_.end(); end != offers_.begin() && offers_.front().gain > best.gain;) {
    std::pop_heap(offers_.begin(), end, promises_less);
    Offer& offer = *(end - 1);
    if (!offer.weighed && weigh(offer, beyond)) {
      std::push_heap(offers_.begin(), end, promises_less);
      continue;
    }
    const bool known = std::any_of(end, offers_.end(), [&](const Offer& other) {
      return offer.way >= kVariants && other.way == offer.way && other.reader == offer.reader;
    });
    --end;
    if (offer.gain <= 0 || known) continue;
    apply(offer);
    const double cost = std::max(line_.seconds() - seconds, kInstant);
    const double most = static_cast<double>(beyond) * (1 - best.gain * cost);
    if (most > 0) {
      const std::int64_t now = line_.excess_up_to(limit, static_cast<std::int64_t>(most));
      offer.gain = (1 - static_cast<double>(now) / static_cast<double>(beyond)) / cost;
      if (offer.gain > best.gain) best = offer;
    }
    editor_.undo();
  }
  if (best.gain <= 0) return false;
  apply(best);
  editor_.commit();
  return true;
}

// Returns the time of the fullest step, the first of several.
Timeline::Time Descent::sum_beyond(std::int64_t limit) {
  const std::vector<Timeline::Step> steps = line_.steps();
  times_.clear();
  beyond_.clear();
  until_ = {0};
  for (const Timeline::Step& step : steps) {
    if (step.bytes <= limit) continue;
    times_.push_back(step.time);
    beyond_.push_back(step.bytes - limit);
    until_.push_back(until_.back() + beyond_.back());
  }
  sorted_ = beyond_;
  std::sort(sorted_.begin(), sorted_.end(), std::greater<>());
  from_.assign(sorted_.size() + 1, 0);
  for (std::size_t i = sorted_.size(); i-- > 0;) from_[i] = from_[i + 1] + sorted_[i];
  const auto less = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  return std::max_element(steps.begin(), steps.end(), less)->time;
}

// As a part of the bytes beyond the limit: what so many less at every step would take away, and no
// more than all that is beyond while the tensor waits.
double Descent::most_taken(std::int64_t bytes, const Timeline::Wait& wait) const {
  const auto whole =
      std::lower_bound(sorted_.begin(), sorted_.end(), bytes, std::greater<>()) - sorted_.begin();
  const std::int64_t everywhere = whole * bytes + from_[static_cast<std::size_t>(whole)];
  const auto before = [&](Time time) {
    const auto at = std::lower_bound(times_.begin(), times_.end(), time) - times_.begin();
    return until_[static_cast<std::size_t>(at)];
  };
  const std::int64_t meanwhile = before(wait.reader) - before(wait.since);
  return static_cast<double>(std::min(everywhere, meanwhile)) / static_cast<double>(until_.back());
}

// What may be done about the tensors that wait at this time.
void Descent::list_offers(Time time) {
  const Problem& problem = line_.problem();
  offers_.clear();
  for (const TensorId id : droppable_) {
    const std::optional<Timeline::Wait> wait = line_.wait(id, time);
    if (!wait || wait->reader == Timeline::kEnd) continue;
    const Tensor& tensor = problem.tensors[id];
    const double taken = most_taken(tensor.bytes, *wait);
    const auto add = [&](std::size_t way, double cost) {
      offers_.push_back({taken / std::max(cost, kInstant), id, wait->reader, way});
    };
    const Repetition again{line_.stage(wait->reader), tensor.producer};
    if (line_.allowed(again) && !line_.contains(again)) {
      const double cost = line_.chosen(tensor.producer).seconds_again;
      add(kAgain, cost);
      add(kWithInputs, cost);
    }
    if (line_.is_repetition(wait->reader)) continue;
    const TaskId task = line_.task_at(wait->reader);
    const std::vector<Variant>& variants = problem.tasks[task].variants;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (reads(variants[i], id)) continue;
      add(kVariants + i, variants[i].seconds - line_.chosen(task).seconds);
    }
  }
}

// Puts what the offer may gain, seen without the change, in place of what it gains at most: the
// same but for workspaces and some of what goes because nothing reads it any more. Returns whether
// that is anything; not for what is the same as another offer.
bool Descent::weigh(Offer& offer, std::int64_t beyond) {
  offer.weighed = true;
  offer.gain = 0;
  waiting_.clear();
  needed_.clear();
  seconds_ = 0;
  if (offer.way >= kVariants) {
    const TaskId reader = line_.task_at(offer.reader);
    const Variant& variant = line_.problem().tasks[reader].variants[offer.way - kVariants];
    add_difference(reader, variant);
    seconds_ += variant.seconds - line_.chosen(reader).seconds;
  } else {
    add_gone(offer.tensor, line_.around(offer.tensor, offer.reader).before);
    const TaskId producer = line_.problem().tensors[offer.tensor].producer;
    const Repetition what{line_.stage(offer.reader), producer};
    add_needs(what, offer.way == kWithInputs);
    if (offer.way == kWithInputs && waiting_.size() == 1 + needed_.size()) return false;
  }
  const double part = static_cast<double>(taken_until(offer.reader)) / static_cast<double>(beyond);
  offer.gain = kDoubt * part / std::max(seconds_, kInstant);
  return part > 0;
}

// A tensor that no longer waits from this touch on, nor is made there where nothing else reads it.
void Descent::add_gone(TensorId id, const Timeline::Touch& since) {
  const Tensor& tensor = line_.problem().tensors[id];
  waiting_.push_back({tensor.bytes, since.time});
  if (since.write && line_.is_repetition(since.time)) {
    seconds_ -= line_.chosen(tensor.producer).seconds_again;
  }
}

// As Editor::add_with_inputs would change it.
void Descent::add_needs(Repetition what, bool with_inputs) {
  seconds_ += line_.chosen(what.task).seconds_again;
  for (const TensorId read : line_.chosen(what.task).reads) {
    const auto [before, read_later] = line_.around(read, line_.again(what));
    if (read_later) continue;  // waits in any case
    const Time since = before.time;
    if (since != Timeline::kStart && line_.stage(since) == what.stage) continue;
    if (std::find(needed_.begin(), needed_.end(), read) != needed_.end()) continue;
    needed_.push_back(read);
    const Tensor& tensor = line_.problem().tensors[read];
    const Repetition also{what.stage, tensor.producer};
    if (with_inputs && tensor.producer.valid() && line_.allowed(also) && !line_.contains(also)) {
      add_needs(also, with_inputs);
    } else {
      waiting_.push_back({-tensor.bytes, since});
    }
  }
}

void Descent::add_difference(TaskId reader, const Variant& variant) {
  const Variant& now = line_.chosen(reader);
  const auto add = [&](TensorId id, bool goes) {
    const auto [before, read_later] = line_.around(id, line_.first(reader));
    if (read_later) return;  // waits in any case
    if (goes) return add_gone(id, before);
    waiting_.push_back({-line_.problem().tensors[id].bytes, before.time});
  };
  for (const TensorId id : now.reads) {
    if (!reads(variant, id)) add(id, true);
  }
  for (const TensorId id : variant.reads) {
    if (!reads(now, id)) add(id, false);
  }
}

// Of the bytes beyond the limit. What comes where nothing is beyond it yet is not counted.
std::int64_t Descent::taken_until(Time reader) {
  const auto end = std::lower_bound(times_.begin(), times_.end(), reader) - times_.begin();
  auto begin = end;
  taken_.assign(static_cast<std::size_t>(end), 0);
  for (const Waiting& waiting : waiting_) {
    const auto from =
        std::upper_bound(times_.begin(), times_.begin() + end, waiting.since) - times_.begin();
    for (auto i = from; i < end; ++i) taken_[static_cast<std::size_t>(i)] += waiting.bytes;
    begin = std::min(begin, from);
  }
  std::int64_t sum = 0;
  for (auto i = static_cast<std::size_t>(begin); i < taken_.size(); ++i) {
    sum += std::min(beyond_[i], taken_[i]);
  }
  return sum;
}

void Descent::apply(const Offer& offer) {
  if (offer.way >= kVariants) {
    const auto variant = static_cast<std::uint8_t>(offer.way - kVariants);
    editor_.choose(line_.task_at(offer.reader), variant);
    return;
  }
  const Repetition what{line_.stage(offer.reader), line_.problem().tensors[offer.tensor].producer};
  editor_.add_with_inputs(what, [&] { return offer.way == kWithInputs; });
}

// The dearest repetitions first, then variants that are not the fastest.
void Descent::take_back(std::int64_t limit) {
  std::vector<Repetition> repetitions = line_.repetitions();
  const auto dearer = [&](const Repetition& a, const Repetition& b) {
    return line_.chosen(a.task).seconds_again > line_.chosen(b.task).seconds_again;
  };
  std::stable_sort(repetitions.begin(), repetitions.end(), dearer);
  for (const Repetition& what : repetitions) {
    if (!line_.contains(what)) continue;  // went with another
    editor_.remove(what);
    keep_if_within(limit);
  }
  for (std::size_t i = 0; i < line_.problem().tasks.size(); ++i) {
    const TaskId id(i);
    const std::size_t fastest = fastest_variant(line_.problem().tasks[id]);
    if (line_.variant(id) == fastest) continue;
    editor_.choose(id, static_cast<std::uint8_t>(fastest));
    keep_if_within(limit);
  }
}

void Descent::keep_if_within(std::int64_t limit) {
  if (line_.excess_up_to(limit, 0) > 0) {
    editor_.undo();
    return;
  }
  editor_.commit();
  LT_CHECK(line_.excess(limit) == 0, "what was taken back was needless");
}

}  // namespace lowtide::plan
