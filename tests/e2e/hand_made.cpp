#include "e2e/hand_made.h"

#include <gtest/gtest.h>

namespace lowtide::e2e {

using onnx::WireWriter;

WireWriter weight(const std::string& name,
                  const std::vector<std::int64_t>& dims,
                  const std::vector<float>& elements) {
  WireWriter tensor;
  for (const std::int64_t dim : dims) tensor.integer(1, dim);
  return tensor.integer(2, 1).text(8, name).text(9, toy::raw(elements));
}

WireWriter text_attribute(const std::string& name, const std::string& value) {
  return WireWriter().text(1, name).text(4, value).integer(20, 3);
}

WireWriter float_attribute(const std::string& name, float value) {
  return WireWriter().text(1, name).real(2, value).integer(20, 1);
}

WireWriter list_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  WireWriter attribute = WireWriter().text(1, name);
  for (const std::int64_t value : values) attribute.integer(8, value);
  return attribute.integer(20, 7);
}

std::string write_model(const Scene& scene, const toy::Parts& parts, const std::string& name) {
  const std::string path = scene / name;
  support::write_file(path, toy::model(parts));
  return path;
}

std::string write_shift(const Scene& scene, std::int64_t width) {
  const std::string size = std::to_string(width);
  return write_model(
      scene,
      {.nodes = {toy::node("Add", {"x", "b"}, {"y"}, {}, "shift")},
       .initializers = {weight("b", {width}, std::vector<float>(static_cast<std::size_t>(width)))},
       .inputs = {toy::value_info("x", {"batch", size})},
       .outputs = {toy::value_info("y", {"batch", size})}});
}

std::vector<double> tensor(const Trained& trained, const std::string& name) {
  return support::read_initializers(trained.model).at(name).values;
}

void expect_near(const std::vector<double>& found,
                 const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
  }
}

}  // namespace lowtide::e2e
