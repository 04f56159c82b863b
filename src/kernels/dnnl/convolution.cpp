#include "kernels/dnnl/convolution.h"

#include <utility>

#include "kernels/dnnl/chain.h"

namespace lowtide::kernels {
namespace {

using dnnl::memory;

// The shape in oneDNN's words: groups are an axis of the weights, a dilation of 0 is none.
struct Descs {
  memory::desc x;
  memory::desc w;      // as given
  memory::desc any_w;  // in the order oneDNN likes best
  memory::desc y;
  memory::dims strides;
  memory::dims dilations;
  memory::dims pads_begin;
  memory::dims pads_end;
};

Descs describe(const ConvolutionShape& shape) {
  memory::dims w = shape.w;
  if (shape.groups > 1) {
    w[0] /= shape.groups;
    w.insert(w.begin(), shape.groups);
  }
  memory::dims dilations = shape.dilations;
  for (std::int64_t& dilation : dilations) --dilation;
  return {.x = dense_channels_last(shape.x),
          .w = dense_plain(w),
          .any_w = {w, memory::data_type::f32, memory::format_tag::any},
          .y = dense_channels_last(shape.y),
          .strides = shape.strides,
          .dilations = std::move(dilations),
          .pads_begin = shape.pads_begin,
          .pads_end = shape.pads_end};
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward_desc(const Descs& d,
                                                       const memory::desc& bias = {}) {
  return {process_engine(),
          dnnl::prop_kind::forward_training,
          kDirect,
          d.x,
          d.any_w,
          bias,
          d.y,
          d.strides,
          d.dilations,
          d.pads_begin,
          d.pads_end,
          with_user_scratchpad()};
}

// Where the weights lie in the order the primitive wants, after a reorder if that is another one.
Place packed(Chain& chain, const memory::desc& given, const memory::desc& wanted, Place at) {
  if (given == wanted) return at;
  const Place place = chain.reserve(wanted.get_size());
  chain.add_reorder({DNNL_ARG_FROM, given, at}, {DNNL_ARG_TO, wanted, place});
  return place;
}

std::unique_ptr<Computation> make_forward(const Descs& d, bool bias) {
  const memory::desc channels = bias ? dense_plain({d.y.get_dims()[1]}) : memory::desc();
  const auto desc = forward_desc(d, channels);
  if (!is_fast(desc)) return nullptr;
  auto chain = std::make_unique<Chain>();
  const memory::desc weights = desc.weights_desc();
  const Place w = packed(*chain, d.w, weights, input_place(1));
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, d.x, input_place(0)},
                                     {DNNL_ARG_WEIGHTS, weights, w},
                                     {DNNL_ARG_DST, d.y, output_place()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, channels, input_place(2)});
  chain->add(desc, std::move(arguments));
  return chain;
}

// Adds one number for each channel to the output.
void add_bias(Chain& chain, const memory::desc& output) {
  memory::dims dims(output.get_dims().size(), 1);
  dims[1] = output.get_dims()[1];
  const memory::desc bias = dense_plain(dims);
  const dnnl::binary::primitive_desc desc(process_engine(), dnnl::algorithm::binary_add, output,
                                          bias, output, with_user_scratchpad());
  chain.add(desc, {{DNNL_ARG_SRC_0, output, output_place()},
                   {DNNL_ARG_SRC_1, bias, input_place(2)},
                   {DNNL_ARG_DST, output, output_place()}});
}

std::unique_ptr<Computation> make_input_gradient(const Descs& d, bool bias) {
  const dnnl::convolution_backward_data::primitive_desc desc(
      process_engine(), kDirect, d.x, d.any_w, d.y, d.strides, d.dilations, d.pads_begin,
      d.pads_end, forward_desc(d), with_user_scratchpad());
  if (!is_fast(desc)) return nullptr;
  auto chain = std::make_unique<Chain>();
  const memory::desc weights = desc.weights_desc();
  const Place w = packed(*chain, d.w, weights, input_place(1));
  chain->add(desc, {{DNNL_ARG_WEIGHTS, weights, w},
                    {DNNL_ARG_DIFF_DST, d.y, input_place(0)},
                    {DNNL_ARG_DIFF_SRC, d.x, output_place()}});
  if (bias) add_bias(*chain, d.x);
  return chain;
}

std::unique_ptr<Computation> make_weight_gradient(const Descs& d) {
  const dnnl::convolution_backward_weights::primitive_desc desc(
      process_engine(), kDirect, d.x, d.any_w, d.y, d.strides, d.dilations, d.pads_begin,
      d.pads_end, forward_desc(d), with_user_scratchpad());
  if (!is_fast(desc)) return nullptr;
  auto chain = std::make_unique<Chain>();
  const memory::desc weights = desc.diff_weights_desc();
  const bool in_place = weights == d.w;
  const Place w = in_place ? output_place() : chain->reserve(weights.get_size());
  chain->add(desc, {{DNNL_ARG_SRC, d.x, input_place(0)},
                    {DNNL_ARG_DIFF_DST, d.y, input_place(1)},
                    {DNNL_ARG_DIFF_WEIGHTS, weights, w}});
  if (!in_place) {
    chain->add_reorder({DNNL_ARG_FROM, weights, w}, {DNNL_ARG_TO, d.w, output_place()});
  }
  return chain;
}

}  // namespace

std::unique_ptr<Computation> make_convolution(ConvolutionPass pass, const ConvolutionShape& shape) {
  return prepared([&]() -> std::unique_ptr<Computation> {
    const Descs descs = describe(shape);
    switch (pass) {
      case ConvolutionPass::kForward: return make_forward(descs, shape.bias);
      case ConvolutionPass::kInputGradient: return make_input_gradient(descs, shape.bias);
      case ConvolutionPass::kWeightGradient: break;
    }
    return make_weight_gradient(descs);
  });
}

}  // namespace lowtide::kernels
