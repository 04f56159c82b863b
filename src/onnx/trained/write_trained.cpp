#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "core/text.h"
#include "onnx/bytes/wire.h"
#include "onnx/model_file.h"
#include "onnx/trained/node_edit.h"
#include "onnx/trained/patched_file.h"
#include "onnx/write.h"

namespace lowtide::onnx {

using core::fail;

namespace {

constexpr std::int64_t kDataAlignment = 4096;

// The copy of one message: its new content, and whether that differs in form from the old.
struct Rewritten {
  Pieces content;
  bool changed = false;
};

Pieces text_field(std::uint32_t number, std::string_view text) {
  Pieces pieces;
  pieces.add(WireWriter().text(number, text).bytes());
  return pieces;
}

Pieces entry_field(std::uint32_t number, std::string_view key, std::string_view value) {
  Pieces pieces;
  const WireWriter entry = WireWriter().text(1, key).text(2, value);
  pieces.add(WireWriter().message(number, entry).bytes());
  return pieces;
}

class TrainedWriter {
 public:
  TrainedWriter(const std::filesystem::path& source,
                const std::filesystem::path& out,
                const TrainedTensors& trained);

  void write();

 private:
  // Calls edit(field) for each field; what it returns stands in the field's place.
  template <class Edit>
  Rewritten rewrite(const WireReader& message, Edit edit) const;

  void claim_places();
  void claim(const TensorRef& tensor, const std::string& name);
  void check_names();
  Pieces model(const WireReader& message);
  Rewritten graph(const WireField& field);
  [[nodiscard]] TensorRef like_merged(const SplitInitializer& split) const;
  void add_splits(Rewritten& graph) const;
  [[nodiscard]] NodeEdit edit_of(const FileNode& node) const;
  Pieces node(const WireField& field, const FileNode& old, const NodeEdit& edit) const;
  Pieces attribute(const WireField& field, const FileNode& old, const NodeEdit& edit) const;
  [[nodiscard]] bool needs_rewrite(const TensorRef& tensor, const std::string& name) const;
  Pieces tensor(const WireField& field, const TensorRef& tensor, const std::string& name) const;
  Pieces data() const;

