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

// All ends, in as many calls as it takes.
std::vector<size_t> EndsWith(ScanIsa isa, std::string_view text, size_t room) {
  std::vector<size_t> all;
  std::vector<uint32_t> ends(room);
  for (size_t from = 0; from < text.size();) {
    const NativeEnds found = FindNativeEndsWith(isa, text.data() + from, text.size() - from, ends);
    for (size_t i = 0; i < found.count; ++i) all.push_back(from + ends[i]);
    from += found.next;
  }
  return all;
}

TEST(CharScan, FindsNativeEndsAtEveryOffset) {
  Random random(5);
  constexpr std::string_view kBytes = "\n  }} x";
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (size_t i = random.Below(400); i > 0; --i) text += kBytes[random.Below(kBytes.size())];
    for (size_t i = random.Below(8); i > 0; --i)
      text.insert(random.Below(text.size() + 1), "\n  }");
    const size_t size = text.size() - random.Below(std::min<size_t>(text.size(), 3) + 1);
    std::vector<size_t> want;
    for (size_t at = 0; at + 4 <= size; ++at) {
      if (text.compare(at, 4, "\n  }") == 0) want.push_back(at + 4);
    }
    // What follows the text is none of its ends.
    text += "}}}" + std::string(2 * kScanBlock, ' ');
    for (const ScanIsa isa : {ScanIsa::kSse2, ScanIsa::kAvx2, ScanIsa::kAvx512}) {
      ScanState state;
      BraceMasks braces;
      if (!ScanBracesWith(isa, text.data(), 0, state, &braces)) continue;
      for (const size_t room : {16U, 17U, 40U, 200U}) {
        ASSERT_EQ(EndsWith(isa, std::string_view(text).substr(0, size), room), want) << text;
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::trace
