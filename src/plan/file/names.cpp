#include "plan/file/names.h"

namespace lowtide::plan {

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kPersistent: return "persistent";
    case BufferKind::kTransient: return "transient";
    case BufferKind::kScratch: return "scratch";
  }
  return "unknown";
}

std::string_view name(Direction direction) {
  return direction == Direction::kStore ? "store" : "fetch";
}

std::string_view name(graph::Phase phase) {
  switch (phase) {
    case graph::Phase::kForward: return "forward";
    case graph::Phase::kLoss: return "loss";
    case graph::Phase::kBackward: return "backward";
    case graph::Phase::kUpdate: return "update";
  }
  return "unknown";
}

std::string_view name(graph::Role role) {
  switch (role) {
    case graph::Role::kActivation: return "activation";
    case graph::Role::kGradient: return "gradient";
    case graph::Role::kInput: return "input";
    case graph::Role::kScalar: return "scalar";
    case graph::Role::kConstant: return "constant";
    case graph::Role::kParameter: return "parameter";
    case graph::Role::kStatistic: return "statistic";
    case graph::Role::kOptimizer: return "optimizer";
  }
  return "unknown";
}

std::optional<BufferKind> buffer_kind(std::string_view text) {
  for (const BufferKind kind :
       {BufferKind::kPersistent, BufferKind::kTransient, BufferKind::kScratch}) {
    if (name(kind) == text) return kind;
  }
  return std::nullopt;
}

std::optional<Direction> direction(std::string_view text) {
  for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
    if (name(direction) == text) return direction;
  }
  return std::nullopt;
}

}  // namespace lowtide::plan
