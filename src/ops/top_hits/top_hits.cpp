#include "ops/top_hits/top_hits.h"

#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;

std::vector<TensorType> infer(const TopHits& a, Types in) {
  std::vector<std::int64_t> dims = in[0].shape.dims();
  if (core::is_float(in[0].dtype) && a.class_axis < dims.size()) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(a.class_axis));
    if (in[1] == TensorType{DType::kInt64, core::Shape(dims)}) return {{DType::kInt64, {}}};
  }
  throw core::fail(ErrorCode::kInvalidArgument, "labels of {} do not go with logits of {}",
                   in[1].str(), in[0].str());
}

Cost cost(const TopHits&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.in[1].bytes()};
}

// A label is a hit when fewer than `among` logits come before its own.
void run(const TopHits& a, const Signature& types, const Run& run) {
  const std::int64_t classes = types.in[0].shape[a.class_axis];
  std::vector<std::int64_t> strides = core::strides(types.in[0]);
  const std::int64_t step = strides[a.class_axis];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(a.class_axis));
  std::int64_t hits = 0;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t* label = run.input<std::int64_t>(1);
    for (Index i(types.in[1].shape); i.valid(); i.next(), ++label) {
      if (*label < 0 || *label >= classes || *label == a.ignore_index) continue;
      const T* const logits = run.input<T>(0) + i.offset(strides);
      const T own = logits[*label * step];
      std::int64_t before = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        const T other = logits[c * step];
        if (other > own || (other == own && c < *label)) ++before;
      }
      if (before < a.among) ++hits;
    }
  });
  *run.output<std::int64_t>(0) = hits;
}

}  // namespace

const OpDef& top_hits_op() {
  static const TypedOp<TopHits> op{{
      .name = "TopHits",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kNever,
      .kernels = {{.name = "reference", .run = run}},
  }};
  return op;
}

ValueId top_hits(GraphBuilder& b, ValueId logits, ValueId labels, const TopHits& attributes) {
  return b.add_one(top_hits_op(), Attrs::of(attributes), {logits, to_plain(b, labels)});
}

}  // namespace lowtide::ops
