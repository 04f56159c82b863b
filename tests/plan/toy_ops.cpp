#include "plan/toy_ops.h"

#include <cstring>

namespace lowtide::plan {

namespace {

using graph::Alias;
using graph::OpDef;
using graph::Repeat;
using graph::Run;
using graph::Sharing;
using graph::Signature;
using graph::TensorType;
using graph::Types;

std::uint64_t stir(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

std::vector<TensorType> infer_first(const Toy&, Types in) { return {in[0]}; }

std::vector<TensorType> infer_listed(const Toy& toy, Types) {
  std::vector<TensorType> types;
  for (const std::int64_t count : toy.out) types.push_back(bytes_type(count));
  return types;
}

graph::Cost cost(const Toy&, const Signature&) { return {}; }

Bytes scratch(const Toy& toy, const Signature&) { return Bytes(toy.scratch); }

std::vector<Alias> blend_aliases(const Toy&, const Signature& types) {
  std::vector<Alias> aliases = {{.output = 0, .input = 0}};
  if (types.in.size() > 1) aliases.push_back({.output = 0, .input = 1});
  return aliases;
}

void spoil_scratch(const Run& run) {
  if (!run.scratch.empty()) std::memset(run.scratch.data(), 0xA5, run.scratch.size());
}

void run_blend(const Toy& toy, const Signature& types, const Run& run) {
  spoil_scratch(run);
  const auto count = static_cast<std::size_t>(types.out[0].bytes().count());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t hash = stir(static_cast<std::uint64_t>(toy.tag));
    for (std::size_t k = 0; k < run.in.size(); ++k) {
      const auto size = static_cast<std::size_t>(types.in[k].bytes().count());
      if (size > 0) hash = stir(hash ^ (run.input<std::uint8_t>(k)[i % size] + 256 * k));
    }
    run.output<std::uint8_t>(0)[i] = static_cast<std::uint8_t>(hash);
  }
}

void run_mix(const Toy& toy, const Signature& types, const Run& run) {
  spoil_scratch(run);
  std::uint64_t hash = stir(static_cast<std::uint64_t>(toy.tag));
  for (std::size_t k = 0; k < run.in.size(); ++k) {
    const auto size = static_cast<std::size_t>(types.in[k].bytes().count());
    for (std::size_t i = 0; i < size; ++i) hash = stir(hash ^ run.input<std::uint8_t>(k)[i]);
  }
  for (std::size_t o = 0; o < run.out.size(); ++o) {
    const auto size = static_cast<std::size_t>(types.out[o].bytes().count());
    for (std::size_t i = 0; i < size; ++i) {
      run.output<std::uint8_t>(o)[i] = static_cast<std::uint8_t>(stir(hash + 1009 * o + i));
    }
  }
}

void run_through(const Through& a, const Signature& types, const Run& run) {
  std::vector<std::byte> blended(static_cast<std::size_t>(types.in[0].bytes().count()));
  std::byte* const into = blended.data();
  run_blend(a.blend, {types.in.first(a.blended), types.in.first(1)},
            {.in = run.in.first(a.blended), .out = {&into, 1}, .scratch = {}});
  std::vector<TensorType> rest_types = {types.in[0]};
  std::vector<const std::byte*> rest = {into};
  for (std::size_t i = a.blended; i < run.in.size(); ++i) {
    rest_types.push_back(types.in[i]);
    rest.push_back(run.in[i]);
  }
  run_mix(a.mix, {rest_types, types.out},
          {.in = rest, .out = run.out, .scratch = run.scratch, .step = run.step});
}

void run_view(const Toy&, const Signature& types, const Run& run) {
  const auto size = static_cast<std::size_t>(types.out[0].bytes().count());
  if (run.out[0] != run.in[0]) std::memcpy(run.out[0], run.in[0], size);
}

}  // namespace

const OpDef& blend_op() {
  static const graph::TypedOp<Toy> op{{
      .name = "Blend",
      .infer = infer_first,
      .gradient = graph::not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = blend_aliases,
      .kernels = {{.name = "reference", .scratch = scratch, .run = run_blend}},
  }};
  return op;
}

const OpDef& mix_op() {
  static const graph::TypedOp<Toy> op{{
      .name = "Mix",
      .infer = infer_listed,
      .gradient = graph::not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference", .scratch = scratch, .run = run_mix}},
  }};
  return op;
}

const OpDef& once_op() {
  static const graph::TypedOp<Toy> op{{
      .name = "Once",
      .infer = infer_listed,
      .gradient = graph::not_differentiable,
      .cost = cost,
      .repeat = Repeat::kNever,
      .kernels = {{.name = "reference", .scratch = scratch, .run = run_mix}},
  }};
  return op;
}

const OpDef& mix_through_op() {
  static const graph::TypedOp<Through> op{{
      .name = "MixThrough",
      .infer = [](const Through& a, Types in) { return infer_listed(a.mix, in); },
      .gradient = graph::not_differentiable,
      .cost = [](const Through&, const Signature&) { return graph::Cost{}; },
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference",
                   .scratch = [](const Through& a,
                                 const Signature& types) { return scratch(a.mix, types); },
                   .run = run_through}},
  }};
  return op;
}

const OpDef& view_op() {
  static const graph::TypedOp<Toy> op{{
      .name = "View",
      .infer = infer_first,
      .gradient = graph::not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kView}},
      .kernels = {{.name = "reference", .run = run_view}},
  }};
  return op;
}

const OpDef& replace_op() {
  static const graph::TypedOp<Toy> op{{
      .name = "Replace",
      .infer = infer_first,
      .gradient = graph::not_differentiable,
      .cost = cost,
      .repeat = Repeat::kNever,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kState}},
      .kernels = {{.name = "reference", .scratch = scratch, .run = run_blend}},
  }};
  return op;
}

TensorType bytes_type(std::int64_t count) {
  return {core::DType::kOpaque, core::Shape{count}, core::Layout::kPlain};
}

}  // namespace lowtide::plan
