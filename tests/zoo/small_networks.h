// A small variant of every network of the zoo, for tests that run them.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/zoo.h"

namespace lowtide::zoo {

inline std::vector<ZooSettings> small_networks() {
  return {
      {.name = "mlp", .width = 16, .classes = 4, .channels = 1},
      {.name = "lenet", .classes = 7, .channels = 3, .size = 32},
      {.name = "alexnet", .width = 16, .classes = 4, .size = 63},
      {.name = "vgg", .depth = 11, .width = 64, .classes = 4, .size = 32},
      {.name = "vgg", .depth = 13, .width = 64, .batch_norm = true, .classes = 4, .size = 32},
      {.name = "resnet", .depth = 10, .classes = 4, .size = 32},
      {.name = "resnet", .blocks = {1, 1, 1, 1}, .classes = 4, .size = 32},
      {.name = "resnet",
       .blocks = {1, 1, 1, 1},
       .groups = 8,
       .group_width = 4,
       .classes = 4,
       .size = 32},
      {.name = "wrn", .depth = 10, .width = 1, .size = 16},
      {.name = "densenet", .blocks = {2, 3}, .growth = 8, .classes = 4, .size = 32},
      {.name = "inception", .width = 10, .blocks = {1, 1, 1}, .classes = 4, .size = 75},
      {.name = "mobilenet", .width = 25, .classes = 4, .size = 32},
      {.name = "gpt2", .depth = 2, .width = 32, .heads = 2, .vocabulary = 11, .sequence = 9},
      {.name = "bert", .depth = 2, .width = 32, .heads = 4, .vocabulary = 13, .sequence = 8},
      {.name = "vit", .depth = 2, .width = 24, .heads = 3, .patch = 4, .classes = 4, .size = 12},
  };
}

inline std::string small_network_name(const testing::TestParamInfo<ZooSettings>& instance) {
  return instance.param.name + std::to_string(instance.index);
}

}  // namespace lowtide::zoo
