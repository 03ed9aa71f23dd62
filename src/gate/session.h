// SPDX-License-Identifier: Apache-2.0
// The inputs of one workload while it is judged: a few slots with inputs at different addresses,
// filled by the reference worker from secret seeds, and one arena for expected outputs. All
// contestants of a workload share a session, so they see the same values at the same time.
#pragma once

#include <memory>
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

  // Fresh values in a slot, from a new secret seed.
  Result<void> Refill(size_t slot, const std::string& regime);
  // Gives `to` the values of `from`, at other addresses.
  Result<void> CopyInputs(size_t from, size_t to);
  // The values of a seed, for those that need the same ones twice.
  Result<void> Refill(size_t slot, const std::string& regime, int64_t seed);
  // False when the slot's inputs or their guards changed since Refill.
  Result<bool> Intact(size_t slot);
  // Computes expected outputs for what lies in the slot; they stay in want() until the next call.
  Result<void> Expect(size_t slot);
  device::Arena& want() { return *want_; }

  const Workload& workload() const { return workload_; }
  device::Device& device() { return device_; }

 private:
  Session(const Workload& workload, device::Device& device, Reference& reference)
      : workload_(workload), device_(device), reference_(reference) {}

  const Workload& workload_;
  device::Device& device_;
  Reference& reference_;
  std::vector<std::unique_ptr<device::Arena>> inputs_;
  std::vector<std::vector<uint64_t>> fingerprints_;
  std::unique_ptr<device::Arena> want_;
};

// How many slots a workload gets: enough that the rotation touches more than twice the cache, at
// least three so that addresses change, and at most what fits. 0 when not even two fit.
size_t SlotCount(const Workload& workload, const device::DeviceInfo& device, size_t contestants);

}  // namespace roofmark::gate
