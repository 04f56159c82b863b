#include "onnx/model_file.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "core/text.h"
#include "onnx/bytes/file.h"
#include "onnx/functions.h"

namespace lowtide::onnx {

using core::fail;

namespace {

// Far above any real network; they bound what a small hostile file can make of itself.
constexpr std::size_t kMaxNodes = 1U << 18U;
constexpr std::size_t kMaxNames = 1U << 20U;

enum class AttributeType : std::uint8_t {
  kUndefined,
  kFloat,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
};

// Reads the messages of one model; counts what it makes over all graphs.
class Parser {
 public:
  // `mapped` is the file whose bytes these are; null where they are in memory anyway.
  Parser(Origin origin, Calls calls, MappedFile* mapped)
      : origin_(std::move(origin)), calls_(calls), mapped_(mapped) {}

  ModelFile model(std::span<const std::byte> bytes);

 private:
  FileGraph graph(const WireField& message);
  FileNode node(const WireField& message);
  Attribute attribute(const WireField& message);
  std::vector<Attribute> attributes(const std::vector<WireField>& messages);
  void read_function(const WireField& message, Functions& functions);
  void attribute_value(Attribute& attribute, const WireField& field);
  ValueInfo value_info(const WireField& message);
  std::string counted_name(const WireField& field);

  Origin origin_;
  Calls calls_;
  MappedFile* mapped_;
  bool in_function_ = false;
  std::size_t nodes_ = 0;
  std::size_t names_ = 0;
};

std::string normal_domain(std::string domain) { return domain == "ai.onnx" ? "" : domain; }

std::string Parser::counted_name(const WireField& field) {
  if (++names_ > kMaxNames) {
    throw fail(ErrorCode::kInvalidFile, "the model has more than {} names", kMaxNames);
  }
  return field.text();
}

void read_shape(const WireField& message, ValueInfo& info) {
  std::vector<Dim> dims;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    Dim dim;
    WireReader parts = field->message();
    while (const auto part = parts.next()) {
      if (part->number == 1) dim.value = part->integer();
      if (part->number == 2) dim.symbol = part->text();
    }
    // Some exporters write -1, or a question mark, for "any".
    if (dim.value && *dim.value < 0) dim.value.reset();
    if (dim.symbol == "?") dim.symbol.clear();
    dims.push_back(std::move(dim));
  }
  info.dims = std::move(dims);
}

void read_type(const WireField& message, ValueInfo& info) {
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    if (field->number == 4 || field->number == 5 || field->number == 8 || field->number == 9) {
      info.type_name = "a sequence, map or optional";
    }
    if (field->number != 1) continue;
    WireReader tensor = field->message();
    while (const auto part = tensor.next()) {
      if (part->number == 1) {
        info.dtype = dtype_of(part->integer());
        info.type_name = onnx_type_name(part->integer());
      }
      if (part->number == 2) read_shape(*part, info);
    }
  }
}

ValueInfo Parser::value_info(const WireField& message) {
  ValueInfo info;
  info.type_name = "undefined";
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: info.name = counted_name(*field); break;
      case 2: read_type(*field, info); break;
      case 4: read_entry(*field, info.metadata); break;
      default: break;
    }
  }
  return info;
}

// The kind of attribute that a field of AttributeProto holds.
AttributeType kind_of(std::uint32_t field) {
  switch (field) {
    case 2: return AttributeType::kFloat;
    case 3: return AttributeType::kInt;
    case 4: return AttributeType::kString;
    case 5: return AttributeType::kTensor;
    case 6: return AttributeType::kGraph;
    case 7: return AttributeType::kFloats;
    case 8: return AttributeType::kInts;
    case 9: return AttributeType::kStrings;
    default: return AttributeType::kUndefined;
  }
}

void make_empty(Attribute& attribute, AttributeType type) {
  switch (type) {
    case AttributeType::kFloat: attribute.value = 0.0F; break;
    case AttributeType::kInt: attribute.value = std::int64_t{0}; break;
    case AttributeType::kString: attribute.value = std::string(); break;
    case AttributeType::kFloats: attribute.value = std::vector<float>(); break;
    case AttributeType::kInts: attribute.value = std::vector<std::int64_t>(); break;
    case AttributeType::kStrings: attribute.value = std::vector<std::string>(); break;
    case AttributeType::kTensor:
    case AttributeType::kGraph:
      throw fail(ErrorCode::kInvalidFile, "attribute '{}' has no value", attribute.name);
    case AttributeType::kUndefined: break;
  }
}

