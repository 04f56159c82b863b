#include "passes/parameters.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/glob.h"
#include "core/text.h"
#include "graph/evaluate.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"

namespace lowtide::passes {
namespace {

using core::text;
using graph::Graph;
using graph::InputSlot;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::Slot;
using graph::ValueId;

std::optional<Slot> slot_of(const Node& node, std::size_t input) {
  for (const InputSlot& slot : node.op->slots()) {
    if (static_cast<std::size_t>(slot.input) == input) return slot.slot;
  }
  return std::nullopt;
}

bool all_elements(const graph::ConstantTensor& tensor, const auto& test) {
  return core::visit(tensor.type.dtype, [&](auto tag) {
    const auto* const first = tensor.data<typename decltype(tag)::type>();
    return std::all_of(first, first + tensor.type.shape.elements(),
                       [&](auto element) { return test(static_cast<double>(element)); });
  });
}

bool looks_like_a_mask(const graph::Value& value) {
  return !all_elements(graph::load_content(value),
                       [](double x) { return std::isfinite(x) && x > -1e4; });
}

// What the places that read a tensor make of it.
struct Reading {
  bool parameter = false;
  bool statistic = false;
  bool elementwise = false;
  bool bias = false;  // of a layer with one output
  std::string by;
};

// Follows a tensor through ops that depend on nothing else (transpositions, reshapes).
class ReadingFinder {
 public:
  explicit ReadingFinder(const Graph& graph) : graph_(graph), readers_(graph::readers(graph)) {
    constant_.resize(graph.value_count(), false);
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const graph::Value& value = graph.value(ValueId(i));
      constant_[ValueId(i)] = !value.producer.valid() && value.role == Role::kConstant;
    }
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node(NodeId(i));
      const bool fixed = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId id) { return constant_[id]; });
      for (const ValueId output : node.outputs) constant_[output] = fixed;
    }
  }

  // Whether some input of the node depends on the graph's inputs.
  [[nodiscard]] bool reads_computed(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return !constant_[input]; });
  }

  // Whether the input is one number that is added to all that a layer with one output gives: its
  // bias, as exporters write layers without a slot for it.
  [[nodiscard]] bool is_lone_bias(const Node& node, std::size_t input) const {
    if (node.op != &ops::binary_op(ops::BinaryKind::kAdd)) return false;
    const core::Shape& bias = graph_.type(node.inputs[input]).shape;
    const ValueId sum = node.inputs[1 - input];
    const NodeId layer = graph_.value(sum).producer;
    if (bias.elements() != 1 || !layer.valid() || constant_[sum]) return false;
    const Node& node_before = graph_.node(layer);
    const auto& slots = node_before.op->slots();
    const bool weighs = std::any_of(slots.begin(), slots.end(), [&](const InputSlot& slot) {
      const auto at = static_cast<std::size_t>(slot.input);
      return slot.slot == Slot::kParameter && at < node_before.inputs.size() &&
             constant_[node_before.inputs[at]];
    });
    const core::Shape& outputs = graph_.type(sum).shape;
    const std::size_t axis = node_before.op == &ops::conv_op() ? 1 : outputs.rank() - 1;
    return weighs && outputs.rank() > axis && outputs[axis] == 1 &&
           bias.rank() + axis >= outputs.rank();
  }

  [[nodiscard]] Reading find(ValueId value) const {
    Reading reading;
    for (const NodeId id : readers_[value]) {
      const Node& node = graph_.node(id);
      const bool computed_beside = reads_computed(node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != value) continue;
        const auto slot = slot_of(node, i);
        if (slot == Slot::kParameter && computed_beside) reading.parameter = true;
        if (slot == Slot::kStatistic) reading.statistic = true;
        if (slot == Slot::kElementwise && computed_beside) reading.elementwise = true;
        if (is_lone_bias(node, i)) reading.bias = true;
        if (slot && reading.by.empty()) reading.by = node.op->name();
      }
      // Rearranged only: alone, or picked from by fixed indices.
      const bool rearranged =
          !computed_beside &&
          std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId other) {
            return other == value || !core::is_float(graph_.type(other).dtype);
          });
      if (rearranged) merge(reading, find(node.outputs[0]));
    }
    return reading;
  }

 private:
  static void merge(Reading& into, const Reading& from) {
    into.parameter = into.parameter || from.parameter;
    into.statistic = into.statistic || from.statistic;
    into.elementwise = into.elementwise || from.elementwise;
    into.bias = into.bias || from.bias;
    if (into.by.empty()) into.by = from.by;
  }

  const Graph& graph_;
  core::IdVector<ValueId, std::vector<NodeId>> readers_;
  core::IdVector<ValueId, bool> constant_;
};

// Where one node of the file reads a tensor: the slot of the graph's node that stands for it.
struct Place {
  const FileTensorUse* use = nullptr;
  NodeId node;
  Slot slot = Slot::kTensor;
  std::size_t input = 0;  // of the node
};

