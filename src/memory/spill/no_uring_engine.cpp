// In place of uring_engine.cpp where liburing is not installed.
#include "memory/spill/engine.h"

namespace lowtide::memory {

std::unique_ptr<Engine> make_uring_engine(int /*descriptor*/, Direction /*direction*/) {
  return nullptr;
}

}  // namespace lowtide::memory
