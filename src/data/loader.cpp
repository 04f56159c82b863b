#include "data/loader.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/text.h"

namespace lowtide::data {
namespace {

using core::DType;

template <class T>
std::span<T> as(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

std::size_t target_bytes(const Field& field, DType dtype) {
  return static_cast<std::size_t>(
      (field.sample_shape.elements() * core::element_bytes(dtype)).count());
}

bool converts(const Field& field, const Target& target) {
  return target.normalization.has_value() || target.dtype != field.dtype;
}

void check_target(const Field& field, const Target& target) {
  const DType wanted = target.dtype;
  const bool integral = wanted == DType::kInt64 || wanted == DType::kInt32;
  const bool possible =
      wanted == field.dtype || wanted == DType::kFloat32 ||
      (integral && (core::is_integer(field.dtype) || field.dtype == DType::kBool));
  if (!possible) {
    throw core::fail(ErrorCode::kInvalidArgument, "array '{}' of {} cannot be read as {}",
                     field.name, core::name(field.dtype), core::name(wanted));
  }
  if (target.normalization) {
    if (wanted != DType::kFloat32) {
      throw core::fail(ErrorCode::kInvalidArgument, "array '{}': only float32 can be normalized",
                       field.name);
    }
    check_normalization(field, *target.normalization);
  }
  if ((target.labels || target.indices) && !core::is_integer(wanted) && wanted != DType::kBool) {
    throw core::fail(ErrorCode::kInvalidArgument, "array '{}': {} are integers, not {}", field.name,
                     target.labels ? "labels" : "indices", core::name(wanted));
  }
}

}  // namespace

Loader::Loader(const Dataset& dataset,
               Sampler sampler,
               std::vector<Target> targets,
               const LoaderOptions& options)
    : dataset_(dataset),
      sampler_(std::move(sampler)),
      targets_(std::move(targets)),
      threaded_(options.prefetch),
      in_epochs_(options.in_epochs),
      readers_(dataset.held_while_reading() > Bytes() ? options.readers - 1 : 0),
      epoch_(options.epoch),
      index_(options.batch) {
  LT_CHECK(sampler_.samples() == dataset_.samples(), "the sampler draws from the dataset");
  LT_CHECK(epoch_ >= 0 && index_ >= 0 && index_ < batches_per_epoch(), "starts at a batch");
  const auto batch = static_cast<std::size_t>(std::min(sampler_.batch_size(), sampler_.samples()));
  std::size_t raw = 0;
  for (const Target& target : targets_) {
    const Field& field = dataset_.fields()[target.field];
    check_target(field, target);
    if (converts(field, target)) raw = std::max(raw, batch * target_bytes(field, field.dtype));
  }
  raw_.resize(raw);
  slots_.resize(threaded_ ? 2 : 1);
  for (Slot& slot : slots_) {
    slot.batch.arrays.resize(targets_.size());
    for (const Target& target : targets_) {
      slot.arrays.emplace_back(batch * target_bytes(dataset_.fields()[target.field], target.dtype));
    }
  }
  start_thread();
}

Loader::~Loader() { stop_thread(); }

const Batch& Loader::next() {
  if (!threaded_) {
    fill(slots_.front());
    return slots_.front().batch;
  }
  std::unique_lock lock(mutex_);
  if (lent_) {
    lent_ = false;
    ++returned_;
    changed_.notify_one();
  }
  changed_.wait(lock, [this] { return filled_ > returned_ || error_ != nullptr; });
  if (filled_ == returned_) std::rethrow_exception(error_);
  lent_ = true;
  return slots_[static_cast<std::size_t>(returned_ % 2)].batch;
}

void Loader::start_at(std::int64_t epoch, std::int64_t batch) {
  LT_CHECK(epoch >= 0 && batch >= 0 && batch < batches_per_epoch(), "starts at a batch");
  stop_thread();
  epoch_ = epoch;
  index_ = batch;
  start_thread();
}

Bytes Loader::buffer_bytes() const {
  std::size_t count = raw_.size();
  for (const Slot& slot : slots_) {
    for (const auto& array : slot.arrays) count += array.size();
  }
  return Bytes(static_cast<std::int64_t>(count)) + sampler_.bytes() + dataset_.held() +
         (readers_.threads() + 1) * dataset_.held_while_reading();
}

void Loader::start_thread() {
  if (!threaded_) return;
  filled_ = 0;
  returned_ = 0;
  lent_ = false;
  stopping_ = false;
  error_ = nullptr;
  thread_ = std::thread(&Loader::prefetch, this);
}

void Loader::stop_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Loader::prefetch() {
  ::pthread_setname_np(::pthread_self(), "lowtide-load");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || filled_ - returned_ < 2; });
    if (stopping_) return;
    Slot& slot = slots_[static_cast<std::size_t>(filled_ % 2)];
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(slot);
    } catch (...) {
      error = std::current_exception();  // thrown again where the batch is asked for
    }
    lock.lock();
    error_ = std::move(error);
    if (error_ == nullptr) ++filled_;
    changed_.notify_one();
    if (error_ != nullptr) return;
  }
}

