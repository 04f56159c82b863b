#include "ops/movement.h"

#include <algorithm>
#include <utility>

#include "kernels/copy.h"

namespace lowtide::ops {
namespace {

using graph::Run;
using graph::Signature;

std::int64_t element_bytes(const Signature& types) {
  return core::element_bytes(types.out[0].dtype).count();
}

kernels::StridedCopy prepare(const Movement& movement, std::int64_t bytes) {
  std::vector<kernels::StridedCopy::Axis> axes;
  for (std::size_t i = 0; i < movement.dims.size(); ++i) {
    axes.push_back({movement.dims[i], movement.from.strides[i], movement.to.strides[i]});
  }
  return {std::move(axes), bytes};
}

class Copies final : public graph::BoundKernel {
 public:
  Copies(std::vector<Movement> movements, std::int64_t element_bytes)
      : movements_(std::move(movements)), element_bytes_(element_bytes) {
    for (const Movement& movement : movements_)
      prepared_.push_back(prepare(movement, element_bytes));
  }

  [[nodiscard]] std::string_view name() const override { return "copies"; }
  [[nodiscard]] Bytes scratch() const override { return {}; }

  void run(const Run& run) const override {
    for (std::size_t i = 0; i < movements_.size(); ++i) {
      const Movement& movement = movements_[i];
      const std::byte* const from = movement.input == Movement::kLiteral
                                        ? movement.literal.data()
                                        : run.in[static_cast<std::size_t>(movement.input)];
      std::byte* const to = run.out[static_cast<std::size_t>(movement.output)];
      if (from == to) continue;
      prepared_[i].run(from + movement.from.first * element_bytes_,
                       to + movement.to.first * element_bytes_);
    }
  }

 private:
  std::vector<Movement> movements_;
  std::vector<kernels::StridedCopy> prepared_;
  std::int64_t element_bytes_;
};

class Reference final : public graph::BoundKernel {
 public:
  Reference(std::vector<Movement> movements, std::int64_t element_bytes)
      : movements_(std::move(movements)), element_bytes_(element_bytes) {}

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] Bytes scratch() const override { return {}; }

  void run(const Run& run) const override {
    for (const Movement& movement : movements_) {
      const std::byte* const from = movement.input == Movement::kLiteral
                                        ? movement.literal.data()
                                        : run.in[static_cast<std::size_t>(movement.input)];
      std::byte* const to = run.out[static_cast<std::size_t>(movement.output)];
      if (from != to) move(movement, 0, from, movement.from.first, to, movement.to.first);
    }
  }

 private:
  void move(const Movement& movement,
            std::size_t axis,
            const std::byte* from,
            std::int64_t from_at,
            std::byte* to,
            std::int64_t to_at) const {
    if (axis == movement.dims.size()) {
      std::memcpy(to + to_at * element_bytes_, from + from_at * element_bytes_,
                  static_cast<std::size_t>(element_bytes_));
      return;
    }
    for (std::int64_t i = 0; i < movement.dims[axis]; ++i) {
      move(movement, axis + 1, from, from_at + i * movement.from.strides[axis], to,
           to_at + i * movement.to.strides[axis]);
    }
  }

  std::vector<Movement> movements_;
  std::int64_t element_bytes_;
};

}  // namespace

View view_of(const core::TensorType& type) { return {0, core::strides(type)}; }

std::array<std::byte, 8> literal_of(core::DType dtype, double value) {
  std::array<std::byte, 8> literal{};
  core::visit(dtype, [&](auto tag) {
    const auto element = static_cast<typename decltype(tag)::type>(value);
    std::memcpy(literal.data(), &element, sizeof(element));
  });
  return literal;
}

std::unique_ptr<graph::BoundKernel> bind_copies(std::vector<Movement> movements,
                                                const Signature& types) {
  return std::make_unique<Copies>(std::move(movements), element_bytes(types));
}

std::unique_ptr<graph::BoundKernel> bind_reference(std::vector<Movement> movements,
                                                   const Signature& types) {
  return std::make_unique<Reference>(std::move(movements), element_bytes(types));
}

bool is_view(const std::vector<Movement>& movements) {
  return movements.size() == 1 && movements[0].from.first == 0 && movements[0].to.first == 0 &&
         prepare(movements[0], 1).contiguous();
}

}  // namespace lowtide::ops
