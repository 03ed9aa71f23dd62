// SPDX-License-Identifier: Apache-2.0
// The inputs of one workload while it is judged: a few slots with inputs at different addresses,
// filled by the reference worker from secret seeds, and one arena for expected outputs. All
// contestants of a workload share a session, so they see the same values at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "gate/reference.h"
#include "model/workload.h"

namespace roofmark::gate {

class Session {
 public:
  // Errors: kDevice when the workload does not fit this device with `contestants` sets of outputs.
  static Result<std::unique_ptr<Session>> Open(const Workload& workload, device::Device& device,
                                               Reference& reference, size_t contestants);
  // Takes the arenas back from the reference worker.
  Result<void> Close();

  size_t slots() const { return inputs_.size(); }
  device::Arena& input(size_t slot) { return *inputs_[slot]; }
  std::vector<device::Arena*> inputs();
  std::vector<const device::Arena*> inputs() const;

  // From which the seed of each Refill follows, by its number. Whoever knows one seed knows no
  // other, and the secret is told to nobody before the session has ended.
  const std::string& secret() const { return secret_; }
  // Draws what a session with this secret drew. Requires: nothing was drawn so far.
  void Replay(const std::string& secret) { secret_ = secret; }

  // Fresh values in a slot, from a new secret seed.
  Result<void> Refill(size_t slot, const std::string& regime);
  // The same in several, each from a seed of its own. One after the other would let two processes
  // take turns on the device for each.
  Result<void> Refill(std::span<const size_t> slots, const std::string& regime);
  // Gives `to` the values of `from`, at other addresses.
  Result<void> CopyInputs(size_t from, size_t to);
  // Of the values in a slot; empty before the first Refill.
  const std::string& regime(size_t slot) const { return regimes_[slot]; }
  // The values of a seed, for those that need the same ones twice.
  Result<void> Refill(size_t slot, const std::string& regime, int64_t seed);
  // False when the slot's inputs or their guards changed since Refill.
  Result<bool> Intact(size_t slot);
  // Computes expected outputs for what lies in the slot; they stay in want() until the next call.
  Result<void> Expect(size_t slot);
  device::Arena& want() { return *want_; }
  // What a slot of the last Refill, and the last Expect, took; 0 before the first.
  double refill_s() const { return refill_s_; }
  double expect_s() const { return expect_s_; }

  // Regimes of values that this operator has beside the common ones (Reference::OwnRegimes).
  Result<std::vector<std::string>> OwnRegimes() { return reference_.OwnRegimes(); }

  const Workload& workload() const { return workload_; }
  device::Device& device() { return device_; }

 private:
  Session(const Workload& workload, device::Device& device, Reference& reference)
      : workload_(workload), device_(device), reference_(reference), secret_(FreshSecret()) {}
  static std::string FreshSecret();
  // Draws into slots[i] what draws[i] says.
  Result<void> Fill(std::span<const size_t> slots, std::span<const Draw> draws,
                    const std::string& regime);

  const Workload& workload_;
  device::Device& device_;
  Reference& reference_;
  std::string secret_;
  uint64_t drawn_ = 0;  // seeds so far
  std::vector<std::unique_ptr<device::Arena>> inputs_;
  std::vector<std::vector<uint64_t>> fingerprints_;
  std::vector<std::string> regimes_;
  std::unique_ptr<device::Arena> want_;
  double refill_s_ = 0;
  double expect_s_ = 0;
};

// The seed of a session's draw of this number: the first 63 bits of SHA-256 over both.
int64_t SeedOf(const std::string& secret, uint64_t number);

// How many slots a workload gets: enough that the rotation touches more than twice the cache, at
// least three so that addresses change, and at most what fits. Operands that are warm by contract
// do not count for the rotation. 0 when not even two fit.
size_t SlotCount(const Workload& workload, const device::DeviceInfo& device, size_t contestants);

// The memory of a workload's arenas: inputs and each contestant's outputs for every slot, and one
// set of expected outputs. `tensors` is what the contract's data take, `held` what is allocated for
// them on a device that allocates multiples of `granularity`, guards included. Comparing needs no
// more than a page beside these.
struct ArenaMemory {
  int64_t tensors = 0;
  int64_t held = 0;
};
ArenaMemory MemoryOf(const Workload& workload, size_t slots, size_t contestants,
                     int64_t granularity);

}  // namespace roofmark::gate
