// What does training this model need? Plans a run at several budgets without running any.
//
//   example_plan_only MODEL.onnx DATA BATCH
#include <cstdio>
#include <cstdlib>

#include "lowtide/lowtide.h"

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s MODEL.onnx DATA BATCH\n", argv[0]);
    return 2;
  }
  lowtide::TrainSettings settings;
  settings.model.path = argv[1];
  settings.data.source = argv[2];
  settings.data.batch = std::atoll(argv[3]);
  settings.optimizer.momentum = 0.9;

  // A budget that cannot fit is an answer, not an error: it names the smallest one that does.
  settings.memory.budget = lowtide::Bytes(0);
  const lowtide::Bytes smallest = lowtide::plan_training(settings).smallest_feasible;
  std::printf("%-12s %12s %12s %10s\n", "budget", "recomputed", "s per step", "of fastest");
  for (const double factor : {1.0, 1.25, 1.5, 2.0, 4.0}) {
    settings.memory.budget =
        lowtide::Bytes(static_cast<std::int64_t>(static_cast<double>(smallest.count()) * factor));
    const lowtide::PlanReport plan = lowtide::plan_training(settings);
    std::printf("%-12s %12d %12.4f %9.2fx\n", plan.budget.str().c_str(), plan.recomputed,
                plan.predicted_seconds, plan.predicted_seconds / plan.lower_bound_seconds);
  }
  return 0;
} catch (const lowtide::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
