// SPDX-License-Identifier: Apache-2.0
#include "trace/char_scan.h"

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::trace {
namespace {

// The definition, byte by byte.
std::vector<BraceMasks> Plain(const std::string& text) {
  std::vector<BraceMasks> masks(text.size() / kScanBlock);
  bool in_string = false;
  bool escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    const bool real = !escaped;
    escaped = real && byte == '\\';
    if (byte == '"' && real) in_string = !in_string;
    if (in_string) continue;
    const uint64_t bit = uint64_t{1} << (at % kScanBlock);
    if (byte == '{') masks[at / kScanBlock].open |= bit;
    if (byte == '}') masks[at / kScanBlock].close |= bit;
  }
  return masks;
}

TEST(CharScan, FindsTheSameBracesWithEveryInstructionSet) {
  Random random(3);
  constexpr std::string_view kBytes = "\"\\{}a \n\"\\\\";
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (size_t i = 0; i < 8 * kScanBlock; ++i) text += kBytes[random.Below(kBytes.size())];
    const std::vector<BraceMasks> want = Plain(text);
    for (const ScanIsa isa : {ScanIsa::kSse2, ScanIsa::kAvx2, ScanIsa::kAvx512}) {
      std::vector<BraceMasks> got(want.size());
      ScanState state;
      // In two parts, so that the state is carried over.
      if (!ScanBracesWith(isa, text.data(), 3, state, got.data())) continue;
      ScanBracesWith(isa, text.data() + 3 * kScanBlock, 5, state, got.data() + 3);
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].open, want[i].open) << static_cast<int>(isa) << text;
        ASSERT_EQ(got[i].close, want[i].close) << static_cast<int>(isa) << text;
      }
    }
  }
}

TEST(CharScan, FindsNativeEndsAtEveryOffset) {
  for (size_t at = 0; at < 100; ++at) {
    std::string text(at, 'x');
    text += "\n  }";
    const size_t size = text.size();
    text += std::string(128, ' ');
    EXPECT_EQ(FindNativeEnd(text.data(), size), at);
    EXPECT_EQ(FindNativeEnd(text.data(), size - 1), size - 1);
  }
  const std::string other = "\n   }\n }\n}  }" + std::string(128, ' ');
  EXPECT_EQ(FindNativeEnd(other.data(), 13), 13U);
}

}  // namespace
}  // namespace roofmark::trace
