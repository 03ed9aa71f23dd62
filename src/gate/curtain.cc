// SPDX-License-Identifier: Apache-2.0
#include "gate/curtain.h"

#include <algorithm>

#include "base/check.h"
#include "device/cpu_arena.h"

namespace roofmark::gate {
namespace {

// Zero in every type: an index that leads nowhere bad, for whoever looks early.
constexpr std::byte kNothing{0};

}  // namespace

Curtain::Curtain(std::span<const TimedCall> calls) {
  for (const TimedCall& call : calls) {
    auto* const arena = dynamic_cast<device::CpuArena*>(call.in);
    CHECK(arena != nullptr);
    kept_.push_back({.arena = arena->memory(), .bytes = {}});
    Kept& kept = kept_.back();
    kept.bytes.assign(kept.arena.begin(), kept.arena.end());
    std::ranges::fill(kept.arena, kNothing);
  }
}

Curtain::~Curtain() {
  for (size_t call = 0; call < kept_.size(); ++call) Raise(call);
}

void Curtain::Raise(size_t call) {
  Kept& kept = kept_[call];
  std::ranges::copy(kept.bytes, kept.arena.begin());
  kept.bytes = {};  // a second Raise does nothing
}

}  // namespace roofmark::gate
