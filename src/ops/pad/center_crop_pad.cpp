#include "ops/pad/center_crop_pad.h"

#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/pad/pad.h"

namespace lowtide::ops {

// Of an odd difference the larger part is at the end.
std::vector<graph::ValueId> read_center_crop_pad(graph::OnnxNode& node) {
  const graph::ValueId x = node.required_input(0);
  const core::Shape shape = node.builder().type(x).shape;
  const auto sizes = node.constant_integers(1);
  std::vector<std::int64_t> axes = node.integers("axes");
  if (!node.has("axes")) {
    axes.resize(shape.rank());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  if (!sizes || sizes->size() != axes.size()) {
    throw core::fail(ErrorCode::kInvalidFile, "CenterCropPad needs {} sizes", axes.size());
  }
  Pad a{.before = std::vector<std::int64_t>(shape.rank(), 0),
        .after = std::vector<std::int64_t>(shape.rank(), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = core::normalized_axis(axes[i], shape.rank());
    const std::int64_t more = (*sizes)[i] - shape[axis];
    a.before[axis] = more / 2;  // towards zero: half of what is cut, too
    a.after[axis] = more - more / 2;
  }
  return {pad(node.builder(), x, std::move(a))};
}

}  // namespace lowtide::ops
