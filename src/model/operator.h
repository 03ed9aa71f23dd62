// SPDX-License-Identifier: Apache-2.0
// An operator is a function with a contract. Everything here is data read from its card,
// operators/<name>/operator.toml; suite/ reads cards and evaluates their expressions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace roofmark {

// The part of a device that does a piece of work. Tensor engines are by operand type; special is
// exp, rsqrt and the like.
enum class Engine { kTensorBF16, kTensorF16, kTensorFp8, kTensorTf32, kVectorF32, kSpecial };
inline constexpr size_t kEngineCount = 6;
// "tensor_bf16" "tensor_f16" "tensor_fp8" "tensor_tf32" "vector_f32" "special".
std::string_view EngineName(Engine engine);
Result<Engine> ParseEngine(std::string_view name);

// Warm operands are left in cache by their producer; cold ones are streamed from memory.
enum class Residency { kCold, kWarm };

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;  // the first of dtypes, where the shape chooses
  // Where shapes of one contract differ in element type: dtypes[value of dtype_axis].
  std::string dtype_axis;
  std::vector<DType> dtypes;
  std::vector<std::string> sizes;  // expressions over axes, derived axes and attributes
  Residency residency = Residency::kCold;
  // An output that a call updates: it holds the input of the same name beforehand. Candidates get
  // one tensor, references take the one and return the other.
  bool in_place = false;

  bool operator==(const TensorSpec&) const = default;
};

// A derived axis: an expression, or the sum (or maximum) of one over the entries L of list axis
// `over`, zipped with the entries M of list axis `with` where that is named.
enum class Take { kSum, kMax };
struct Formula {
  std::string name;
  std::string expression;
  std::string over;  // empty for a plain expression
  std::string with;  // empty, or a list as long as `over`
  Take take = Take::kSum;
};

struct WorkTerm {
  Engine engine = Engine::kVectorF32;
  std::string ops;  // arithmetic operations, an expression
  std::string source;
};

enum class CompareKind { kNumeric, kExact, kCodes, kGrouped };
// How the groups of kGrouped are given: by the boundaries of each, or by labels of equal blocks,
// where equal neighbours are one group.
enum class GroupBy { kOffsets, kLabels };

// |got - want| <= rtol * |want| + atol_rms * rms(want) for every element, and
// ||got - want|| <= rel_l2 * ||want|| for the whole output. kExact compares bits; kCodes allows
// neighbouring fp8 codes for the fraction `code_slack` of the elements; kGrouped is exact, but the
// order of integers inside a group is free. atol_rms holds for outputs of up to 2^20 elements;
// gate/output_check.cc widens it for larger ones, and docs/method.md says why.
struct Tolerance {
  CompareKind kind = CompareKind::kNumeric;
  double rtol = 0;
  double atol_rms = 0;
  double rel_l2 = 0;
  double code_slack = 0;
  GroupBy group_by = GroupBy::kOffsets;
  std::string groups;  // the output that holds offsets or labels

  bool operator==(const Tolerance&) const = default;
};

// The formulas as the public benchmark released them, where ours differ. Where a released figure
// came from one random draw there is no formula, and each shape's own figure stands.
struct PublishedFormulas {
  std::map<std::string, std::string> work;  // by released dtype key
  bool work_drawn = false;
  bool read_drawn = false;
  bool write_drawn = false;
  std::string read;
  std::string write;
  std::string differs;  // why ours differs, one sentence; empty where they agree
};

struct Operator {
  std::string name;
  std::string summary;
  std::string source;
  std::string variant_of;       // the operator whose contract this is in another element type
  double weight_published = 0;  // normalised; 0 where there is none
  std::vector<std::pair<std::string, bool>> axes;  // name, is a list; in card order
  std::vector<Formula> derived;                    // in card order
  std::vector<std::pair<std::string, double>> attributes;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<WorkTerm> work;
  std::string read_bytes;
  std::string write_bytes;
  PublishedFormulas published;
  std::map<std::string, Tolerance, std::less<>> tolerance;  // by output
  std::vector<Shape> shapes;
  std::filesystem::path folder;  // where reference.py is

  // Whether an output of this name is updated in place.
  bool IsInPlace(std::string_view tensor) const {
    return std::ranges::any_of(outputs, [tensor](const TensorSpec& output) {
      return output.in_place && output.name == tensor;
    });
  }
};

}  // namespace roofmark
