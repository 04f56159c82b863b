#include "ops/einsum/einsum.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Names of axes: letters, and numbers below 0 for those of an ellipsis, -1 the last one.
using Labels = std::vector<int>;

struct Term {
  ValueId value;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::size_t place(const Labels& labels, int label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

[[noreturn]] void refuse(std::string_view equation) {
  throw fail(ErrorCode::kInvalidArgument, "the equation \"{}\" does not fit its operands",
             equation);
}

// The labels of one operand or of the result, whose ellipsis stands for `dots` axes.
Labels parse(std::string_view equation, std::string_view subscripts, std::size_t dots) {
  Labels labels;
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    const char c = subscripts[i];
    if (c == ' ') continue;
    if (subscripts.substr(i, 3) == "...") {
      for (std::size_t k = dots; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      refuse(equation);
    }
  }
  return labels;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',')) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

// Where there is no arrow: the ellipsis, then what is named once, in alphabetical order.
Labels implicit_result(const std::vector<Term>& terms) {
  Labels all;
  for (const Term& term : terms) all.insert(all.end(), term.labels.begin(), term.labels.end());
  std::sort(all.begin(), all.end());
  Labels result;
  for (const int label : all) {
    const bool once = std::count(all.begin(), all.end(), label) == 1;
    if ((once || label < 0) && !contains(result, label)) result.push_back(label);
  }
  return result;
}

// The term with its axes in that order; `wanted` names those it has.
ValueId ordered(GraphBuilder& b, const Term& term, const Labels& wanted) {
  std::vector<std::size_t> perm;
  for (const int label : wanted) perm.push_back(place(term.labels, label));
  return to_plain(b, transpose(b, term.value, std::move(perm)));
}

// Takes the diagonal of two axes of one name, until no name stands twice.
Term without_repeats(GraphBuilder& b, Term term, std::string_view equation) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const int label = term.labels[i];
    const std::size_t again =
        i + 1 +
        place({term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end()}, label);
    if (again >= term.labels.size()) continue;
    const Shape shape = b.type(term.value).shape;
    if (shape[i] != shape[again]) refuse(equation);
    std::vector<std::size_t> perm;
    std::vector<std::int64_t> dims;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (axis == i || axis == again) continue;
      perm.push_back(axis);
      dims.push_back(shape[axis]);
    }
    perm.insert(perm.end(), {i, again});
    dims.push_back(shape[i] * shape[i]);
    std::vector<std::int64_t> diagonal;
    for (std::int64_t k = 0; k < shape[i]; ++k) diagonal.push_back(k * (shape[i] + 1));
    const ValueId flat = reshape(b, transpose(b, term.value, std::move(perm)), Shape(dims));
    term.value = gather(b, flat, b.constant({shape[i]}, diagonal), -1);
    term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(again));
    term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
    term.labels.push_back(label);
    return without_repeats(b, std::move(term), equation);
  }
  return term;
}

// Sums over the axes that nothing else names.
Term reduced(GraphBuilder& b, Term term, const Labels& kept) {
  std::vector<std::size_t> axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(kept, term.labels[i])) {
      left.push_back(term.labels[i]);
    } else {
      axes.push_back(i);
    }
  }
  if (axes.empty()) return term;
  return {reduce_sum(b, term.value, std::move(axes), KeepDims::kNo), std::move(left)};
}

std::int64_t elements(const Term& term, const Labels& labels, const Shape& shape) {
  std::int64_t product = 1;
  for (const int label : labels) product *= shape[place(term.labels, label)];
  return product;
}

// The term as (batch axes..., rows, columns).
ValueId as_matrices(GraphBuilder& b,
                    const Term& term,
                    const Labels& batch,
                    const Labels& rows,
                    const Labels& columns) {
  const Shape shape = b.type(term.value).shape;
  Labels order = batch;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  std::vector<std::int64_t> dims;
  for (const int label : batch) dims.push_back(shape[place(term.labels, label)]);
  dims.push_back(elements(term, rows, shape));
  dims.push_back(elements(term, columns, shape));
  return reshape(b, ordered(b, term, order), Shape(std::move(dims)));
}

