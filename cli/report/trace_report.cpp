#include "cli/report/trace_report.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report/whole_file.h"

namespace lowtide::cli {
namespace {

constexpr double kMicroseconds = 1e6;

struct OpTotal {
  std::string op;
  int executions = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

std::vector<OpTotal> totals_by_op(const TraceReport& report) {
  std::map<std::string, OpTotal> totals;
  for (const TraceEvent& event : report.events) {
    OpTotal& total = totals[event.op];
    total.op = event.op;
    ++total.executions;
    total.seconds += event.seconds;
    total.flops += event.flops;
    total.bytes += static_cast<double>(event.traffic.count());
  }
  std::vector<OpTotal> sorted;
  for (const auto& [op, total] : totals) sorted.push_back(total);
  std::sort(sorted.begin(), sorted.end(),
            [](const OpTotal& a, const OpTotal& b) { return a.seconds > b.seconds; });
  return sorted;
}

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

void write_trace(const TraceReport& report, const std::filesystem::path& path) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const TraceEvent& event : report.events) {
    events.push_back({{"name", event.name},
                      {"cat", event.phase},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", event.begin * kMicroseconds},
                      {"dur", event.seconds * kMicroseconds},
                      {"args",
                       {{"op", event.op},
                        {"kernel", event.kernel},
                        {"flops", event.flops},
                        {"bytes", event.traffic.count()},
                        {"repetition", event.repetition}}}});
  }
  const nlohmann::ordered_json trace = {
      {"traceEvents", std::move(events)},
      {"displayTimeUnit", "ms"},
      {"otherData",
       {{"step_seconds", report.seconds},
        {"peak_flops_per_second", report.peaks.flops_per_second},
        {"peak_bytes_per_second", report.peaks.bytes_per_second}}}};
  write_whole(path, "trace", [&](std::ostream& stream) { stream << trace.dump() << '\n'; });
}

std::string trace_text(const TraceReport& report) {
  std::string text =
      fmt::format("fastest step {:.1f} ms; this machine reaches {:.0f} GFLOP/s and {:.1f} GB/s\n",
                  report.seconds * 1e3, report.peaks.flops_per_second * 1e-9,
                  report.peaks.bytes_per_second * 1e-9);
  text += fmt::format("{:<28}{:>6}{:>10}{:>8}{:>10}{:>7}{:>9}{:>7}\n", "op", "runs", "ms", "share",
                      "GFLOP/s", "peak", "GB/s", "peak");
  for (const OpTotal& total : totals_by_op(report)) {
    const double seconds = std::max(total.seconds, 1e-9);
    text += fmt::format(
        "{:<28}{:>6}{:>10.2f}{:>7.1f}%{:>10.1f}{:>6.0f}%{:>9.1f}{:>6.0f}%\n", total.op,
        total.executions, total.seconds * 1e3, share(total.seconds, report.seconds),
        total.flops / seconds * 1e-9, share(total.flops / seconds, report.peaks.flops_per_second),
        total.bytes / seconds * 1e-9, share(total.bytes / seconds, report.peaks.bytes_per_second));
  }
  text.pop_back();
  return text;
}

}  // namespace lowtide::cli
