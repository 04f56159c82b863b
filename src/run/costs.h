// What each node will cost: scratch from its bound kernel, time from a roofline model.
#pragma once

#include "plan/plan.h"
#include "run/kernels.h"

namespace lowtide::run {

// Peak rates of the machine that the model divides by.
struct Roofline {
  double flops_per_second_per_thread = 110e9;
  double bytes_per_second = 30e9;
  double seconds_per_node = 5e-6;
};

// seconds = overhead + the larger of arithmetic and traffic time; views cost nothing.
plan::Costs model_costs(const graph::Graph& graph,
                        const Kernels& kernels,
                        const core::Machine& machine,
                        const Roofline& roofline = {});

}  // namespace lowtide::run
