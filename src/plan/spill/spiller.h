// Spiller: makes a schedule fit by moving what lies idle to the spill file and back while steps
// run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/schedule.h"
#include "plan/spill/gaps.h"

namespace lowtide::plan {

enum class Overlap : std::uint8_t {
  kNone,  // each transfer is waited for at once: the least memory, whatever the rates
  kFull,  // transfers begin as early and end as late as memory permits
};

// Which of the tensors that lie idle leaves memory first.
enum class Victim : std::uint8_t {
  kNeededLast,      // Belady's rule
  kUsedLongestAgo,  // what a cache that cannot look ahead would do
};

class Spiller {
 public:
  // The model and the schedule's graph must outlive it.
  Spiller(const Model& model,
          const Schedule& schedule,
          const FileOffsets& offsets,
          const SpillTier& tier,
          Victim victim = Victim::kNeededLast);

  // Transient bytes at the peak when nothing leaves memory that need not, and when all does that
  // can.
  [[nodiscard]] Bytes most() const { return most_; }
  [[nodiscard]] Bytes least() const { return least_; }
  // Whether there is anything to decide.
  [[nodiscard]] bool idle() const { return gaps_.all.empty(); }

  // Steps wait at least that long for transfers when the peak is at most `limit`.
  [[nodiscard]] double least_wait(Bytes limit) const;

  struct Result {
    double seconds = 0;  // with what steps wait for transfers
    Bytes peak;
  };
  // Chooses what to move so that the peak is at most `limit` (least() or more). Of what lies idle
  // where memory is short, the victims go first.
  Result fit(Bytes limit, Overlap overlap);
  // The schedule of the last fit().
  [[nodiscard]] Schedule schedule() const;

 private:
  // A gap that was chosen, and its transfers.
  struct Move {
    std::int32_t gap = 0;
    std::int32_t store_start = 0;
    std::int32_t store_finish = -1;  // -1: the file has it already
    std::int32_t fetch_start = -1;   // -1: nothing reads it again

    [[nodiscard]] bool stores() const { return store_finish >= 0; }
    [[nodiscard]] bool fetches() const { return fetch_start >= 0; }
  };

  [[nodiscard]] const Gap& gap(const Move& move) const {
    return gaps_.all[static_cast<std::size_t>(move.gap)];
  }

  [[nodiscard]] Bytes bytes(const Gap& gap) const {
    return schedule_.buffers[static_cast<std::size_t>(gap.buffer)].item.size;
  }

  void find_bounds();
  [[nodiscard]] std::vector<Bytes> profile_with(const std::vector<char>& chosen) const;
  void choose(Bytes limit);
  void keep_what_fits(Bytes limit);
  void list_moves();
  void time_stores(Bytes limit);
  void time_fetches(Bytes limit);
  void time_without_overlap();
  [[nodiscard]] std::vector<ScheduledTransfer> transfers() const;
  [[nodiscard]] double simulate(const std::vector<ScheduledTransfer>& transfers) const;

  const Model& model_;
  SpillRates rates_;
  Victim victim_;
  Schedule schedule_;  // with nothing spilled
  Gaps gaps_;
  std::int32_t steps_;
  std::vector<double> seconds_;  // by step
  std::vector<Bytes> resident_;  // by step: bytes in use with the required gaps out of memory
  Bytes most_;
  Bytes least_;
  // Of least_wait(): what of a buffer's bytes moves, and the waits within no bytes at all.
  double moved_share_ = 1;
  double fetch_wait_ = 0;
  double store_wait_ = 0;

  std::vector<char> chosen_;    // by gap
  std::vector<Move> moves_;     // by the gap's `after`
  std::vector<Bytes> usage_;    // by step, transfers under way included
  std::vector<double> begins_;  // by step, waits for stores included
};

}  // namespace lowtide::plan
