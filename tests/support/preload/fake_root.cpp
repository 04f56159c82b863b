// Loaded with LD_PRELOAD: a process finds its control groups under LOWTIDE_FAKE_ROOT instead of
// "/". One that sets an affinity of its own, which may lie outside what it is allowed, is ended.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string moved(const char* path) {
  const std::string text(path);
  const char* const root = std::getenv("LOWTIDE_FAKE_ROOT");
  const bool about_groups = text == "/proc/self/cgroup" || text.rfind("/sys/fs/cgroup", 0) == 0;
  return root != nullptr && about_groups ? root + text : text;
}

std::FILE* open_moved(const char* function, const char* path, const char* mode) {
  using Open = std::FILE* (*)(const char*, const char*);
  const auto real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, function));
  return real(moved(path).c_str(), mode);
}

}  // namespace

extern "C" {

std::FILE* fopen(const char* path, const char* mode) { return open_moved("fopen", path, mode); }

std::FILE* fopen64(const char* path, const char* mode) { return open_moved("fopen64", path, mode); }

int sched_setaffinity(pid_t /*process*/, size_t /*size*/, const cpu_set_t* /*set*/) noexcept {
  std::abort();
}

int pthread_setaffinity_np(pthread_t /*thread*/,
                           size_t /*size*/,
                           const cpu_set_t* /*set*/) noexcept {
  std::abort();
}

}  // extern "C"
