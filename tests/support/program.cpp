#include "support/program.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace lowtide::support {
namespace {

int memory_file(const char* name) {
  const int descriptor = ::memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("no file in memory");
  return descriptor;
}

std::string contents(int descriptor) {
  std::string text(static_cast<std::size_t>(::lseek(descriptor, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  if (got != static_cast<ssize_t>(text.size())) throw std::runtime_error("output was cut");
  return text;
}

// In the child, between fork and exec.
[[noreturn]] void become(const std::filesystem::path& program,
                         std::vector<std::string> arguments,
                         const Surroundings& surroundings,
                         int out,
                         int err) {
  if (!surroundings.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : surroundings.cpus) CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) ::_exit(126);
  }
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing of one test is there for another
  for (const std::string& entry : surroundings.environment) {
    const std::size_t equals = entry.find('=');
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           const Surroundings& surroundings)
    : out_(memory_file("stdout")), err_(memory_file("stderr")) {
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no new process");
  if (pid_ == 0) become(program, arguments, surroundings, out_, err_);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
  ::close(err_);
}

void ChildProcess::signal(int number) const { ::kill(pid_, number); }

int ChildProcess::threads() const {
  int count = 0;
  std::error_code gone;
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid_) + "/task", gone);
  for ([[maybe_unused]] const auto& task : tasks) ++count;
  return count;
}

Outcome ChildProcess::wait() {
  int status = 0;
  rusage usage{};
  if (::wait4(pid_, &status, 0, &usage) != pid_) throw std::runtime_error("the child is lost");
  pid_ = -1;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), contents(out_),
          contents(err_), usage.ru_maxrss * 1024};
}

}  // namespace lowtide::support
