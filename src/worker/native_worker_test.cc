// SPDX-License-Identifier: Apache-2.0
#include "worker/native_worker.h"

#include "base/testing.h"
#include "worker/test_bed.h"

namespace roofmark::worker {
namespace {

constexpr std::string_view kHonest = R"(
#include "roofmark/scale.h"
int run(const scale_args* args, void*, void*) {
  const float* x = static_cast<const float*>(args->x.data);
  float* out = static_cast<float*>(args->out.data);
  for (int64_t i = 0; i < args->n; ++i) out[i] = static_cast<float>(args->factor) * x[i];
  return 0;
}
)";

TEST(NativeWorker, RunsACandidateOnWhatIsLent) {
  TestBed bed = TestBed::Native(kHonest);
  const auto started = bed.Start();
  ASSERT_THAT(started, IsOk());
  ASSERT_TRUE(started->has_value()) << started->error().reason;
  const auto called = bed.Call();
  ASSERT_THAT(called, IsOk());
  ASSERT_TRUE(called->has_value()) << called->error().reason;
  EXPECT_TRUE(bed.OutIsRight());
  EXPECT_TRUE(bed.out().GuardsIntact().value());
  std::printf("level: %s\n", bed.worker().level().c_str());
}

}  // namespace
}  // namespace roofmark::worker
