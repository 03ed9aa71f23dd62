// SPDX-License-Identifier: Apache-2.0
#include "trace/step_label.h"

#include "base/testing.h"

namespace roofmark::trace {
namespace {

TEST(StepLabel, ReadsTheDetailedForm) {
  const auto label = ParseStepLabel(
      "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)"
      "_generation_37(sq37sk34489sqsq37sqsk34489)");
  ASSERT_TRUE(label.has_value());
  EXPECT_EQ(label->phase, Phase::kMixed);
  EXPECT_EQ(label->context, (StepPart{9, 8155, 8430, 7475785, 7671310}));
  EXPECT_EQ(label->generation, (StepPart{37, 37, 34489, 37, 34489}));
  EXPECT_TRUE(label->Detailed());
}

TEST(StepLabel, ReadsTheShortForms) {
  const auto plain = ParseStepLabel("execute_context_2(300)_generation_0(0)");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->phase, Phase::kPrefill);
  EXPECT_EQ(plain->context, (StepPart{2, 300}));
  EXPECT_FALSE(plain->Detailed());
  const auto squares = ParseStepLabel("execute_context_1(888_788544)_generation_0(0)");
  ASSERT_TRUE(squares.has_value());
  EXPECT_EQ(squares->context, (StepPart{1, 888, -1, 788544}));
  EXPECT_EQ(ParseStepLabel("execute_context_0(0)_generation_4(4)")->phase, Phase::kDecode);
}

TEST(StepLabel, ReadsBracketedForms) {
  EXPECT_EQ(ParseStepLabel("step[DECODE bs=32]")->phase, Phase::kDecode);
  EXPECT_EQ(ParseStepLabel("step[EXTEND bs=15 toks=15360]")->context, (StepPart{15, 15360}));
  EXPECT_EQ(ParseStepLabel("step[MIXED bs=15 toks=99]")->phase, Phase::kMixed);
  EXPECT_EQ(ParseStepLabel("prefill[bs=2 tok=300 ctx=[100, 200]]")->context, (StepPart{2, 300}));
  EXPECT_EQ(ParseStepLabel("decode[bs=117/128 tok=117 d=1]")->generation, (StepPart{117, 117}));
}

TEST(StepLabel, IgnoresOtherAnnotations) {
  for (const char* text : {"ProfilerStep#3", "execute_", "execute_context_x(3)", "step[", "decode",
                           "execute_diffusion_1_256x256", "execute_context_1(3)_generation_",
                           "## Call CompiledFxGraph abc ##", "step[DECODE]", "prefill[]"}) {
    EXPECT_EQ(ParseStepLabel(text), std::nullopt) << text;
  }
}

TEST(StepLabel, ReadsCaptureLabelsAndFileNames) {
  const auto label = ParseCaptureLabel("capture_8192_PIECEWISE");
  ASSERT_TRUE(label.has_value());
  EXPECT_EQ(label->tokens, 8192);
  EXPECT_EQ(label->mode, "PIECEWISE");
  EXPECT_FALSE(ParseCaptureLabel("capture_x").has_value());
  EXPECT_EQ(PhaseOfFileName("1-TP-0-DECODE.trace.json.gz"), Phase::kDecode);
  EXPECT_EQ(PhaseOfFileName("a.json"), Phase::kUnknown);
}

}  // namespace
}  // namespace roofmark::trace
