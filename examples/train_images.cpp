// Trains a small network on images and labels inside a budget, and measures what it has learned.
//
//   example_train_images DATA OUT.onnx     DATA: a folder of IDX files of the MNIST family
#include <cstdio>

#include "lowtide/lowtide.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DATA OUT.onnx\n", argv[0]);
    return 2;
  }
  using lowtide::operator""_MiB;

  const std::string fresh = std::string(argv[2]) + ".fresh";
  lowtide::write_zoo({.name = "lenet", .channels = 1, .size = 28}, fresh);

  lowtide::TrainSettings settings;
  settings.model.path = fresh;
  settings.data.source = argv[1];
  settings.data.batch = 64;
  settings.optimizer.lr = 0.05;
  settings.optimizer.momentum = 0.9;
  settings.memory.budget = 64_MiB;
  settings.epochs = 1;

  lowtide::Trainer trainer(settings);  // throws here, before step one, if 64 MiB are too few
  while (trainer.steps_done() < trainer.total_steps()) {
    const lowtide::StepReport step = trainer.step();
    if (step.step % 100 == 0) {
      std::printf("step %lld: loss %.4f\n", static_cast<long long>(step.step), step.loss);
    }
  }
  trainer.save(argv[2]);
  std::printf("peak resident memory %s of %s\n", lowtide::peak_resident().str().c_str(),
              trainer.plan().budget.str().c_str());

  lowtide::EvalSettings test;
  test.model.path = argv[2];
  test.data.source = argv[1];
  test.data.batch = 64;
  std::printf("test accuracy %.4f\n", lowtide::evaluate_model(test).metrics.at("accuracy"));
  return 0;
} catch (const lowtide::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
