#include "onnx/ties.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "onnx/bytes/file.h"
#include "onnx/import/initializers.h"

namespace lowtide::onnx {
namespace {

// The one name in a list as Python prints it, ['name']; empty where there are none or several.
std::string_view only_name(std::string_view list) {
  if (list.size() < 4 || !list.starts_with("['") || !list.ends_with("']")) return {};
  const std::string_view name = list.substr(2, list.size() - 4);
  return name.find('\'') == std::string_view::npos ? name : std::string_view();
}

// Reads stretches of a tensor of 4-byte elements.
class Elements {
 public:
  explicit Elements(const TensorRef& tensor) : tensor_(tensor) {
    if (!tensor.bytes) file_.emplace(InputFile::open(tensor.file));
  }

  void read(std::int64_t begin, std::span<std::uint32_t> to) const {
    const std::int64_t offset = begin * std::int64_t{sizeof(std::uint32_t)};
    if (file_) return file_->read(tensor_.offset + offset, std::as_writable_bytes(to));
    std::memcpy(to.data(), tensor_.bytes->data() + offset, to.size_bytes());
  }

 private:
  const TensorRef& tensor_;
  std::optional<InputFile> file_;
};

// Compares some rows of the one with as many columns of the other at a time.
bool same_elements(const TensorRef& copy, const TensorRef& original) {
  constexpr std::int64_t kRows = 256;
  const std::int64_t rows = original.type.shape[0];
  const std::int64_t columns = original.type.shape[1];
  const Elements of_copy(copy);
  const Elements of_original(original);
  std::vector<std::uint32_t> block(static_cast<std::size_t>(std::min(kRows, rows) * columns));
  std::vector<std::uint32_t> line(static_cast<std::size_t>(std::min(kRows, rows)));
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const std::int64_t count = std::min(kRows, rows - first);
    of_original.read(first * columns,
                     std::span(block).first(static_cast<std::size_t>(count * columns)));
    const auto part = std::span(line).first(static_cast<std::size_t>(count));
    for (std::int64_t column = 0; column < columns; ++column) {
      of_copy.read(column * rows + first, part);
      for (std::int64_t i = 0; i < count; ++i) {
        if (part[static_cast<std::size_t>(i)] !=
            block[static_cast<std::size_t>(i * columns + column)]) {
          return false;
        }
      }
    }
  }
  return true;
}

bool is_transposed(const TensorRef& copy, const TensorRef& original) {
  const core::Shape& shape = original.type.shape;
  return copy.type.dtype == core::DType::kFloat32 && original.type.dtype == copy.type.dtype &&
         shape.rank() == 2 && copy.type.shape == core::Shape{shape[1], shape[0]} &&
         shape.elements() > 0 && same_elements(copy, original);
}

// A matrix of one number throughout may equal another by chance.
bool is_uniform(const TensorRef& tensor) {
  constexpr std::int64_t kChunk = 65536;
  const Elements elements(tensor);
  std::uint32_t first = 0;
  elements.read(0, {&first, 1});
  std::vector<std::uint32_t> chunk;
  for (std::int64_t at = 0; at < tensor.type.shape.elements(); at += kChunk) {
    chunk.resize(static_cast<std::size_t>(std::min(kChunk, tensor.type.shape.elements() - at)));
    elements.read(at, chunk);
    if (std::any_of(chunk.begin(), chunk.end(), [&](std::uint32_t x) { return x != first; })) {
      return false;
    }
  }
  return true;
}

// What the tensor is a copy of; null for nothing. PyTorch's newer exporter names it; the
// TorchScript one names the copy after its reader only.
const TensorRef* original_of(const TensorRef& tensor,
                             const TensorNotes& notes,
                             const std::vector<TensorRef>& all) {
  const std::string folded_from = notes.folded_from(tensor);
  const std::string_view named = only_name(folded_from);
  const bool anonymous = tensor.name.starts_with("onnx::MatMul");
  if (named.empty() && !anonymous) return nullptr;
  for (const TensorRef& other : all) {
    const bool candidate = named.empty() ? !other.name.starts_with("onnx::") : other.name == named;
    if (candidate && is_transposed(tensor, other)) {
      return named.empty() && is_uniform(tensor) ? nullptr : &other;
    }
  }
  return nullptr;
}

FileNode transpose_of(const TiedCopy& tie) {
  FileNode node{.type = "Transpose", .domain = "", .name = tie.copy + "/Transpose"};
  node.inputs = {tie.original};
  node.outputs = {tie.copy};
  node.attributes = {{.name = "perm", .value = std::vector<std::int64_t>{1, 0}}};
  return node;
}

}  // namespace

ByteSource transposed_bytes_of(ByteSource matrix, const core::Shape& shape) {
  constexpr auto kWidth = std::int64_t{sizeof(float)};
  const std::int64_t rows = shape[0];
  const std::int64_t columns = shape[1];
  return [=, matrix = std::move(matrix)](std::int64_t offset, std::span<std::byte> into) {
    // A chunk may begin and end within an element.
    while (!into.empty()) {
      const std::int64_t element = offset / kWidth;
      const std::int64_t within = offset % kWidth;
      const auto count = std::min(static_cast<std::size_t>(kWidth - within), into.size());
      matrix((element % rows * columns + element / rows) * kWidth + within, into.first(count));
      into = into.subspan(count);
      offset += static_cast<std::int64_t>(count);
    }
  };
}

void restore_ties(ModelFile& file) {
  FileGraph& graph = file.graph;
  const TensorNotes notes(graph);
  std::vector<TiedCopy> found;
  for (const TensorRef& tensor : graph.initializers) {
    const TensorRef* const original = original_of(tensor, notes, graph.initializers);
    if (original != nullptr) found.push_back({.copy = tensor.name, .original = original->name});
  }
  for (TiedCopy& tie : found) {
    const auto is_copy = [&](const auto& entry) { return entry.name == tie.copy; };
    std::erase_if(graph.initializers, is_copy);
    std::erase_if(graph.inputs, is_copy);
    graph.nodes.push_back(transpose_of(tie));
    file.ties.push_back(std::move(tie));
  }
}

}  // namespace lowtide::onnx
