// lowtide: trains real neural networks inside a number of bytes that the user names.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/error.h"

#include "cli/commands.h"
#include "cli/config/config.h"

namespace {

// A first word that names nothing, for a message of its own: the parser only says that one is
// missing.
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) return;
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    if (names.back() == words.front()) return;
  }
  throw CLI::ValidationError(
      fmt::format("'{}' is no command; there are {}", words.front(), fmt::join(names, ", ")));
}

int run(int argc, char** argv) {
  CLI::App app("Trains and runs ONNX networks inside a number of bytes that you name.", "lowtide");
  app.require_subcommand(1);
  app.set_version_flag("--version", "lowtide " LOWTIDE_VERSION);
  app.get_formatter()->column_width(34);
  app.footer(
      "Exit codes: 0 done; 1 the request cannot be met; 2 wrong usage.\n"
      "`lowtide COMMAND --help` lists a command's options.");
  lowtide::cli::Action action;
  lowtide::cli::add_zoo(app, action);
  lowtide::cli::add_inspect(app, action);
  lowtide::cli::add_plan(app, action);
  lowtide::cli::add_train(app, action);
  lowtide::cli::add_eval(app, action);
  lowtide::cli::add_run(app, action);
  lowtide::cli::add_generate(app, action);
  lowtide::cli::add_doctor(app, action);
  lowtide::cli::add_config(app);
  lowtide::cli::add_completion(app, action);
  lowtide::cli::add_man(app, action, LOWTIDE_VERSION);
  const lowtide::cli::Recorder recorder(app);
  try {
    std::vector<std::string> words = {argv + std::min(argc, 1), argv + argc};
    check_command(app, words);
    words = lowtide::cli::with_config(app, words);
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const CLI::App& command = *app.get_subcommands().front();
  if (lowtide::cli::prints_config(command)) {
    std::printf("%s\n", recorder.toml(command).c_str());
    return 0;
  }
  return action();
}

// What is opened must not take the place of a standard stream that the caller has closed: a log
// would be mixed with what is printed.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

// Answers that could not be printed are no success.
void check_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw lowtide::Error(lowtide::ErrorCode::kIo,
                       std::string("standard output cannot be written: ") + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    const int code = run(argc, argv);
    check_output();
    return code;
  } catch (const lowtide::Error& error) {
    std::fprintf(stderr, "lowtide: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lowtide: the system has no more memory\n");
  } catch (const std::system_error& error) {
    const bool of_thread = error.code() == std::errc::resource_unavailable_try_again;
    std::fprintf(stderr, "lowtide: %s%s\n", of_thread ? "cannot start another thread: " : "",
                 error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lowtide: %s\n", error.what());
  }
  return 1;
}
