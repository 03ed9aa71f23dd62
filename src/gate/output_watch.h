// SPDX-License-Identifier: Apache-2.0
// Watches the outputs of a batch on a CPU from outside: nothing is in them before their call, all
// of it is there when run has returned, and nothing of it changes afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "device/arena.h"

namespace roofmark::gate {

// The memory of one element. Requires: a CPU arena.
std::byte* ElementAt(device::Arena& out, const device::TensorPlace& place, uint64_t element);

class OutputWatch {
 public:
  OutputWatch();

  // Names an output that holds anything but poison, at two secret places of each; empty where none
  // does. Tensors that are updated in place hold values already.
  std::string WrittenAhead(device::Arena& out);
  // Names an output that holds poison still, at 64 secret places of each and at its end, where
  // poison tells (device/arena.h).
  std::string Unwritten(device::Arena& out);
  // Remembers what the outputs hold now. Requires: whoever writes to them is held.
  Result<void> Keep(device::Arena& out);
  // Names an output that is not what was kept of it; empty where all are.
  Result<std::string> Changed();

 private:
  struct Kept {
    device::Arena* out = nullptr;
    std::vector<uint64_t> fingerprints;
  };
  Random random_;
  std::vector<Kept> kept_;
};

}  // namespace roofmark::gate
