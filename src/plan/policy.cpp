#include "plan/policy.h"

#include <array>
#include <string>

#include "core/text.h"

namespace lowtide::plan {

std::span<const Policy> all_policies() {
  static constexpr std::array kAll = {Policy::kLowtide,      Policy::kKeep,      Policy::kChen,
                                      Policy::kNoBn,         Policy::kResidual1, Policy::kResidual2,
                                      Policy::kSuperNeurons, Policy::kDtr};
  return kAll;
}

std::string_view name(Policy policy) {
  switch (policy) {
    case Policy::kLowtide: return "lowtide";
    case Policy::kKeep: return "keep";
    case Policy::kChen: return "chen";
    case Policy::kNoBn: return "no-bn";
    case Policy::kResidual1: return "residual-1";
    case Policy::kResidual2: return "residual-2";
    case Policy::kSuperNeurons: return "superneurons";
    case Policy::kDtr: return "dtr";
  }
  return "unknown";
}

Policy parse_policy(std::string_view text) {
  std::string names;
  for (const Policy policy : all_policies()) {
    if (name(policy) == text) return policy;
    names += core::text("{}{}", names.empty() ? "" : ", ", name(policy));
  }
  throw core::fail(ErrorCode::kInvalidArgument, "'{}' is not a policy; choose one of {}", text,
                   names);
}

}  // namespace lowtide::plan
