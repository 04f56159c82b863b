// lowtide: trains real neural networks inside a number of bytes that the user names.
#include <cstdio>
#include <exception>
#include <new>

#include "lowtide/error.h"

#include "cli/commands.h"

#ifndef LOWTIDE_VERSION
#define LOWTIDE_VERSION "0.1.0"
#endif

namespace {

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const lowtide::Error& error) {
    std::fprintf(stderr, "lowtide: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lowtide: the system has no more memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lowtide: %s\n", error.what());
  }
  return 1;
}
