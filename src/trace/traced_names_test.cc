// SPDX-License-Identifier: Apache-2.0
// Shapes by the order of names: what fits is given, what is not sure is not.
#include "trace/traced_names.h"

#include <fmt/format.h>

#include "base/testing.h"
#include "trace/mining_for_tests.h"
#include "trace/op_texts.h"
#include "trace/public_traces_for_tests.h"

namespace roofmark::trace {
namespace {

using Names = std::vector<std::string>;

// One thread of a trace. The operator at i works on i + 1 rows.
ExecutionTrace TraceOf(const Names& names, const std::string& label = "") {
  ExecutionTrace trace;
  if (!label.empty()) trace.ops.push_back({.id = 1, .thread = 1, .arguments = {.name = label}});
  for (const std::string& name : names) {
    const uint64_t rows = trace.ops.size() + 1 - (label.empty() ? 0 : 1);
    trace.ops.push_back({.id = 10 + rows,
                         .parent = label.empty() ? 0U : 1U,
                         .thread = 1,
                         .arguments = {.name = name, .dims = fmt::format("[[{}, 8]]", rows)}});
  }
  return trace;
}

Profile ProfileOf(const Names& names, const std::string& label = "") {
  Profile profile;
  if (!label.empty()) {
    profile.ops.push_back({.start_ns = 0,
                           .end_ns = 1'000'000,
                           .name = profile.text.Intern(label),
                           .annotation = true});
  }
  for (const std::string& name : names) {
    const auto at = static_cast<int64_t>(10 * (1 + profile.ops.size()));
    profile.ops.push_back({.start_ns = at, .end_ns = at + 5, .name = profile.text.Intern(name)});
  }
  return profile;
}

// The sizes of the operators; "-" where there are none.
Names SizesOf(const Profile& profile) {
  Names sizes;
  for (const CpuOp& op : profile.ops) {
    if (op.annotation) continue;
    const std::string_view dims = OpTextsOf(op.arguments, profile.text).dims;
    sizes.emplace_back(dims.empty() ? "-" : dims);
  }
  return sizes;
}

Names Distinct(size_t count) {
  Names names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("op_{}", i));
  return names;
}

Names operator+(Names left, const Names& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

TEST(TracedNames, GiveSizesToEveryStepOfTheSameOperators) {
  const Names step = Distinct(20);
  Profile profile = ProfileOf(step + step + step);
  const NamesMatched matched = AddArgumentsByNames(TraceOf(step), profile);
  EXPECT_EQ(matched.given, 60U);
  EXPECT_EQ(matched.disputed, 0U);
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(SizesOf(profile)[i], fmt::format("[[{}, 8]]", i % 20 + 1));
  }
}

TEST(TracedNames, GoOnBehindAnOperatorThatTheTraceLacks) {
  Names step = Distinct(400);
  const ExecutionTrace trace = TraceOf(step);
  step.insert(step.begin() + 200, "only_here");
  Profile profile = ProfileOf(step);
  EXPECT_EQ(AddArgumentsByNames(trace, profile).given, 400U);
  EXPECT_EQ(SizesOf(profile)[200], "-");
  EXPECT_EQ(SizesOf(profile)[201], "[[201, 8]]");
}

// Layers of one sequence whose sizes differ: which layer it is, is not said.
TEST(TracedNames, GiveNothingWhereSeveralPlacesFitAndDisagree) {
  const Names layer = Distinct(16);
  const ExecutionTrace trace = TraceOf(layer + layer + layer);
  Profile part = ProfileOf(layer);
  const NamesMatched matched = AddArgumentsByNames(trace, part);
  EXPECT_EQ(matched.given, 0U);
  EXPECT_EQ(matched.disputed, 16U);
  Profile whole = ProfileOf(layer + layer + layer);
  EXPECT_EQ(AddArgumentsByNames(trace, whole).given, 48U);
}

TEST(TracedNames, GiveNothingToAnotherProgram) {
  const Names common = Distinct(20);
  Names other = common;
  for (int i = 0; i < 10; ++i) other.push_back(fmt::format("other_{}", i));
  Profile profile = ProfileOf(other);
  EXPECT_EQ(AddArgumentsByNames(TraceOf(common), profile).given, 0U);
  Profile shorter = ProfileOf(Distinct(15));  // too few to be sure
  EXPECT_EQ(AddArgumentsByNames(TraceOf(Distinct(15)), shorter).given, 0U);
}

TEST(TracedNames, GiveNothingToStepsOfAnotherBatch) {
  const Names step = Distinct(20);
  const std::string label = "execute_context_0(0)_generation_4(4)";
  const ExecutionTrace trace = TraceOf(step, label);
  Profile same = ProfileOf(step, label);
  EXPECT_EQ(AddArgumentsByNames(trace, same).given, 20U);
  Profile other = ProfileOf(step, "execute_context_0(0)_generation_7(7)");
  EXPECT_EQ(AddArgumentsByNames(trace, other).given, 0U);
}

// One step as a trace, forty in the profile, which is of 2023 and has no numbers.
class PublicTracedNames : public PublicTraces {};

TEST_F(PublicTracedNames, ShapeEveryProductOfTheParamPair) {
  const fs::path path = shared_ / "et/param_linear_kineto.json.gz";
  Profile profile = ReadProfile(path).value();
  const ExecutionTrace trace = ReadExecutionTrace(shared_ / "et/param_linear_et.json.gz").value();
  EXPECT_EQ(AddArgumentsById(trace, profile), 0U);
  const NamesMatched matched = AddArgumentsByNames(trace, profile);
  EXPECT_GT(matched.given, profile.ops.size() * 9 / 10);
  EXPECT_EQ(matched.disputed, 0U);
  const ProfileSummary summary = Mine(path);  // which finds the trace beside it
  EXPECT_EQ(summary.json.Find("execution_traces")->array().at(0).Find("by_names")->as_int(),
            static_cast<int64_t>(matched.given));
  const std::vector<AggregateCell> products = CellsOf(summary, "gemm");
  EXPECT_FALSE(products.empty());
  for (const AggregateCell& cell : products) {
    EXPECT_EQ(Axis(cell, "m") * Axis(cell, "n") * Axis(cell, "k"), 512 * 1024 * 1024);
  }
}

}  // namespace
}  // namespace roofmark::trace
