#include "data/convert.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/dtype.h"
#include "core/text.h"
#include "data/readers.h"

namespace lowtide::data {
namespace {

using core::DType;

constexpr std::size_t kByteValues = 256;
constexpr Bytes kChunk = Bytes(1 << 20);

// Element i of the raw bytes, which need not be aligned. Bytes of a bool may hold any value.
template <class T>
auto element(std::span<const std::byte> raw, std::size_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<std::uint8_t>(raw[i] != std::byte{0});
  } else {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    return value;
  }
}

// A sample is `channels` rows of `inner` values each.
struct Rows {
  std::size_t channels;
  std::size_t inner;
};

Rows rows_of(const Field& field) {
  const auto elements = static_cast<std::size_t>(field.sample_shape.elements());
  if (field.columns) return {elements, 1};
  const std::size_t channels =
      field.sample_shape.rank() >= 2 ? static_cast<std::size_t>(field.sample_shape[0]) : 1;
  return {channels, channels == 0 ? 0 : elements / channels};
}

float at_channel(const std::vector<float>& values, std::size_t channel) {
  return values.size() == 1 ? values.front() : values[channel];
}

std::array<float, kByteValues> table_of(float mean, float deviation) {
  std::array<float, kByteValues> table = {};
  for (std::size_t value = 0; value < kByteValues; ++value) {
    table[value] = (static_cast<float>(value) / 255.0F - mean) / deviation;
  }
  return table;
}

// Calls f(channel, first element of the row) for every row of every sample, channel by channel.
template <class F>
void for_each_row(const Rows& rows, std::size_t elements, F&& f) {
  const std::size_t width = rows.channels * rows.inner;
  for (std::size_t channel = 0; width > 0 && channel < rows.channels; ++channel) {
    for (std::size_t first = channel * rows.inner; first < elements; first += width) {
      f(channel, first);
    }
  }
}

template <class T>
void normalize(const Rows& rows,
               std::span<const std::byte> raw,
               const Normalization& by,
               std::span<float> out) {
  std::array<float, kByteValues> table = {};
  for_each_row(rows, out.size(), [&](std::size_t channel, std::size_t first) {
    const float mean = at_channel(by.mean, channel);
    const float deviation = at_channel(by.deviation, channel);
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (first == channel * rows.inner) table = table_of(mean, deviation);
      for (std::size_t i = first; i < first + rows.inner; ++i) {
        out[i] = table[std::to_integer<std::size_t>(raw[i])];
      }
    } else {
      for (std::size_t i = first; i < first + rows.inner; ++i) {
        out[i] = (static_cast<float>(element<T>(raw, i)) - mean) / deviation;
      }
    }
  });
}

template <class Out>
void to_integer(const Field& field, std::span<const std::byte> raw, std::span<Out> out) {
  LT_CHECK(
      raw.size() == out.size() * static_cast<std::size_t>(core::element_bytes(field.dtype).count()),
      "room for exactly the samples");
  core::visit(field.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      throw core::fail(ErrorCode::kInvalidArgument, "array '{}' of {} where integers are needed",
                       field.name, core::name(field.dtype));
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto value = element<T>(raw, i);
        if (!std::in_range<Out>(value)) {
          throw core::fail(ErrorCode::kInvalidArgument, "array '{}': {} does not fit in {}",
                           field.name, value, core::name(core::dtype_of<Out>()));
        }
        out[i] = static_cast<Out>(value);
      }
    }
  });
}

// What statistics are taken of, and by how many threads.
struct Census {
  const Dataset& dataset;
  std::size_t field;
  int threads;

  [[nodiscard]] const Field& what() const { return dataset.fields()[field]; }
};

