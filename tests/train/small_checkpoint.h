// A small checkpoint that tests write, change and read.
#pragma once

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_file.h"

namespace lowtide::train {

// "weight" of 3 x 5 and "bias" of 5 elements, all of them `value`, at some step.
void write_small_checkpoint(const std::string& path,
                            float value,
                            std::int64_t step,
                            const KeepRule& rule = {});

// The elements of one of its tensors.
std::vector<float> read_small_checkpoint(const CheckpointFile& file, const std::string& name);

}  // namespace lowtide::train
