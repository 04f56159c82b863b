#include "cli/report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"

namespace lowtide::cli {

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

namespace {

double percent_over(double seconds, double least) {
  return least > 0 ? std::max(0.0, 100 * (seconds / least - 1)) : 0;
}

}  // namespace

std::string plan_text(const PlanReport& plan) {
  std::string text;
  text += fmt::format("budget       {}: arena {}, runtime {}, smallest that works {}\n",
                      plan.budget.str(), plan.arena.str(), plan.runtime.str(),
                      plan.smallest_feasible.str());
  const std::string cut = plan.micro_batch < plan.batch ? fmt::format("{} in micro-batches of {}",
                                                                      plan.batch, plan.micro_batch)
                                                        : fmt::format("{}", plan.batch);
  text += fmt::format("plan         {}: batch {}, {} kept, {} recomputed, {} of fragmentation\n",
                      plan.policy, cut, plan.kept, plan.recomputed, plan.fragmentation.str());
  if (plan.spill_rates.store_bytes_per_second > 0) {
    text += fmt::format(
        "spill        {} values through a file of {}: a pass stores {}, fetches {}, waits {:.3g} "
        "s; "
        "{:.0f} and {:.0f} MB/s\n",
        plan.spilled, plan.spill_file.str(), plan.spill_stored.str(), plan.spill_fetched.str(),
        plan.stall_seconds, plan.spill_rates.store_bytes_per_second / 1e6,
        plan.spill_rates.fetch_bytes_per_second / 1e6);
  }
  text += fmt::format("time         {:.3g} s a step predicted ({}), {:.1f} % over keeping all",
                      plan.predicted_seconds, plan.costs,
                      percent_over(plan.predicted_seconds, plan.keep_seconds));
  if (plan.lower_bound_seconds > plan.keep_seconds) {
    text += fmt::format(", {:.1f} % over what no plan can beat",
                        percent_over(plan.predicted_seconds, plan.lower_bound_seconds));
  }
  text += '\n';
  text += fmt::format("peak         at '{}':\n", plan.peak_node);
  for (const BudgetShare& share : plan.spent) {
    text += fmt::format("  {:<22} {:>10}\n", share.role, share.bytes.str());
  }
  for (const std::string& note : plan.notes) text += fmt::format("note         {}\n", note);
  text.pop_back();
  return text;
}

Progress::Progress(bool json, std::int64_t total_steps, Bytes budget)
    : json_(json),
      terminal_(isatty(json ? STDERR_FILENO : STDOUT_FILENO) != 0),
      total_steps_(total_steps),
      budget_(budget) {}

std::string Progress::line(const StepReport& step, double rate) const {
  const double left = static_cast<double>(total_steps_ - step.step) *
                      std::chrono::duration<double>(Clock::now() - start_).count() /
                      static_cast<double>(std::max<std::int64_t>(shown_steps_, 1));
  return fmt::format("step {}/{}  loss {:.4f}  {:.0f} samples/s  {} left  {} of {}", step.step,
                     total_steps_, step.loss, rate, duration_text(left), step.resident.str(),
                     budget_.str());
}

void Progress::show(const StepReport& step) {
  samples_ += step.samples;
  ++shown_steps_;
  epoch_.add(step);
  const auto now = Clock::now();
  const double since = std::chrono::duration<double>(now - shown_).count();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(samples_) / std::max(elapsed, 1e-9);
  if (terminal_ && (since > 0.1 || step.step == total_steps_)) {
    constexpr int kWidth = 24;
    const int full = static_cast<int>(kWidth * step.step / std::max<std::int64_t>(total_steps_, 1));
    const std::string bar = std::string(static_cast<std::size_t>(full), '=') +
                            std::string(static_cast<std::size_t>(kWidth - full), ' ');
    std::FILE* const stream = json_ ? stderr : stdout;
    // A terminal that is gone is no reason to end, so nothing here throws.
    std::fputs(fmt::format("\r[{}] {}\033[K", bar, line(step, rate)).c_str(), stream);
    std::fflush(stream);
    line_open_ = true;
    shown_ = now;
  } else if (!terminal_ && (since > 10 || step.step == 1)) {
    say(json_, line(step, rate));
    shown_ = now;
  }
  if (step.epoch_ends || step.step == total_steps_) end_epoch(step);
}

void Progress::end_epoch(const StepReport& step) {
  close();
  const auto now = Clock::now();
  std::string text = fmt::format("epoch {}  loss {:.4f}", step.epoch + 1, epoch_.loss());
  for (const auto& [name, value] : epoch_.metrics()) {
    text += fmt::format("  {} {:.4f}", name, value);
  }
  text += fmt::format("  lr {:.4g}  {}", step.lr,
                      duration_text(std::chrono::duration<double>(now - epoch_start_).count()));
  say(json_, text);
  epoch_start_ = now;
  epoch_ = {};
}

void Progress::close() {
  if (!line_open_) return;
  std::FILE* const stream = json_ ? stderr : stdout;
  std::fputs("\r\033[K", stream);
  std::fflush(stream);
  line_open_ = false;
}

}  // namespace lowtide::cli
