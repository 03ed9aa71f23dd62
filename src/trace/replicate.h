// SPDX-License-Identifier: Apache-2.0
// Makes a large profile of a small one, whose totals are then known: k times those of the original.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "trace/event_layout.h"

namespace roofmark::trace {

struct ReplicateOptions {
  uint64_t bytes = 0;   // at least that many, before compression; whole copies
  uint64_t copies = 0;  // at least that many; of the two the larger counts
  EventLayout layout = EventLayout::kNative;
};

struct Replicated {
  uint64_t copies = 0;
  uint64_t events = 0;
  uint64_t bytes = 0;  // before compression
};

// Writes `to` with copies of the events of the Kineto profile `from`, each shifted in time to after
// the one before and with identifiers of its own (correlation, External id, flows). Metadata rows
// and the members beside the events are there once. Compressed where `to` ends in .gz. Memory: the
// original's events, whatever is written. `progress` hears of the bytes written, now and then.
// Guarantees: counts, sums of durations and busy times are `copies` times the original's.
// Errors: kInput where the original has no event, or was cut or damaged; kNotFound, kIo.
Result<Replicated> ReplicateProfile(const std::filesystem::path& from,
                                    const std::filesystem::path& to,
                                    const ReplicateOptions& options,
                                    const std::function<void(uint64_t bytes)>& progress = {});

}  // namespace roofmark::trace
