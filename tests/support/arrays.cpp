#include "support/arrays.h"

#include <cstring>

#include "data/format/zip.h"
#include "onnx/model_file.h"

namespace lowtide::support {
namespace {

std::vector<double> to_doubles(core::DType dtype, std::span<const std::byte> bytes) {
  return core::visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> result(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < result.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      result[i] = static_cast<double>(element);
    }
    return result;
  });
}

}  // namespace

std::map<std::string, Array> read_npz(const std::filesystem::path& path) {
  std::map<std::string, Array> result;
  const data::ZipArchive archive(path);
  for (const data::ZipMember& member : archive.members()) {
    const data::StoredArray stored = data::open_npy(archive.open(member, path.parent_path()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(
        (stored.shape.elements() * core::element_bytes(stored.dtype)).count()));
    stored.read(0, bytes);
    const std::string name = member.name.substr(0, member.name.rfind(".npy"));
    result[name] = {stored.shape, to_doubles(stored.dtype, bytes)};
  }
  return result;
}

std::map<std::string, Array> read_initializers(const std::filesystem::path& path) {
  std::map<std::string, Array> result;
  for (const onnx::TensorRef& tensor : onnx::parse_file(path).graph.initializers) {
    if (!core::is_float(tensor.type.dtype)) continue;
    result[tensor.name] = {tensor.type.shape, to_doubles(tensor.type.dtype, *onnx::load(tensor))};
  }
  return result;
}

}  // namespace lowtide::support
