// SPDX-License-Identifier: Apache-2.0
// What a contestant's worker is lent for one workload, and where its outputs lie.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "gate/contestant.h"
#include "gate/ledger.h"
#include "gate/reference.h"

namespace roofmark::gate {
namespace {

// A GPU's memory is allocated in pieces of 2 MiB; outputs move by up to so many of them.
constexpr int64_t kPlaceBytes = int64_t{2} << 20;
constexpr uint64_t kPlaces = 32;

}  // namespace

Result<bool> Contestant::LendArenas(const Workload& workload, device::Device& device,
                                    const std::vector<const device::Arena*>& inputs) {
  const Stretch stretch(Part::kArenas);
  outputs_.clear();
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    const std::array<int, 1> in_fd = {inputs[slot]->fd()};
    mapped_.push_back(InputName(slot));
    if (!TRY(Ask(MapRequest(InputName(slot), *inputs[slot], MapAccess::kRead), kMapTimeoutS,
                 nullptr, in_fd))) {
      return false;
    }
    mapped_.push_back(OutputName(slot));
    outputs_.emplace_back();
    if (!TRY(LendOutput(slot, TRY(device.MakeArena(device::LayOut(workload.outputs)))))) {
      return false;
    }
  }
  return true;
}

Result<bool> Contestant::LendOutput(size_t slot, std::unique_ptr<device::Arena> arena) {
  outputs_[slot] = std::move(arena);
  const std::array<int, 1> fd = {outputs_[slot]->fd()};
  return Ask(MapRequest(OutputName(slot), *outputs_[slot], MapAccess::kReadWrite), kMapTimeoutS,
             nullptr, fd);
}

Result<bool> Contestant::MoveOutputs(device::Device& device) {
  const Stretch stretch(Part::kArenas, account());
  Random random(static_cast<uint64_t>(RandomSeed()));
  for (size_t slot = 0; slot < outputs_.size(); ++slot) {
    // Memory that is given back is lent again first: what lies in between moves the next one.
    const Tensor between{.name = "between",
                         .dtype = DType::kU8,
                         .sizes = {kPlaceBytes * static_cast<int64_t>(1 + random.Below(kPlaces))}};
    const auto spacer = device.MakeArena(device::LayOut({&between, 1}));
    Result<std::unique_ptr<device::Arena>> arena =
        device.MakeArena(device::ArenaLayout(outputs_[slot]->layout()));
    if (!spacer || !arena) return true;
    if (!TRY(Ask(UnmapRequest(OutputName(slot)), kMapTimeoutS)) ||
        !TRY(LendOutput(slot, std::move(*arena)))) {
      return false;
    }
  }
  return true;
}

}  // namespace roofmark::gate
