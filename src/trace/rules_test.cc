// SPDX-License-Identifier: Apache-2.0
#include "trace/rules.h"

#include "base/files.h"
#include "base/testing.h"
#include "base/text.h"

namespace roofmark::trace {
namespace {

Result<Rules> LoadText(std::string_view text) {
  const TempDir folder = TempDir::Make("rules").value();
  EXPECT_THAT(WriteFile(folder.path() / "a.toml", text), IsOk());
  return Rules::Load(folder.path());
}

constexpr std::string_view kAbout = "[about]\nframework = \"f\"\nversion = \"1\"\n";

std::string With(std::string_view rest) {
  return std::string(kAbout) + std::string(rest);
}

TEST(Rules, ReadTheProjectsOwn) {
  EXPECT_THAT(Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules"), IsOk());
}

TEST(Rules, TakeTheFirstThatMatches) {
  const auto rules = LoadText(With(R"toml(
[[kernel]]
contains = ["add_norm"]
operator = "first"
[[kernel]]
contains = "norm"
operator = "second"
role = "aux"
[[kernel]]
starts_with = ["x"]
regex = 'x\d+$'
operator = "third"
phase = "decode"
)toml"));
  ASSERT_THAT(rules, IsOk());
  EXPECT_EQ(rules->FindKernel("my_add_norm_kernel")->op, "first");
  EXPECT_EQ(rules->FindKernel("norm")->op, "second");
  EXPECT_TRUE(rules->FindKernel("norm")->auxiliary);
  EXPECT_EQ(rules->FindKernel("x12")->phase, Phase::kDecode);
  EXPECT_EQ(rules->FindKernel("x12y"), nullptr);
  EXPECT_EQ(rules->FindKernel("other"), nullptr);
}

TEST(Rules, FindOperatorsByNameBeforePrefix) {
  const auto rules = LoadText(With(R"toml(
[[op]]
starts_with = "lib::attention_"
operator = "short"
[[op]]
starts_with = "lib::attention_paged_"
operator = "long"
[[op]]
name = ["lib::attention_paged_1", "other"]
operator = "exact"
level = "container"
axes = { tokens = "rows(0)", group = 128 }
)toml"));
  ASSERT_THAT(rules, IsOk());
  EXPECT_EQ(rules->FindOp("lib::attention_x")->op, "short");
  EXPECT_EQ(rules->FindOp("lib::attention_paged_2")->op, "long");
  EXPECT_EQ(rules->FindOp("lib::attention_paged_1")->op, "exact");
  EXPECT_EQ(rules->FindOp("other")->level, OpLevel::kContainer);
  EXPECT_EQ(rules->FindOp("none"), nullptr);
}

TEST(Rules, TellOperatorsOfOneNameApartByTheirArguments) {
  const auto rules = LoadText(With(R"toml(
[[op]]
starts_with = "triton_"
regex = '_rsqrt_\d+$'
matrices = 2
operator = "two"
[[op]]
starts_with = "triton_"
regex = '_rsqrt_\d+$'
matrices = 3
operator = "three"
[[op]]
starts_with = "triton_"
regex = '_rsqrt_\d+$'
operator = "any"
)toml"));
  ASSERT_THAT(rules, IsOk());
  const OpRule* rule = rules->FindOp("triton_red_fused_rsqrt_17");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->op, "two");
  ASSERT_NE(rule->otherwise, nullptr);
  EXPECT_EQ(rule->otherwise->op, "three");
  EXPECT_EQ(rule->otherwise->otherwise->op, "any");
  EXPECT_EQ(rules->FindOp("triton_red_fused_rsqrt"), nullptr);
}

TEST(Rules, RefuseMistakesWithTheirPlace) {
  const auto error = [](std::string_view rest, std::string_view text) {
    EXPECT_THAT(LoadText(With(rest)), HasError(ErrorKind::kInput, std::string(text)));
  };
  error("[[op]]\nname = \"a\"\n", "op 1: ");
  error("[[op]]\noperator = \"a\"\n", "name or starts_with");
  error("[[op]]\nname = \"a\"\noperator = \"b\"\naxes = { x = \"rows(\" }\n", "recipe 'rows('");
  error("[[op]]\nname = \"a\"\noperator = \"b\"\ncolour = 1\n", "colour");
  error("[[op]]\nname = \"a\"\noperator = \"b\"\nmatrices = 2\n", "need starts_with");
  error("[[op]]\nstarts_with = \"a\"\nregex = \"(\"\noperator = \"b\"\n", "regex '('");
  error(
      "[[op]]\nstarts_with = \"a\"\noperator = \"b\"\n[[op]]\nstarts_with = \"a\"\noperator = "
      "\"c\"\n",
      "'a' is claimed twice");
  error("[[op]]\nname = \"a\"\noperator = \"b\"\nlevel = \"odd\"\n", "level 'odd'");
  error("[[op]]\nname = [\"a\", \"a\"]\noperator = \"b\"\n", "claimed twice");
  error("[[op]]\nname = \"a\"\noperator = \"b\"\nlengths = 3\n", "lengths");
  error("[[kernel]]\noperator = \"b\"\n", "contains or starts_with");
  error("[[kernel]]\ncontains = \"a\"\nregex = '('\noperator = \"b\"\n", "regex '('");
  error("[[kernel]]\ncontains = \"a\"\nrole = \"x\"\noperator = \"b\"\n", "role 'x'");
  EXPECT_THAT(LoadText("[about]\nframework = \"f\"\n"), HasError(ErrorKind::kInput, "version"));
  EXPECT_THAT(Rules::Load("/nowhere"), HasError(ErrorKind::kNotFound, "/nowhere"));
}

// The table of reference names, each with the operator that it was found to be: ours must say the
// same where it has an opinion of equal kind.
TEST(Rules, KnowTheKernelsOfTheServingFrameworks) {
  const auto rules = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules");
  ASSERT_THAT(rules, IsOk());
  const std::vector<std::pair<const char*, const char*>> names = {
      {"kernel_unified_attention_2d", "unified_attention"},
      {"reduce_segments", "unified_attention"},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
       "unified_attention"},
      {"fmhaSm100fKernel_"
       "QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ8Kv128PersistentSwapsAbForGen",
       "paged_attention_decode"},
      {"_ZN5aiter39mla_dec_stage1_bf16_a16w16_subQ16_mqa16E", "mla_decode_attention"},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEE",
       "fused_add_rms_norm"},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEE", "rms_norm"},
      {"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", "fused_add_rms_norm"},
      {"void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>", "rms_norm"},
      {"_w8a8_triton_block_scaled_mm", "block_scaled_mm"},
      {"void vllm::act_and_mul_kernel<c10::BFloat16>", "silu_and_mul"},
      {"_ZN5aiter47fmoe_bf16_blockscaleFp8_g1u1_vs_silu", "fp8_blockscale_fused_moe"},
      {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_clmp_swiGlu_dynBatch_sm100f", "fused_moe"},
      {"nvjet_sm103_tst_256x16_64x6_4x1_v_bz_TNT", "gemm"},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication"},
      {"reduce_kernel<512, 1, ReduceOp<float, ArgMaxOps<float>>>", "sampling"},
      {"_per_token_group_quant_fp8", "per_token_group_quant_fp8"}};
  for (const auto& [name, op] : names) {
    ASSERT_NE(rules->FindKernel(name), nullptr) << name;
    EXPECT_EQ(rules->FindKernel(name)->op, op) << name;
  }
}

}  // namespace
}  // namespace roofmark::trace
