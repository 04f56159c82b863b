// Small ONNX files put together by hand, and arrays to feed them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "e2e/scene.h"
#include "onnx/toy.h"

namespace lowtide::e2e {

namespace toy = onnx::toy;

// A float initializer of any shape.
onnx::WireWriter weight(const std::string& name,
                        const std::vector<std::int64_t>& dims,
                        const std::vector<float>& elements);
onnx::WireWriter text_attribute(const std::string& name, const std::string& value);
onnx::WireWriter float_attribute(const std::string& name, float value);
onnx::WireWriter list_attribute(const std::string& name, const std::vector<std::int64_t>& values);

// Writes the model to `<scene>/<name>`; returns its path.
std::string write_model(const Scene& scene,
                        const toy::Parts& parts,
                        const std::string& name = "model.onnx");

// Writes y = x + b with a vector b of zeros.
std::string write_shift(const Scene& scene, std::int64_t width);

// The elements of a trained file's initializer.
std::vector<double> tensor(const Trained& trained, const std::string& name);
void expect_near(const std::vector<double>& found,
                 const std::vector<double>& expected,
                 double tolerance);

// Writes an .npz of a float input and float or integer labels; returns its path.
template <class Label>
std::string write_data(const Scene& scene,
                       const std::string& input,
                       const core::Shape& shape,
                       const std::vector<float>& elements,
                       const core::Shape& label_shape,
                       const std::vector<Label>& labels) {
  const std::string path = scene / "data.npz";
  data::NpzWriter writer(path);
  support::add_array(writer, input, shape, elements);
  support::add_array(writer, "label", label_shape, labels);
  writer.finish();
  return path;
}

}  // namespace lowtide::e2e
