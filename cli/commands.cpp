#include "cli/commands.h"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace lowtide::cli {

void say(bool json, const std::string& text) {
  std::FILE* const stream = json ? stderr : stdout;
  std::fputs(text.c_str(), stream);
  std::fputc('\n', stream);
  std::fflush(stream);
}

void print_json(const nlohmann::json& json) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::fputs((json.dump(2, ' ', false, kReplace) + "\n").c_str(), stdout);
}

}  // namespace lowtide::cli
