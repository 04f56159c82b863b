#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace lowtide::core {

void check_failed(const char* expression,
                  const char* file,
                  int line,
                  const char* message) noexcept {
  std::fprintf(stderr, "lowtide: internal error: %s (%s) at %s:%d\n", message, expression, file,
               line);
  std::abort();
}

}  // namespace lowtide::core
