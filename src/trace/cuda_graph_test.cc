// SPDX-License-Identifier: Apache-2.0
// CUDA graphs, on the pairs of capture and replay that examples/profiles holds from an H200: every
// launch of every replay is held against a table that was made without this code, by putting the
// n-th launch between StreamBeginCapture and StreamEndCapture beside the n-th kernel of a replay.
#include <gmock/gmock.h>

#include <numeric>

#include "trace/attribution.h"
#include "trace/mining_for_tests.h"

namespace roofmark::trace {
namespace {

struct Expected {
  std::string kernel;  // how its name begins
  std::string op;
  std::map<std::string, int64_t> axes;  // sizes; of attention without the lengths
};
using Table = std::vector<Expected>;

constexpr int kLayers = 4;
constexpr size_t kReplays = 6;

Table Whole(const Table& head, const Table& layer, const Table& tail) {
  Table table = head;
  for (int i = 0; i < kLayers; ++i) table.insert(table.end(), layer.begin(), layer.end());
  table.insert(table.end(), tail.begin(), tail.end());
  return table;
}

std::map<std::string, int64_t> Product(int64_t n, int64_t k) {
  return {{"m", 32}, {"n", n}, {"k", k}};
}

Table DenseTable() {
  const std::map<std::string, int64_t> norm = {{"tokens", 32}, {"hidden", 4096}};
  const std::map<std::string, int64_t> attention = {
      {"query_heads", 32}, {"kv_heads", 8}, {"head_size", 128}, {"page_size", 16}};
  return Whole({{"void at::native::vectorized_gather_kernel", "embedding", {}},
                {"rms_norm_kernel", "rms_norm", norm}},
               {{"nvjet_sm90_tst_64x32_64x16_4x1_v_bz_TNT", "gemm", Product(6144, 4096)},
                {"fused_qkv_rotary_kernel",
                 "fused_qkv_rope",
                 {{"tokens", 32}, {"query_heads", 32}, {"kv_heads", 8}, {"head_size", 128}}},
                {"reshape_and_cache_flash_kernel",
                 "reshape_and_cache",
                 {{"tokens", 32}, {"kv_heads", 8}, {"head_size", 128}, {"page_size", 16}}},
                {"kernel_unified_attention_3d", "unified_attention", attention},
                {"reduce_segments", "unified_attention", attention},
                {"_per_token_group_quant_fp8",
                 "per_token_group_quant_fp8",
                 {{"tokens", 32}, {"hidden", 4096}, {"group", 128}}},
                {"_w8a8_triton_block_scaled_mm",
                 "block_scaled_mm",
                 {{"m", 32}, {"n", 4096}, {"k", 4096}, {"group", 128}}},
                {"fused_add_rms_norm_kernel", "fused_add_rms_norm", norm},
                {"nvjet_sm90_tst_128x32_64x10_2x1_v_bz_TNT", "gemm", Product(28672, 4096)},
                {"_silu_and_mul_kernel", "silu_and_mul", {{"rows", 32}, {"width", 14336}}},
                {"nvjet_sm90_tst_128x32_64x10_2x1_v_bz_splitK_TNT", "gemm", Product(4096, 14336)},
                {"void cublasLt::splitKreduce_kernel", "gemm", Product(4096, 14336)},
                {"fused_add_rms_norm_kernel", "fused_add_rms_norm", norm}},
               {{"void at::native::vectorized_gather_kernel", "embedding", {}},
                {"nvjet_sm90_tst_512x32_64x3_2x1_v_bz_TNT", "gemm", Product(128256, 4096)},
                {"void at::native::reduce_kernel<512, 1",
                 "sampling",
                 {{"rows", 32}, {"vocabulary", 128256}}}});
}

Table MoeTable() {
  const std::map<std::string, int64_t> norm = {{"tokens", 32}, {"hidden", 2048}};
  const std::map<std::string, int64_t> attention = {
      {"query_heads", 32}, {"kv_heads", 4}, {"head_size", 128}, {"page_size", 16}};
  const std::map<std::string, int64_t> align = {
      {"tokens", 32}, {"top_k", 8}, {"experts", 128}, {"block_size", 16}};
  const std::map<std::string, int64_t> moe = {
      {"tokens", 32}, {"hidden", 2048}, {"experts", 128}, {"intermediate", 768}, {"top_k", 8}};
  return Whole({{"void at::native::vectorized_gather_kernel", "embedding", {}},
                {"rms_norm_kernel", "rms_norm", norm}},
               {{"nvjet_sm90_tst_64x32_64x16_4x1_v_bz_TNT", "gemm", Product(5120, 2048)},
                {"fused_qk_rmsnorm_kernel",
                 "fused_qk_rmsnorm",
                 {{"tokens", 32}, {"query_heads", 32}, {"kv_heads", 4}, {"head_size", 128}}},
                {"fused_qkv_rotary_kernel",
                 "fused_qkv_rope",
                 {{"tokens", 32}, {"query_heads", 32}, {"kv_heads", 4}, {"head_size", 128}}},
                {"reshape_and_cache_flash_kernel",
                 "reshape_and_cache",
                 {{"tokens", 32}, {"kv_heads", 4}, {"head_size", 128}, {"page_size", 16}}},
                {"kernel_unified_attention_3d", "unified_attention", attention},
                {"reduce_segments", "unified_attention", attention},
                {"_per_token_group_quant_fp8",
                 "per_token_group_quant_fp8",
                 {{"tokens", 32}, {"hidden", 4096}, {"group", 128}}},
                {"_w8a8_triton_block_scaled_mm",
                 "block_scaled_mm",
                 {{"m", 32}, {"n", 2048}, {"k", 4096}, {"group", 128}}},
                {"fused_add_rms_norm_kernel", "fused_add_rms_norm", norm},
                {"nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT", "gemm", Product(128, 2048)},
                {"void at::native::unrolled_elementwise_kernel", "copy", {}},
                {"moe_topk_gating_softmax_kernel",
                 "moe_topk_gating_softmax",
                 {{"tokens", 32}, {"experts", 128}, {"top_k", 8}}},
                {"moe_align_block_size_count_kernel", "moe_align_block_size", align},
                {"moe_align_block_size_scatter_kernel", "moe_align_block_size", align},
                {"fused_moe_kernel", "fused_moe", moe},
                {"_silu_and_mul_kernel", "silu_and_mul", {{"rows", 256}, {"width", 768}}},
                {"fused_moe_kernel", "fused_moe", moe},
                {"moe_sum_reduce_kernel",
                 "moe_sum_reduce",
                 {{"tokens", 32}, {"top_k", 8}, {"hidden", 2048}}},
                {"fused_add_rms_norm_kernel", "fused_add_rms_norm", norm}},
               {{"void at::native::vectorized_gather_kernel", "embedding", {}},
                {"nvjet_sm90_tst_384x32_64x4_2x1_v_bz_TNT", "gemm", Product(151936, 2048)},
                {"void at::native::reduce_kernel<512, 1",
                 "sampling",
                 {{"rows", 32}, {"vocabulary", 151936}}}});
}

// What the labels of the six steps say: sequences, and the sum of their contexts.
struct Step {
  size_t sequences = 0;
  int64_t keys = 0;
};

struct Pair {
  const char* profile;
  const char* capture;
  Table table;
  std::vector<Step> steps;
};

Pair DensePair() {
  return {
      .profile = "dense_decode_graph.json.gz",
      .capture = "dense_decode_graph_capture.json.gz",
      .table = DenseTable(),
      .steps = {{32, 108908}, {32, 108940}, {32, 108972}, {32, 109004}, {29, 98211}, {29, 98240}}};
}

Pair MoePair() {
  return {
      .profile = "moe_decode_graph.json.gz",
      .capture = "moe_decode_graph_capture.json.gz",
      .table = MoeTable(),
      .steps = {{32, 106408}, {32, 106440}, {32, 106472}, {32, 106504}, {29, 95693}, {29, 95722}}};
}

class CudaGraphs : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    captures_.push_back(ReadCaptureProfile(kRecorded / GetParam().capture).value());
    attribution_ = Attribute(profile_, linked_, forest_, captures_, ProjectRules(), {});
    for (uint32_t row = 0; row < profile_.kernels.size(); ++row) order_.push_back(row);
    std::ranges::stable_sort(order_, {},
                             [&](uint32_t row) { return profile_.kernels[row].start_ns; });
  }

