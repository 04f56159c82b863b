// A training run that saves checkpoints, and what is done to it: faults of the system, kills.
#pragma once

#include <string>

#include "e2e/scene.h"

namespace lowtide::e2e {

// `run` without checkpoints, to its end, is what every run must come to whatever happened to it.
class FaultyRun {
 public:
  FaultyRun(const Scene& scene, Words run, int every);

  // What train takes, checkpoints included.
  [[nodiscard]] Words words() const { return run_ + saved_; }
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const Trained& whole() const { return whole_; }

  // With a fault (see support/preload/faults.cpp).
  [[nodiscard]] Outcome train_with(const std::string& fault,
                                   const Words& more = {},
                                   const Words& environment = {}) const;
  // How often such a run makes that call on files whose path has that part.
  [[nodiscard]] long calls(const std::string& call, const std::string& pattern) const;
  // The run failed: exit code 1 and one line that has all these parts.
  static void expect_failure(const Outcome& outcome, const Words& parts);
  // Goes on to the end without a fault. What comes out is what would have come without any, and
  // nothing else is left in the scene's folder.
  void expect_recovery() const;
  // Removes the checkpoints.
  void forget() const;

 private:
  const Scene* scene_;
  Words run_;
  std::string checkpoint_;
  Words saved_;
  Trained whole_;
};

}  // namespace lowtide::e2e