// Directly, or behind nodes that bring the tensor into another shape or layout.
std::optional<Place> find_place(const Graph& graph, const FileTensorUse& use) {
  std::set<ValueId> same = {use.value};
  for (std::size_t i = use.begin.index(); i < use.end.index(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (use.input < node.inputs.size() && node.inputs[use.input] == use.value) {
      if (const auto slot = slot_of(node, use.input))
        return Place{&use, NodeId(i), *slot, use.input};
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto slot = slot_of(node, k);
      if (slot == Slot::kElementwise && same.contains(node.inputs[k])) {
        return Place{&use, NodeId(i), *slot, k};
      }
    }
    if (node.inputs.size() == 1 && same.contains(node.inputs[0])) same.insert(node.outputs[0]);
  }
  return std::nullopt;
}

std::string_view slot_name(const Place& place) {
  if (place.slot == Slot::kElementwise) return "operand";
  if (place.slot == Slot::kStatistic) return place.use->input == 3 ? "mean" : "var";
  return place.use->input == 1 ? "scale" : "bias";
}

// Whether a tensor stands for several that were equal. TorchScript's exporter leaves an Identity
// with the name of each; without one, vectors of normalisations and biases are told by their slots,
// and operands by being what the file calls a parameter.
std::vector<Place> merged_places(const Graph& graph,
                                 const ReadingFinder& finder,
                                 const FileTensor& tensor,
                                 const std::vector<FileTensorUse>& uses) {
  const core::Shape& shape = graph.type(tensor.value).shape;
  const bool named = std::any_of(uses.begin(), uses.end(), [&](const FileTensorUse& use) {
    return use.value == tensor.value && use.renamed;
  });
  std::vector<Place> places;
  for (const FileTensorUse& use : uses) {
    if (use.value != tensor.value || use.node_output.empty()) continue;
    const auto place = find_place(graph, use);
    if (!place) continue;
    const bool operand = place->slot == Slot::kElementwise;
    if (operand) {
      const Node& node = graph.node(place->node);
      const bool read = shape.elements() > 1 ? finder.reads_computed(node)
                                             : finder.is_lone_bias(node, place->input);
      if (!read) continue;
    }
    const bool sign = operand ? tensor.kind == "PARAMETER" : shape.rank() == 1;
    if (named || sign) places.push_back(*place);
  }
  return places;
}

bool all_equal(const graph::ConstantTensor& content) {
  double first = 0;
  bool any = false;
  return all_elements(content, [&](double x) {
    if (!any) first = x;
    any = true;
    return x == first;
  });
}

// Gives each use of a merged tensor a value of its own; returns the splits, empty where the tensor
// was not merged.
std::vector<Parameter> split_merged(Graph& graph,
                                    const ReadingFinder& finder,
                                    const FileTensor& tensor,
                                    const std::vector<FileTensorUse>& uses) {
  const std::vector<Place> places = merged_places(graph, finder, tensor, uses);
  const graph::Value merged = graph.value(tensor.value);
  if (places.size() < 2 || !all_equal(graph::load_content(merged))) return {};
  std::vector<Parameter> result;
  for (const Place& place : places) {
    const FileTensorUse& use = *place.use;
    graph::Value own = merged;
    own.name = text("{}/{}", use.node_output, slot_name(place));
    const ValueId value = graph.add_value(own);
    Node& target = graph.node(place.node);
    if (use.input < target.inputs.size() && target.inputs[use.input] == use.value) {
      target.inputs[use.input] = value;
    } else {
      for (std::size_t i = use.begin.index(); i < use.end.index(); ++i) {
        std::vector<ValueId>& inputs = graph.node(NodeId(i)).inputs;
        std::replace(inputs.begin(), inputs.end(), use.value, value);
      }
    }
    result.push_back({.name = own.name,
                      .value = value,
                      .statistic = place.slot == Slot::kStatistic,
                      .reason = text("{} of {}, split from the merged '{}'", slot_name(place),
                                     target.op->name(), tensor.name),
                      .split_from = tensor.name,
                      .node_output = use.node_output,
                      .input = use.input});
    result.back().trained = !result.back().statistic;
  }
  return result;
}

// How a file tells its parameters from its constants.
struct Signs {
  bool kinds = false;         // it says which tensors are parameters
  bool initializers = false;  // it has initializers, so Constant nodes hold constants
};

// A class token, say, that the exporter expanded to a fixed batch: training would give each place
// in the batch a token of its own.
bool is_copied_for_each_sample(const Graph& graph, const graph::Value& value) {
  const core::Shape& shape = value.type.shape;
  const auto is_batch = [&](ValueId input) {
    const core::Shape& of_input = graph.type(input).shape;
    return of_input.rank() > 0 && of_input[0] == shape[0];
  };
  if (shape.rank() < 2 || shape[0] < 2 || shape.elements() == 0) return false;
  if (std::none_of(graph.inputs().begin(), graph.inputs().end(), is_batch)) return false;
  const graph::ConstantTensor content = graph::load_content(value);
  const auto bytes = static_cast<std::ptrdiff_t>(content.bytes->size()) / shape[0];
  return std::equal(content.bytes->begin() + bytes, content.bytes->end(), content.bytes->begin());
}

Parameter judge(const Graph& graph,
                const FileTensor& tensor,
                const Reading& reading,
                const Signs& signs) {
  Parameter result{.name = tensor.name, .value = tensor.value};
  const graph::Value& value = graph.value(tensor.value);
  result.statistic = reading.statistic;
  if (result.statistic) {
    result.reason = text("running statistic of {}", reading.by);
  } else if (signs.initializers && tensor.constant_node) {
    result.reason = "a Constant node";
  } else if (signs.kinds && tensor.kind.empty() && tensor.folded_from.empty() &&
             reading.parameter) {
    // The exporter's optimizer puts what it computes in the place of parameters, without a word.
    result.trained = true;
    result.reason = text("read by {}, in the place of a parameter", reading.by);
  } else if (signs.kinds && tensor.kind != "PARAMETER" && !tensor.folded_from.empty()) {
    const bool read = reading.parameter || (reading.elementwise && !looks_like_a_mask(value));
    const bool copies = is_copied_for_each_sample(graph, value);
    result.trained = read && value.type.shape.elements() > 1 && !copies;
    result.reason = text("computed by the exporter from {}{}", tensor.folded_from,
                         copies ? ", once for each sample of its fixed batch" : "");
  } else if (signs.kinds) {
    result.trained = tensor.kind == "PARAMETER";
    result.reason = result.trained ? "a parameter, says the file" : "no parameter, says the file";
  } else if (reading.parameter || reading.bias) {
    result.trained = true;
    result.reason = text("read by {}", reading.by);
  } else if (reading.elementwise && value.type.shape.elements() > 1) {
    result.trained = !looks_like_a_mask(value);
    result.reason = result.trained ? text("operand of {}", reading.by) : "looks like a mask";
  } else {
    result.reason = reading.elementwise ? "a scalar" : "feeds no parameter slot";
  }
  return result;
}

void apply_rules(std::vector<Parameter>& all, const ParameterRules& rules) {
  check_globs(all, rules.train);
  check_globs(all, rules.freeze);
  for (Parameter& parameter : all) {
    if (parameter.statistic) continue;
    if (!rules.train.empty()) {
      parameter.trained = core::any_glob_matches(rules.train, parameter.name);
      parameter.reason = parameter.trained ? "named by --train" : "not named by --train";
    }
    if (parameter.trained && core::any_glob_matches(rules.freeze, parameter.name)) {
      parameter.trained = false;
      parameter.reason = "frozen by --freeze";
    }
  }
}

}  // namespace

