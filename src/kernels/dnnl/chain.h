// Chain: a Computation made of oneDNN primitives. Private to this folder, as it names oneDNN types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/text.h"
#include "kernels/dnnl/computation.h"
#include "kernels/dnnl/engine.h"

namespace lowtide::kernels {

// The engine of the process; its one stream runs primitives in the calling thread and the pool.
const dnnl::engine& process_engine();

// Attributes of every primitive here: scratchpads come from the caller.
dnnl::primitive_attr with_user_scratchpad();

// A dense float32 tensor whose axes lie in memory in the given order, outermost first.
dnnl::memory::desc dense(const std::vector<std::int64_t>& dims,
                         const std::vector<std::size_t>& order);
// The same in the order of the dimensions, and with axis 1 moved to the end.
dnnl::memory::desc dense_plain(const std::vector<std::int64_t>& dims);
dnnl::memory::desc dense_channels_last(const std::vector<std::int64_t>& dims);

// Whether oneDNN found more than its plain loops.
template <class PrimitiveDesc>
bool is_fast(const PrimitiveDesc& desc) {
  return desc && std::string_view(desc.impl_info_str()).substr(0, 3) != "ref";
}

// Whether it works by oneDNN's general matrix product. That allocates while it runs, past the
// scratch it was given, and makes its code when it first runs.
template <class PrimitiveDesc>
bool is_by_general_product(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).find("gemm") != std::string_view::npos;
}

// Has that code made now, so that it is there when the process's memory is measured.
void prepare_general_product();

// Where one argument of a primitive lies: an input by its index, the output, or scratch.
struct Place {
  enum class In : std::uint8_t { kInput, kOutput, kScratch, kScratchpad };
  In in = In::kInput;
  std::size_t at = 0;  // index of the input, or bytes into the scratch
};

constexpr Place input_place(std::size_t index) { return {Place::In::kInput, index}; }
constexpr Place output_place() { return {Place::In::kOutput, 0}; }

struct Argument {
  int id = 0;  // DNNL_ARG_SRC, ...
  dnnl::memory::desc desc;
  Place place;
};

// Primitives run one after the other. Scratch holds the stretches that were reserved, then one
// scratchpad that the primitives use in turn.
class Chain final : public Computation {
 public:
  ~Chain() override;

  // Bytes that live through the whole chain.
  Place reserve(std::size_t bytes);

  template <class PrimitiveDesc>
  void add(const PrimitiveDesc& desc, std::vector<Argument> arguments) {
    add_step(dnnl::primitive(desc.get()), desc.scratchpad_desc(), std::move(arguments));
    const bool lowered = is_by_general_product(desc);
    const bool product = desc.get_kind() == dnnl::primitive::kind::matmul;
    if (lowered) prepare_general_product();
    count({.products = product ? 1 : 0,
           .lowered = lowered ? 1 : 0,
           .others = product || lowered ? 0 : 1});
  }

  // A copy between two memory formats.
  void add_reorder(const Argument& from, const Argument& to);

  [[nodiscard]] Bytes scratch() const override;
  void run(std::span<const std::byte* const> in, std::byte* out, std::byte* scratch) const override;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;  // one for each memory
    std::vector<Place> places;
  };

  void add_step(dnnl::primitive primitive,
                const dnnl::memory::desc& scratchpad,
                std::vector<Argument> arguments);
  // Adds to primitive_counts(), until this goes.
  void count(const PrimitiveCounts& counts);

  std::vector<Step> steps_;
  std::size_t reserved_ = 0;
  std::size_t scratchpad_ = 0;
  PrimitiveCounts counts_;
};

// Calls build(), which returns a Computation or null, and turns oneDNN's errors into ours: null
// where it does not take the shape (negative padding, for one) or has no implementation.
template <class F>
std::unique_ptr<Computation> prepared(F&& build) {
  try {
    return build();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
      return nullptr;
    }
    throw core::fail(ErrorCode::kUnsupported, "oneDNN: {}", error.message);
  }
}

}  // namespace lowtide::kernels
