// SPDX-License-Identifier: Apache-2.0
// SHA-256 (OpenSSL) for whatever is identified by content: profiles, candidates, cubins, releases.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace roofmark {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

// Secret seeds: 63 random bits from the operating system, so that they fit JSON integers.
int64_t RandomSeed();

// A small, fast, repeatable generator (SplitMix64) for shuffles and bootstrap draws.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Uniform in [0, n). Requires: n > 0.
  uint64_t Below(uint64_t n);

 private:
  uint64_t state_;
};

}  // namespace roofmark
