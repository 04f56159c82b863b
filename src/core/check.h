// LT_CHECK and LT_ASSERT: broken invariants abort; they are never reachable from user input.
#pragma once

namespace lowtide::core {

[[noreturn]] void check_failed(const char* expression,
                               const char* file,
                               int line,
                               const char* message) noexcept;

}  // namespace lowtide::core

#define LT_CHECK(condition, message)                                            \
  do {                                                                          \
    if (!(condition)) {                                                         \
      ::lowtide::core::check_failed(#condition, __FILE__, __LINE__, (message)); \
    }                                                                           \
  } while (false)

#ifdef NDEBUG
#define LT_ASSERT(condition) static_cast<void>(0)
#else
#define LT_ASSERT(condition) LT_CHECK(condition, "assertion")
#endif
