// SPDX-License-Identifier: Apache-2.0
// What the stage does beside timing: it shows that operands are cold, warms those that are to be
// warm, tells a set-aside of the L2 cache, and disturbs the GPU.
#include <fmt/format.h>

#include <chrono>

#include "base/files.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/testing.h"
#include "base/text.h"
#include "device/cuda_stage.h"
#include "gate/coldness.h"
#include "gpu/gpu_bench.h"
#include "meter/cubin.h"

namespace roofmark::gpu {

namespace cu = device::cu;

constexpr int kCalls = 8;
constexpr int kProbes = 4;  // every other call
constexpr int64_t kSlotBytes = int64_t{3} << 20;

constexpr const char* kKernels = R"cuda(
typedef unsigned long long u64;
extern "C" __global__ void plain(const uint4* from, uint4* to, u64 n) {
  const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint4 v = from[i];
  if (v.x == 0x12345678 && v.y == 0x9abcdef0) *to = v;
}
// Asks that what it reads stays.
extern "C" __global__ void sticky(const uint4* from, uint4* to, u64 n) {
  const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v;
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i), "l"(policy));
  if (v.x == 0x12345678 && v.y == 0x9abcdef0) *to = v;
}
// Reads all of it again and again for so many nanoseconds, past the L1 cache.
extern "C" __global__ void hammer(const uint4* from, uint4* to, u64 n, u64 limit_ns) {
  u64 start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  unsigned seen = 0;
  do {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      uint4 v;
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i));
      seen |= v.x;
    }
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < limit_ns);
  if (seen == 0x12345678) to->x = seen;
}
)cuda";

// The experiments of one child, each a row of what was found.
class StageBench {
 public:
  Result<void> Open(const std::vector<std::string>& arguments) {
    side_ = TRY(OpenWorkerSide());
    api_ = TRY(OpenDriver());
    const std::string stage = TRY(ReadFile(arguments[1]));
    stage_hash_ = meter::CubinHash(stage);
    const auto flush = static_cast<uint64_t>(TRY(ParseInt(arguments[3])));
    TRY(side_.Check(side_.stage_open(stage.data(), stage.size(), flush)));
    const std::string cubin = TRY(ReadFile(arguments[0]));
    cu::Module module = nullptr;
    TRY(api_.Check(api_.module_load_data(&module, cubin.data()), "loading kernels"));
    TRY(api_.Check(api_.module_get_function(&plain_, module, "plain"), "plain"));
    TRY(api_.Check(api_.module_get_function(&sticky_, module, "sticky"), "sticky"));
    TRY(api_.Check(api_.module_get_function(&hammer_, module, "hammer"), "hammer"));
    const auto bytes = static_cast<size_t>(kSlotBytes) * kCalls + (size_t{2} << 20);
    TRY(api_.Check(api_.mem_alloc(&slots_, bytes), "allocating"));
    TRY(api_.Check(api_.memset_d8_async(slots_, 0x5a, bytes, nullptr), "filling"));
    constexpr uint64_t kPage = uint64_t{2} << 20;
    slots_ = (slots_ + kPage - 1) / kPage * kPage;
    TRY(api_.Check(api_.stream_create(&stream_, cu::kStreamNonBlocking), "making a stream"));
    TRY(api_.Check(api_.stream_create(&side_stream_, cu::kStreamNonBlocking), "making a stream"));
    return api_.Check(api_.ctx_synchronize(), "opening");
  }

  // Calls that read their own slots, every other one probed.
  Result<Json> Honest() {
    return Probed([this](int call) { Read(plain_, Slot(call)); });
  }
  // The first call reads the slots of all, and wants them kept.
  Result<Json> Prefetching() {
    return Probed([this](int call) {
      for (int other = call; call == 0 && other < kCalls; ++other) Read(sticky_, Slot(other));
      Read(plain_, Slot(call));
    });
  }
  // The same with a part of the cache set aside for it.
  Result<Json> SetAside() {
    return Probed([this](int call) {
      if (call == 0) api_.ctx_set_limit(cu::kLimitPersistingL2, size_t{24} << 20);
      for (int other = call; call == 0 && other < kCalls; ++other) Read(sticky_, Slot(other));
      Read(plain_, Slot(call));
    });
  }
  // Somebody reads one slot all the time: it cannot be cold. He begins when the batch is queued,
  // since its beginning waits for the device.
  Result<Json> Hammered() {
    constexpr int kSlot = 1;
    return Probed(
        [this](int call) {
          uint64_t words = static_cast<uint64_t>(kSlotBytes) / 16;
          uint64_t limit_ns = 20'000'000;
          cu::Pointer from = Slot(kSlot);
          void* values[] = {&from, &from, &words, &limit_ns};
          if (call != 0) return;
          api_.launch_kernel(hammer_, 16, 1, 1, 1024, 1, 1, 0, side_stream_, values, nullptr);
        },
        kSlot);
  }

