#include "train/numbers/anomaly_finder.h"

#include <cmath>

#include "core/text.h"

namespace lowtide::train {
namespace {

struct Scan {
  std::int64_t nans = 0;
  std::int64_t infinities = 0;
  double first = 0;  // of those, NaNs before infinities
};

template <class T>
Scan scan(const T* elements, std::int64_t count) {
  Scan result;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(elements[i])) continue;
    const bool nan = std::isnan(elements[i]);
    if (nan ? result.nans == 0 : result.nans + result.infinities == 0) {
      result.first = static_cast<double>(elements[i]);
    }
    ++(nan ? result.nans : result.infinities);
  }
  return result;
}

Scan scan(const core::TensorType& type, const std::byte* bytes) {
  const std::int64_t count = type.shape.elements();
  if (type.dtype == core::DType::kFloat32)
    return scan(reinterpret_cast<const float*>(bytes), count);
  if (type.dtype == core::DType::kFloat64) {
    return scan(reinterpret_cast<const double*>(bytes), count);
  }
  return {};
}

const char* phase_name(graph::Phase phase) {
  switch (phase) {
    case graph::Phase::kForward: return "forward pass";
    case graph::Phase::kLoss: return "loss";
    case graph::Phase::kBackward: return "backward pass";
    case graph::Phase::kUpdate: return "update";
  }
  return "";
}

}  // namespace

std::string number_text(double number) {
  return std::isnan(number) ? "nan" : core::text("{}", number);  // without the NaN's sign
}

std::string describe(const Anomaly& anomaly) {
  return core::text(
      "the first is {}: {} of '{}', made by '{}' ({}) in the {}", number_text(anomaly.number),
      anomaly.elements == 1 ? "an element" : core::text("{} elements", anomaly.elements),
      anomaly.value, anomaly.node, anomaly.op, anomaly.phase);
}

AnomalyFinder::AnomalyFinder(const Unit& unit)
    : graph_(&unit.pass.graph), guard_(unit), kinds_(unit.pass.graph.value_count()) {}

// Values without a node, and those that a view passed on, are looked at where they are read first.
void AnomalyFinder::before(graph::NodeId id, std::span<const std::byte* const> in) {
  const graph::Node& node = graph_->node(id);
  for (std::size_t i = 0; i < in.size(); ++i) {
    Kinds& kinds = kinds_[node.inputs[i]];
    if (kinds.known) continue;
    const Scan found = scan(graph_->type(node.inputs[i]), in[i]);
    kinds = {.known = true, .nan = found.nans > 0, .infinite = found.infinities > 0};
  }
}

bool AnomalyFinder::after(graph::NodeId id, std::span<std::byte* const> out) {
  const graph::Node& node = graph_->node(id);
  bool nan = false;
  bool infinite = false;
  for (const graph::ValueId input : node.inputs) {
    nan = nan || kinds_[input].nan;
    infinite = infinite || kinds_[input].infinite;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const graph::Value& value = graph_->value(node.outputs[i]);
    const Scan found = scan(value.type, out[i]);
    kinds_[node.outputs[i]] = {
        .known = true, .nan = found.nans > 0, .infinite = found.infinities > 0};
    const bool new_nan = found.nans > 0 && !nan;
    const bool new_infinity = found.infinities > 0 && !nan && !infinite;
    if (!new_nan && !new_infinity) continue;
    found_ = {.number = found.first,
              .value = value.name,
              .node = node.name,
              .op = std::string(node.op->name()),
              .phase = phase_name(node.phase),
              .elements = found.nans + found.infinities};
    return false;
  }
  return guard_.after(id, out);
}

}  // namespace lowtide::train
