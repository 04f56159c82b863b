// Runs a program as a child process and collects what it says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lowtide::support {

struct Outcome {
  int exit_code = 0;  // 128 + signal where one ended it, as shells count
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  // resident at once, at most, or this process when it began it
};

struct Surroundings {
  std::vector<int> cpus = {};                 // that it may use; empty: all
  std::vector<std::string> environment = {};  // NAME=VALUE, added to this process's own
};

// A child process. Its output goes to files in memory, so it never waits for a reader. Killed and
// waited for where the test ends before it does.
class ChildProcess {
 public:
  ChildProcess(const std::filesystem::path& program,
               const std::vector<std::string>& arguments,
               const Surroundings& surroundings = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess(ChildProcess&&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;

  void signal(int number) const;
  // How many threads it has now.
  [[nodiscard]] int threads() const;
  // Once.
  Outcome wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

inline Outcome run_program(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const Surroundings& surroundings = {}) {
  return ChildProcess(program, arguments, surroundings).wait();
}

}  // namespace lowtide::support
