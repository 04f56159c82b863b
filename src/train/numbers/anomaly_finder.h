// AnomalyFinder: where in a step the first number appeared that is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/ids.h"
#include "run/watch.h"
#include "train/fit/configuration.h"
#include "train/numbers/finite_guard.h"

namespace lowtide::train {

struct Anomaly {
  double number = 0;          // nan, inf or -inf
  std::string value;          // the name of what holds it
  std::string node;           // and of the node that made it, after the file's own names
  std::string op;             // its type
  std::string phase;          // forward, loss, backward or update
  std::int64_t elements = 0;  // that are not finite
};

// "nan", "inf", "-inf" or the number.
std::string number_text(double number);

// In words: "the first is nan: 3 elements of 'fc1_out', made by 'fc1/Gemm' (Gemm) in the forward
// pass".
std::string describe(const Anomaly& anomaly);

// Watches one execution of a unit's program and stops it at the first node that makes a NaN of
// inputs without one, or an infinity of finite inputs (a mask of infinities is none); in any case
// where a FiniteGuard would. Reads every tensor: meant for a step that is known to go wrong.
class AnomalyFinder final : public run::Watch {
 public:
  explicit AnomalyFinder(const Unit& unit);

  void before(graph::NodeId node, std::span<const std::byte* const> in) override;
  bool after(graph::NodeId node, std::span<std::byte* const> out) override;

  [[nodiscard]] const std::optional<Anomaly>& found() const { return found_; }

 private:
  // What a value holds, as far as it has been looked at.
  struct Kinds {
    bool known = false;
    bool nan = false;
    bool infinite = false;
  };

  const graph::Graph* graph_;
  FiniteGuard guard_;
  core::IdVector<graph::ValueId, Kinds> kinds_;
  std::optional<Anomaly> found_;
};

}  // namespace lowtide::train
