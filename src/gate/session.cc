// SPDX-License-Identifier: Apache-2.0
#include "gate/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>

#include "base/elapsed.h"
#include "base/hash.h"
#include "base/text.h"
#include "gate/ledger.h"

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMinSlots = 3;
constexpr size_t kMaxSlots = 16;
// Operands of this many caches leave nothing of one call to the next; they get only the second slot
// that changes their addresses.
constexpr double kNoRotation = 4;
// What the reference and the candidates need beside the arenas (their own temporaries).
constexpr double kUsableMemory = 0.45;

int64_t BytesOf(const std::vector<Tensor>& tensors) {
  return device::LayOut(tensors).bytes;
}

// Warm operands are to be in the cache: nothing has to push them out.
int64_t ColdBytesOf(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> cold;
  std::ranges::copy_if(tensors, std::back_inserter(cold),
                       [](const Tensor& one) { return one.residency == Residency::kCold; });
  return BytesOf(cold);
}

}  // namespace

size_t SlotCount(const Workload& workload, const device::DeviceInfo& device, size_t contestants) {
  const auto in = static_cast<double>(BytesOf(workload.inputs));
  const auto out = static_cast<double>(BytesOf(workload.outputs));
  const double usable = kUsableMemory * static_cast<double>(device.memory_bytes) - out;
  const auto fits =
      static_cast<size_t>(std::max(0.0, usable / (in + out * static_cast<double>(contestants))));
  const double passing = static_cast<double>(ColdBytesOf(workload.inputs)) + out;
  const auto rotation =
      static_cast<size_t>(2 * static_cast<double>(device.cache_bytes) / passing) + 2;
  const bool rotates = passing <= kNoRotation * static_cast<double>(device.cache_bytes);
  const size_t wanted = rotates ? std::clamp(rotation, kMinSlots, kMaxSlots) : 2;
  const size_t slots = std::min(wanted, fits);
  return slots >= 2 ? slots : 0;
}

ArenaMemory MemoryOf(const Workload& workload, size_t slots, size_t contestants,
                     int64_t granularity) {
  ArenaMemory memory;
  const auto add = [&](const std::vector<Tensor>& tensors, size_t arenas) {
    const int64_t bytes = (BytesOf(tensors) + granularity - 1) / granularity * granularity;
    memory.held += bytes * static_cast<int64_t>(arenas);
    for (const Tensor& tensor : tensors) {
      memory.tensors += tensor.Bytes() * static_cast<int64_t>(arenas);
    }
  };
  add(workload.inputs, slots);
  add(workload.outputs, slots * contestants + 1);
  return memory;
}

int64_t SeedOf(const std::string& secret, uint64_t number) {
  const std::string hash = Sha256Hex(fmt::format("{} {}", secret, number));
  return static_cast<int64_t>(std::stoull(hash.substr(0, 16), nullptr, 16) >> 1);
}

std::string Session::FreshSecret() {
  return fmt::format("{:016x}{:016x}", RandomSeed(), RandomSeed());
}

Result<std::unique_ptr<Session>> Session::Open(const Workload& workload, device::Device& device,
                                               Reference& reference, size_t contestants) {
  const Stretch stretch(Part::kArenas);
  std::unique_ptr<Session> session(new Session(workload, device, reference));
  const size_t slots = SlotCount(workload, device.info(), contestants);
  if (slots == 0) {
    const auto bytes = static_cast<double>(BytesOf(workload.inputs) + BytesOf(workload.outputs));
    return Fail(
        ErrorKind::kDevice,
        fmt::format("{}: {} of inputs and outputs do not fit twice in the {} of {}", workload.Id(),
                    HumanBytes(bytes), HumanBytes(static_cast<double>(device.info().memory_bytes)),
                    device.info().name));
  }
  for (size_t slot = 0; slot < slots; ++slot) {
    std::unique_ptr<device::Arena> arena = TRY(device.MakeArena(device::LayOut(workload.inputs)));
    TRY(arena->Poison());
    TRY(reference.Map(InputName(slot), *arena));
    TRY(arena->Seal());
    session->inputs_.push_back(std::move(arena));
  }
  session->fingerprints_.resize(slots);
  session->regimes_.resize(slots);
  session->want_ = TRY(device.MakeArena(device::LayOut(workload.outputs)));
  TRY(reference.Map("want", *session->want_));
  return session;
}

Result<void> Session::Close() {
  const Stretch stretch(Part::kArenas);
  for (size_t slot = 0; slot < inputs_.size(); ++slot) TRY(reference_.Unmap(InputName(slot)));
  return reference_.Unmap("want");
}

std::vector<device::Arena*> Session::inputs() {
  std::vector<device::Arena*> arenas;
  for (const auto& arena : inputs_) arenas.push_back(arena.get());
  return arenas;
}

std::vector<const device::Arena*> Session::inputs() const {
  std::vector<const device::Arena*> arenas;
  for (const auto& arena : inputs_) arenas.push_back(arena.get());
  return arenas;
}

Result<void> Session::Refill(std::span<const size_t> slots, const std::string& regime) {
  std::vector<Draw> draws;
  for (const size_t slot : slots) {
    draws.push_back({.arena = InputName(slot), .seed = SeedOf(secret_, drawn_++)});
  }
  return Fill(slots, draws, regime);
}

Result<void> Session::Refill(size_t slot, const std::string& regime) {
  return Refill(std::array{slot}, regime);
}

Result<void> Session::Refill(size_t slot, const std::string& regime, int64_t seed) {
  return Fill(std::array{slot}, std::array{Draw{.arena = InputName(slot), .seed = seed}}, regime);
}

Result<void> Session::Fill(std::span<const size_t> slots, std::span<const Draw> draws,
                           const std::string& regime) {
  if (slots.empty()) return {};
  {
    const Stretch stretch(Part::kInputs);
    const Clock::time_point begin = Clock::now();
    TRY(reference_.Inputs(draws, workload_, regime));
    refill_s_ = SecondsSince(begin) / static_cast<double>(slots.size());
  }
  const Stretch stretch(Part::kCompare);
  for (const size_t slot : slots) {
    regimes_[slot] = regime;
    fingerprints_[slot] = TRY(inputs_[slot]->Fingerprints());
  }
  return {};
}

Result<void> Session::CopyInputs(size_t from, size_t to) {
  for (const device::TensorPlace& place : inputs_[from]->layout().places) {
    TRY(inputs_[to]->Copy(place.offset, *inputs_[from], place.offset, place.tensor.Bytes()));
  }
  fingerprints_[to] = TRY(inputs_[to]->Fingerprints());
  regimes_[to] = regimes_[from];
  return {};
}

Result<bool> Session::Intact(size_t slot) {
  if (!TRY(inputs_[slot]->GuardsIntact())) return false;
  return TRY(inputs_[slot]->Fingerprints()) == fingerprints_[slot];
}

Result<void> Session::Expect(size_t slot) {
  const Stretch stretch(Part::kExpected);
  const Clock::time_point begin = Clock::now();
  TRY(want_->Poison());
  TRY(reference_.Expected(InputName(slot), "want", workload_));
  if (!TRY(want_->GuardsIntact())) {
    return Fail(ErrorKind::kInput, workload_.Id() + ": the reference wrote outside its outputs");
  }
  expect_s_ = SecondsSince(begin);
  return {};
}

}  // namespace roofmark::gate
