// SPDX-License-Identifier: Apache-2.0
#include "trace/char_scan.h"

#include <optional>
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

// The definition of an event's masks, byte by byte; nothing where it is unusual.
std::optional<std::vector<EventMasks>> PlainEvent(std::string_view text) {
  std::vector<EventMasks> masks((text.size() + kScanBlock - 1) / kScanBlock, EventMasks{});
  bool in_string = false;
  bool escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    const uint64_t bit = uint64_t{1} << (at % kScanBlock);
    EventMasks& block = masks[at / kScanBlock];
    const bool real = !escaped;
    escaped = real && byte == '\\';
    if (byte == '"' && real) {
      in_string = !in_string;
      block.quote |= bit;
    }
    if (byte < ' ' && (in_string || byte != '\n')) return std::nullopt;
    if (!in_string && (byte == '{' || byte == '[')) block.open |= bit;
    if (!in_string && (byte == '}' || byte == ']')) block.close |= bit;
    if (std::string_view("{}[]\", :\n").find(byte) != std::string_view::npos) block.stop |= bit;
  }
  if (in_string) return std::nullopt;
  return masks;
}

TEST(CharScan, FindsTheSameInEventsWithEveryInstructionSet) {
  Random random(4);
  constexpr std::string_view kBytes = "\"\"\\{}[],:ab \n\x1f";
  int usual = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t kinds = kBytes.size() - (round % 8 == 0 ? 0 : 2);
    std::string text;
    for (size_t i = random.Below(200); i > 0; --i) text += kBytes[random.Below(kinds)];
    if (round % 8 == 1) text += "\xc3\xa4";
    const auto want = PlainEvent(text);
    usual += want && !text.empty() ? 1 : 0;
    const size_t size = text.size();
    text += std::string(kScanBlock, '"');
    for (const ScanIsa isa : {ScanIsa::kSse2, ScanIsa::kAvx2, ScanIsa::kAvx512}) {
      ScanState state;
      BraceMasks braces;
      if (!ScanBracesWith(isa, text.data(), 0, state, &braces)) continue;
      std::vector<EventMasks> got(size / kScanBlock + 1);
      ASSERT_EQ(ScanEventWith(isa, text.data(), size, got.data()), want.has_value()) << text;
      for (size_t i = 0; want && i < want->size(); ++i) {
        const uint64_t valid =
            (i + 1) * kScanBlock <= size ? ~uint64_t{0} : (uint64_t{1} << size % kScanBlock) - 1;
        ASSERT_EQ(got[i].quote, (*want)[i].quote) << text;
        ASSERT_EQ(got[i].open, (*want)[i].open) << text;
        ASSERT_EQ(got[i].close, (*want)[i].close) << text;
        ASSERT_EQ(got[i].stop & valid, (*want)[i].stop) << text;
      }
    }
  }
  EXPECT_GT(usual, 500);
}

TEST(CharScan, FindsNativeEndsAtEveryOffset) {
  for (size_t at = 0; at < 100; ++at) {
    std::string text(at, 'x');
    text += "\n  }";
    const size_t size = text.size();
    text += std::string(128, ' ');
    EXPECT_EQ(FindNativeEnd(text.data(), size), at);
    EXPECT_EQ(FindNativeEnd(text.data(), size - 1), size - 1);
    for (const ScanIsa isa : {ScanIsa::kSse2, ScanIsa::kAvx2, ScanIsa::kAvx512}) {
      ScanState state;
      BraceMasks braces;
      if (!ScanBracesWith(isa, text.data(), 0, state, &braces)) continue;
      EXPECT_EQ(FindNativeEndWith(isa, text.data(), size), at);
      EXPECT_EQ(FindNativeEndWith(isa, text.data(), size - 1), size - 1);
    }
  }
  const std::string other = "\n   }\n }\n}  }" + std::string(128, ' ');
  EXPECT_EQ(FindNativeEnd(other.data(), 13), 13U);
}

}  // namespace
}  // namespace roofmark::trace
