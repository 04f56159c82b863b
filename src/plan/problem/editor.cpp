#include "plan/problem/editor.h"

namespace lowtide::plan {

// What makes the input once more in the reader's stage; nothing where it stays in any case, or is
// made there, or may not be made again so late.
std::optional<Repetition> Editor::instead_of_keeping(TensorId input, Repetition reader) const {
  const Tensor& tensor = line_.problem().tensors[input];
  if (!tensor.producer.valid()) return std::nullopt;
  const Timeline::Around around = line_.around(input, line_.again(reader));
  if (around.read_later || line_.stage(around.before.time) == reader.stage) return std::nullopt;
  const Repetition also{reader.stage, tensor.producer};
  if (!line_.allowed(also) || line_.contains(also)) return std::nullopt;
  return also;
}

void Editor::note(const Change& change) {
  if (log_.empty()) before_ = line_.sums();
  log_.push_back(change);
}

void Editor::add(Repetition what) {
  note({Kind::kAdded, 0, what});
  line_.add(what);
  const Timeline::Time time = line_.again(what);
  for (const TensorId tensor : line_.chosen(what.task).writes) {
    const std::size_t at = line_.touch_at(tensor, time);
    prune(tensor, line_.touches(tensor)[at - 1].time);
  }
}

void Editor::remove(Repetition what) {
  note({Kind::kRemoved, 0, what});
  line_.remove(what);
  const Timeline::Time time = line_.again(what);
  for (const TensorId tensor : line_.chosen(what.task).reads) {
    const std::size_t at = line_.touch_at(tensor, time);
    prune(tensor, line_.touches(tensor)[at - 1].time);
  }
}

void Editor::choose(TaskId task, std::uint8_t variant) {
  const std::vector<TensorId>& reads = line_.chosen(task).reads;  // of the former variant
  note({Kind::kChosen, line_.variant(task), {TaskId(), task}});
  line_.choose(task, variant);
  const Timeline::Time time = line_.first(task);
  for (const TensorId tensor : reads) {
    const std::size_t at = line_.touch_at(tensor, time);
    prune(tensor, line_.touches(tensor)[at - 1].time);
  }
}

void Editor::undo() {
  if (log_.empty()) return;
  for (; !log_.empty(); log_.pop_back()) {
    const Change& change = log_.back();
    switch (change.kind) {
      case Kind::kAdded: line_.remove(change.what); break;
      case Kind::kRemoved: line_.add(change.what); break;
      case Kind::kChosen: line_.choose(change.what.task, change.variant); break;
    }
  }
  line_.took_back_to(before_);
}

// Removes the repetition that writes the tensor at this time if nothing reads what it writes.
void Editor::prune(TensorId tensor, Timeline::Time time) {
  const TaskId producer = line_.problem().tensors[tensor].producer;
  if (!producer.valid() || !line_.is_repetition(time)) return;
  const Repetition what{line_.stage(time), producer};
  if (line_.again(what) == time && line_.unread(what)) remove(what);
}

}  // namespace lowtide::plan