// Calls f(raw, numbers of its samples) on the samples that count, some at a time.
template <class F>
void stream(const Census& census, F&& f) {
  const Dataset& dataset = census.dataset;
  const bool made = dataset.held_while_reading() > Bytes();
  const std::int64_t total = made ? std::min(dataset.samples(), kMostMade) : dataset.samples();
  const auto width = static_cast<std::size_t>(census.what().sample_bytes().count());
  const std::int64_t most = std::clamp<std::int64_t>(
      kChunk.count() / std::max<std::int64_t>(static_cast<std::int64_t>(width), 1), 1, total);
  std::vector<std::int64_t> samples(static_cast<std::size_t>(most));
  std::vector<std::byte> raw(samples.size() * width);
  Readers readers(made ? census.threads - 1 : 0);
  for (std::int64_t first = 0; first < total; first += most) {
    const std::span<std::int64_t> some =
        std::span(samples).first(static_cast<std::size_t>(std::min(most, total - first)));
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::int64_t place = first + static_cast<std::int64_t>(i);
      some[i] = made ? place * dataset.samples() / total : place;
    }
    const std::span<std::byte> chunk = std::span(raw).first(some.size() * width);
    if (made) {
      readers.for_each(some.size(), [&](std::size_t i) {
        dataset.read(census.field, some.subspan(i, 1), chunk.subspan(i * width, width));
      });
    } else {
      dataset.read(census.field, some, chunk);
    }
    f(std::span<const std::byte>(chunk), std::span<const std::int64_t>(some));
  }
}

// Mean and deviation of one channel.
struct Moments {
  double mean = 0;
  double deviation = 1;
};

Moments moments_of(const std::array<std::int64_t, kByteValues>& histogram) {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  for (std::size_t value = 0; value < kByteValues; ++value) {
    count += histogram[value];
    sum += histogram[value] * static_cast<std::int64_t>(value);
  }
  if (count == 0) return {};
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  double squares = 0;
  for (std::size_t value = 0; value < kByteValues; ++value) {
    const double distance = static_cast<double>(value) - mean;
    squares += static_cast<double>(histogram[value]) * distance * distance;
  }
  return {mean / 255.0, std::sqrt(squares / static_cast<double>(count)) / 255.0};
}

std::vector<Moments> moments_of_bytes(const Census& census, const Rows& rows) {
  std::vector<std::array<std::int64_t, kByteValues>> histograms(rows.channels);
  stream(census, [&](std::span<const std::byte> raw, std::span<const std::int64_t>) {
    for_each_row(rows, raw.size(), [&](std::size_t channel, std::size_t first) {
      for (const std::byte value : raw.subspan(first, rows.inner)) {
        ++histograms[channel][std::to_integer<std::size_t>(value)];
      }
    });
  });
  std::vector<Moments> moments;
  for (const auto& histogram : histograms) moments.push_back(moments_of(histogram));
  return moments;
}

// Sums of distances from a channel's first value, which keeps far-off means from cancelling.
struct Sums {
  double origin = 0;
  double sum = 0;
  double squares = 0;
  std::int64_t count = 0;

  void add(double value) {
    if (count++ == 0) origin = value;
    sum += value - origin;
    squares += (value - origin) * (value - origin);
  }

  [[nodiscard]] Moments moments() const {
    if (count == 0) return {};
    const double n = static_cast<double>(count);
    return {origin + sum / n, std::sqrt(std::max(0.0, (squares - sum * (sum / n)) / n))};
  }
};

template <class T>
std::vector<Moments> moments_of_values(const Census& census, const Rows& rows) {
  std::vector<Sums> sums(rows.channels);
  stream(census, [&](std::span<const std::byte> raw, std::span<const std::int64_t> samples) {
    for_each_row(rows, raw.size() / sizeof(T), [&](std::size_t channel, std::size_t first) {
      for (std::size_t i = first; i < first + rows.inner; ++i) {
        const auto value = static_cast<double>(element<T>(raw, i));
        if (!std::isfinite(value)) {
          const std::size_t width = rows.channels * rows.inner;
          throw not_finite(census.what(),
                           census.dataset.place(census.field, samples[i / width],
                                                static_cast<std::int64_t>(i % width)),
                           value);
        }
        sums[channel].add(value);
      }
    });
  });
  std::vector<Moments> moments;
  for (const Sums& channel : sums) moments.push_back(channel.moments());
  return moments;
}

std::vector<float> parse_floats(std::string_view text) {
  std::vector<float> values;
  while (true) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    values.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return values;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
}

}  // namespace

