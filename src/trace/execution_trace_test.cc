// SPDX-License-Identifier: Apache-2.0
#include "trace/execution_trace.h"

#include "base/files.h"
#include "base/testing.h"
#include "trace/op_texts.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

const fs::path kData = fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata";

TEST(ExecutionTrace, ReadsBothSchemasAlike) {
  for (const char* file : {"shapeless_et.json", "old_et.json"}) {
    SCOPED_TRACE(file);
    const Result<ExecutionTrace> trace = ReadExecutionTrace(kData / file);
    ASSERT_THAT(trace, IsOk());
    ASSERT_EQ(trace->ops.size(), 2U);
    const TracedArguments& norm = trace->ops[trace->by_id.at(32)].arguments;
    EXPECT_EQ(norm.name, "_C::rms_norm");
    EXPECT_EQ(norm.types, R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar"])");
    EXPECT_EQ(norm.concrete, R"(["", "", "", "1e-05"])");
  }
}

TEST(ExecutionTrace, GivesShapesToAProfileWithoutThem) {
  Profile profile = ReadProfile(kData / "shapeless.json").value();
  ASSERT_EQ(profile.ops.size(), 2U);
  EXPECT_FALSE(HasDims(profile.ops[0].arguments, profile.text));
  EXPECT_EQ(AddArgumentsById(ReadExecutionTrace(kData / "shapeless_et.json").value(), profile), 2U);
  EXPECT_EQ(OpTextsOf(profile.ops[0].arguments, profile.text).dims, "[[300, 1024], [1024, 512]]");
}

TEST(ExecutionTrace, IsFoundBesideItsProfile) {
  EXPECT_EQ(FindExecutionTrace(kData / "shapeless.json"), kData / "shapeless_et.json");
  EXPECT_EQ(FindExecutionTrace(kData / "two_steps.json"), fs::path());
}

// A number alone is no proof: another run numbers its operators anew.
TEST(ExecutionTrace, GivesNothingToOperatorsOfOtherNames) {
  Profile profile = ReadProfile(kData / "shapeless.json").value();
  ExecutionTrace trace = ReadExecutionTrace(kData / "shapeless_et.json").value();
  for (TracedOp& op : trace.ops) op.arguments.name = "aten::other";
  EXPECT_EQ(AddArgumentsById(trace, profile), 0U);
}

TEST(ExecutionTrace, SurvivesEveryTruncation) {
  const std::string text = ReadFile(kData / "shapeless_et.json").value();
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string part = text.substr(0, size);
    const Result<ExecutionTrace> trace = ReadExecutionTrace(ByteSource::FromMemory(part));
    if (!trace) continue;
    EXPECT_NE(trace->damage, "") << size;
  }
  EXPECT_THAT(ReadExecutionTrace(ByteSource::FromMemory("{}")),
              HasError(ErrorKind::kInput, "nodes"));
}

TEST(ExecutionTrace, ReadsThePublicOnes) {
  const fs::path shared = SharedFolder(ROOFMARK_SOURCE_DIR);
  if (shared.empty()) GTEST_SKIP() << "no folder with public traces: set ROOFMARK_SHARED";
  const auto read = [&](const char* name) {
    Result<ExecutionTrace> trace = ReadExecutionTrace(shared / "traces/et" / name);
    EXPECT_THAT(trace, IsOk());
    return std::move(trace).value_or(ExecutionTrace{});
  };
  EXPECT_EQ(read("param_linear_et.json.gz").ops.size(), 931U);
  const ExecutionTrace compiled = read("param_pt2_et.json.gz");
  EXPECT_GT(compiled.ops.size(), 10U);
  EXPECT_EQ(compiled.damage, "");
}

}  // namespace
}  // namespace roofmark::trace
