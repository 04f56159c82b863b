#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/split/rotary_embedding.h"
#include "ops/split/split.h"

namespace lowtide::ops {

std::vector<OpCase> split_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, std::int64_t axis,
                       std::vector<std::int64_t> lengths) {
    cases.push_back(
        {.name = "split/" + std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [axis, lengths](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return split(b, in[0], axis, lengths);
         }});
  };
  add("rows", {6, 3}, 0, {1, 3, 2});
  add("heads", {2, 5, 48}, -1, {16, 16, 16});
  add("with_empty", {2, 3}, 1, {0, 3});
  add("empty", {0, 4}, 1, {1, 3});
  cases.push_back({.name = "split/one_part_unread",
                   .inputs = {{.shape = {3, 7}}},
                   .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                     const auto parts = split(b, in[0], 1, {2, 4, 1});
                     return std::vector<graph::ValueId>{parts[0], parts[2]};
                   }});
  cases.push_back({.name = "split/channels_last",
                   .inputs = {{.shape = {2, 5, 4, 3}}},
                   .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                     return split(b, to_channels_last(b, in[0]), 1, {3, 2});
                   }});
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t features : {0, 4}) {
      cases.push_back(
          {.name = std::string("rotary_embedding/") + (interleaved ? "neighbours" : "halves") +
                   (features == 0 ? "" : "_in_part"),
           .inputs = {{.shape = {2, 3, 2, 6}},
                      {.shape = {2, 3, features == 0 ? 3 : 2}},
                      {.shape = {2, 3, features == 0 ? 3 : 2}}},
           .build = [=](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
             const RotaryEmbedding a{.interleaved = interleaved, .features = features};
             return std::vector<graph::ValueId>{rotary_embedding(b, in[0], in[1], in[2], a)};
           }});
    }
  }
  return cases;
}

}  // namespace lowtide::ops
