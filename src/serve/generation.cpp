#include "serve/generation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/text.h"
#include "onnx/input_shapes.h"
#include "serve/session.h"
#include "train/prepare/recipe.h"

namespace lowtide::serve {
namespace {

using core::fail;

// Of the generator: no other part of the program uses this counter.
constexpr std::uint64_t kTokenStream = (std::uint64_t{1} << 63U) + 2;

// In [0, 1) with 53 bits. It depends on the seed and the token's number only.
double draw_of(std::uint64_t seed, std::uint64_t number) {
  const core::Philox words = core::philox(seed, number, kTokenStream);
  return static_cast<double>((std::uint64_t{words[0]} << 32U | words[1]) >> 11U) * 0x1.0p-53;
}

void check(const GenerateSettings& settings) {
  if (settings.prompt.empty()) {
    throw fail(ErrorCode::kInvalidArgument, "a prompt needs at least one token");
  }
  if (settings.tokens < 0) {
    throw fail(ErrorCode::kInvalidArgument, "{} tokens cannot be written", settings.tokens);
  }
  if (!(settings.temperature >= 0 && std::isfinite(settings.temperature))) {
    throw fail(ErrorCode::kInvalidArgument, "the temperature must not be negative, got {}",
               settings.temperature);
  }
  if (settings.top_k < 0) {
    throw fail(ErrorCode::kInvalidArgument, "top-k must not be negative, got {}", settings.top_k);
  }
}

// The one input, of {1, sequence} tokens.
onnx::ValueInfo tokens_input(const onnx::ModelFile& file) {
  const std::vector<onnx::ValueInfo> inputs = onnx::data_inputs(file);
  const bool tokens = inputs.size() == 1 && inputs[0].dtype && core::is_integer(*inputs[0].dtype) &&
                      inputs[0].dims && inputs[0].dims->size() == 2;
  if (tokens) return inputs[0];
  std::vector<std::string> all;
  for (const onnx::ValueInfo& input : inputs) {
    all.push_back(core::text("'{}' {} {}", input.name, input.type_name, onnx::describe(input)));
  }
  throw fail(
      ErrorCode::kUnsupported,
      "{}: writing on needs a network with one input, of integers (batch, tokens); it has {}",
      file.path, fmt::join(all, ", "));
}

core::Shape input_shape(const onnx::ModelFile& file,
                        const onnx::ValueInfo& input,
                        const ModelSettings& model) {
  const auto given = model.shapes.find(input.name);
  if (given != model.shapes.end()) {
    if (given->second.size() == 2 && given->second[1] > 0) return core::Shape{1, given->second[1]};
    throw fail(ErrorCode::kInvalidArgument, "input '{}' takes (batch, tokens)", input.name);
  }
  const auto& sequence = (*input.dims)[1].value;
  if (sequence && *sequence > 0) return core::Shape{1, *sequence};
  throw fail(ErrorCode::kInvalidArgument,
             "{}: input '{}' is {}: how many tokens it reads at once is open; give --shape {}=1,N",
             file.path, input.name, onnx::describe(input), input.name);
}

// What the caller keeps, and this one the prompt.
Bytes kept(const GenerateSettings& settings) {
  constexpr auto kNobodyHas = std::int64_t{1} << 40;
  return std::min(settings.tokens, kNobodyHas) * settings.kept_per_token +
         static_cast<std::int64_t>(settings.prompt.size()) * Bytes(sizeof(std::int64_t));
}

// Looks at as many of the last tokens as the network reads at once.
class Window {
 public:
  Window(const GenerateSettings& settings, const core::Machine& machine)
      : file_(onnx::parse_file(settings.model.path)),
        input_(tokens_input(file_)),
        shape_(input_shape(file_, input_, settings.model)),
        session_(file_,
                 {{input_.name, shape_}},
                 settings.memory,
                 machine,
                 {.bytes = kept(settings), .per_place = Bytes(sizeof(std::int64_t))}) {
    const core::TensorType& type = session_.output_type(0);
    const core::Shape& shape = type.shape;
    const bool fits = type.dtype == core::DType::kFloat32 && shape.rank() == 3 && shape[0] == 1 &&
                      shape[1] == shape_[1];
    if (!fits) {
      throw fail(ErrorCode::kUnsupported,
                 "{}: writing on needs logits for each of {} tokens, and the output '{}' is {}",
                 file_.path, shape_[1], session_.output_name(0), type.str());
    }
    kinds_ = shape[2];
    known_ = session_.rows_picked_by(input_.name).value_or(kinds_);
  }

