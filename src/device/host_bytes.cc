// SPDX-License-Identifier: Apache-2.0
#include "device/host_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace roofmark::device {
namespace {

// Primes and rounds of xxHash's XXH64. Source: Collet, github.com/Cyan4973/xxHash,
// doc/xxhash_spec.md.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;

uint64_t Load64(const std::byte* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t Round(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

uint64_t Avalanche(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

template <typename Byte>
std::span<Byte> Part(std::span<Byte> memory, int64_t offset, int64_t bytes) {
  return memory.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
}

}  // namespace

void PoisonBytes(std::span<std::byte> memory, const ArenaLayout& layout) {
  CHECK(memory.size() >= static_cast<size_t>(layout.bytes));
  for (const ByteRange& range : GuardRanges(layout)) {
    std::ranges::fill(Part(memory, range.offset, range.bytes), std::byte{kGuardByte});
  }
  for (const TensorPlace& place : layout.places) {
    std::ranges::fill(Part(memory, place.offset, place.tensor.Bytes()), std::byte{kPoisonByte});
  }
}

bool GuardBytesIntact(std::span<const std::byte> memory, const ArenaLayout& layout) {
  CHECK(memory.size() >= static_cast<size_t>(layout.bytes));
  return std::ranges::all_of(GuardRanges(layout), [&](const ByteRange& range) {
    return std::ranges::all_of(Part(memory, range.offset, range.bytes),
                               [](std::byte byte) { return byte == std::byte{kGuardByte}; });
  });
}

uint64_t Fingerprint(std::span<const std::byte> bytes, uint64_t seed) {
  std::array<uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 32; left -= 32, at += 32) {
    for (size_t i = 0; i < 4; ++i) lanes[i] = Round(lanes[i], Load64(at + 8 * i));
  }
  // The tail is padded with zeros; the length below tells it from real zeros.
  std::array<std::byte, 32> tail{};
  if (left > 0) std::memcpy(tail.data(), at, left);
  uint64_t hash = seed ^ bytes.size();
  for (size_t i = 0; i < 4; ++i) {
    lanes[i] = Round(lanes[i], Load64(tail.data() + 8 * i));
    hash = (hash ^ Avalanche(lanes[i])) * kPrime1 + kPrime3;
  }
  return Avalanche(hash);
}

std::vector<uint64_t> FingerprintPlaces(std::span<const std::byte> memory,
                                        const ArenaLayout& layout, uint64_t seed) {
  std::vector<uint64_t> prints;
  for (const TensorPlace& place : layout.places) {
    prints.push_back(Fingerprint(Part(memory, place.offset, place.tensor.Bytes()), seed));
  }
  return prints;
}

}  // namespace roofmark::device
