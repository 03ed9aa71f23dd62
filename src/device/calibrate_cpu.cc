// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/text.h"
#include "device/calibrate.h"
#include "device/cpu_rates.h"
#include "device/device.h"
#include "device/rates.h"

namespace roofmark::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepetitions = 7;

// Runs `work(thread)` on every core at once, kRepetitions times after one warm-up; gives the
// seconds from the common start to the last core's end.
std::vector<double> OnEveryCore(int cores, const std::function<void(int)>& work) {
  std::vector<double> seconds;
  Clock::time_point begin;
  const auto on_phase = [&, phase = 0]() mutable noexcept {
    const Clock::time_point now = Clock::now();
    // Phases alternate: everybody is ready, everybody is done. The first pair warms up.
    if (phase % 2 == 0) begin = now;
    if (phase % 2 == 1 && phase > 1) {
      seconds.push_back(std::chrono::duration<double>(now - begin).count());
    }
    ++phase;
  };
  seconds.reserve(kRepetitions);
  std::barrier sync(cores, on_phase);
  std::vector<std::jthread> threads;
  for (int core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      for (int i = 0; i <= kRepetitions; ++i) {
        sync.arrive_and_wait();
        work(core);
        sync.arrive_and_wait();
      }
    });
  }
  threads.clear();
  return seconds;
}

struct FreeAligned {
  void operator()(float* at) const { std::free(at); }  // NOLINT: the pair of aligned_alloc
};
using Buffer = std::unique_ptr<float, FreeAligned>;

Result<Buffer> MakeBuffer(size_t bytes) {
  Buffer buffer(static_cast<float*>(std::aligned_alloc(64, bytes)));  // NOLINT: aligned, owned
  if (buffer == nullptr) {
    return Fail(ErrorKind::kDevice, fmt::format("no memory for a buffer of {}",
                                                HumanBytes(static_cast<double>(bytes))));
  }
  std::fill_n(buffer.get(), bytes / sizeof(float), 1.0F);
  return buffer;
}

Result<void> MeasureMemory(const DeviceInfo& info, Ceilings* ceilings) {
  // Half as much again as the last-level cache, within what a small machine has.
  constexpr size_t kLeast = size_t{128} << 20;
  constexpr size_t kMost = size_t{1} << 30;
  const size_t wanted = static_cast<size_t>(info.cache_bytes) * 3 / 2;
  const auto cores = static_cast<size_t>(info.units);
  const size_t each = std::clamp(wanted, kLeast, kMost) / cores / 128 * 128;
  std::vector<Buffer> from;
  std::vector<Buffer> to;
  for (size_t core = 0; core < cores; ++core) {
    from.push_back(TRY(MakeBuffer(each)));
    to.push_back(TRY(MakeBuffer(each)));
  }
  const auto bytes = static_cast<double>(each * cores);
  const auto at = [](const std::vector<Buffer>& buffers, int core) {
    return buffers[static_cast<size_t>(core)].get();
  };
  std::string all;
  const auto measure = [&](const char* how, double moved, const std::function<void(int)>& work) {
    const Rate rate = RateOf(moved, OnEveryCore(info.units, work));
    all += fmt::format("{}{} {:.1f} GB/s", all.empty() ? "" : ", ", how, rate.per_s / 1e9);
    Offer(&ceilings->memory_bytes_per_s, ceilings, "memory", rate,
          fmt::format("{} of {} on {} cores", how, HumanBytes(bytes), cores));
  };
  measure("read", bytes, [&](int core) { ReadMemory(at(from, core), each); });
  measure("write", bytes, [&](int core) { WriteMemory(at(to, core), each); });
  measure("copy", 2 * bytes, [&](int core) { CopyMemory(at(from, core), at(to, core), each); });
  ceilings->sources["memory"] += " (" + all + ")";
  return {};
}

void MeasureArithmetic(const DeviceInfo& info, Ceilings* ceilings) {
  // Some ten milliseconds a repetition.
  constexpr int64_t kSteps = 4'000'000;
  const VectorWidth width = WidestVectors();
  const auto measure = [&](Engine engine, const char* what, auto run) {
    const double work = run(width, 1) * static_cast<double>(kSteps) * info.units;
    const Rate rate = RateOf(work, OnEveryCore(info.units, [&](int) { (void)run(width, kSteps); }));
    Offer(&ceilings->ops_per_s[static_cast<size_t>(engine)], ceilings,
          std::string(EngineName(engine)), rate,
          fmt::format("{} by {} on {} cores", what, VectorWidthName(width), info.units));
  };
  measure(Engine::kVectorF32, "chains of FP32 multiply-adds", RunMultiplyAdds);
  measure(Engine::kSpecial, "exponentials (polynomial of degree 5)", RunExponentials);
}

// A call that does nothing, as the judge's clock sees it: what reading the clock twice costs.
void MeasureFloor(Ceilings* ceilings) {
  std::vector<double> seconds;
  for (int i = 0; i < 1001; ++i) {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point end = Clock::now();
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  ceilings->launch_floor_s = Median(seconds);
  ceilings->sources["launch_floor"] =
      fmt::format("two readings of the clock, median of {}", seconds.size());
}

}  // namespace

Result<Calibration> CalibrateCpu() {
  const auto device = TRY(OpenCpu());
  const DeviceInfo& info = device->info();
  Calibration found{.note = fmt::format("{}, {}, {} cores, {}, clocks left as they are", Today(),
                                        info.name, info.units, info.driver),
                    .device_name = info.name,
                    .arch = info.arch,
                    .cache_bytes = static_cast<double>(info.cache_bytes)};
  TRY(MeasureMemory(info, &found.ceilings));
  MeasureArithmetic(info, &found.ceilings);
  MeasureFloor(&found.ceilings);
  return found;
}

}  // namespace roofmark::device