// The product of two terms, summed over the names they share that `kept` lacks. A product of
// matrices for each combination of the other shared names.
Term product(GraphBuilder& b, const Term& a, const Term& c, const Labels& kept) {
  Labels batch;
  Labels summed;
  Labels rows;
  Labels columns;
  for (const int label : a.labels) {
    const bool shared = contains(c.labels, label);
    (!shared ? rows : contains(kept, label) ? batch : summed).push_back(label);
  }
  for (const int label : c.labels) {
    if (!contains(a.labels, label)) columns.push_back(label);
  }
  const ValueId left = as_matrices(b, a, batch, rows, summed);
  const ValueId right = as_matrices(b, c, batch, summed, columns);
  const ValueId matrices = summed.empty() ? mul(b, left, right) : matmul(b, left, right);
  std::vector<std::int64_t> dims = b.type(matrices).shape.dims();
  dims.resize(batch.size());
  const Shape shape_a = b.type(a.value).shape;
  const Shape shape_c = b.type(c.value).shape;
  for (const int label : rows) dims.push_back(shape_a[place(a.labels, label)]);
  for (const int label : columns) dims.push_back(shape_c[place(c.labels, label)]);
  Labels labels = std::move(batch);
  labels.insert(labels.end(), rows.begin(), rows.end());
  labels.insert(labels.end(), columns.begin(), columns.end());
  return {reshape(b, matrices, Shape(std::move(dims))), std::move(labels)};
}

// How many axes each ellipsis stands for: as many as the operand has beyond its letters.
std::vector<Term> parse_terms(GraphBuilder& b,
                              std::string_view equation,
                              std::string_view left,
                              const std::vector<ValueId>& operands) {
  const std::vector<std::string_view> parts = split_at_commas(left);
  if (parts.size() != operands.size()) refuse(equation);
  std::vector<Term> terms;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t rank = b.type(operands[i]).shape.rank();
    const std::size_t letters = parse(equation, parts[i], 0).size();
    if (letters > rank) refuse(equation);
    terms.push_back({to_plain(b, operands[i]), parse(equation, parts[i], rank - letters)});
    if (terms.back().labels.size() != rank) refuse(equation);
    terms.back() = without_repeats(b, std::move(terms.back()), equation);
  }
  return terms;
}

}  // namespace

ValueId einsum(GraphBuilder& b, std::string_view equation, const std::vector<ValueId>& operands) {
  const std::size_t arrow = equation.find("->");
  const std::vector<Term> terms = parse_terms(b, equation, equation.substr(0, arrow), operands);
  std::size_t dots = 0;
  Labels all;
  for (const Term& term : terms) {
    const auto below = [](int label) { return label < 0; };
    dots = std::max(dots, static_cast<std::size_t>(
                              std::count_if(term.labels.begin(), term.labels.end(), below)));
    all.insert(all.end(), term.labels.begin(), term.labels.end());
  }
  const Labels result = arrow == std::string_view::npos
                            ? implicit_result(terms)
                            : parse(equation, equation.substr(arrow + 2), dots);
  for (const int label : result) {
    if (!contains(all, label) || std::count(result.begin(), result.end(), label) != 1) {
      refuse(equation);
    }
  }
  Term so_far;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Labels kept = result;
    for (std::size_t k = i + 1; k < terms.size(); ++k) {
      kept.insert(kept.end(), terms[k].labels.begin(), terms[k].labels.end());
    }
    if (i == 0) {
      so_far = reduced(b, terms[0], kept);
      continue;
    }
    Labels named = kept;
    named.insert(named.end(), so_far.labels.begin(), so_far.labels.end());
    so_far = reduced(b, product(b, so_far, reduced(b, terms[i], named), kept), kept);
  }
  return ordered(b, so_far, result);
}

std::vector<ValueId> read_einsum(graph::OnnxNode& node) {
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < node.input_count(); ++i) operands.push_back(node.required_input(i));
  return {einsum(node.builder(), node.string("equation", ""), operands)};
}

}  // namespace lowtide::ops
