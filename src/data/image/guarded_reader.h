// GuardedReader: what the readers over C libraries share, whose errors leave by longjmp. Each call
// that may fail is made by a function that holds nothing to clean up, and the error is thrown one
// level above.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <optional>
#include <span>

#include "lowtide/error.h"

#include "core/text.h"
#include "data/image/image_reader.h"

namespace lowtide::data {

class GuardedReader : public ImageReader {
 protected:
  explicit GuardedReader(const ByteSource& file) : file_(file) {}

  // Runs f(); where it jumped out, throws what the library said.
  template <class F>
  void guarded(F&& f) {
    if (survives(f)) return;
    if (unread_) throw *unread_;
    throw core::fail(ErrorCode::kInvalidFile, "{}: {}", file_.name(), message_.data());
  }

  static constexpr std::size_t kLongestMessage = 256;

  // Leaves guarded(), where message() says why.
  [[noreturn]] void jump() { std::longjmp(jump_, 1); }
  [[nodiscard]] std::span<char> message() { return message_; }

  // The next bytes of the file; false where it ends before that, and where reading fails.
  [[nodiscard]] bool take(std::span<std::byte> into) {
    const Bytes count(static_cast<std::int64_t>(into.size()));
    if (count > file_.size() - at_) return false;
    try {
      file_.read_at(at_, into);
    } catch (const Error& error) {
      unread_ = error;
      return false;
    }
    at_ += count;
    return true;
  }

  ByteSource file_;
  Bytes at_;  // of the file: where the next bytes to decode come from

 private:
  template <class F>
  bool survives(F& f) {
    if (setjmp(jump_) != 0) return false;
    f();
    return true;
  }

  std::array<char, kLongestMessage> message_ = {};
  std::optional<Error> unread_;  // why the file could not be read; then the image is not to blame
  std::jmp_buf jump_ = {};
};

}  // namespace lowtide::data
