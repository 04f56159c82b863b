// Every network of the zoo learns, through the library's interface.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "lowtide/lowtide.h"

#include "onnx/input_shapes.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/tensors.h"
#include "zoo/small_networks.h"

namespace lowtide::zoo {
namespace {

constexpr std::int64_t kSamples = 8;

std::vector<std::int64_t> cycle(std::int64_t count, std::int64_t period) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back((i + i / period) % period);
  return result;
}

class Networks : public testing::TestWithParam<ZooSettings> {
 protected:
  // Few samples, to be learnt by heart.
  void write_data(const onnx::ValueInfo& input) {
    std::vector<std::int64_t> dims = {kSamples};
    for (std::size_t i = 1; i < input.dims->size(); ++i) {
      dims.push_back(*input.dims->at(i).value);
    }
    const core::Shape shape(dims);
    data::NpzWriter writer(source);
    if (GetParam().vocabulary > 0) {
      support::add_array(writer, "input", shape, cycle(shape.elements(), GetParam().vocabulary));
    } else {
      support::add_array(writer, "input", shape, support::wave<float>(shape.elements()));
    }
    if (GetParam().name == "gpt2") {
      std::vector<std::int64_t> next = cycle(shape.elements(), GetParam().vocabulary);
      std::rotate(next.begin(), next.begin() + 1, next.end());
      support::add_array(writer, "label", shape, next);
    } else {
      support::add_array(writer, "label", core::Shape{kSamples}, cycle(kSamples, 2));
    }
    writer.finish();
  }

  support::Folder folder;
  std::string model = folder / "net.onnx";
  std::string source = folder / "data.npz";
};

TEST_P(Networks, TrainAllTheirParameters) {
  const std::int64_t parameters = write_zoo(GetParam(), model);
  EXPECT_EQ(inspect_model({.path = model}, 1).parameters, parameters);
}

TEST_P(Networks, Learn) {
  write_zoo(GetParam(), model);
  write_data(onnx::inspect_inputs(model).at(0));
  TrainSettings settings;
  settings.model.path = model;
  settings.data.source = source;
  settings.data.batch = kSamples;
  settings.data.normalize = false;
  settings.optimizer.kind = OptimizerKind::kAdam;
  settings.optimizer.lr = 1e-3;
  settings.steps = 20;
  Trainer trainer(settings);
  std::vector<double> losses;
  while (trainer.steps_done() < trainer.total_steps()) losses.push_back(trainer.step().loss);
  EXPECT_LT(*std::min_element(losses.end() - 3, losses.end()), 0.8 * losses.front())
      << testing::PrintToString(losses);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Networks, testing::ValuesIn(small_networks()), small_network_name);

}  // namespace
}  // namespace lowtide::zoo