template <class T>
T& value_as(Attribute& attribute) {
  if (!std::holds_alternative<T>(attribute.value)) attribute.value = T();
  return std::get<T>(attribute.value);
}

std::string raw_string(const WireField& field) {
  const auto bytes = field.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Parser::attribute_value(Attribute& attribute, const WireField& field) {
  switch (kind_of(field.number)) {
    case AttributeType::kFloat: attribute.value = field.real(); break;
    case AttributeType::kInt: attribute.value = field.integer(); break;
    case AttributeType::kString: attribute.value = raw_string(field); break;
    case AttributeType::kTensor: attribute.value = read_tensor(field, origin_); break;
    case AttributeType::kGraph:
      attribute.value = std::make_shared<const FileGraph>(graph(field));
      break;
    case AttributeType::kFloats: field.append_reals(value_as<std::vector<float>>(attribute)); break;
    case AttributeType::kInts:
      field.append_integers(value_as<std::vector<std::int64_t>>(attribute));
      break;
    case AttributeType::kStrings:
      if (++names_ > kMaxNames) throw fail(ErrorCode::kInvalidFile, "too many strings");
      value_as<std::vector<std::string>>(attribute).push_back(raw_string(field));
      break;
    case AttributeType::kUndefined: break;
  }
}

Attribute Parser::attribute(const WireField& message) {
  Attribute result;
  std::int64_t declared = 0;
  AttributeType found = AttributeType::kUndefined;
  std::string reference;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    if (field->number == 1) result.name = field->text();
    if (field->number == 20) declared = field->integer();
    if (field->number == 21) reference = field->text();
    const AttributeType kind = kind_of(field->number);
    if (kind == AttributeType::kUndefined) continue;
    const bool list = kind >= AttributeType::kFloats;
    if (found != AttributeType::kUndefined && (kind != found || !list)) {
      throw fail(ErrorCode::kInvalidFile, "attribute '{}' has two values", result.name);
    }
    found = kind;
    attribute_value(result, *field);
  }
  if (!reference.empty()) {
    if (!in_function_ || found != AttributeType::kUndefined) {
      throw fail(ErrorCode::kInvalidFile, "attribute '{}' refers to a function's", result.name);
    }
    result.value = AttributeReference{std::move(reference)};
    return result;
  }
  // Files of ONNX before 1.2 leave the declaration out.
  if (declared == 0) return result;
  if (found == AttributeType::kUndefined) {
    if (declared <= static_cast<std::int64_t>(AttributeType::kStrings) && declared > 0) {
      make_empty(result, static_cast<AttributeType>(declared));
    }
  } else if (declared != static_cast<std::int64_t>(found)) {
    throw fail(ErrorCode::kInvalidFile, "attribute '{}' is declared as type {} but holds type {}",
               result.name, declared, static_cast<int>(found));
  }
  return result;
}

std::vector<Attribute> Parser::attributes(const std::vector<WireField>& messages) {
  std::vector<Attribute> result;
  std::set<std::string> seen;
  for (const WireField& field : messages) {
    result.push_back(attribute(field));
    const std::string& name = result.back().name;
    if (!seen.insert(name).second) {
      throw fail(ErrorCode::kInvalidFile, "attribute '{}' is given twice", name);
    }
  }
  return result;
}

// What an entry of a node's metadata says of the optimizer; most entries are about other things.
std::string rewriting_rules(const WireField& entry) {
  Metadata metadata;
  read_entry(entry, metadata);
  const auto rules = metadata.find("pkg.onnxscript.rewriter.rule_name");
  return rules == metadata.end() ? "" : rules->second;
}

FileNode Parser::node(const WireField& message) {
  if (++nodes_ > kMaxNodes) {
    throw fail(ErrorCode::kInvalidFile, "the model has more than {} nodes", kMaxNodes);
  }
  FileNode result;
  std::vector<WireField> attributes;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: result.inputs.push_back(counted_name(*field)); break;
      case 2: result.outputs.push_back(counted_name(*field)); break;
      case 3: result.name = field->text(); break;
      case 4: result.type = field->text(); break;
      case 5: attributes.push_back(*field); break;
      case 7: result.domain = normal_domain(field->text()); break;
      case 9: result.rewritten_by += rewriting_rules(*field); break;
      default: break;
    }
  }
  try {
    result.attributes = this->attributes(attributes);
  } catch (const Error& error) {
    throw error.within(core::text("node '{}' ({})", result.label(), result.type));
  }
  return result;
}

