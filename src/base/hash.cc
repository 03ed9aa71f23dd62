// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>

#include "base/check.h"

namespace roofmark {

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

int64_t RandomSeed() {
  uint64_t bits = 0;
  CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return static_cast<int64_t>(bits >> 1);
}

uint64_t Random::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t Random::Below(uint64_t n) {
  CHECK(n > 0);
  // Rejection keeps the draw exactly uniform.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  uint64_t draw = Next();
  while (draw >= limit) draw = Next();
  return draw % n;
}

}  // namespace roofmark
