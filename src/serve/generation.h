// Generation: a network that predicts tokens writes on, one token after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "lowtide/infer.h"

namespace lowtide::serve {

void generate(const GenerateSettings& settings, const std::function<void(std::int64_t)>& take);

// How one token is chosen; see GenerateSettings.
struct Choice {
  double temperature = 1;
  std::int64_t top_k = 0;
};

// The token of these logits for a draw from [0, 1). Throws Error(kNumeric) where one is no number.
std::int64_t choose_token(std::span<const float> logits, const Choice& choice, double draw);

}  // namespace lowtide::serve
