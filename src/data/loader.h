// Loader: batches in order, ready before they are asked for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "lowtide/bytes.h"

#include "core/dtype.h"
#include "data/convert.h"
#include "data/dataset.h"
#include "data/readers.h"
#include "data/sampler.h"

namespace lowtide::data {

// One array of each batch: which field, and the type it is wanted in. float32 is made from every
// type, int64 and int32 from integers and bool; any other type must be the field's own.
struct Target {
  std::size_t field = 0;
  core::DType dtype = core::DType::kFloat32;
  std::optional<Normalization> normalization = std::nullopt;  // float32 only
  bool check_finite = true;                                   // float32 only
  bool check_shares = false;                                  // float32 only: within [0, 1]
  std::optional<IntegerRange> labels = std::nullopt;          // integers only
  std::optional<IntegerRange> indices = std::nullopt;         // the same, of rows looked up
};

struct Batch {
  std::int64_t epoch = 0;
  std::int64_t index = 0;    // within the epoch
  std::int64_t samples = 0;  // fewer than the batch size in a short last batch
  std::vector<std::span<const std::byte>> arrays;  // one for each target; samples come first
};

struct LoaderOptions {
  bool prefetch = true;    // on a thread of its own, named "lowtide-load"
  bool in_epochs = false;  // with the dataset's random choices: training, not evaluation
  int readers = 1;         // threads that read a batch's samples, where the dataset makes them
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // where to begin
};

// Goes through epoch after epoch without end. Two batches are held: the one in use and the next.
// Everything is allocated on construction; next() allocates nothing. One thread calls it; the
// dataset must outlive it.
class Loader {
 public:
  // Throws Error(kInvalidArgument) for conversions that do not exist.
  Loader(const Dataset& dataset,
         Sampler sampler,
         std::vector<Target> targets,
         const LoaderOptions& options = {});

  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  // Waits for the next batch; it is valid until the next call. An error of reading or converting it
  // is thrown here, and again on every later call until start_at().
  const Batch& next();

  // The next batch will be this one, with 0 <= batch < batches_per_epoch().
  void start_at(std::int64_t epoch, std::int64_t batch);

  [[nodiscard]] std::int64_t batches_per_epoch() const { return sampler_.batches_per_epoch(); }

  // Threads that it has.
  [[nodiscard]] int threads() const { return (threaded_ ? 1 : 0) + readers_.threads(); }

  // What it holds on the heap: both batches, the samples as read, the sampler's order, and what the
  // dataset holds, also while every thread reads.
  [[nodiscard]] Bytes buffer_bytes() const;

 private:
  struct Slot {
    Batch batch;
    std::vector<std::vector<std::byte>> arrays;
  };

  void start_thread();
  void stop_thread();
  void prefetch();
  void fill(Slot& slot);
  void read(std::size_t field, std::span<const std::int64_t> samples, std::span<std::byte> out);
  void fill_array(const Target& target,
                  std::span<const std::int64_t> samples,
                  std::span<std::byte> out);
  void check(const Target& target,
             std::span<const std::int64_t> samples,
             std::span<const std::byte> elements) const;

  const Dataset& dataset_;
  Sampler sampler_;
  std::vector<Target> targets_;
  bool threaded_;
  bool in_epochs_;
  Readers readers_;
  std::int64_t epoch_;  // of the batch to fill next
  std::int64_t index_;
  std::vector<std::byte> raw_;  // samples as the dataset has them
  std::vector<Slot> slots_;

  // Batches filled and given back since the start; slot n % 2 holds batch n. Guarded by mutex_.
  std::int64_t filled_ = 0;
  std::int64_t returned_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable changed_;

  bool lent_ = false;  // whether the caller holds a batch
  std::thread thread_;
};

}  // namespace lowtide::data
