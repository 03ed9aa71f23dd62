// SPDX-License-Identifier: Apache-2.0
// What an arena does to memory that the judge can address: poison, check guards, fingerprint. The
// CPU arena and the recording double share it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/arena.h"

namespace roofmark::device {

// Requires in all: memory.size() >= layout.bytes.
void PoisonBytes(std::span<std::byte> memory, const ArenaLayout& layout);
bool GuardBytesIntact(std::span<const std::byte> memory, const ArenaLayout& layout);

// A 64-bit hash, several GB/s. `seed` is secret, so that nobody can construct a second payload with
// the same hash.
uint64_t Fingerprint(std::span<const std::byte> bytes, uint64_t seed);
std::vector<uint64_t> FingerprintPlaces(std::span<const std::byte> memory,
                                        const ArenaLayout& layout, uint64_t seed);

}  // namespace roofmark::device
