#include <unistd.h>

#include <cerrno>

#include "memory/spill/engine.h"

namespace lowtide::memory {
namespace {

class BlockingEngine final : public Engine {
 public:
  BlockingEngine(int descriptor, Direction direction)
      : descriptor_(descriptor), direction_(direction) {}

  [[nodiscard]] std::uint32_t depth() const override { return 1; }

  [[nodiscard]] std::size_t block_size() const override { return std::size_t{4} << 20U; }

  void begin(const Block& block) override {
    ssize_t moved = -1;
    do {
      moved = direction_ == Direction::kStore
                  ? ::pwrite(descriptor_, block.data, block.size, block.offset)
                  : ::pread(descriptor_, block.data, block.size, block.offset);
    } while (moved < 0 && errno == EINTR);
    last_ = {block.tag, moved < 0 ? -errno : moved};
  }

  Completion finish() override { return last_; }

 private:
  int descriptor_;
  Direction direction_;
  Completion last_;
};

}  // namespace

std::unique_ptr<Engine> make_blocking_engine(int descriptor, Direction direction) {
  return std::make_unique<BlockingEngine>(descriptor, direction);
}

}  // namespace lowtide::memory
