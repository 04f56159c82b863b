// A dataset of arrays in memory, for tests; reading one of its samples can be made to fail.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "data/dataset.h"

namespace lowtide::data {

class MemoryDataset final : public Dataset {
 public:
  MemoryDataset(std::int64_t samples, std::vector<Field> fields)
      : Dataset("memory", samples, std::move(fields)), arrays_(this->fields().size()) {}

  template <class T>
  void set(std::size_t field, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    arrays_[field].assign(bytes.begin(), bytes.end());
  }

  void fail_at(std::int64_t sample) { failing_ = sample; }

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override {
    const auto width = static_cast<std::size_t>(fields()[field].sample_bytes().count());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] == failing_) throw core::fail(ErrorCode::kIo, "sample {} is gone", samples[i]);
      std::memcpy(out.data() + i * width,
                  arrays_[field].data() + static_cast<std::size_t>(samples[i]) * width, width);
    }
  }

 private:
  std::vector<std::vector<std::byte>> arrays_;
  std::optional<std::int64_t> failing_;
};

}  // namespace lowtide::data
