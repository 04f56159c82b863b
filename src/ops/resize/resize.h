// Resize: a tensor brought to other lengths along some axes by nearest, linear or cubic
// interpolation.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };

// How a place of the result is brought to the input's axis; ONNX's names.
enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
  kTfHalfPixelForNn,
};

enum class NearestRounding : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct ResizeAxis {
  std::size_t axis = 0;
  std::int64_t size = 0;  // of the result
  double scale = 1;       // about size / the input's; coordinates are computed with it
  double begin = 0;       // what kTfCropAndResize takes: parts of the input's length
  double end = 1;

  bool operator==(const ResizeAxis&) const = default;
};

struct Resize {
  ResizeMode mode = ResizeMode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestRounding rounding = NearestRounding::kPreferFloor;
  double cubic = -0.75;
  bool exclude_outside = false;  // else what lies outside is like the border
  bool antialias = false;        // wider kernels where the result is smaller
  double extrapolation = 0;      // outside of the input, for kTfCropAndResize
  std::vector<ResizeAxis> axes = {};

  bool operator==(const Resize&) const = default;
};

// Floats; other dtypes by kNearest only. Images come out channels-last where only their positions
// are resized; else the result has x's layout. Emits nothing where x stays as it is.
graph::ValueId resize(graph::GraphBuilder& b, graph::ValueId x, Resize attributes);

// The transposed map: dy to dx of `shape`.
struct ResizeGradient {
  Resize resize;
  core::Shape shape;

  bool operator==(const ResizeGradient&) const = default;
};

const graph::OpDef& resize_op();
const graph::OpDef& resize_gradient_op();

}  // namespace lowtide::ops
