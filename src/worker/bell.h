// SPDX-License-Identifier: Apache-2.0
// The doorbell page: how the judge times one call on a CPU from outside. Judge and worker share one
// page. The judge prepares operands and caches, writes the call's number to `ring` and reads its
// own clock; the worker, spinning, makes the call and writes the number to `done`; the judge reads
// its clock again. The cost of an empty ring is measured the same way and subtracted.
//
// Python candidates may return their outputs. Nobody in their process is trusted to take those
// after the window: the worker says where they lie, and the judge stops it at the answer and
// fetches them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace roofmark::worker {

// More outputs than this are stored by the worker, within the window.
inline constexpr size_t kBellOutputs = 64;

struct Bell {
  alignas(64) std::atomic<uint64_t> ring;  // 1-based number of the call to make; kBellStop to leave
  alignas(64) std::atomic<uint64_t> done;  // number of the last call made
  std::atomic<uint64_t> worker_ns;         // the worker's own duration of that call: testimony
  std::atomic<uint64_t> status;            // 0, or the non-zero return value of run
  // By output of the arena: the address in the worker of what was returned; 0 = it is in its place.
  alignas(64) std::array<std::atomic<uint64_t>, kBellOutputs> returned;
};
inline constexpr uint64_t kBellStop = UINT64_MAX;
// Calls with this bit set in `ring` are empty: the worker answers without calling.
inline constexpr uint64_t kBellEmpty = uint64_t{1} << 62;

}  // namespace roofmark::worker
