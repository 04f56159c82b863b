// Error: what Lowtide throws when a call cannot do what it promised.
#pragma once

#include <stdexcept>
#include <string>

namespace lowtide {

// Coarse classes of failure, for callers that react differently to them.
enum class ErrorCode {
  kInvalidArgument,  // a setting or shape the caller gave makes no sense
  kInvalidFile,      // a file is malformed, truncated, foreign or hostile
  kUnsupported,      // valid, but outside what Lowtide can do (the message names the node)
  kIo,               // the operating system refused: open, read, write, space
  kDoesNotFit,       // the byte budget is too small; the message names the smallest that works
  kNumeric,          // a value is not finite where it must be
};

// Thrown by loading, building, planning and binding. The message names file, node and value.
// Copyable; no other exception type leaves the library on purpose.
class Error final : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

  // The same error with "context: " put before the message (file names, node names).
  [[nodiscard]] Error within(const std::string& context) const {
    return Error(code_, context + ": " + what());
  }

 private:
  ErrorCode code_;
};

}  // namespace lowtide
