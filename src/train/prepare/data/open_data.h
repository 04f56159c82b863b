// From the data settings to datasets: what is learned from and what validates it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/settings.h"

#include "data/dataset.h"
#include "onnx/model_file.h"

namespace lowtide::train {

struct OpenedData {
  std::shared_ptr<const data::Dataset> dataset;     // to train on, or to evaluate
  std::shared_ptr<const data::Dataset> validation;  // training only; null where none is asked for
};

// Training gets the source, less what is held back, and the validation data; evaluation gets the
// validation data as its dataset, or the source where there is none. Images are scaled to what the
// model takes; classes are counted as the model remembers, else validation data's as training
// data's. Throws Error naming what is missing, and where the two differ in their arrays.
OpenedData open_data(const onnx::ModelFile& file,
                     const ModelSettings& model,
                     const DataSettings& settings,
                     data::Split purpose,
                     std::uint64_t seed);

// Metadata of a trained file: the type of its tokens; the names of the classes, and of the columns
// of a table, JSON arrays.
inline constexpr const char* kTokensKey = "lowtide.tokens";
inline constexpr const char* kClassesKey = "lowtide.classes";
inline constexpr const char* kColumnsKey = "lowtide.columns";
std::string names_text(std::span<const std::string> names);
// Empty where the file does not say. Throws Error(kInvalidFile).
std::vector<std::string> remembered_names(const onnx::ModelFile& file, const char* key);

// The value of a key, or nothing.
std::string metadata_value(const onnx::Metadata& metadata, std::string_view key);

}  // namespace lowtide::train
