// lowtide doctor: what a run will find on this machine.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lowtide/machine.h"

#include "cli/commands.h"

namespace lowtide::cli {
namespace {

std::string to_text(const MachineReport& report) {
  std::string text = fmt::format("instructions  {}\n", report.isa);
  text += fmt::format("threads       {}: {} CPUs to run on", report.threads, report.affinity_cpus);
  if (report.quota_cpus) {
    text += fmt::format(", a quota of {:.4g} from {}", *report.quota_cpus, report.quota_from);
  }
  text += fmt::format("\nbudget auto   {}: {} available", report.budget.str(),
                      report.memory_available.str());
  if (report.memory_limit) {
    text += fmt::format(", a limit of {} from {}", report.memory_limit->str(),
                        report.memory_limit_from);
  }
  text += '\n';
  if (report.spill) {
    text += fmt::format("spill         writes {:.0f} MB/s, reads {:.0f} MB/s, {} free\n",
                        report.spill->store_bytes_per_second / 1e6,
                        report.spill->fetch_bytes_per_second / 1e6, report.spill_free.str());
  }
  for (const auto& [name, version] : report.versions) {
    text += fmt::format("{:<13} {}\n", name, version);
  }
  text.pop_back();
  return text;
}

nlohmann::json to_json(const MachineReport& report) {
  nlohmann::json json = {{"isa", report.isa},
                         {"threads", report.threads},
                         {"affinity_cpus", report.affinity_cpus},
                         {"memory_available_bytes", report.memory_available.count()},
                         {"budget_bytes", report.budget.count()},
                         {"versions", nlohmann::json::object()}};
  for (const auto& [name, version] : report.versions) json["versions"][name] = version;
  if (report.quota_cpus) {
    json["quota_cpus"] = *report.quota_cpus;
    json["quota_from"] = report.quota_from;
  }
  if (report.memory_limit) {
    json["memory_limit_bytes"] = report.memory_limit->count();
    json["memory_limit_from"] = report.memory_limit_from;
  }
  if (report.spill) {
    json["spill"] = {{"store_bytes_per_second", report.spill->store_bytes_per_second},
                     {"fetch_bytes_per_second", report.spill->fetch_bytes_per_second},
                     {"free_bytes", report.spill_free.count()}};
  }
  return json;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  struct Options {
    std::filesystem::path spill;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("doctor",
                         "Say what a run will find here: instructions, threads, memory, "
                         "limits and where they come from, library versions");
  command->add_option("--spill", options->spill, "Also measure the disk of this folder")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] {
    action = [options] {
      const MachineReport report = examine_machine(options->spill);
      if (options->json) {
        print_json(to_json(report));
      } else {
        say(false, to_text(report));
      }
      return 0;
    };
  });
}

}  // namespace lowtide::cli
