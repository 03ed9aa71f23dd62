// SPDX-License-Identifier: Apache-2.0
#include "pipeline/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <semaphore>
#include <thread>

#include "gate/ledger.h"

namespace roofmark::pipeline {
namespace {

constexpr size_t kMostAhead = 4;

size_t Cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

// Compilers at a time: all cores but one, which is the judge's own.
std::counting_semaphore<>& CompilerSlots() {
  static std::counting_semaphore<> slots(
      static_cast<std::ptrdiff_t>(std::max<size_t>(1, Cores() - 1)));
  return slots;
}

Result<std::unique_ptr<gate::Contestant>> Make(const Candidate& candidate, const Operator& op,
                                               const device::DeviceInfo& device) {
  std::unique_ptr<gate::Contestant> contestant =
      TRY_IN(gate::Contestant::Make(candidate, op, device), candidate.name);
  CompilerSlots().acquire();
  const Result<void> compiled = contestant->Compile();
  CompilerSlots().release();
  TRY_IN(compiled, "compiling " + candidate.name);
  TRY_IN(contestant->Prestart(), candidate.name);
  return contestant;
}

}  // namespace

Result<void> AgreeOnMode(std::optional<Mode> mode, DeviceKind device, std::vector<Entry>* entries) {
  for (Entry& entry : *entries) {
    if (mode) entry.candidate.mode = *mode;
    if (entry.candidate.mode == Mode::kGraph && device == DeviceKind::kCpu) {
      return Fail(ErrorKind::kUsage, entry.candidate.name +
                                         ": mode graph replays CUDA graphs, which a "
                                         "CPU has not; judge it with --device cuda");
    }
  }
  // Times of different modes are not compared.
  const auto found = std::ranges::find_if(*entries, &Entry::baseline);
  if (found == entries->end()) return {};
  const Candidate& baseline = found->candidate;
  for (const Entry& entry : *entries) {
    const Candidate& candidate = entry.candidate;
    if (candidate.mode == baseline.mode) continue;
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is timed in mode {} and {} in mode {}, which is no comparison; "
                            "say --mode graph or --mode eager for both",
                            candidate.name, ModeName(candidate.mode), baseline.name,
                            ModeName(baseline.mode)));
  }
  return {};
}

Preparation Preparation::Begin(const Operator& op, const std::vector<Entry>& entries,
                               const device::DeviceInfo& device) {
  Preparation preparation;
  for (const Entry& entry : entries) {
    if (entry.baseline) preparation.baseline_ = preparation.made_.size();
    preparation.made_.push_back(std::async(
        std::launch::async,
        [candidate = entry.candidate, &op, device] { return Make(candidate, op, device); }));
  }
  return preparation;
}

Result<Field> Preparation::Take() {
  const gate::Stretch stretch(gate::Part::kCompile);
  Field field{.baseline = baseline_};
  std::vector<Made> made;
  for (std::future<Made>& future : made_) made.push_back(future.get());
  made_.clear();
  for (Made& contestant : made) {
    field.owned.push_back(TRY(std::move(contestant)));
    field.all.push_back(field.owned.back().get());
  }
  return field;
}

Result<void> References::Prefetch(const Operator& op) {
  const auto found = std::ranges::find_if(
      kept_, [&](const gate::Reference& reference) { return reference.Serves(op); });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return {};
  }
  kept_.push_front(TRY(gate::Reference::Spawn(op, kind_)));
  return {};
}

Result<gate::Reference*> References::Get(const Operator& op) {
  TRY(Prefetch(op));
  // Only now, since whoever gets a reference has the device to himself.
  while (kept_.size() > most_) kept_.pop_back();
  if (Result<void> loaded = kept_.front().Load(op); !loaded) {
    Drop(op);
    return std::unexpected(loaded.error());
  }
  return &kept_.front();
}

void References::Drop(const Operator& op) {
  kept_.remove_if([&](const gate::Reference& reference) { return reference.Serves(op); });
}

size_t FieldsAhead(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? 0 : std::clamp<size_t>(Cores() / 4, 1, kMostAhead);
}

}  // namespace roofmark::pipeline
