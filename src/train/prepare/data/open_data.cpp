#include "train/prepare/data/open_data.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "data/split.h"
#include "onnx/input_shapes.h"

namespace lowtide::train {
namespace {

using data::Dataset;

// Arrays may be more, and in another order; those that are learned from must be the same.
void check_alike(const Dataset& dataset, const Dataset& validation) {
  for (const data::Field& field : dataset.fields()) {
    const data::Field& other = validation.fields()[validation.index(field.name)];
    if (other.sample_shape == field.sample_shape && other.dtype == field.dtype) continue;
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: array '{}' has samples of {} {}, but those to train on in {} are {} {}",
                     validation.name(), field.name, core::name(other.dtype),
                     other.sample_shape.str(), dataset.name(), core::name(field.dtype),
                     field.sample_shape.str());
  }
}

core::DType token_dtype(const onnx::ModelFile& file, std::optional<TokenType> given) {
  if (given) return *given == TokenType::kUint16 ? core::DType::kUint16 : core::DType::kUint32;
  const std::string remembered = metadata_value(file.metadata, kTokensKey);
  if (remembered.empty()) return core::DType::kUint16;
  for (const core::DType dtype : {core::DType::kUint16, core::DType::kUint32}) {
    if (remembered == core::name(dtype)) return dtype;
  }
  throw core::fail(ErrorCode::kInvalidFile, "{}: its metadata '{}' is no type of tokens: '{}'",
                   file.path, kTokensKey, remembered);
}

// Of the file's first input of tokens, or of images; sizes that settings give come first.
data::TokenOptions token_options(const onnx::ModelFile& file,
                                 const ModelSettings& model,
                                 std::optional<TokenType> type) {
  data::TokenOptions options{.dtype = token_dtype(file, type)};
  for (const onnx::ValueInfo& input : onnx::data_inputs(file)) {
    if (!input.dims || input.dims->size() != 2) continue;
    const auto given = model.shapes.find(input.name);
    const bool settled = given != model.shapes.end() && given->second.size() == 2;
    options.sequence = settled ? given->second[1] : (*input.dims)[1].value.value_or(0);
    break;
  }
  return options;
}

data::ImageOptions image_options(const onnx::ModelFile& file,
                                 const ModelSettings& model,
                                 const ImageSettings& settings) {
  data::ImageOptions options;
  for (const onnx::ValueInfo& input : onnx::data_inputs(file)) {
    if (!input.dims || input.dims->size() != 4) continue;
    const auto given = model.shapes.find(input.name);
    const auto dim = [&](std::size_t i) -> std::int64_t {
      if (given != model.shapes.end() && given->second.size() == 4) return given->second[i];
      return (*input.dims)[i].value.value_or(0);
    };
    options.channels = dim(1) == 1 ? 1 : 3;
    options.height = dim(2);
    options.width = dim(3);
    break;
  }
  if (!settings.size.empty()) {
    options.height = settings.size.front();
    options.width = settings.size.back();
  }
  if (!(settings.crop_area > 0 && settings.crop_area <= 1)) {
    throw core::fail(ErrorCode::kInvalidArgument, "a crop takes a share in (0, 1], not {}",
                     settings.crop_area);
  }
  options.augmentation = {
      .crop = settings.crop, .flip = settings.flip, .least_area = settings.crop_area};
  options.skip_bad = settings.skip_bad;
  return options;
}

}  // namespace

std::string metadata_value(const onnx::Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return value;
  }
  return "";
}

std::string names_text(std::span<const std::string> names) {
  return core::Json(std::vector(names.begin(), names.end()))
      .dump(-1, ' ', false, core::Json::error_handler_t::replace);
}

std::vector<std::string> remembered_names(const onnx::ModelFile& file, const char* key) {
  const std::string text = metadata_value(file.metadata, key);
  if (text.empty()) return {};
  const core::Json json = core::Json::parse(text, nullptr, false);
  const bool names = json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& name) {
                       return name.is_string();
                     });
  if (!names) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: its metadata '{}' is no list of names",
                     file.path, key);
  }
  return json.get<std::vector<std::string>>();
}

OpenedData open_data(const onnx::ModelFile& file,
                     const ModelSettings& model,
                     const DataSettings& settings,
                     data::Split purpose,
                     std::uint64_t seed) {
  const bool training = purpose == data::Split::kTrain;
  if (!settings.validation.empty() && settings.validation_split) {
    throw core::fail(ErrorCode::kInvalidArgument, "give either --val or --val-split, not both");
  }
  std::vector<std::string> inputs;
  for (const onnx::ValueInfo& input : onnx::data_inputs(file)) inputs.push_back(input.name);
  data::OpenOptions options{
      .label = settings.label,
      .fields = {},
      .inputs = std::move(inputs),
      .temp_directory = settings.temp_directory,
      .seed = seed,
      .class_names = training ? std::vector<std::string>() : remembered_names(file, kClassesKey),
      .columns = training ? std::vector<std::string>() : remembered_names(file, kColumnsKey),
      .image = image_options(file, model, settings.image),
      .tokens = token_options(file, model, settings.token_type)};
  if (settings.validation_split) {
    data::Parts parts =
        data::open_parts(settings.source, options, *settings.validation_split, settings.split_seed);
    if (!training) return {.dataset = std::move(parts.validation), .validation = nullptr};
    return {.dataset = std::move(parts.training), .validation = std::move(parts.validation)};
  }
  OpenedData result;
  if (training || settings.validation.empty()) {
    options.split = purpose;
    result.dataset = data::open(settings.source, options);
  }
  if (settings.validation.empty()) return result;
  options.split = data::Split::kTest;
  if (training) {
    const std::span<const std::string> names = result.dataset->class_names();
    options.class_names.assign(names.begin(), names.end());
    const std::span<const std::string> columns = result.dataset->columns();
    options.columns.assign(columns.begin(), columns.end());
  }
  std::shared_ptr<const Dataset> validation = data::open(settings.validation, options);
  if (!training) return {.dataset = std::move(validation), .validation = nullptr};
  check_alike(*result.dataset, *validation);
  result.validation = std::move(validation);
  return result;
}

}  // namespace lowtide::train
