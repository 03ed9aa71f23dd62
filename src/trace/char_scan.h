// SPDX-License-Identifier: Apache-2.0
// The vectorised part of splitting: where the braces of a JSON text are, strings and escapes taken
// into account, and where a native event ends. SSE2 is the baseline; AVX2 and AVX-512 are chosen at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>

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

// The offset of the first "\n  }" in the text, or `size`. That is how Kineto closes an event.
// Requires: kScanBlock + 3 readable bytes after the text.
size_t FindNativeEnd(const char* text, size_t size);

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
size_t FindNativeEndWith(ScanIsa isa, const char* text, size_t size);
bool ScanEventWith(ScanIsa isa, const char* text, size_t size, EventMasks* masks);

}  // namespace roofmark::trace
