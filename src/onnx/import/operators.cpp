#include "onnx/import/operators.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

#include "core/text.h"

namespace lowtide::onnx {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Operator {
  std::string_view type;
  std::size_t inputs = 0;  // at most
  std::string_view attributes;

  [[nodiscard]] bool has(std::string_view attribute) const {
    for (std::string_view rest = attributes; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == attribute) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
  }
};

// Written from the schemas of onnx 1.22: what any version of an operator in opsets 7 to 27 has.
constexpr std::array kOperators = {
    Operator{"Abs", 1, ""},
    Operator{"Acos", 1, ""},
    Operator{"Acosh", 1, ""},
    Operator{"Add", 2, ""},
    Operator{"AffineGrid", 2, "align_corners"},
    Operator{"And", 2, ""},
    Operator{"ArgMax", 1, "axis keepdims select_last_index"},
    Operator{"ArgMin", 1, "axis keepdims select_last_index"},
    Operator{"Asin", 1, ""},
    Operator{"Asinh", 1, ""},
    Operator{"Atan", 1, ""},
    Operator{"Atanh", 1, ""},
    Operator{
        "Attention", 7,
        "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    Operator{"AveragePool", 1,
             "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    Operator{"BatchNormalization", 5, "epsilon momentum spatial training_mode"},
    Operator{"Bernoulli", 1, "dtype seed"},
    Operator{"BitCast", 1, "to"},
    Operator{"BitShift", 2, "direction"},
    Operator{"BitwiseAnd", 2, ""},
    Operator{"BitwiseNot", 1, ""},
    Operator{"BitwiseOr", 2, ""},
    Operator{"BitwiseXor", 2, ""},
    Operator{"BlackmanWindow", 1, "output_datatype periodic"},
    Operator{"Cast", 1, "round_mode saturate to"},
    Operator{"CastLike", 2, "round_mode saturate"},
    Operator{"CausalConvWithState", 4, "activation"},
    Operator{"Ceil", 1, ""},
    Operator{"Celu", 1, "alpha"},
    Operator{"CenterCropPad", 2, "axes"},
    Operator{"Clip", 3, "max min"},
    Operator{"Col2Im", 3, "dilations pads strides"},
    Operator{"Compress", 2, "axis"},
    Operator{"Concat", kAny, "axis"},
    Operator{"ConcatFromSequence", 1, "axis new_axis"},
    Operator{"Constant", 0,
             "sparse_value value value_float value_floats value_int value_ints value_string "
             "value_strings"},
    Operator{"ConstantOfShape", 1, "value"},
    Operator{"Conv", 3, "auto_pad dilations group kernel_shape pads strides"},
    Operator{"ConvInteger", 4, "auto_pad dilations group kernel_shape pads strides"},
    Operator{"ConvTranspose", 3,
             "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    Operator{"Cos", 1, ""},
    Operator{"Cosh", 1, ""},
    Operator{"CumProd", 2, "exclusive reverse"},
    Operator{"CumSum", 2, "exclusive reverse"},
    Operator{"DFT", 3, "axis inverse onesided"},
    Operator{"DeformConv", 5, "dilations group kernel_shape offset_group pads strides"},
    Operator{"DepthToSpace", 1, "blocksize mode"},
    Operator{"DequantizeLinear", 3, "axis block_size output_dtype"},
    Operator{"Det", 1, ""},
    Operator{"Div", 2, ""},
    Operator{"Dropout", 3, "ratio seed"},
    Operator{"DynamicQuantizeLinear", 1, ""},
    Operator{"Einsum", kAny, "equation"},
    Operator{"Elu", 1, "alpha"},
    Operator{"Equal", 2, ""},
    Operator{"Erf", 1, ""},
    Operator{"Exp", 1, ""},
    Operator{"Expand", 2, ""},
    Operator{"EyeLike", 1, "dtype k"},
    Operator{"Flatten", 1, "axis"},
    Operator{"Floor", 1, ""},
    Operator{"GRU", 6,
             "activation_alpha activation_beta activations clip direction hidden_size layout "
             "linear_before_reset"},
    Operator{"Gather", 2, "axis"},
    Operator{"GatherElements", 2, "axis"},
    Operator{"GatherND", 2, "batch_dims"},
    Operator{"Gelu", 1, "approximate"},
    Operator{"Gemm", 3, "alpha beta transA transB"},
    Operator{"GlobalAveragePool", 1, ""},
    Operator{"GlobalLpPool", 1, "p"},
    Operator{"GlobalMaxPool", 1, ""},
    Operator{"Greater", 2, ""},
    Operator{"GreaterOrEqual", 2, ""},
    Operator{"GridSample", 2, "align_corners mode padding_mode"},
    Operator{"GroupNormalization", 3, "epsilon num_groups stash_type"},
    Operator{"HammingWindow", 1, "output_datatype periodic"},
    Operator{"HannWindow", 1, "output_datatype periodic"},
    Operator{"HardSigmoid", 1, "alpha beta"},
    Operator{"HardSwish", 1, ""},
    Operator{"Hardmax", 1, "axis"},
    Operator{"Identity", 1, ""},
    Operator{"If", 1, "else_branch then_branch"},
    Operator{"ImageDecoder", 1, "pixel_format"},
    Operator{"InstanceNormalization", 3, "epsilon"},
    Operator{"IsInf", 1, "detect_negative detect_positive"},
    Operator{"IsNaN", 1, ""},
    Operator{"LRN", 1, "alpha beta bias size"},
    Operator{"LSTM", 8,
             "activation_alpha activation_beta activations clip direction hidden_size input_forget "
             "layout"},
    Operator{"LayerNormalization", 3, "axis epsilon stash_type"},
    Operator{"LeakyRelu", 1, "alpha"},
    Operator{"Less", 2, ""},
    Operator{"LessOrEqual", 2, ""},
    Operator{"LinearAttention", 6, "chunk_size kv_num_heads q_num_heads scale update_rule"},
    Operator{"Log", 1, ""},
    Operator{"LogSoftmax", 1, "axis"},
    Operator{"Loop", kAny, "body"},
    Operator{"LpNormalization", 1, "axis p"},
    Operator{"LpPool", 1, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    Operator{"MatMul", 2, ""},
    Operator{"MatMulInteger", 4, ""},
    Operator{"Max", kAny, ""},
    Operator{"MaxPool", 1, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    Operator{"MaxRoiPool", 2, "pooled_shape spatial_scale"},
    Operator{"MaxUnpool", 3, "kernel_shape pads strides"},
    Operator{"Mean", kAny, ""},
    Operator{"MeanVarianceNormalization", 1, "axes"},
    Operator{"MelWeightMatrix", 5, "output_datatype"},
    Operator{"Min", kAny, ""},
    Operator{"Mish", 1, ""},
    Operator{"Mod", 2, "fmod"},
    Operator{"Mul", 2, ""},
    Operator{"Multinomial", 1, "dtype sample_size seed"},
    Operator{"Neg", 1, ""},
    Operator{"NegativeLogLikelihoodLoss", 3, "ignore_index reduction"},
    Operator{"NonMaxSuppression", 5, "center_point_box"},
    Operator{"NonZero", 1, ""},
    Operator{"Not", 1, ""},
    Operator{"OneHot", 3, "axis"},
    Operator{"Optional", 1, "type"},
    Operator{"OptionalGetElement", 1, ""},
    Operator{"OptionalHasElement", 1, ""},
    Operator{"Or", 2, ""},
    Operator{"PRelu", 2, ""},
    Operator{"Pad", 4, "mode pads value"},
    Operator{"Pow", 2, ""},
    Operator{"QLinearConv", 9, "auto_pad dilations group kernel_shape pads strides"},
    Operator{"QLinearMatMul", 8, ""},
    Operator{"QuantizeLinear", 3, "axis block_size output_dtype precision saturate"},
    Operator{"RMSNormalization", 2, "axis epsilon stash_type"},
    Operator{"RNN", 6,
             "activation_alpha activation_beta activations clip direction hidden_size layout"},
    Operator{"RandomNormal", 0, "dtype mean scale seed shape"},
    Operator{"RandomNormalLike", 1, "dtype mean scale seed"},
    Operator{"RandomUniform", 0, "dtype high low seed shape"},
    Operator{"RandomUniformLike", 1, "dtype high low seed"},
    Operator{"Range", 3, "stash_type"},
    Operator{"Reciprocal", 1, ""},
    Operator{"ReduceL1", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceL2", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceLogSum", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceLogSumExp", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceMax", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceMean", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceMin", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceProd", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceSum", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"ReduceSumSquare", 2, "axes keepdims noop_with_empty_axes"},
    Operator{"RegexFullMatch", 1, "pattern"},
    Operator{"Relu", 1, ""},
    Operator{"Reshape", 2, "allowzero"},
    Operator{"Resize", 4,
             "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
             "extrapolation_value keep_aspect_ratio_policy mode nearest_mode"},
    Operator{"ReverseSequence", 2, "batch_axis time_axis"},
    Operator{"RoiAlign", 3,
             "coordinate_transformation_mode mode output_height output_width sampling_ratio "
             "spatial_scale"},
    Operator{"RotaryEmbedding", 4, "interleaved num_heads rotary_embedding_dim"},
    Operator{"Round", 1, ""},
    Operator{"STFT", 4, "onesided"},
    Operator{"Scan", kAny,
             "body directions num_scan_inputs scan_input_axes scan_input_directions "
             "scan_output_axes scan_output_directions"},
    Operator{"Scatter", 3, "axis"},
    Operator{"ScatterElements", 3, "axis reduction"},
    Operator{"ScatterND", 3, "reduction"},
    Operator{"Selu", 1, "alpha gamma"},
    Operator{"SequenceAt", 2, ""},
    Operator{"SequenceConstruct", kAny, ""},
    Operator{"SequenceEmpty", 0, "dtype"},
    Operator{"SequenceErase", 2, ""},
    Operator{"SequenceInsert", 3, ""},
    Operator{"SequenceLength", 1, ""},
    Operator{"SequenceMap", kAny, "body"},
    Operator{"Shape", 1, "end start"},
    Operator{"Shrink", 1, "bias lambd"},
    Operator{"Sigmoid", 1, ""},
    Operator{"Sign", 1, ""},
    Operator{"Sin", 1, ""},
    Operator{"Sinh", 1, ""},
    Operator{"Size", 1, ""},
    Operator{"Slice", 5, "axes ends starts"},
    Operator{"Softmax", 1, "axis"},
    Operator{"SoftmaxCrossEntropyLoss", 3, "ignore_index reduction"},
    Operator{"Softplus", 1, ""},
    Operator{"Softsign", 1, ""},
    Operator{"SpaceToDepth", 1, "blocksize"},
    Operator{"Split", 2, "axis num_outputs split"},
    Operator{"SplitToSequence", 2, "axis keepdims"},
    Operator{"Sqrt", 1, ""},
    Operator{"Squeeze", 2, "axes"},
    Operator{"StringConcat", 2, ""},
    Operator{"StringNormalizer", 1, "case_change_action is_case_sensitive locale stopwords"},
    Operator{"StringSplit", 1, "delimiter maxsplit"},
    Operator{"Sub", 2, ""},
    Operator{"Sum", kAny, ""},
    Operator{"Swish", 1, "alpha"},
    Operator{"Tan", 1, ""},
    Operator{"Tanh", 1, ""},
    Operator{"TensorScatter", 3, "axis mode"},
    Operator{"TfIdfVectorizer", 1,
             "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes "
             "pool_int64s pool_strings weights"},
    Operator{"ThresholdedRelu", 1, "alpha"},
    Operator{"Tile", 2, ""},
    Operator{"TopK", 2, "axis k largest sorted"},
    Operator{"Transpose", 1, "perm"},
    Operator{"Trilu", 2, "upper"},
    Operator{"Unique", 1, "axis sorted"},
    Operator{"Unsqueeze", 2, "axes"},
    Operator{"Upsample", 2, "mode scales"},
    Operator{"Where", 3, ""},
    Operator{"Xor", 2, ""},
};
static_assert(std::ranges::is_sorted(kOperators, {}, &Operator::type));

}  // namespace

void check_schema(const FileNode& node) {
  if (!node.domain.empty()) return;
  const auto* const found = std::ranges::lower_bound(kOperators, node.type, {}, &Operator::type);
  if (found == kOperators.end() || found->type != node.type) return;
  for (const Attribute& attribute : node.attributes) {
    if (found->has(attribute.name)) continue;
    throw core::fail(ErrorCode::kInvalidFile, "ONNX gives {} no attribute '{}'{}{}", node.type,
                     attribute.name, found->attributes.empty() ? "" : ", but ", found->attributes);
  }
  for (std::size_t i = found->inputs; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    throw core::fail(ErrorCode::kInvalidFile, "input {} ('{}') is one too many: ONNX gives {} {}",
                     i, node.inputs[i], node.type, found->inputs);
  }
}

}  // namespace lowtide::onnx