  std::filesystem::path out_;
  const TrainedTensors& trained_;
  PatchedFile source_;
  MappedFile mapped_;
  ModelFile file_;
  std::set<std::string> reads_;
  std::map<std::string, ByteSource> sources_;    // of the trained tensors, as the file has them
  std::map<std::string, PatchedFile> external_;  // by location
  std::map<std::string, std::int64_t> bases_;    // where each location's bytes go
};

TrainedWriter::TrainedWriter(const std::filesystem::path& source,
                             const std::filesystem::path& out,
                             const TrainedTensors& trained)
    : out_(out),
      trained_(trained),
      source_(InputFile::open(source)),
      mapped_(source_.file()),
      file_(parse_file(source, Calls::kKeep)),
      sources_(trained.tensors) {
  collect_reads(file_.graph, reads_);
  claim_places();
  check_names();
}

void TrainedWriter::claim(const TensorRef& tensor, const std::string& name) {
  const auto found = sources_.find(name);
  ByteSource* const bytes = found == sources_.end() ? nullptr : &found->second;
  if (bytes != nullptr && tensor.half != Half::kNone) {
    *bytes = rounded(tensor.half, std::move(*bytes), name);
  }
  if (tensor.file.empty()) return;
  if (tensor.location.empty()) {
    source_.claim(tensor, bytes);
    return;
  }
  const std::filesystem::path folder = std::filesystem::path(file_.path).parent_path();
  auto at = external_.find(tensor.location);
  if (at == external_.end()) {
    at = external_
             .emplace(tensor.location,
                      PatchedFile(InputFile::open_external(folder, tensor.location)))
             .first;
  }
  at->second.claim(tensor, bytes);
}

void TrainedWriter::claim_places() {
  for (const TensorRef& tensor : file_.graph.initializers) claim(tensor, tensor.name);
  for (const FileNode& node : file_.graph.nodes) {
    if (const TensorRef* tensor = constant_tensor(node)) claim(*tensor, node.outputs.front());
    for (const Attribute& attribute : node.attributes) {
      const auto* tensor = std::get_if<TensorRef>(&attribute.value);
      if (tensor != nullptr && !tensor->location.empty() && constant_tensor(node) == nullptr) {
        throw fail(ErrorCode::kUnsupported, "node '{}' ({}): external data in an attribute",
                   node.label(), node.type);
      }
    }
  }
  std::int64_t base = 0;
  for (const auto& [location, file] : external_) {
    file.check();
    bases_[location] = base;
    base += Bytes(file.claimed_end()).rounded_up(Bytes(kDataAlignment)).count();
  }
  source_.check();
}

void TrainedWriter::check_names() {
  std::set<std::string> tensors;
  std::set<std::string> outputs;
  for (const TensorRef& tensor : file_.graph.initializers) tensors.insert(tensor.name);
  for (const FileNode& node : file_.graph.nodes) {
    outputs.insert(node.outputs.begin(), node.outputs.end());
    if (constant_tensor(node) != nullptr) tensors.insert(node.outputs.front());
  }
  for (const auto& [name, bytes] : trained_.tensors) {
    if (!tensors.contains(name)) {
      throw fail(ErrorCode::kInvalidArgument, "there is no tensor '{}'", name);
    }
  }
  std::set<std::string> taken;
  for (const ValueInfo& input : file_.graph.inputs) taken.insert(input.name);
  for (const SplitInitializer& split : trained_.splits) {
    const auto node = std::find_if(
        file_.graph.nodes.begin(), file_.graph.nodes.end(), [&](const FileNode& candidate) {
          return !candidate.outputs.empty() && candidate.outputs.front() == split.node_output;
        });
    if (node == file_.graph.nodes.end() || split.input >= node->inputs.size()) {
      throw fail(ErrorCode::kInvalidArgument, "no node writes '{}' and has an input {}",
                 split.node_output, split.input);
    }
    if (tensors.contains(split.name) || outputs.contains(split.name) ||
        !taken.insert(split.name).second) {
      throw fail(ErrorCode::kInvalidArgument, "the name '{}' is taken", split.name);
    }
  }
}

template <class Edit>
Rewritten TrainedWriter::rewrite(const WireReader& message, Edit edit) const {
  Rewritten result;
  WireReader reader = message;
  while (const auto field = reader.next()) {
    std::optional<Pieces> replaced = edit(*field);
    if (replaced) {
      result.changed = true;
      result.content.add(std::move(*replaced));
    } else {
      source_.copy(static_cast<std::int64_t>(field->begin), static_cast<std::int64_t>(field->end),
                   result.content);
    }
  }
  return result;
}

Pieces TrainedWriter::model(const WireReader& message) {
  Metadata pending = trained_.metadata;
  Rewritten result = rewrite(message, [&](const WireField& field) -> std::optional<Pieces> {
    if (field.number == 7) {
      Rewritten inner = graph(field);
      if (!inner.changed) return std::nullopt;
      return wire_field(7, std::move(inner.content));
    }
    if (field.number != 14) return std::nullopt;
    Metadata entry;
    read_entry(field, entry);
    const auto node = pending.extract(entry.begin()->first);
    if (node.empty()) return std::nullopt;
    return entry_field(14, node.key(), node.mapped());
  });
  for (const auto& [key, value] : pending) result.content.add(entry_field(14, key, value));
  return std::move(result.content);
}

Rewritten TrainedWriter::graph(const WireField& field) {
  std::size_t nodes = 0;
  std::size_t initializers = 0;
  Rewritten result = rewrite(field.message(), [&](const WireField& part) -> std::optional<Pieces> {
    mapped_.passed(part.begin);
    if (part.number == 1) {
      const FileNode& old = file_.graph.nodes[nodes++];
      const NodeEdit edit = edit_of(old);
      if (!edit.changes(old)) return std::nullopt;
      return node(part, old, edit);
    }
    if (part.number != 5) return std::nullopt;
    const TensorRef& old = file_.graph.initializers[initializers++];
    if (!needs_rewrite(old, old.name)) return std::nullopt;
    return wire_field(5, tensor(part, old, old.name));
  });
  add_splits(result);
  return result;
}

// What a split tensor is in the file: floats of the width that the merged one has.
TensorRef TrainedWriter::like_merged(const SplitInitializer& split) const {
  TensorRef own;
  own.type = {core::DType::kFloat32, split.shape, core::Layout::kPlain};
  for (const TensorRef& tensor : file_.graph.initializers) {
    if (tensor.name == split.merged) own.half = tensor.half;
  }
  return own;
}

void TrainedWriter::add_splits(Rewritten& graph) const {
  constexpr std::int64_t kInitializersApart = 4;  // the IR version that frees them of being inputs
  for (const SplitInitializer& split : trained_.splits) {
    const TensorRef own = like_merged(split);
    const std::int64_t onnx_type = onnx_type_of(own);
    WireWriter head;
    head.packed(1, split.shape.dims()).integer(2, onnx_type).text(8, split.name);
    const std::int64_t length = own.bytes_in_file().count();
    head.header(9, static_cast<std::uint64_t>(length));
    Pieces content;
    content.add(head.bytes());
    content.add_source(
        own.half == Half::kNone ? split.bytes : rounded(own.half, split.bytes, split.name), length);
    graph.content.add(wire_field(5, std::move(content)));
    graph.changed = true;
    if (file_.ir_version >= kInitializersApart) continue;
    WireWriter shape;
    for (const std::int64_t dim : split.shape.dims())
      shape.message(1, WireWriter().integer(1, dim));
    const WireWriter type = WireWriter().integer(1, onnx_type).message(2, shape);
    const WireWriter info =
        WireWriter().text(1, split.name).message(2, WireWriter().message(1, type));
    Pieces input;
    input.add(WireWriter().message(11, info).bytes());
    graph.content.add(std::move(input));
  }
}

NodeEdit TrainedWriter::edit_of(const FileNode& node) const {
  NodeEdit edit = keep_all(node);
  for (const SplitInitializer& split : trained_.splits) {
    if (!node.outputs.empty() && node.outputs.front() == split.node_output) {
      edit.inputs[split.input] = split.name;
    }
  }
  turn_training_off(node, reads_, edit);
  const TensorRef* const constant = constant_tensor(node);
  edit.rewrite_tensor = constant != nullptr && needs_rewrite(*constant, node.outputs.front());
  return edit;
}

Pieces TrainedWriter::node(const WireField& field,
                           const FileNode& old,
                           const NodeEdit& edit) const {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  Rewritten result = rewrite(field.message(), [&](const WireField& part) -> std::optional<Pieces> {
    if (part.number == 1) {
      const std::size_t index = inputs++;
      if (index >= edit.kept_inputs) return Pieces();
      const auto renamed = edit.inputs.find(index);
      if (renamed != edit.inputs.end()) return text_field(1, renamed->second);
    }
    if (part.number == 2 && outputs++ >= edit.kept_outputs) return Pieces();
    if (part.number == 5) return wire_field(5, attribute(part, old, edit));
    return std::nullopt;
  });
  return wire_field(1, std::move(result.content));
}

Pieces TrainedWriter::attribute(const WireField& field,
                                const FileNode& old,
                                const NodeEdit& edit) const {
  std::string name;
  WireReader reader = field.message();
  while (const auto part = reader.next()) {
    if (part->number == 1) name = part->text();
  }
  return rewrite(field.message(),
                 [&](const WireField& part) -> std::optional<Pieces> {
                   if (edit.training_off && name == "training_mode" && part.number == 3) {
                     Pieces off;
                     off.add(WireWriter().integer(3, 0).bytes());
                     return off;
                   }
                   if (edit.rewrite_tensor && name == "value" && part.number == 5) {
                     return wire_field(5, tensor(part, *constant_tensor(old), old.outputs.front()));
                   }
                   return std::nullopt;
                 })
      .content;
}

bool TrainedWriter::needs_rewrite(const TensorRef& tensor, const std::string& name) const {
  return !tensor.location.empty() || (tensor.file.empty() && sources_.contains(name));
}

// A tensor that moves within external data, or whose elements do not lie in the file as bytes.
Pieces TrainedWriter::tensor(const WireField& field,
                             const TensorRef& tensor,
                             const std::string& name) const {
  const bool external = !tensor.location.empty();
  Rewritten result = rewrite(field.message(), [&](const WireField& part) -> std::optional<Pieces> {
    const bool data = part.number >= 4 && part.number <= 11 && part.number != 8;
    const bool place = part.number == 13;
    return (external ? place : data) ? std::optional(Pieces()) : std::nullopt;
  });
  if (external) {
    const std::string location = out_.filename().string() + ".data";
    const std::int64_t offset = bases_.at(tensor.location) + tensor.offset;
    result.content.add(entry_field(13, "location", location));
    result.content.add(entry_field(13, "offset", core::text("{}", offset)));
    result.content.add(entry_field(13, "length", core::text("{}", tensor.bytes_in_file().count())));
    return std::move(result.content);
  }
  Pieces bytes;
  bytes.add_source(sources_.at(name), tensor.bytes_in_file().count());
  result.content.add(wire_field(9, std::move(bytes)));
  return std::move(result.content);
}

Pieces TrainedWriter::data() const {
  Pieces result;
  for (const auto& [location, file] : external_) {
    result.add(std::string(static_cast<std::size_t>(bases_.at(location) - result.size()), '\0'));
    file.copy(0, file.claimed_end(), result);
  }
  return result;
}

void TrainedWriter::write() {
  core::OutputFile model_file(out_);
  model(WireReader(mapped_.bytes())).write_to(model_file);
  if (!external_.empty()) {
    std::filesystem::path data_path = out_;
    data_path += ".data";
    core::OutputFile data_file(data_path);
    data().write_to(data_file);
    data_file.commit();
  }
  model_file.commit();
}

}  // namespace

void write_trained(const std::filesystem::path& source,
                   const std::filesystem::path& out,
                   const TrainedTensors& trained) {
  TrainedWriter(source, out, trained).write();
}

}  // namespace lowtide::onnx
