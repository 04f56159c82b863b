// StepTrace: keeps the times of the fastest step's nodes.
#pragma once

#include "lowtide/trace.h"

#include "run/timeline.h"
#include "train/fit/configuration.h"

namespace lowtide::train {

class StepTrace {
 public:
  // Reserves what the longest batch of a bound configuration needs; nothing is allocated later.
  explicit StepTrace(const Configuration& configuration);

  // Bytes that a trace of the configuration holds, its report included.
  static Bytes bytes(const Configuration& configuration);

  void begin_step();
  // The timeline for one execution of a unit's program.
  run::Timeline* enter(const Unit& unit);
  // Keeps the step if it is the fastest so far.
  void end_step();

  [[nodiscard]] TraceReport report() const;

 private:
  const Configuration* configuration_;
  run::Timeline fastest_;
  run::Timeline current_;
};

}  // namespace lowtide::train
