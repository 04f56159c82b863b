#include "ops/cases.h"
#include "ops/softmax/softmax.h"

namespace lowtide::ops {

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, std::int64_t axis, bool log) {
    cases.push_back(
        {.name = (log ? "log_softmax/" : "softmax/") + std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [axis, log](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{log ? log_softmax(b, in[0], axis)
                                                  : softmax(b, in[0], axis)};
         }});
  };
  for (const bool log : {false, true}) {
    add("rows_of_17", {5, 17}, -1, log);
    add("rows_of_16", {3, 16}, 1, log);
    add("one_element", {1, 1}, -1, log);
    add("no_rows", {0, 7}, -1, log);
    add("middle_axis", {2, 5, 3}, 1, log);
    add("first_axis", {4, 6}, 0, log);
    add("wide", {2, 1031}, -1, log);
  }
  return cases;
}

}  // namespace lowtide::ops
