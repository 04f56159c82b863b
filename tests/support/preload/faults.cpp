// Loaded with LD_PRELOAD: makes the system calls that LOWTIDE_FAULT names fail in a process.
//   LOWTIDE_FAULT="CALL PATTERN FIRST COUNT ERROR"
// CALL is write, pwrite, pread, fsync, posix_fallocate, rename, link or open; PATTERN is part of
// the path, or its end where a $ follows it (of the new path, for rename and link); of the calls
// that match, those from FIRST (counted from 1) on fail, COUNT of them, with that errno. ERROR 0
// makes a write or a read short: half of what was asked for, at least one byte; ERROR -1 lets a
// read find the end of the file. With LOWTIDE_FAULT_COUNT=FILE the number of calls that matched is
// written there when the process ends. LOWTIDE_FAULT="clock" moves the wall clock by a day, to and
// fro, at each look. io_uring is not there, so that all that is read and written goes through these
// calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

struct Fault {
  std::string call;
  std::string pattern;
  long first = 0;
  long count = 0;
  int error = 0;
};

const Fault& fault() {
  static const Fault parsed = [] {
    Fault result;
    const char* const text = std::getenv("LOWTIDE_FAULT");
    if (text == nullptr) return result;
    char call[16] = "";
    char pattern[256] = "";
    std::sscanf(text, "%15s %255s %ld %ld %d", call, pattern, &result.first, &result.count,
                &result.error);
    result.call = call;
    result.pattern = pattern;
    return result;
  }();
  return parsed;
}

std::atomic<long> calls = 0;  // that matched

[[gnu::destructor]] void tell_calls() {
  const char* const path = std::getenv("LOWTIDE_FAULT_COUNT");
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%ld", calls.load());
  std::fclose(file);
}

// A pattern that ends in $ is the end of the path.
bool matches(const std::string& path, const std::string& pattern) {
  if (!pattern.empty() && pattern.back() == '$') {
    return path.ends_with(pattern.substr(0, pattern.size() - 1));
  }
  return path.find(pattern) != std::string::npos;
}

// Whether this call is one of those that fail.
bool fails(const char* call, const std::string& path) {
  const Fault& wanted = fault();
  if (wanted.call != call || !matches(path, wanted.pattern)) return false;
  const long number = ++calls;
  return number >= wanted.first && number - wanted.first < wanted.count;
}

bool fails(const char* call, int descriptor) {
  if (fault().call != call) return false;
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof(path) - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return fails(call, std::string(path));
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

int failure() {
  if (fault().error < 0) return 0;
  errno = fault().error;
  return -1;
}

// Past the page cache only whole blocks move.
size_t half(int descriptor, size_t count) {
  constexpr size_t kBlock = 4096;
  const bool direct = (::fcntl(descriptor, F_GETFL) & O_DIRECT) != 0;
  const size_t part = direct ? count / 2 / kBlock * kBlock : count / 2;
  return part > 0 ? part : count;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (!fails("write", descriptor)) return real(descriptor, bytes, count);
  return fault().error == 0 ? real(descriptor, bytes, half(descriptor, count)) : failure();
}

// What streams of the C++ library write with; short ones write nothing of the second part.
ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (!fails("write", descriptor)) return real(descriptor, parts, count);
  return fault().error == 0 ? real(descriptor, parts, 1) : failure();
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  if (!fails("pwrite", descriptor)) return real(descriptor, bytes, count, offset);
  return fault().error == 0 ? real(descriptor, bytes, half(descriptor, count), offset) : failure();
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  if (!fails("pread", descriptor)) return real(descriptor, bytes, count, offset);
  return fault().error == 0 ? real(descriptor, bytes, half(descriptor, count), offset) : failure();
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off_t offset) {
  return pread(descriptor, bytes, count, offset);
}

// Returns the error instead of setting errno.
int posix_fallocate(int descriptor, off_t offset, off_t length) {
  static const auto real = next<int (*)(int, off_t, off_t)>("posix_fallocate");
  return fails("posix_fallocate", descriptor) ? fault().error : real(descriptor, offset, length);
}

int posix_fallocate64(int descriptor, off_t offset, off_t length) {
  return posix_fallocate(descriptor, offset, length);
}

int io_uring_queue_init(unsigned /*entries*/, void* /*ring*/, unsigned /*flags*/) {
  return -ENOSYS;
}

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails("fsync", descriptor) ? failure() : real(descriptor);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails("rename", to) ? failure() : real(from, to);
}

int link(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("link");
  return fails("link", to) ? failure() : real(from, to);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails("open", path) ? failure() : real(path, flags, mode);
}

int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  static std::atomic<long> looks = 0;
  if (clock == CLOCK_REALTIME && fault().call == "clock") {
    time->tv_sec += (++looks % 2 == 0 ? 1 : -1) * 86400;
  }
  return result;
}

}  // extern "C"
