// SPDX-License-Identifier: Apache-2.0
// Loops that do one thing as fast as a core can, for the widest vectors that this CPU has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace roofmark::device {

// The instruction set is chosen when the program runs; x86-64's baseline is SSE2.
enum class VectorWidth { kSse2, kAvx2, kAvx512 };
VectorWidth WidestVectors();
std::string_view VectorWidthName(VectorWidth width);  // "SSE2" "AVX2" "AVX-512"

// `steps` rounds of independent chains; each returns the operations that it made (a fused
// multiply-add counts two; without FMA a multiplication and an addition are made).
double RunMultiplyAdds(VectorWidth width, int64_t steps);
// Exponentials by range reduction and a polynomial of degree five, about single precision; each
// value counts one operation. Source of the scheme: Cephes, expf.
double RunExponentials(VectorWidth width, int64_t steps);

// Memory: `bytes` is a multiple of 64 and the pointers are aligned to 64.
void ReadMemory(const float* from, size_t bytes);
void WriteMemory(float* to, size_t bytes);  // past the caches
void CopyMemory(const float* from, float* to, size_t bytes);

}  // namespace roofmark::device