  // How many tokens it reads at once.
  [[nodiscard]] std::size_t length() const { return static_cast<std::size_t>(shape_[1]); }
  // How many tokens it can read.
  [[nodiscard]] std::int64_t known() const { return known_; }

  // The logits of what follows the tokens.
  std::span<const float> logits(std::span<const std::int64_t> tokens) {
    if (tokens.back() >= known_) {
      throw fail(ErrorCode::kInvalidArgument,
                 "{}: the network wrote token {}, and it can read 0 to {} only", file_.path,
                 tokens.back(), known_ - 1);
    }
    tokens = tokens.last(std::min(tokens.size(), length()));
    write(tokens);
    session_.step();
    const auto kinds = static_cast<std::size_t>(kinds_);
    const auto* const first = reinterpret_cast<const float*>(session_.output(0).data());
    return {first + (tokens.size() - 1) * kinds, kinds};
  }

 private:
  // The places behind the tokens hold zeros: no token looks at a later one.
  void write(std::span<const std::int64_t> tokens) {
    const std::span<std::byte> place = session_.input(input_.name);
    std::fill(place.begin(), place.end(), std::byte{0});
    core::visit(*input_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        if (place.size() < tokens.size() * sizeof(T)) return;  // an input that nothing reads
        auto* const to = reinterpret_cast<T*>(place.data());
        std::transform(tokens.begin(), tokens.end(), to,
                       [](std::int64_t token) { return static_cast<T>(token); });
      }
    });
  }

  onnx::ModelFile file_;
  onnx::ValueInfo input_;
  core::Shape shape_;
  Session session_;
  std::int64_t kinds_ = 0;  // of tokens that it can write
  std::int64_t known_ = 0;
};

}  // namespace

std::int64_t choose_token(std::span<const float> logits, const Choice& choice, double draw) {
  std::vector<std::int64_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t token) { return logits[static_cast<std::size_t>(token)]; };
  // Minus infinity is a token that never comes.
  const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](std::int64_t token) {
    return std::isnan(logit(token)) || logit(token) == INFINITY;
  });
  if (bad != tokens.end()) {
    throw fail(ErrorCode::kNumeric, "the logit of token {} is {}", *bad, logit(*bad));
  }
  // Of equal ones that of the lower number.
  const auto likelier = [&](std::int64_t a, std::int64_t b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  };
  std::size_t sorted = 0;
  // Puts the likeliest in order, twice as many each time: a draw seldom asks for many.
  const auto sort_more = [&] {
    constexpr std::size_t kFirst = 32;
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(sorted);
    sorted = std::min(std::max(2 * sorted, kFirst), tokens.size());
    std::partial_sort(begin, tokens.begin() + static_cast<std::ptrdiff_t>(sorted), tokens.end(),
                      likelier);
  };
  if (choice.top_k > 0 && choice.top_k < static_cast<std::int64_t>(tokens.size())) {
    std::nth_element(tokens.begin(), tokens.begin() + choice.top_k, tokens.end(), likelier);
    tokens.resize(static_cast<std::size_t>(choice.top_k));
  }
  sort_more();
  const float largest = logit(tokens.front());
  if (choice.temperature == 0) return tokens.front();
  if (largest == -INFINITY) throw fail(ErrorCode::kNumeric, "every logit is -inf");
  const auto weight = [&](std::int64_t token) {
    return std::exp((double{logit(token)} - double{largest}) / choice.temperature);
  };
  double left = 0;
  for (const std::int64_t token : tokens) left += weight(token);
  left *= draw;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == sorted) sort_more();
    left -= weight(tokens[i]);
    if (left < 0) return tokens[i];
  }
  return tokens.front();  // takes what rounding left over
}

void generate(const GenerateSettings& settings, const std::function<void(std::int64_t)>& take) {
  check(settings);
  const core::Machine machine = train::settle_machine(settings.machine);
  Window window(settings, machine);
  std::vector<std::int64_t> tokens = settings.prompt;
  for (const std::int64_t token : tokens) {
    if (token >= 0 && token < window.known()) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "{}: the prompt has token {}, the network knows 0 to {}",
               settings.model.path.string(), token, window.known() - 1);
  }
  if (tokens.size() > window.length()) {
    tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(window.length()));
  }
  const Choice choice{.temperature = settings.temperature, .top_k = settings.top_k};
  for (std::int64_t i = 0; i < settings.tokens; ++i) {
    const double draw = draw_of(settings.seed, static_cast<std::uint64_t>(i));
    const std::int64_t token = choose_token(window.logits(tokens), choice, draw);
    if (tokens.size() >= window.length()) tokens.erase(tokens.begin());  // read for the last time
    tokens.push_back(token);
    take(tokens.back());
  }
}

}  // namespace lowtide::serve
