// A program outside the project: links the installed library and uses its public headers only.
#include <cstdio>

#include "lowtide/lowtide.h"

int main() {
  using namespace lowtide::literals;
  if (lowtide::Bytes::parse("1MiB") != 1_MiB) return 1;
  try {
    static_cast<void>(lowtide::Bytes::parse("a lot"));
  } catch (const lowtide::Error& error) {
    std::printf("%s\n", error.what());
    return error.code() == lowtide::ErrorCode::kInvalidArgument ? 0 : 1;
  }
  return 1;
}