void check_globs(const std::vector<Parameter>& parameters,
                 const std::vector<std::string>& globs,
                 std::string_view option) {
  for (const std::string& glob : globs) {
    if (std::none_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
          return core::glob_matches(glob, parameter.name);
        })) {
      throw core::fail(ErrorCode::kInvalidArgument, "{}{}'{}' matches no tensor of the model",
                       option, option.empty() ? "" : " ", glob);
    }
  }
}

std::vector<Parameter> choose_parameters(Graph& graph,
                                         const std::vector<FileTensor>& tensors,
                                         const std::vector<FileTensorUse>& uses,
                                         const ParameterRules& rules) {
  const Signs signs{
      .kinds = std::any_of(tensors.begin(), tensors.end(),
                           [](const FileTensor& tensor) { return !tensor.kind.empty(); }),
      .initializers = std::any_of(tensors.begin(), tensors.end(),
                                  [](const FileTensor& tensor) { return !tensor.constant_node; })};
  std::vector<Parameter> all;
  const ReadingFinder merged(graph);
  for (const FileTensor& tensor : tensors) {
    std::vector<Parameter> split = split_merged(graph, merged, tensor, uses);
    all.insert(all.end(), split.begin(), split.end());
  }
  const ReadingFinder finder(graph);
  std::vector<Parameter> whole;
  for (const FileTensor& tensor : tensors) {
    const Reading reading = finder.find(tensor.value);
    const bool only_split = std::any_of(all.begin(), all.end(),
                                        [&](const Parameter& parameter) {
                                          return parameter.split_from == tensor.name;
                                        }) &&
                            !reading.parameter && !reading.statistic && !reading.elementwise;
    if (!only_split) whole.push_back(judge(graph, tensor, reading, signs));
  }
  all.insert(all.begin(), whole.begin(), whole.end());
  apply_rules(all, rules);
  for (const Parameter& parameter : all) {
    graph::Value& value = graph.value(parameter.value);
    if (parameter.trained) value.role = Role::kParameter;
    if (parameter.statistic) value.role = Role::kStatistic;
  }
  return all;
}

}  // namespace lowtide::passes
