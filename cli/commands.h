// The commands: each adds a subcommand with its options to the program.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

namespace lowtide::cli {

// What a command does once its options are read; returns the exit code.
using Action = std::function<int()>;

void add_zoo(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action, const std::string& version);

// Prints to standard output, or to standard error where `--json` keeps that free for one object.
void say(bool json, const std::string& text);

// The one object of `--json`, to standard output. Names of files need not be UTF-8; JSON must be.
void print_json(const nlohmann::json& json);

}  // namespace lowtide::cli
