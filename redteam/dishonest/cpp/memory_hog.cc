// SPDX-License-Identifier: Apache-2.0
//
// Takes memory and touches it until there is no more.

#include <cstdlib>
#include <cstring>

#include "roofmark/rms_norm.h"

extern "C" int run(const rms_norm_args* /*args*/, void* /*workspace*/, void* /*stream*/) {
  constexpr size_t kPiece = size_t{64} << 20;
  for (;;) {
    void* piece = std::malloc(kPiece);
    if (piece == nullptr) std::abort();
    std::memset(piece, 1, kPiece);
    // Keeps the compiler from dropping what nobody reads.
    asm volatile("" : : "r"(piece) : "memory");
  }
}
