#include "serve/inference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "core/text.h"
#include "data/convert.h"
#include "data/format/npy.h"
#include "data/format/npz_writer.h"
#include "onnx/input_shapes.h"
#include "serve/session.h"
#include "train/prepare/recipe.h"

namespace lowtide::serve {
namespace {

using core::fail;

struct Input {
  std::string name;
  data::StoredArray array;
};

std::vector<Input> open_inputs(const onnx::ModelFile& file, const RunSettings& settings) {
  std::vector<Input> result;
  for (const onnx::ValueInfo& info : onnx::data_inputs(file)) {
    const auto given = settings.inputs.find(info.name);
    if (given == settings.inputs.end()) {
      throw fail(ErrorCode::kInvalidArgument, "input '{}' is missing; give --input {}=FILE.npy",
                 info.name, info.name);
    }
    const std::string path = given->second.string();
    data::StoredArray array = [&] {
      try {
        return data::open_npy(data::ByteSource::open(path));
      } catch (const Error& error) {
        throw error.within(path);
      }
    }();
    if (info.dtype != array.dtype) {
      throw fail(ErrorCode::kInvalidArgument, "{}: input '{}' takes {}, the file holds {}", path,
                 info.name, info.dtype ? core::name(*info.dtype) : info.type_name,
                 core::name(array.dtype));
    }
    result.push_back({info.name, std::move(array)});
  }
  for (const auto& given : settings.inputs) {
    if (std::none_of(result.begin(), result.end(),
                     [&](const Input& input) { return input.name == given.first; })) {
      throw fail(ErrorCode::kInvalidArgument, "{}: the model has no input '{}'",
                 settings.model.path.string(), given.first);
    }
  }
  return result;
}

// What of an input is an index and lies in no row.
void check_indices(const Session& session,
                   const Input& input,
                   std::span<const std::byte> elements) {
  const std::optional<std::int64_t> rows = session.rows_picked_by(input.name);
  if (!rows) return;
  const auto bad = data::find_outside(input.array.dtype, elements, data::indices_of(*rows));
  if (!bad) return;
  throw fail(ErrorCode::kInvalidArgument, "{}: input '{}', element {}: {}",
             input.array.elements.name(), input.name, bad->at,
             data::describe_missing_row(bad->value, *rows));
}

OutputSummary summarize(const std::string& name,
                        const core::TensorType& type,
                        std::span<const std::byte> bytes) {
  OutputSummary summary{.name = name, .type = type.str(), .min = INFINITY, .max = -INFINITY};
  core::visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const first = reinterpret_cast<const T*>(bytes.data());
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      const auto x = static_cast<double>(first[i]);
      summary.min = std::min(summary.min, x);
      summary.max = std::max(summary.max, x);
      summary.mean += x / static_cast<double>(type.shape.elements());
    }
  });
  if (std::isnan(summary.mean)) summary.mean = NAN;  // one without a sign, which would be printed
  return summary;
}

}  // namespace

std::vector<OutputSummary> run(const RunSettings& settings) {
  const core::Machine machine = train::settle_machine(settings.machine);
  const onnx::ModelFile file = onnx::parse_file(settings.model.path);
  const std::vector<Input> inputs = open_inputs(file, settings);
  std::map<std::string, core::Shape> shapes;
  for (const Input& input : inputs) shapes[input.name] = input.array.shape;
  for (const auto& [name, dims] : settings.model.shapes) {
    const auto found = shapes.find(name);
    if (found != shapes.end() && found->second.dims() == dims) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "the shape [{}] of '{}' is not its file's; inputs have those of their files",
               fmt::join(dims, ", "), name);
  }
  const Session session(file, shapes, settings.memory, machine);
  for (const Input& input : inputs) {
    const std::span<std::byte> place = session.input(input.name);
    if (place.empty()) continue;
    input.array.read(0, place);
    check_indices(session, input, place);
  }
  session.step();
  std::vector<OutputSummary> result;
  std::optional<data::NpzWriter> writer;
  if (!settings.output.empty()) writer.emplace(settings.output);
  for (std::size_t i = 0; i < session.outputs(); ++i) {
    const core::TensorType& type = session.output_type(i);
    const std::string& name = session.output_name(i);
    result.push_back(summarize(name, type, session.output(i)));
    if (writer) writer->add(name, type.dtype, type.shape, session.output(i));
  }
  if (writer) writer->finish();
  return result;
}

}  // namespace lowtide::serve