  std::string_view NameOf(uint32_t row) const {
    return profile_.text.Text(profile_.kernels[row].name);
  }

  Profile profile_ = ReadProfile(kRecorded / GetParam().profile).value();
  CallFinder calls_{profile_};
  OpForest forest_{profile_};
  LinkedProfile linked_ =
      LinkKernels(profile_, calls_, forest_, IdIndex(), ComputeTotals(profile_));
  std::vector<std::unique_ptr<CaptureProfile>> captures_;
  Attribution attribution_;
  std::vector<uint32_t> order_;  // kernels as they ran
};

TEST_P(CudaGraphs, EveryReplayIsTheCapturedGraphLaunchByLaunch) {
  const Table& table = GetParam().table;
  ASSERT_EQ(order_.size(), kReplays * table.size());
  EXPECT_EQ(attribution_.pairing.graphs, kReplays);
  EXPECT_EQ(attribution_.pairing.exact, kReplays);
  EXPECT_EQ(attribution_.pairing.unpaired_nodes, 0U);
  int64_t all = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const Expected& expected = table[i % table.size()];
    const Step& step = GetParam().steps[i / table.size()];
    const Claim& claim = attribution_.claims[attribution_.claim_of[order_[i]]];
    SCOPED_TRACE(testing::Message() << "launch " << i << ", " << NameOf(order_[i]));
    EXPECT_THAT(std::string(NameOf(order_[i])), testing::StartsWith(expected.kernel));
    EXPECT_EQ(claim.op, expected.op);
    EXPECT_EQ(claim.phase, Phase::kDecode);
    std::map<std::string, int64_t> sizes;
    for (const auto& [axis, value] : claim.axes) {
      if (const auto* size = std::get_if<int64_t>(&value)) sizes[axis] = *size;
    }
    EXPECT_EQ(sizes, expected.axes);
    if (expected.op == "unified_attention") {
      const auto& q = std::get<std::vector<int64_t>>(claim.axes.at("q_lens"));
      const auto& kv = std::get<std::vector<int64_t>>(claim.axes.at("kv_lens"));
      EXPECT_EQ(q, std::vector<int64_t>(step.sequences, 1));
      EXPECT_EQ(kv.size(), step.sequences);
      EXPECT_EQ(std::accumulate(kv.begin(), kv.end(), int64_t{0}), step.keys);
    }
    all += profile_.kernels[order_[i]].dur_ns;
  }
  const ShapeTimes& times = attribution_.shape_times;
  EXPECT_EQ(times[static_cast<size_t>(ShapeFrom::kCaptureByOrder)] +
                times[static_cast<size_t>(ShapeFrom::kNothing)],
            all);
}

// A call is what one replay does for one captured call: no call of a replay is one of another's.
TEST_P(CudaGraphs, CallsAreTheCapturedOnesOnceForEachReplay) {
  const size_t length = GetParam().table.size();
  std::set<uint32_t> first;
  for (size_t i = 0; i < length; ++i) first.insert(attribution_.call_of[order_[i]]);
  std::set<uint32_t> all;
  for (const uint32_t row : order_) all.insert(attribution_.call_of[row]);
  first.erase(kNone32);
  all.erase(kNone32);
  EXPECT_GT(first.size(), length / 2);
  EXPECT_EQ(all.size(), kReplays * first.size());
}

INSTANTIATE_TEST_SUITE_P(Recorded, CudaGraphs, testing::Values(DensePair(), MoePair()),
                         [](const auto& param) {
                           return std::string(param.param.profile).starts_with("moe") ? "Moe"
                                                                                      : "Dense";
                         });

}  // namespace
}  // namespace roofmark::trace
