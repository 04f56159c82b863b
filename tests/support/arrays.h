// Arrays in files as tests compare them: shapes and doubles, whatever the element type.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/format/npy.h"
#include "data/format/npz_writer.h"
#include "support/folder.h"

namespace lowtide::support {

struct Array {
  core::Shape shape;
  std::vector<double> values;
};

// The members of an .npz by name, and the float initializers of an ONNX file.
std::map<std::string, Array> read_npz(const std::filesystem::path& path);
std::map<std::string, Array> read_initializers(const std::filesystem::path& path);

template <class T>
void add_array(data::NpzWriter& writer,
               const std::string& name,
               const core::Shape& shape,
               const std::vector<T>& elements) {
  writer.add(name, core::dtype_of<T>(), shape, std::as_bytes(std::span(elements)));
}

template <class T>
void write_npy(const std::filesystem::path& path,
               const core::Shape& shape,
               const std::vector<T>& elements) {
  const std::vector<std::byte> header = data::npy_header(core::dtype_of<T>(), shape);
  std::string bytes(reinterpret_cast<const char*>(header.data()), header.size());
  bytes.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  write_file(path, bytes);
}

}  // namespace lowtide::support
