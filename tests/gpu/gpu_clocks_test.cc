// SPDX-License-Identifier: Apache-2.0
// Three clocks on kernels whose lengths are known, on the stage that candidates are timed on.
#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/stats.h"
#include "base/testing.h"
#include "gate/cuda_stopwatch.h"
#include "gpu/gpu_bench.h"
#include "meter/cubin.h"

namespace roofmark::gpu {

namespace cu = device::cu;

constexpr int kCalls = 100;

constexpr const char* kKernels = R"cuda(
typedef unsigned long long u64;
#define MY_VECTOR const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
extern "C" __global__ void nothing(const uint4*, uint4*, u64) {}
extern "C" __global__ void copy(const uint4* from, uint4* to, u64 n) { MY_VECTOR; to[i] = from[i]; }
// Reads with and without the wish that its lines stay in the cache.
extern "C" __global__ void plain(const uint4* from, uint4* to, u64 n) {
  MY_VECTOR;
  const uint4 v = from[i];
  if (v.x == 0x12345678 && v.y == 0x9abcdef0) *to = v;
}
extern "C" __global__ void sticky(const uint4* from, uint4* to, u64 n) {
  MY_VECTOR;
  uint4 v;
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i), "l"(policy));
  if (v.x == 0x12345678 && v.y == 0x9abcdef0) *to = v;
}
)cuda";

struct Case {
  const char* kernel;
  double megabytes;  // read, and for copy also written
};
constexpr Case kCases[] = {{"nothing", 0}, {"copy", 1},   {"copy", 4},  {"copy", 16},
                           {"copy", 32},   {"copy", 64},  {"plain", 8}, {"sticky", 8},
                           {"plain", 32},  {"sticky", 32}};

Result<Json> TimeCase(const WorkerSide& side, cu::Stream stream, const std::string& stage_hash,
                      const std::function<void(int)>& call) {
  const auto nothing = [](int) {};
  TRY(RunBatch(side, stream, kCalls, Metering::kOff, call));  // warms up
  std::vector<double> host_ns;
  for (int i = 0; i < 3; ++i) {
    const Batch made = TRY(RunBatch(side, stream, kCalls, Metering::kOff, call));
    const Batch skipped = TRY(RunBatch(side, stream, kCalls, Metering::kOff, nothing));
    host_ns.push_back((made.host_ns - skipped.host_ns) / kCalls);
  }
  const Batch off = TRY(RunBatch(side, stream, kCalls, Metering::kOff, call));
  const Batch on = TRY(RunBatch(side, stream, kCalls, Metering::kOn, call));
  const gate::Timeline timeline = TRY(TimelineOf(on, stage_hash, kCalls));
  const std::vector<double> spans = SpansOf(timeline);
  return Json::MakeObject()
      .Set("span_ns", Median(spans))
      .Set("span_low_ns", Quantile(spans, 0.05))
      .Set("span_high_ns", Quantile(spans, 0.95))
      .Set("event_ns", Median(on.event_ns))
      .Set("event_unmetered_ns", Median(off.event_ns))
      .Set("host_ns", Median(host_ns))
      .Set("held", on.held)
      .Set("fault", timeline.fault + timeline.unsynchronised);
}

Result<void> PlayClocks(const std::vector<std::string>& arguments) {
  const WorkerSide side = TRY(OpenWorkerSide());
  const device::CudaApi api = TRY(OpenDriver());
  const std::string stage = TRY(ReadFile(arguments[1]));
  TRY(side.Check(side.stage_open(stage.data(), stage.size(), uint64_t{128} << 20)));
  const std::string cubin = TRY(ReadFile(arguments[0]));
  cu::Module module = nullptr;
  TRY(api.Check(api.module_load_data(&module, cubin.data()), "loading kernels"));
  constexpr size_t kBytes = size_t{64} << 20;
  cu::Pointer from = 0;
  cu::Pointer to = 0;
  TRY(api.Check(api.mem_alloc(&from, kBytes), "allocating"));
  TRY(api.Check(api.mem_alloc(&to, kBytes), "allocating"));
  TRY(api.Check(api.memset_d8_async(from, 0x5a, kBytes, nullptr), "filling"));
  cu::Stream stream = nullptr;
  TRY(api.Check(api.stream_create(&stream, cu::kStreamNonBlocking), "making a stream"));
  Json rows = Json::MakeArray();
  for (const Case& one : kCases) {
    cu::Function kernel = nullptr;
    TRY(api.Check(api.module_get_function(&kernel, module, one.kernel), one.kernel));
    auto vectors = static_cast<uint64_t>(one.megabytes * 1e6) / 16;
    const auto blocks = static_cast<unsigned>(std::max<uint64_t>(1, (vectors + 255) / 256));
    void* values[] = {&from, &to, &vectors};
    rows.Push(TRY(TimeCase(side, stream, meter::CubinHash(stage), [&](int) {
      api.launch_kernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, values, nullptr);
    })));
  }
  return WriteFile(arguments[2], rows.Dump());
}

