// The words that plan texts and plan files use for enumerators, and the way back.
#pragma once

#include <optional>
#include <string_view>

#include "plan/plan.h"

namespace lowtide::plan {

std::string_view name(BufferKind kind);
std::string_view name(Direction direction);
std::string_view name(graph::Phase phase);
std::string_view name(graph::Role role);

std::optional<BufferKind> buffer_kind(std::string_view name);
std::optional<Direction> direction(std::string_view name);

}  // namespace lowtide::plan
