// Building messages: fmt behind one header, and Error with a formatted message.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/error.h"

namespace lowtide::core {

template <class... Args>
std::string text(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

// throw fail(ErrorCode::kInvalidFile, "{}: ...", path);
template <class... Args>
Error fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lowtide::core
