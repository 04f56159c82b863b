// TransferReplay: what transfers do to the bytes of the arena and of the spill file while the steps
// are replayed.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/check/subject.h"

namespace lowtide::plan {

class TransferReplay {
 public:
  // `same_bytes`: for a view, the value whose bytes it has; grows with the replay.
  TransferReplay(Subject& subject,
                 Contents& arena,
                 const core::IdVector<ValueId, ValueId>& same_bytes);

  // The transfers that begin and finish at a step, or at the end.
  void before(std::size_t step);
  // What a step may not touch, as transfers are under way.
  void during(std::size_t step);
  // At the end: every value whose home is the file lies there in its last version.
  void check_homes();

 private:
  void begin(std::size_t index);
  void finish(std::size_t index);
  void check_apart(std::size_t index, const Range& memory, const Range& slot);

  Subject& subject_;
  const Plan& plan_;
  Contents& arena_;
  Contents file_;
  const core::IdVector<ValueId, ValueId>& same_bytes_;
  std::vector<std::vector<std::size_t>> starting_;   // by step
  std::vector<std::vector<std::size_t>> finishing_;  // by step
  std::vector<std::size_t> under_way_;
};

}  // namespace lowtide::plan
