#include "onnx/input_shapes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

namespace {

using Symbols = std::map<std::string, std::int64_t>;

std::string names_of(const std::vector<ValueInfo>& inputs) {
  std::vector<std::string> parts;
  for (const ValueInfo& input : inputs) {
    parts.push_back(core::text("'{}' {}", input.name, describe(input)));
  }
  return core::text("{}", fmt::join(parts, ", "));
}

void bind_symbol(Symbols& symbols, const std::string& symbol, std::int64_t value) {
  if (symbol.empty()) return;
  const auto [found, fresh] = symbols.emplace(symbol, value);
  if (!fresh && found->second != value) {
    throw fail(ErrorCode::kInvalidArgument, "dimension '{}' is bound to both {} and {}", symbol,
               found->second, value);
  }
}

void check_names(const std::vector<ValueInfo>& inputs, const ReadOptions& options) {
  std::set<std::string> symbols;
  for (const ValueInfo& input : inputs) {
    if (!input.dims) continue;
    for (const Dim& dim : *input.dims) symbols.insert(dim.symbol);
  }
  for (const auto& [name, value] : options.dims) {
    if (!symbols.contains(name) || name.empty()) {
      throw fail(ErrorCode::kInvalidArgument, "no input has a dimension '{}'; inputs: {}", name,
                 names_of(inputs));
    }
    if (value < 0) throw fail(ErrorCode::kInvalidArgument, "dimension '{}' is {}", name, value);
  }
  for (const auto& [name, shape] : options.shapes) {
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&, &wanted = name](const ValueInfo& i) { return i.name == wanted; })) {
      throw fail(ErrorCode::kInvalidArgument, "there is no input '{}'; inputs: {}", name,
                 names_of(inputs));
    }
  }
}

// Symbols that given whole shapes settle.
void bind_from_shapes(const std::vector<ValueInfo>& inputs,
                      const ReadOptions& options,
                      Symbols& symbols) {
  for (const ValueInfo& input : inputs) {
    const auto given = options.shapes.find(input.name);
    if (given == options.shapes.end() || !input.dims) continue;
    if (given->second.rank() != input.dims->size()) {
      throw fail(ErrorCode::kInvalidArgument, "input '{}' has shape {}, {} was given", input.name,
                 describe(input), given->second.str());
    }
    for (std::size_t i = 0; i < input.dims->size(); ++i) {
      bind_symbol(symbols, (*input.dims)[i].symbol, given->second[i]);
    }
  }
}

// Puts the batch size into the first dimensions of the inputs whose shape was not given.
void bind_batch(std::vector<ValueInfo>& inputs, const ReadOptions& options, Symbols& symbols) {
  if (!options.batch) return;
  if (*options.batch < 1) {
    throw fail(ErrorCode::kInvalidArgument, "the batch size is {}", *options.batch);
  }
  std::vector<Dim*> fixed;
  bool any_free = false;
  for (ValueInfo& input : inputs) {
    if (!input.dims || input.dims->empty() || options.shapes.contains(input.name)) continue;
    Dim& first = input.dims->front();
    if (first.value) {
      fixed.push_back(&first);
      continue;
    }
    any_free = true;
    bind_symbol(symbols, first.symbol, *options.batch);
    first.value = options.batch;
  }
  // Beside a free batch dimension, fixed ones are something else (tables, masks).
  if (any_free) return;
  for (const Dim* dim : fixed) {
    if (dim->value != fixed.front()->value) {
      throw fail(ErrorCode::kInvalidArgument,
                 "batch size {} fits nowhere: the inputs' first dimensions are fixed and differ; "
                 "give --shape NAME=D,D,... instead; inputs: {}",
                 *options.batch, names_of(inputs));
    }
  }
  for (Dim* dim : fixed) dim->value = options.batch;
}

core::Shape bound_shape(const ValueInfo& input, const Symbols& symbols) {
  if (!input.dims) {
    throw fail(ErrorCode::kInvalidArgument,
               "the file gives no shape for input '{}'; give it with --shape {}=D,D,...",
               input.name, input.name);
  }
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < input.dims->size(); ++i) {
    const Dim& dim = (*input.dims)[i];
    const auto symbol = symbols.find(dim.symbol);
    if (dim.value) {
      dims.push_back(*dim.value);
    } else if (!dim.symbol.empty() && symbol != symbols.end()) {
      dims.push_back(symbol->second);
    } else {
      throw fail(ErrorCode::kInvalidArgument,
                 "input '{}' has shape {}: dimension {} ('{}') is free; bind it with "
                 "--shape {}=D,D,...{}",
                 input.name, describe(input), i, dim.symbol, input.name,
                 i == 0 ? " or --batch N" : "");
    }
  }
  return core::Shape(std::move(dims));
}

}  // namespace

std::vector<ValueInfo> data_inputs(const ModelFile& file) {
  std::set<std::string> filled;
  for (const TensorRef& tensor : file.graph.initializers) filled.insert(tensor.name);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo& input : file.graph.inputs) {
    if (!filled.contains(input.name)) inputs.push_back(input);
  }
  return inputs;
}

std::vector<ValueInfo> inspect_inputs(const std::filesystem::path& path) {
  return data_inputs(parse_file(path));
}

std::string describe(const ValueInfo& info) {
  if (!info.dims) return "of unknown shape";
  std::vector<std::string> parts;
  for (const Dim& dim : *info.dims) {
    parts.push_back(dim.value            ? core::text("{}", *dim.value)
                    : dim.symbol.empty() ? "?"
                                         : dim.symbol);
  }
  return core::text("[{}]", fmt::join(parts, ", "));
}

std::map<std::string, core::Shape> bind_inputs(const ModelFile& file, const ReadOptions& options) {
  std::vector<ValueInfo> inputs = data_inputs(file);
  check_names(inputs, options);
  Symbols symbols(options.dims.begin(), options.dims.end());
  bind_from_shapes(inputs, options, symbols);
  bind_batch(inputs, options, symbols);
  std::map<std::string, core::Shape> result;
  for (const ValueInfo& input : inputs) {
    const auto given = options.shapes.find(input.name);
    result.emplace(input.name,
                   given != options.shapes.end() ? given->second : bound_shape(input, symbols));
  }
  return result;
}

}  // namespace lowtide::onnx
