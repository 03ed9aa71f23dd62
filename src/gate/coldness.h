// SPDX-License-Identifier: Apache-2.0
// Whether operands were out of the L2 cache before their call. The stage times loads of a few
// secretly chosen lines of some calls' operands behind a flush (device/cuda_stage.h), and, beside
// each, a line of its own that is surely in the cache and one that surely is not. Those two tell
// this GPU's hits from its misses at this moment; nothing is known in advance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "device/arena.h"

namespace roofmark::gate {

// Counts over the probes of one or more batches; all 0 where nothing was probed.
struct Coldness {
  int64_t sampled = 0;      // lines of operands
  int64_t warm = 0;         // of these, loaded as fast as a hit
  int64_t misses = 0;       // lines of the stage's own that were not in the cache
  int64_t misses_fast = 0;  // of these, loaded as fast as a hit: what the method errs by
  int64_t batches = 0;      // that were probed
  int64_t unclear = 0;      // of these, where hits and misses took alike and nothing was counted
  // Of these, where lines that a flush should have evicted were about as fast as hits.
  int64_t alike = 0;
  // Batches of other candidates on this device in which hits were told from misses.
  int64_t clear_elsewhere = 0;
  double hit_cycles = 0;  // medians of the last batch that was probed
  double miss_cycles = 0;

  void Add(const Coldness& other);
};

// Up to kProbedLines offsets of lines in payloads of operands that are cold by contract, such as
// CudaStage::Probe asks for; fewer where the operands are small.
std::vector<int64_t> SampleLines(const device::ArenaLayout& operands, Random* random);

// What the stage found in one batch, {"operands", "hits", "misses": [cycles]}. Errors: kInput for
// anything but `lines` operands and as many hits as misses.
Result<Coldness> ReadColdness(const Json& probe, size_t lines);

// Why operands were not cold, or why a candidate is to blame for that nobody can tell, for a
// verdict; empty where they were, and where the machine may be to blame.
std::string WarmFault(const Coldness& coldness);
// What was shown, for a verdict's level; empty where nothing was probed.
std::string ColdnessText(const Coldness& coldness);

}  // namespace roofmark::gate
