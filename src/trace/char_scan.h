// SPDX-License-Identifier: Apache-2.0
// The vectorised part of splitting: where the braces of a JSON text are, strings and escapes taken
// into account, and where a native event ends. SSE2 is the baseline; AVX2 and AVX-512 are chosen at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace roofmark::trace {

inline constexpr size_t kScanBlock = 64;

// The braces of one block outside strings; bit i stands for byte i.
struct BraceMasks {
  uint64_t open = 0;
  uint64_t close = 0;
};

// What one block hands to the next: all ones when the text goes on inside a string, and whether the
// first byte is escaped by a backslash before it.
struct ScanState {
  uint64_t in_string = 0;
  uint64_t escaped = 0;
};

// Requires: `blocks` * kScanBlock readable bytes at `text`, room for `blocks` masks at `masks`.
void ScanBraces(const char* text, size_t blocks, ScanState& state, BraceMasks* masks);

// Bytes ahead of those that are looked through that are asked for.
inline constexpr size_t kPrefetched = 16 << 10;

// How far the ends of native events have been looked for.
struct NativeEnds {
  size_t count = 0;  // that were found
  size_t next = 0;   // where to go on; the size of the text where nothing is left
};

// Writes the offsets behind each "\n  }" of the text, in order, until there is no room for those of
// another block. That is how Kineto closes an event. Requires: kScanBlock readable bytes after the
// text, which is shorter than 4 GiB, and room for kScanBlock / 4 ends at least.
NativeEnds FindNativeEnds(const char* text, size_t size, std::span<uint32_t> ends);

// One block of an event. Without initialisers: each event has an array of these, written before it
// is read.
struct EventMasks {
  uint64_t quote;  // those that begin or end a string
  uint64_t open;   // where a list or object begins, outside strings
  uint64_t close;
  uint64_t stop;  // what ends a number or a word that begins outside strings
};

// The masks of a text of `size` bytes; false where it holds anything unusual: bytes that are not
// ASCII, control characters other than line breaks between values, a string that does not end.
// Requires: kScanBlock readable bytes after the text, room for a mask for each block begun.
bool ScanEvent(const char* text, size_t size, EventMasks* masks);

// The same through one implementation, for tests and the benchmark; false where the CPU lacks it.
enum class ScanIsa { kSse2, kAvx2, kAvx512 };
bool ScanBracesWith(ScanIsa isa, const char* text, size_t blocks, ScanState& state,
                    BraceMasks* masks);
// Requires: ScanBracesWith works with it.
NativeEnds FindNativeEndsWith(ScanIsa isa, const char* text, size_t size, std::span<uint32_t> ends);
bool ScanEventWith(ScanIsa isa, const char* text, size_t size, EventMasks* masks);

}  // namespace roofmark::trace
