#include "cli/commands.h"

#include <cstdio>

namespace lowtide::cli {

void say(bool json, const std::string& text) {
  std::FILE* const stream = json ? stderr : stdout;
  std::fputs(text.c_str(), stream);
  std::fputc('\n', stream);
  std::fflush(stream);
}

}  // namespace lowtide::cli
