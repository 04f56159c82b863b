// Baselines: the schedules that other systems would run, on the same problem.
#pragma once

#include <vector>

#include "plan/baseline/layers.h"
#include "plan/plan.h"
#include "plan/problem/timeline.h"

namespace lowtide::plan {

using TaskLayers = core::IdVector<TaskId, Layer>;

// Whether the policy is one of those below.
bool is_baseline(Policy policy);

// The policy's schedules: one, or for dtr one for each of several limits. All are valid; how many
// bytes each needs is for the caller to see.
std::vector<Choices> baseline(const Problem& problem, const TaskLayers& layers, Policy policy);

// Low-memory training (Sohoni et al. 2019). Outputs of normalisations and activations are computed
// again when the backward pass asks for them.
Choices without_norms(const Problem& problem, const TaskLayers& layers);

// The same report's checkpoints: of the forward pass only every n-th sum of a residual block is
// kept. The backward pass runs a segment's products again before its first step in it, and its
// normalisations and activations when it asks for them. Without such sums everything is kept.
Choices residual_checkpoints(const Problem& problem, const TaskLayers& layers, int blocks);

// SuperNeurons (Wang et al. 2018): products, joins and what is none of the cheap kinds are
// checkpoints. The cheap layers between two of them are a segment. If it holds fewer bytes than the
// hungriest backward step, it runs again once, before its first reader in the backward pass;
// otherwise for every reader, so that it is never there whole.
Choices super_neurons(const Problem& problem, const TaskLayers& layers);

// Dynamic tensor rematerialization (Kirisame et al. 2021): runs the tasks in order and, whenever a
// tensor does not fit into `limit` bytes, drops the one with the least
//   (seconds to compute it and its dropped neighbourhood) / (bytes x seconds since its last use);
// what was dropped is computed again when it is read. Neighbourhoods are kept as the paper's
// equivalence classes. With costs known beforehand, deciding while running and deciding in this
// simulation are the same. Nothing where even dropping all does not help.
std::vector<Choices> dtr(const Problem& problem, std::int64_t limit);

}  // namespace lowtide::plan
