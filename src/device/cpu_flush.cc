// SPDX-License-Identifier: Apache-2.0
// Flushing by address costs time in proportion to the operands, not to the cache: 0.4 ms instead of
// 40 ms for a cache of 260 MiB. And it leaves no dirty lines behind, which a flush by streaming
// does.
#include <cpuid.h>
#include <immintrin.h>

#include "base/check.h"
#include "device/cpu_arena.h"

namespace roofmark::device {
namespace {

constexpr int64_t kLine = 64;

__attribute__((target("clflushopt"))) void FlushWeaklyOrdered(const std::byte* at,
                                                              const std::byte* end) {
  for (; at < end; at += kLine) {
    _mm_clflushopt(const_cast<std::byte*>(at));
  }
}

void FlushOrdered(const std::byte* at, const std::byte* end) {
  for (; at < end; at += kLine) _mm_clflush(at);
}

}  // namespace

void FlushFromCache(std::span<const std::byte> memory) {
  // Without clflushopt (before Skylake and Zen) each flush waits for the last one.
  static const bool weakly_ordered = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    return (ebx & (1U << 23)) != 0;
  }();
  const std::byte* const end = memory.data() + memory.size();
  if (weakly_ordered) {
    FlushWeaklyOrdered(memory.data(), end);
  } else {
    FlushOrdered(memory.data(), end);
  }
  _mm_mfence();
}

int64_t WarmOperands(Arena& arena) {
  auto* const cpu = dynamic_cast<CpuArena*>(&arena);
  CHECK(cpu != nullptr);
  int64_t bytes = 0;
  std::byte seen{};
  for (const TensorPlace& place : arena.layout().places) {
    if (place.tensor.residency != Residency::kWarm) continue;
    const volatile std::byte* const at = cpu->memory().data() + place.offset;
    for (int64_t i = 0; i < place.tensor.Bytes(); i += kLine) seen ^= at[i];
    bytes += place.tensor.Bytes();
  }
  return bytes;
}

void FlushFromCache(Arena& arena) {
  auto* const cpu = dynamic_cast<CpuArena*>(&arena);
  CHECK(cpu != nullptr);
  FlushFromCache(std::span<const std::byte>(cpu->memory()));
}

}  // namespace roofmark::device