namespace {

class GpuClocks : public GpuTest {
 protected:
  // One process's measurements, one row a case.
  Json::Array Measure() {
    const TempDir folder = *TempDir::Make("roofmark-gpu-test");
    const auto at = [&](const char* name) { return (folder.path() / name).string(); };
    EXPECT_THAT(WriteFile(at("kernels.cubin"), *device_->Compile(kKernels, "kernels.cu")), IsOk());
    EXPECT_THAT(WriteFile(at("stage.cubin"), *device_->StageCubin()), IsOk());
    EXPECT_THAT(Start({"clocks", at("kernels.cubin"), at("stage.cubin"), at("out.json")},
                      Injection::kMeter, 100),
                IsOk());
    const auto rows = ReadJson(at("out.json"));
    return rows ? rows->array() : Json::Array();
  }
};

double Us(const Json& row, const char* key) {
  return *row.Double(key) / 1e3;
}

void Print(const Json::Array& rows) {
  fmt::print("{:8} {:>5} | {:>8} {:>17} | {:>8} {:>8} | {:>8}\n", "kernel", "MB", "span us",
             "5 % to 95 %", "event us", "unmet.", "host us");
  for (size_t i = 0; i < rows.size(); ++i) {
    fmt::print("{:8} {:5} | {:8.2f} {:8.2f} {:8.2f} | {:8.2f} {:8.2f} | {:8.2f}\n",
               kCases[i].kernel, kCases[i].megabytes, Us(rows[i], "span_ns"),
               Us(rows[i], "span_low_ns"), Us(rows[i], "span_high_ns"), Us(rows[i], "event_ns"),
               Us(rows[i], "event_unmetered_ns"), Us(rows[i], "host_ns"));
  }
}

TEST_F(GpuClocks, AgreeOnKernelsOfEveryLengthAndRepeatInAnotherProcess) {
  const Json::Array first = Measure();
  const Json::Array second = Measure();
  ASSERT_EQ(first.size(), std::size(kCases));
  ASSERT_EQ(second.size(), std::size(kCases));
  Print(first);
  Print(second);
  for (size_t i = 0; i < first.size(); ++i) {
    SCOPED_TRACE(fmt::format("{} {} MB", kCases[i].kernel, kCases[i].megabytes));
    EXPECT_EQ(*first[i].String("fault"), "");
    EXPECT_TRUE(*first[i].Bool("held"));
    const auto exactly = [&](const char* key) {
      const double ns = *first[i].Double(key);
      return Interval{ns, ns, ns};
    };
    EXPECT_EQ(gate::CudaClockFault({exactly("span_ns"), exactly("event_ns"), exactly("host_ns")},
                                   *first[i].Double("span_ns")),
              "");
    const double once = *first[i].Double("span_ns");
    EXPECT_NEAR(once, *second[i].Double("span_ns"), 0.02 * once + 100);
  }
}

TEST_F(GpuClocks, TheFlushLeavesNothingBehindThatAKernelAskedToKeep) {
  const Json::Array rows = Measure();
  ASSERT_EQ(rows.size(), std::size(kCases));
  // The same bytes with and without eviction priority; a surviving cache line would read faster.
  for (const size_t plain : {size_t{6}, size_t{8}}) {
    EXPECT_GT(*rows[plain + 1].Double("span_ns"), 0.93 * *rows[plain].Double("span_ns"));
  }
}

}  // namespace
}  // namespace roofmark::gpu