void Loader::fill(Slot& slot) {
  const std::span<const std::int64_t> samples = sampler_.batch(epoch_, index_);
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Field& field = dataset_.fields()[targets_[i].field];
    const std::span<std::byte> out =
        std::span(slot.arrays[i]).first(samples.size() * target_bytes(field, targets_[i].dtype));
    try {
      fill_array(targets_[i], samples, out);
    } catch (const Error& error) {
      // What fails in reading names its file already.
      const bool contents =
          error.code() == ErrorCode::kNumeric || error.code() == ErrorCode::kInvalidArgument;
      throw contents ? error.within(dataset_.name()) : error;
    }
    slot.batch.arrays[i] = out;
  }
  slot.batch.epoch = epoch_;
  slot.batch.index = index_;
  slot.batch.samples = static_cast<std::int64_t>(samples.size());
  if (++index_ == batches_per_epoch()) {
    index_ = 0;
    ++epoch_;
  }
}

void Loader::read(std::size_t field,
                  std::span<const std::int64_t> samples,
                  std::span<std::byte> out) {
  const auto read_part = [&](std::span<const std::int64_t> part, std::span<std::byte> into) {
    if (in_epochs_) {
      dataset_.read_in_epoch(field, part, epoch_, into);
    } else {
      dataset_.read(field, part, into);
    }
  };
  if (readers_.threads() == 0) {
    read_part(samples, out);
    return;
  }
  const std::size_t width = out.size() / samples.size();
  readers_.for_each(samples.size(), [&](std::size_t i) {
    read_part(samples.subspan(i, 1), out.subspan(i * width, width));
  });
}

void Loader::fill_array(const Target& target,
                        std::span<const std::int64_t> samples,
                        std::span<std::byte> out) {
  const Field& field = dataset_.fields()[target.field];
  if (converts(field, target)) {
    const std::span<std::byte> raw =
        std::span(raw_).first(samples.size() * target_bytes(field, field.dtype));
    read(target.field, samples, raw);
    if (target.dtype == DType::kFloat32) {
      to_float32(field, raw, target.normalization, as<float>(out));
    } else if (target.dtype == DType::kInt64) {
      to_int64(field, raw, as<std::int64_t>(out));
    } else {
      to_int32(field, raw, as<std::int32_t>(out));
    }
  } else {
    read(target.field, samples, out);
  }
  check(target, samples, out);
}

void Loader::check(const Target& target,
                   std::span<const std::int64_t> samples,
                   std::span<const std::byte> elements) const {
  const Field& field = dataset_.fields()[target.field];
  const auto place = [&](std::size_t i) {
    const auto width = static_cast<std::size_t>(field.sample_shape.elements());
    return dataset_.place(target.field, samples[i / width], static_cast<std::int64_t>(i % width),
                          in_epochs_ ? std::optional(epoch_) : std::nullopt);
  };
  if (target.dtype == DType::kFloat32 && target.check_finite) {
    const std::span<const float> values(reinterpret_cast<const float*>(elements.data()),
                                        elements.size() / sizeof(float));
    if (const auto bad = find_not_finite(values)) {
      throw not_finite(field, place(*bad), double{values[*bad]});
    }
    const auto share = [](float x) { return x >= 0 && x <= 1; };
    const auto other = std::find_if_not(values.begin(), values.end(), share);
    if (target.check_shares && other != values.end()) {
      throw core::fail(ErrorCode::kInvalidArgument,
                       "array '{}', {}: {} is outside [0, 1], which binary cross-entropy takes",
                       field.name, place(static_cast<std::size_t>(other - values.begin())), *other);
    }
  }
  if (target.labels) {
    const IntegerRange& range = *target.labels;
    if (const auto bad = find_outside(target.dtype, elements, range)) {
      throw core::fail(
          ErrorCode::kInvalidArgument, "array '{}', {}: label {} is outside [0, {}){}", field.name,
          place(bad->at), bad->value, range.end,
          range.ignored ? core::text(" and is not {}, which is ignored", *range.ignored) : "");
    }
  }
  if (target.indices) {
    if (const auto bad = find_outside(target.dtype, elements, *target.indices)) {
      throw core::fail(ErrorCode::kInvalidArgument, "array '{}', {}: {}", field.name,
                       place(bad->at), describe_missing_row(bad->value, target.indices->end));
    }
  }
}

}  // namespace lowtide::data
