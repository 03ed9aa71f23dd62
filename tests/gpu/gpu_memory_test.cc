// SPDX-License-Identifier: Apache-2.0
// The judge's own memory on the device: inputs, outputs, expected outputs and the copies that are
// rotated over, and no more than five percent beside them, whatever is compared.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/testing.h"
#include "gate/session.h"
#include "gpu/gpu_bench.h"

namespace roofmark::gpu {
namespace {

// The least free memory of the device while this lives.
class LowWater {
 public:
  explicit LowWater(const device::CudaApi& api) : api_(api), least_(Free()) {
    watcher_ = std::jthread([this](const std::stop_token& stop) {
      // Each thread has a current context of its own.
      device::cu::Context context = nullptr;
      if (api_.primary_ctx_retain(&context, 0) != device::cu::kSuccess) return;
      api_.ctx_set_current(context);
      while (!stop.stop_requested()) least_ = std::min(least_.load(), Free());
      api_.primary_ctx_release(0);
    });
  }
  int64_t least() const { return least_; }
  int64_t Free() const {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    api_.mem_get_info(&free_bytes, &total_bytes);
    return static_cast<int64_t>(free_bytes);
  }

 private:
  const device::CudaApi& api_;
  std::atomic<int64_t> least_;
  std::jthread watcher_;
};

class GpuMemory : public GpuTest {
 protected:
  // The arenas of a workload as the judge makes them, each looked at in every way it does.
  void Judge(const Workload& workload, size_t slots) {
    std::vector<std::unique_ptr<device::Arena>> arenas;
    const auto make = [&](const std::vector<Tensor>& tensors) {
      auto arena = device_->MakeArena(device::LayOut(tensors));
      ASSERT_THAT(arena, IsOk());
      ASSERT_THAT((*arena)->Poison(), IsOk());
      arenas.push_back(std::move(*arena));
    };
    for (size_t slot = 0; slot < slots; ++slot) make(workload.inputs);
    for (size_t slot = 0; slot < slots + 1; ++slot) make(workload.outputs);
    ASSERT_EQ(arenas.size(), 2 * slots + 1);
    device::Arena& want = *arenas.back();
    for (auto& arena : arenas) {
      EXPECT_THAT(arena->Fingerprints(), IsOk());
      EXPECT_TRUE(*arena->GuardsIntact());
    }
    // Zeros, so that nothing that is not finite ends the comparison early.
    for (size_t i = slots; i < arenas.size(); ++i) {
      const std::string zeros(size_t{1} << 24, '\0');
      const device::TensorPlace& place = arenas[i]->layout().places[0];
      for (int64_t at = 0; at < place.tensor.Bytes(); at += int64_t{1} << 24) {
        const auto bytes = std::min<int64_t>(int64_t{1} << 24, place.tensor.Bytes() - at);
        ASSERT_THAT(arenas[i]->Write(place.offset + at,
                                     std::string_view(zeros).substr(0, static_cast<size_t>(bytes))),
                    IsOk());
      }
    }
    const Tolerance numeric = {.rtol = 0.01, .atol_rms = 0.01, .rel_l2 = 0.01};
    for (size_t slot = 0; slot < slots; ++slot) {
      const auto found = device_->Compare(*arenas[slots + slot], want, 0, numeric);
      ASSERT_THAT(found, IsOk());
      EXPECT_TRUE(found->within);
    }
  }
};

TEST_F(GpuMemory, OfABigShapeIsItsTensorsAndAtMostFivePercentMore) {
  Workload workload;
  workload.inputs = {{.name = "x", .dtype = DType::kBF16, .sizes = {int64_t{1} << 29}}};
  workload.outputs = {{.name = "y", .dtype = DType::kBF16, .sizes = {int64_t{1} << 28}}};
  const size_t slots = gate::SlotCount(workload, device_->info(), 1);
  ASSERT_EQ(slots, 2U) << "operands of more than four caches are not rotated";
  const int64_t needed = gate::MemoryOf(workload, slots, 1, 1).tensors;
  // Compiles what it compares with, which is the same for every shape.
  Workload small = workload;
  small.inputs[0].sizes = {1 << 20};
  small.outputs[0].sizes = {1 << 20};
  Judge(small, slots);

  LowWater water(device_->api());
  const int64_t before = water.Free();
  Judge(workload, slots);
  const int64_t used = before - water.least();
  fmt::print("tensors {} MiB, used {} MiB: {:.2f} % more\n", needed >> 20, used >> 20,
             100.0 * static_cast<double>(used - needed) / static_cast<double>(needed));
  EXPECT_GE(used, needed);
  EXPECT_LE(used, needed + needed / 20);
  EXPECT_GE(water.Free(), before - needed / 20) << "arenas give their memory back";
}

}  // namespace
}  // namespace roofmark::gpu
