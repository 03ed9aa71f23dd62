// SPDX-License-Identifier: Apache-2.0
#include "gate/ghost.h"

#include <fmt/format.h>

#include "base/files.h"
#include "gate/hollow.h"
#include "gate/ledger.h"
#include "gate/output_check.h"
#include "gate/scratch_files.h"

namespace roofmark::gate {
namespace {

// Where Triton keeps what it compiled, below the scratch folder (worker/file_tree.cc).
constexpr const char* kTritonCache = ".triton";

// A cubin that the language's compiler made while the ghost ran is not hollow.
bool CompiledAnew(const fs::path& scratch) {
  for (const fs::path& file : ScratchFiles(scratch, ".cubin")) {
    const Result<std::string> cubin = ReadFile(file);
    if (!cubin) continue;
    const std::string hollow = Hollow(*cubin);
    if (!hollow.empty() && hollow != *cubin) return true;
  }
  return false;
}

}  // namespace

bool CompilesByTriton(Lane lane) {
  return lane == Lane::kTriton || lane == Lane::kGluon;
}

bool HasGhost(Lane lane, DeviceKind device) {
  return device == DeviceKind::kCuda && (lane == Lane::kCuda || CompilesByTriton(lane));
}

Result<std::unique_ptr<Contestant>> Contestant::MakeGhost(std::string* why_not) {
  if (!HasGhost(candidate_.lane, device_.kind)) {
    *why_not = fmt::format("nobody knows where lane {} keeps its code", LaneName(candidate_.lane));
    return nullptr;
  }
  std::unique_ptr<Contestant> ghost = std::move(ghost_);
  if (ghost == nullptr) ghost = TRY(Make(candidate_, op_, device_));
  ghost->provenance_ = provenance_;
  if (CompilesByTriton(candidate_.lane)) {
    *why_not = TRY(HollowCache(stage_.path() / "scratch" / kTritonCache,
                               ghost->stage_.path() / "scratch" / kTritonCache));
  } else {
    const fs::path name = fs::path(provenance_.path).filename();
    std::string library = TRY(ReadFile(stage_.path() / "run" / name));
    *why_not = HollowLibrary(own_cubins_, &library);
    TRY(WriteFile(ghost->stage_.path() / "run" / name, library));
  }
  return why_not->empty() ? std::move(ghost) : nullptr;
}

Result<GhostReplay> ReplayAsGhost(Session& session, Contestant& contestant, double call_timeout_s) {
  const Stretch stretch(Part::kAttribution, contestant.account());
  std::string why_not;
  const std::unique_ptr<Contestant> ghost = TRY(contestant.MakeGhost(&why_not));
  if (ghost == nullptr) return GhostReplay{.level = "no ghost replay: " + why_not};
  constexpr size_t kSlot = 0;
  TRY(session.Refill(kSlot, "typical"));
  ghost->StartVerdict(session.workload());
  const std::vector<const device::Arena*> inputs = {&session.input(kSlot)};
  const Result<bool> begun =
      ghost->Begin(session.workload(), session.device(), inputs, call_timeout_s);
  bool right = begun && *begun;
  if (right) {
    TRY(PrepareSlot(session, *ghost, kSlot));
    right = TRY(ghost->Call(kSlot));
  }
  if (right) {
    TRY(session.Expect(kSlot));
    right = TRY(CheckValues(session, *ghost, kSlot, Gate::kPerformance, {}));
  }
  TRY(ghost->End());
  // One more set of outputs and one more process may be more than the device has room for.
  if (!begun) return GhostReplay{.level = "no ghost replay: " + begun.error().message()};
  if (!right) {
    return GhostReplay{.level =
                           fmt::format("ghost replay: {}", OutcomeName(ghost->verdict.outcome))};
  }
  if (CompilesByTriton(contestant.candidate().lane) && CompiledAnew(ghost->scratch())) {
    return GhostReplay{.level = "no ghost replay: its compiler compiled anew"};
  }
  return GhostReplay{.refuted =
                         "the outputs are right although the candidate's own kernels did "
                         "nothing (ghost replay): something else computes them"};
}

}  // namespace roofmark::gate
