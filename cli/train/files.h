// The files of a training run, looked at before the first step.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace lowtide::cli {

struct File {
  std::string name;            // the option, in words
  std::filesystem::path path;  // empty: none
};

// Throws Error(kInvalidArgument) where an output would replace an input or another output. Only the
// trained model, the first of the outputs, may replace the model, the first of the inputs: it does
// at the end, and whole.
void check_distinct(std::span<const File> inputs, std::span<const File> outputs);

// Throws Error(kIo) for a place that cannot be written.
void check_writable(const std::filesystem::path& path);

}  // namespace lowtide::cli
