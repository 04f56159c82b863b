// pack_instance FILE.csv... [--capacity BYTES]: packs buffers with known lifetimes exactly, at the
// most bytes in use at one time unless told otherwise, and prints what that took.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "plan/packing/buffers_csv.h"
#include "plan/packing/exact.h"

namespace lowtide::bench {
namespace {

constexpr std::int64_t kWork = 4'000'000'000;

// Returns whether the buffers fit.
bool pack_file(const char* path, std::int64_t capacity) {
  const std::vector<plan::Item> items = plan::read_buffers(path);
  const std::int64_t live = plan::max_live(items).count();
  if (capacity == 0) capacity = live;
  const auto start = std::chrono::steady_clock::now();
  const plan::ExactAnswer answer = plan::pack_exactly(items, capacity, kWork);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const char* const outcome = answer.offsets    ? "packed"
                              : answer.complete ? "impossible"
                                                : "given up";
  std::printf("%s: %zu buffers, %lld bytes in use, capacity %lld: %s, %.3f s\n", path, items.size(),
              static_cast<long long>(live), static_cast<long long>(capacity), outcome,
              taken.count());
  return answer.offsets.has_value();
}

int run(int count, char** arguments) {
  std::int64_t capacity = 0;
  std::vector<const char*> files;
  for (int i = 1; i < count; ++i) {
    if (arguments[i] == std::string_view("--capacity") && i + 1 < count) {
      capacity = std::atoll(arguments[++i]);
    } else {
      files.push_back(arguments[i]);
    }
  }
  if (files.empty()) {
    std::fputs("usage: pack_instance FILE.csv... [--capacity BYTES]\n", stderr);
    return 2;
  }
  int failed = 0;
  for (const char* const file : files) failed += pack_file(file, capacity) ? 0 : 1;
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace lowtide::bench

int main(int count, char** arguments) {
  try {
    return lowtide::bench::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pack_instance: %s\n", error.what());
    return 1;
  }
}
