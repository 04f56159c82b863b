#include "lowtide/bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text.h"

namespace lowtide {

std::string Bytes::str() const {
  constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(count_);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  const bool whole = unit == 0 || std::abs(value - std::round(value)) < 0.05;
  return whole ? core::text("{:.0f} {}", value, kUnits[unit])
               : core::text("{:.1f} {}", value, kUnits[unit]);
}

Bytes Bytes::parse(std::string_view text) {
  const auto bad = [&] {
    return core::fail(
        ErrorCode::kInvalidArgument,
        "'{}' is not a size; write bytes or a number with kB, MB, GB, KiB, MiB or GiB", text);
  };
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || value < 0 || !std::isfinite(value)) throw bad();
  std::string suffix(end, text.data() + text.size());
  suffix.erase(0, suffix.find_first_not_of(' ') == std::string::npos
                      ? suffix.size()
                      : suffix.find_first_not_of(' '));
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::pair<std::string_view, double>, 14> kSuffixes = {
      {{"", 1.0},
       {"b", 1.0},
       {"k", 1024.0},
       {"kib", 1024.0},
       {"kb", 1e3},
       {"m", 1048576.0},
       {"mib", 1048576.0},
       {"mb", 1e6},
       {"g", 1073741824.0},
       {"gib", 1073741824.0},
       {"gb", 1e9},
       {"t", 1099511627776.0},
       {"tib", 1099511627776.0},
       {"tb", 1e12}}};
  const auto* const found = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                         [&](const auto& entry) { return entry.first == suffix; });
  if (found == kSuffixes.end()) throw bad();
  const double bytes = std::floor(value * found->second);
  if (bytes > 4e18) throw bad();
  return Bytes(static_cast<std::int64_t>(bytes));
}

}  // namespace lowtide
