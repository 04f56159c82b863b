#include "ops/conv_transpose/col2im.h"

#include <utility>

#include "core/text.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/reshape/reshape.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Weights (channels * taps, 1, taps) by which each tap of a block goes to its own place.
template <class T>
std::vector<T> selection(std::int64_t channels, std::int64_t taps) {
  std::vector<T> weights(static_cast<std::size_t>(channels * taps * taps));
  for (std::int64_t i = 0; i < channels * taps; ++i) {
    weights[static_cast<std::size_t>(i * taps + i % taps)] = T{1};
  }
  return weights;
}

}  // namespace

// The blocks (N, C * taps, count) are the input of a transposed convolution with C groups.
std::vector<ValueId> read_col2im(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId blocks = node.required_input(0);
  const core::TensorType type = b.type(blocks);
  const auto image = node.constant_integers(1);
  const auto kernel = node.constant_integers(2);
  if (!image || !kernel || image->size() != kernel->size() || type.shape.rank() != 3 ||
      !core::is_float(type.dtype)) {
    throw fail(ErrorCode::kInvalidFile, "Col2Im of {} without the sizes of image and blocks",
               type.str());
  }
  const std::int64_t taps = Shape(*kernel).elements();
  if (taps < 1 || type.shape[1] % taps != 0) {
    throw fail(ErrorCode::kInvalidFile, "{} does not hold blocks of {}", type.str(),
               Shape(*kernel).str());
  }
  const std::int64_t channels = type.shape[1] / taps;
  std::vector<std::int64_t> dims = *image;
  dims.insert(dims.begin(), {type.shape[0], channels});
  const Conv a = read_window(node, Conv{.groups = channels, .kernel = *kernel}, Shape(dims));

  const std::vector<std::int64_t> counts =
      window_counts(window_of(a), Shape(dims), Rounding::kDown);
  std::vector<std::int64_t> places = {type.shape[0], type.shape[1]};
  places.insert(places.end(), counts.begin(), counts.end());
  std::vector<std::int64_t> weight_dims = {type.shape[1], 1};
  weight_dims.insert(weight_dims.end(), kernel->begin(), kernel->end());
  const ValueId weights = core::visit_float(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return b.constant(Shape(weight_dims), selection<T>(channels, taps));
  });
  return {conv_transpose_to(b, reshape(b, blocks, Shape(places)), weights, ValueId(), a, *image)};
}

}  // namespace lowtide::ops
