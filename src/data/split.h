// Splitting a dataset: some samples to learn from, the others to validate with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lowtide::data {

// Some samples of another dataset, in the order given.
class Subset final : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<std::int64_t> chosen);

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override;
  void read_in_epoch(std::size_t field,
                     std::span<const std::int64_t> samples,
                     std::int64_t epoch,
                     std::span<std::byte> out) const override;
  [[nodiscard]] std::string place(std::size_t field,
                                  std::int64_t sample,
                                  std::int64_t element,
                                  std::optional<std::int64_t> epoch) const override {
    return whole_->place(field, chosen_[static_cast<std::size_t>(sample)], element, epoch);
  }
  [[nodiscard]] Bytes held() const override;
  [[nodiscard]] Bytes held_while_reading() const override { return whole_->held_while_reading(); }

  [[nodiscard]] std::span<const std::int64_t> chosen() const { return chosen_; }

 private:
  template <class Read>
  void read_chosen(std::size_t field,
                   std::span<const std::int64_t> samples,
                   std::span<std::byte> out,
                   Read&& read) const;

  std::shared_ptr<const Dataset> whole_;
  std::vector<std::int64_t> chosen_;
};

// Holds back a share of the samples, in (0, 1): rounded, at least one and never all. Which ones
// depends on the seed and the number of samples only; both parts keep the dataset's order. Throws
// Error(kInvalidArgument) for other shares and for a single sample.
Parts split(std::shared_ptr<const Dataset> whole, double share, std::uint64_t seed);

// How many of `samples` a share holds back. Throws as split() does.
std::int64_t held_back(const std::string& name, std::int64_t samples, double share);

}  // namespace lowtide::data
