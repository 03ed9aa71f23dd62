// SPDX-License-Identifier: Apache-2.0
#include "suite/make_workload.h"

#include <fmt/format.h>

#include "suite/expression.h"

namespace roofmark::suite {
namespace {

using List = std::vector<int64_t>;

Scope ScopeOf(const Axes& axes) {
  Scope scope;
  for (const auto& [name, value] : axes) {
    if (const auto* size = std::get_if<int64_t>(&value)) {
      scope[name] = static_cast<double>(*size);
    } else if (const auto* real = std::get_if<double>(&value)) {
      scope[name] = *real;
    }
  }
  return scope;
}

Result<const List*> ListAt(const Axes& axes, const std::string& name) {
  const auto found = axes.find(name);
  const auto* list = found == axes.end() ? nullptr : std::get_if<List>(&found->second);
  if (list == nullptr) return Fail(ErrorKind::kInput, fmt::format("there is no list '{}'", name));
  return list;
}

Result<int64_t> Derive(const Formula& formula, const Axes& axes, const Scope& scope) {
  const Expression expression = TRY(Expression::Parse(formula.expression));
  if (formula.over.empty()) return expression.EvaluateSize(scope);
  const List& over = *TRY(ListAt(axes, formula.over));
  static const List none;
  const List& with = formula.with.empty() ? none : *TRY(ListAt(axes, formula.with));
  if (!formula.with.empty() && with.size() != over.size()) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' has {} entries and '{}' has {}", formula.over,
                                               over.size(), formula.with, with.size()));
  }
  return formula.take == Take::kMax ? expression.MaxOver(over, with, scope)
                                    : expression.SumOver(over, with, scope);
}

Result<DType> TypeOf(const TensorSpec& spec, const Scope& scope) {
  if (spec.dtype_axis.empty()) return spec.dtype;
  const double choice = scope.at(spec.dtype_axis);
  if (choice >= static_cast<double>(spec.dtypes.size())) {
    return Fail(ErrorKind::kInput, fmt::format("{} = {} chooses a type, and there are {}",
                                               spec.dtype_axis, choice, spec.dtypes.size()));
  }
  return spec.dtypes[static_cast<size_t>(choice)];
}

Result<Tensor> SizeTensor(const TensorSpec& spec, const Scope& scope) {
  Tensor tensor{.name = spec.name,
                .dtype = TRY(TypeOf(spec, scope)),
                .residency = spec.residency,
                .in_place = spec.in_place};
  double bytes = static_cast<double>(DTypeBytes(tensor.dtype));
  for (const std::string& size : spec.sizes) {
    tensor.sizes.push_back(TRY(TRY(Expression::Parse(size)).EvaluateSize(scope)));
    bytes *= static_cast<double>(tensor.sizes.back());
  }
  if (bytes > kLargestExactInteger) {
    return Fail(ErrorKind::kInput, fmt::format("tensor '{}' has over 2^53 bytes", spec.name));
  }
  return tensor;
}

Result<double> Amount(const std::string& text, const Scope& scope) {
  const double value = TRY(TRY(Expression::Parse(text)).Evaluate(scope));
  if (value < 0) return Fail(ErrorKind::kInput, fmt::format("'{}' is negative: {}", text, value));
  return value;
}

Result<Workload> Compute(const Operator& op, const Shape& shape) {
  Workload workload{.op = &op, .shape = shape, .axes = shape.axes};
  for (const auto& [name, value] : op.attributes) workload.axes.emplace(name, value);
  Scope scope = ScopeOf(workload.axes);
  for (const Formula& formula : op.derived) {
    const int64_t value =
        TRY_IN(Derive(formula, workload.axes, scope), "[derived] " + formula.name);
    workload.axes[formula.name] = value;
    scope[formula.name] = static_cast<double>(value);
  }
  for (const TensorSpec& spec : op.inputs) {
    workload.inputs.push_back(TRY_IN(SizeTensor(spec, scope), "input " + spec.name));
  }
  for (const TensorSpec& spec : op.outputs) {
    workload.outputs.push_back(TRY_IN(SizeTensor(spec, scope), "output " + spec.name));
  }
  for (const WorkTerm& term : op.work) {
    workload.work[static_cast<size_t>(term.engine)] += TRY_IN(Amount(term.ops, scope), "[[work]]");
  }
  workload.traffic.read_bytes = TRY_IN(Amount(op.read_bytes, scope), "[traffic] read");
  workload.traffic.write_bytes = TRY_IN(Amount(op.write_bytes, scope), "[traffic] write");
  return workload;
}

}  // namespace

Result<Workload> MakeWorkload(const Operator& op, const Shape& shape) {
  return TRY_IN(Compute(op, shape), fmt::format("{}/{}", op.name, shape.id));
}

Result<Published> ComputePublished(const Workload& workload) {
  const PublishedFormulas& formulas = workload.op->published;
  if (formulas.read.empty()) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: the card has no [published] formulas", workload.op->name));
  }
  const Scope scope = ScopeOf(workload.axes);
  Published published{.present = true};
  const Published& released = workload.shape.published;
  if (!released.present && (formulas.work_drawn || formulas.read_drawn || formulas.write_drawn)) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: the release has no formula and no figure", workload.Id()));
  }
  for (const auto& [dtype, text] : formulas.work) published.work[dtype] = TRY(Amount(text, scope));
  if (formulas.work_drawn) published.work = released.work;
  published.read_bytes =
      formulas.read_drawn ? released.read_bytes : TRY(Amount(formulas.read, scope));
  published.write_bytes =
      formulas.write_drawn ? released.write_bytes : TRY(Amount(formulas.write, scope));
  return published;
}

}  // namespace roofmark::suite