FileGraph Parser::graph(const WireField& message) {
  FileGraph result;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: result.nodes.push_back(node(*field)); break;
      case 2: result.name = field->text(); break;
      case 5:
        if (++names_ > kMaxNames) throw fail(ErrorCode::kInvalidFile, "too many initializers");
        result.initializers.push_back(read_tensor(*field, origin_));
        break;
      case 11: result.inputs.push_back(value_info(*field)); break;
      case 12: result.outputs.push_back(value_info(*field)); break;
      case 13: result.value_info.push_back(value_info(*field)); break;
      case 15: throw fail(ErrorCode::kUnsupported, "sparse initializers");
      default: break;
    }
    if (mapped_ != nullptr) mapped_->passed(field->end);
  }
  return result;
}

void read_opset(const WireField& message, std::map<std::string, std::int64_t>& opsets) {
  std::string domain;
  std::int64_t version = 0;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    if (field->number == 1) domain = normal_domain(field->text());
    if (field->number == 2) version = field->integer();
  }
  if (!opsets.emplace(domain, version).second) {
    throw fail(ErrorCode::kInvalidFile, "domain '{}' is imported twice", domain);
  }
}

void Parser::read_function(const WireField& message, Functions& functions) {
  std::string name;
  std::string domain;
  FileFunction result;
  std::vector<WireField> defaults;
  in_function_ = true;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: name = field->text(); break;
      case 4: result.inputs.push_back(counted_name(*field)); break;
      case 5: result.outputs.push_back(counted_name(*field)); break;
      case 7: result.nodes.push_back(node(*field)); break;
      case 9: read_opset(*field, result.opsets); break;
      case 10: domain = normal_domain(field->text()); break;
      case 11: defaults.push_back(*field); break;
      default: break;
    }
  }
  result.defaults = attributes(defaults);
  in_function_ = false;
  if (!functions.emplace(std::pair(domain, name), std::move(result)).second) {
    throw fail(ErrorCode::kInvalidFile, "function '{}' is given twice", name);
  }
}

ModelFile Parser::model(std::span<const std::byte> bytes) {
  ModelFile result;
  Functions functions;
  bool has_graph = false;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: result.ir_version = field->integer(); break;
      case 2: result.producer = field->text(); break;
      case 7:
        if (has_graph) throw fail(ErrorCode::kInvalidFile, "the model has two graphs");
        has_graph = true;
        result.graph = graph(*field);
        break;
      case 8: read_opset(*field, result.opsets); break;
      case 14: read_entry(*field, result.metadata); break;
      case 25: read_function(*field, functions); break;
      default: break;
    }
  }
  if (!has_graph || result.ir_version <= 0) {
    throw fail(ErrorCode::kInvalidFile, "not an ONNX model: {} is missing",
               has_graph ? "the IR version" : "the graph");
  }
  if (calls_ == Calls::kInline) inline_calls(result.graph, functions, kMaxNodes);
  return result;
}

ModelFile parse_from(std::span<const std::byte> bytes,
                     const std::string& name,
                     Origin origin,
                     Calls calls,
                     MappedFile* mapped = nullptr) {
  try {
    ModelFile model = Parser(std::move(origin), calls, mapped).model(bytes);
    model.path = name;
    return model;
  } catch (const Error& error) {
    throw error.within(name);
  }
}

}  // namespace

const Attribute* FileNode::attribute(std::string_view wanted) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& a) { return a.name == wanted; });
  return found == attributes.end() ? nullptr : &*found;
}

const std::string& FileNode::label() const {
  if (!name.empty() || outputs.empty()) return name;
  return outputs.front();
}

ModelFile parse_file(const std::filesystem::path& path, Calls calls) {
  const InputFile file = InputFile::open(path);
  MappedFile mapped(file);
  return parse_from(mapped.bytes(), file.path(),
                    {.file = file.path(), .folder = path.parent_path(), .external_allowed = true},
                    calls, &mapped);
}

ModelFile parse(std::span<const std::byte> bytes, const std::string& name) {
  return parse_from(bytes, name, {}, Calls::kInline);
}

}  // namespace lowtide::onnx