  // Spans of a kernel that reads a cold operand, and of one that reads a warm one.
  Result<Json> Warmed(bool warm) {
    const auto ahead = [&](int call) -> Result<void> {
      if (!warm) return {};
      return side_.Check(side_.stage_warm(Slot(call), kSlotBytes));
    };
    const auto call = [this](int number) { Read(plain_, Slot(number)); };
    TRY(RunBatch(side_, stream_, kCalls, Metering::kOff, call, ahead));
    const Batch batch = TRY(RunBatch(side_, stream_, kCalls, Metering::kOn, call, ahead));
    const gate::Timeline timeline = TRY(TimelineOf(batch, stage_hash_, kCalls));
    const std::vector<double> spans = SpansOf(timeline);
    return Json::MakeObject()
        .Set("span_ns", Median(spans))
        .Set("fault", timeline.fault + timeline.unsynchronised);
  }

  // How long the device takes to be done with a read of all slots, while it is disturbed.
  Result<Json> Disturbed(int percent) {
    std::vector<double> took_ns;
    for (int i = 0; i < 9; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (percent > 0) {
        TRY(side_.Check(side_.stage_disturb(percent, static_cast<uint64_t>(i), 2'000'000)));
      }
      for (int call = 0; call < kCalls; ++call) Read(plain_, Slot(call));
      TRY(api_.Check(api_.stream_synchronize(stream_), "reading"));
      took_ns.push_back(
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
              .count());
      TRY(api_.Check(api_.ctx_synchronize(), "the disturbance"));
    }
    const auto end = std::chrono::steady_clock::now();
    if (percent > 0) TRY(side_.Check(side_.stage_disturb(percent, 1, 2'000'000)));
    TRY(api_.Check(api_.ctx_synchronize(), "the disturbance alone"));
    const std::chrono::duration<double, std::nano> alone = std::chrono::steady_clock::now() - end;
    return Json::MakeObject()
        .Set("percent", int64_t{percent})
        .Set("read_ns", Median(took_ns))
        .Set("alone_ns", alone.count());
  }

 private:
  cu::Pointer Slot(int call) const { return slots_ + static_cast<uint64_t>(call * kSlotBytes); }

  void Read(cu::Function kernel, cu::Pointer from) {
    uint64_t words = static_cast<uint64_t>(kSlotBytes) / 16;
    void* values[] = {&from, &from, &words};
    const auto blocks = static_cast<unsigned>((words + 255) / 256);
    api_.launch_kernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream_, values, nullptr);
  }

  // Every other call is probed in its own slot, or in the one that is named.
  Result<Json> Probed(const std::function<void(int)>& call, int slot = -1) {
    Random random(static_cast<uint64_t>(RandomSeed()));
    const auto ahead = [&](int number) -> Result<void> {
      if (number % 2 == 0) return {};
      std::vector<uint64_t> offsets;
      for (size_t i = 0; i < device::kProbedLines; ++i) {
        const uint64_t at = Slot(slot < 0 ? number : slot) - slots_;
        offsets.push_back(at + i * (64 << 10) + 8192 + random.Below(200) * 128);
      }
      return side_.Check(side_.stage_probe(slots_, offsets.data(), offsets.size()));
    };
    const Batch batch = TRY(RunBatch(side_, stream_, kCalls, Metering::kOn, call, ahead));
    const char* const text = side_.stage_findings();
    if (text == nullptr) return Fail(ErrorKind::kDevice, side_.error());
    Json found = TRY(Json::Parse(text));
    TRY(api_.Check(api_.ctx_set_limit(cu::kLimitPersistingL2, 0), "clearing the set-aside"));
    TRY(api_.Check(api_.ctx_reset_persisting_l2(), "resetting"));
    const gate::Timeline timeline = TRY(TimelineOf(batch, stage_hash_, kCalls));
    return found.Set("held", batch.held).Set("fault", timeline.fault);
  }

  WorkerSide side_;
  device::CudaApi api_;
  std::string stage_hash_;
  cu::Function plain_ = nullptr;
  cu::Function sticky_ = nullptr;
  cu::Function hammer_ = nullptr;
  cu::Pointer slots_ = 0;
  cu::Stream stream_ = nullptr;
  cu::Stream side_stream_ = nullptr;
};

Result<void> PlayStage(const std::vector<std::string>& arguments) {
  StageBench bench;
  TRY(bench.Open(arguments));
  TRY(bench.Honest());  // warms up
  Json out = Json::MakeObject();
  out.Set("honest", TRY(bench.Honest()));
  out.Set("prefetching", TRY(bench.Prefetching()));
  out.Set("set_aside", TRY(bench.SetAside()));
  out.Set("hammered", TRY(bench.Hammered()));
  out.Set("again", TRY(bench.Honest()));
  out.Set("cold", TRY(bench.Warmed(false))).Set("warm", TRY(bench.Warmed(true)));
  Json disturbed = Json::MakeArray();
  for (const int percent : {0, 10, 50, 99}) disturbed.Push(TRY(bench.Disturbed(percent)));
  out.Set("disturbed", std::move(disturbed));
  return WriteFile(arguments[2], out.Dump());
}

