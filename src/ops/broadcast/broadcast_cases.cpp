#include "ops/broadcast/broadcast.h"
#include "ops/cases.h"

namespace lowtide::ops {

std::vector<OpCase> broadcast_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape from, core::Shape to, core::Layout layout,
                       core::DType dtype = core::DType::kFloat32) {
    cases.push_back(
        {.name = "broadcast/" + std::move(name),
         .inputs = {{.shape = std::move(from), .dtype = dtype}},
         .build = [to, layout](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{broadcast_to(b, in[0], to, layout)};
         }});
  };
  using core::Layout;
  add("scalar", {}, {3, 5}, Layout::kPlain);
  add("row", {17}, {3, 17}, Layout::kPlain);
  add("column", {3, 1}, {3, 17}, Layout::kPlain);
  add("middle", {2, 1, 5}, {2, 3, 5}, Layout::kPlain);
  add("both_ends", {1, 3, 1}, {4, 3, 5}, Layout::kPlain);
  add("same", {2, 3}, {2, 3}, Layout::kPlain);
  add("empty", {1, 3}, {0, 3}, Layout::kPlain);
  add("pixels", {2, 19, 1, 1}, {2, 19, 5, 7}, Layout::kChannelsLast);
  add("channels", {19, 1, 1}, {2, 19, 5, 7}, Layout::kChannelsLast);
  add("threads", {150, 1}, {3, 150, 151}, Layout::kPlain);
  add("int64", {3, 1}, {3, 4}, Layout::kPlain, core::DType::kInt64);
  return cases;
}

}  // namespace lowtide::ops
