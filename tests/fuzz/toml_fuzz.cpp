// libFuzzer target: parses any bytes as a configuration; what it says, written again, must say the
// same. Only lowtide::Error may come out.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lowtide/error.h"

#include "cli/config/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace lc = lowtide::cli;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const lc::TomlEntry& entry : lc::parse_toml(text, "fuzz")) {
      const auto again = lc::parse_toml("k = " + lc::toml_value(entry.values), "again");
      if (again.size() != 1 || again[0].values != entry.values) std::abort();
    }
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  return 0;
}