std::string Normalization::str() const {
  return core::text("mean={};deviation={}", fmt::join(mean, ","), fmt::join(deviation, ","));
}

Normalization Normalization::parse(std::string_view text) {
  constexpr std::string_view kMean = "mean=";
  constexpr std::string_view kDeviation = ";deviation=";
  const std::size_t split = text.find(kDeviation);
  if (text.starts_with(kMean) && split != std::string_view::npos) {
    Normalization result{parse_floats(text.substr(kMean.size(), split - kMean.size())),
                         parse_floats(text.substr(split + kDeviation.size()))};
    if (!result.mean.empty() && result.mean.size() == result.deviation.size()) return result;
  }
  throw core::fail(ErrorCode::kInvalidArgument,
                   "'{}' is not a normalization like 'mean=0.5,0.4;deviation=0.2,0.3'", text);
}

void check_normalization(const Field& field, const Normalization& normalization) {
  const std::size_t channels = rows_of(field).channels;
  const std::size_t pairs = normalization.mean.size();
  if (pairs != normalization.deviation.size() || (pairs != 1 && pairs != channels)) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "array '{}' has {} channels; its normalization has {} means and {} deviations",
                     field.name, channels, pairs, normalization.deviation.size());
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const float mean = normalization.mean[i];
    const float deviation = normalization.deviation[i];
    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0) {
      throw core::fail(ErrorCode::kInvalidArgument,
                       "array '{}': normalization by mean {} and deviation {}", field.name, mean,
                       deviation);
    }
  }
}

Normalization compute_normalization(const Dataset& dataset, std::size_t field, int threads) {
  const Census census{dataset, field, threads};
  const DType dtype = census.what().dtype;
  const Rows rows = rows_of(census.what());
  std::vector<Moments> moments;
  if (dtype == DType::kUint8) {
    moments = moments_of_bytes(census, rows);
  } else {
    moments = core::visit(dtype, [&](auto tag) {
      return moments_of_values<typename decltype(tag)::type>(census, rows);
    });
  }
  Normalization result;
  for (const Moments& channel : moments) {
    const auto deviation = static_cast<float>(channel.deviation);
    result.mean.push_back(static_cast<float>(channel.mean));
    result.deviation.push_back(deviation > 0 ? deviation : 1.0F);
  }
  return result;
}

void to_float32(const Field& field,
                std::span<const std::byte> raw,
                const std::optional<Normalization>& normalization,
                std::span<float> out) {
  LT_CHECK(
      raw.size() == out.size() * static_cast<std::size_t>(core::element_bytes(field.dtype).count()),
      "room for exactly the samples");
  if (normalization) check_normalization(field, *normalization);
  core::visit(field.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (normalization) {
      normalize<T>(rows_of(field), raw, *normalization, out);
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(element<T>(raw, i));
  });
}

void to_int64(const Field& field, std::span<const std::byte> raw, std::span<std::int64_t> out) {
  to_integer(field, raw, out);
}

void to_int32(const Field& field, std::span<const std::byte> raw, std::span<std::int32_t> out) {
  to_integer(field, raw, out);
}

std::optional<std::size_t> find_not_finite(std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return i;
  }
  return std::nullopt;
}

Error not_finite(const Field& field, std::string_view place, double value) {
  return core::fail(ErrorCode::kNumeric, "array '{}', {}: {} is not finite", field.name, place,
                    value);
}

std::optional<Outside> find_outside(core::DType dtype,
                                    std::span<const std::byte> elements,
                                    const IntegerRange& range) {
  return core::visit(dtype, [&](auto tag) -> std::optional<Outside> {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
        const auto x = element<T>(elements, i);
        const bool inside = std::cmp_greater_equal(x, range.first) && std::cmp_less(x, range.end);
        if (inside || (range.ignored && std::cmp_equal(x, *range.ignored))) continue;
        return Outside{i, static_cast<std::int64_t>(x)};
      }
    }
    return std::nullopt;
  });
}

std::string describe_missing_row(std::int64_t index, std::int64_t rows) {
  return core::text("{} is outside the {} rows that the network looks up, 0 to {}", index, rows,
                    rows - 1);
}

}  // namespace lowtide::data