namespace {

class GpuStage : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (device_ == nullptr || IsSkipped()) return;
    const TempDir folder = *TempDir::Make("roofmark-gpu-test");
    const auto at = [&](const char* name) { return (folder.path() / name).string(); };
    ASSERT_THAT(WriteFile(at("kernels.cubin"), *device_->Compile(kKernels, "kernels.cu")), IsOk());
    ASSERT_THAT(WriteFile(at("stage.cubin"), *device_->StageCubin()), IsOk());
    ASSERT_THAT(Start({"stage", at("kernels.cubin"), at("stage.cubin"), at("out.json"),
                       std::to_string(2 * device_->info().cache_bytes)},
                      Injection::kMeter, 100),
                IsOk());
    const auto found = ReadJson(at("out.json"));
    ASSERT_THAT(found, IsOk());
    found_ = *found;
  }

  // What a probed batch showed; prints the distribution for whoever places the limits.
  gate::Coldness Coldness(const char* name) {
    const Json& row = *found_.Find(name);
    EXPECT_EQ(*row.String("fault"), "") << name;
    const Json& probe = *row.Find("probe");
    fmt::print("{:12} set aside {:>9} held {:5}", name, *row.Int("set_aside"), *row.Bool("held"));
    for (const char* key : {"hits", "misses", "operands"}) {
      std::vector<double> cycles;
      for (const Json& one : probe.Find(key)->array()) cycles.push_back(one.as_double());
      fmt::print(" | {} {:.0f} {:.0f} {:.0f}", key, Quantile(cycles, 0.1), Median(cycles),
                 Quantile(cycles, 0.9));
    }
    const auto coldness = gate::ReadColdness(probe, kProbes * device::kProbedLines);
    EXPECT_THAT(coldness, IsOk());
    fmt::print(" | {}\n", gate::ColdnessText(*coldness));
    return coldness.value_or(gate::Coldness{});
  }

  Json found_;
};

TEST_F(GpuStage, ShowsThatOperandsAreColdBehindTheFlush) {
  for (const char* name : {"honest", "again"}) {
    const gate::Coldness coldness = Coldness(name);
    EXPECT_EQ(coldness.unclear, 0) << name;
    EXPECT_EQ(gate::WarmFault(coldness), "") << name;
    EXPECT_LT(coldness.hit_cycles, coldness.miss_cycles) << name;
  }
}

TEST_F(GpuStage, ShowsThatOperandsAreWarmThatSomebodyReadsAllTheTime) {
  EXPECT_NE(gate::WarmFault(Coldness("hammered")), "");
}

TEST_F(GpuStage, PrefetchedOperandsThatAreToStayAreColdOrFound) {
  // Where nothing is set aside, wishes of a kernel keep no line through the flush.
  const gate::Coldness prefetched = Coldness("prefetching");
  EXPECT_EQ(gate::WarmFault(prefetched), "");
  // Where something is, it is seen, whatever it keeps.
  const gate::Coldness kept = Coldness("set_aside");
  EXPECT_GT(*found_.Find("set_aside")->Int("set_aside"), 0);
  EXPECT_EQ(kept.unclear, 0);
}

TEST_F(GpuStage, WarmOperandsAreReadFaster) {
  const double cold = *found_.Find("cold")->Double("span_ns");
  const double warm = *found_.Find("warm")->Double("span_ns");
  fmt::print("3 MiB read cold {:.0f} ns, warm {:.0f} ns\n", cold, warm);
  EXPECT_EQ(*found_.Find("warm")->String("fault"), "");
  EXPECT_LT(warm, 0.95 * cold);
}

TEST_F(GpuStage, ADisturbanceSlowsWorkDownAndEndsByItself) {
  const Json::Array& rows = found_.Find("disturbed")->array();
  ASSERT_EQ(rows.size(), 4U);
  for (const Json& row : rows) {
    fmt::print("{:3} % disturbed: 24 MiB read in {:.1f} us; the disturbance alone {:.1f} us\n",
               *row.Int("percent"), *row.Double("read_ns") / 1e3, *row.Double("alone_ns") / 1e3);
  }
  EXPECT_GT(*rows[3].Double("read_ns"), *rows[0].Double("read_ns"));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GT(*rows[i].Double("alone_ns"), 400'000);
    EXPECT_LT(*rows[i].Double("alone_ns"), 20'000'000);
  }
}

}  // namespace
}  // namespace roofmark::gpu
