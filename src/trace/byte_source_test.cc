// SPDX-License-Identifier: Apache-2.0
// The containers: what lies before the damage is delivered, whatever the caller's block.
#include "trace/byte_source.h"

#include <zstd.h>

#include <algorithm>

#include "base/hash.h"
#include "base/testing.h"
#include "trace/gzip_for_tests.h"

namespace roofmark::trace {
namespace {

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

struct Unpacked {
  std::string text;
  std::string damage;
};

Unpacked Unpack(std::string_view packed, size_t block) {
  ByteSource source = ByteSource::FromMemory(packed);
  std::string to(block, '\0');
  Unpacked unpacked;
  while (const size_t got = source.Read(to.data(), block).value_or(0)) {
    unpacked.text.append(to, 0, got);
  }
  unpacked.damage = source.damage();
  return unpacked;
}

// Of several blocks (zstd's hold at most 128 KiB), and hard to pack.
std::string LongText() {
  Random random(17);
  std::string text;
  while (text.size() < (600 << 10)) text += std::to_string(random.Below(1'000'000));
  return text;
}

TEST(ByteSource, DeliversWhatLiesBeforeTheDamageWhateverTheBlock) {
  const std::string text = LongText();
  for (const std::string& whole : {Zstd(text), Gzip(text)}) {
    std::string packed = whole;
    std::fill(packed.begin() + static_cast<ptrdiff_t>(packed.size() / 2), packed.end(), '\xff');
    const Unpacked first = Unpack(packed, 4 << 20);
    EXPECT_NE(first.damage, "");
    EXPECT_GT(first.text.size(), text.size() / 4);
    EXPECT_EQ(first.text.substr(0, text.size() / 4), text.substr(0, text.size() / 4));
    for (const size_t block : {size_t{1} << 20, size_t{4093}, size_t{100}}) {
      // ISA-L inflates ahead of the block.
      const std::string part = Unpack(packed, block).text;
      EXPECT_TRUE(first.text.starts_with(part)) << block;
      EXPECT_LE(first.text.size() - part.size(), 65U << 10) << block;
      EXPECT_EQ(Unpack(whole, block).text, text) << block;
    }
  }
}

TEST(ByteSource, ReadsAgainFromTheBeginning) {
  const std::string text = LongText();
  for (const std::string& packed : {Zstd(text), Gzip(text), text}) {
    ByteSource source = ByteSource::FromMemory(packed);
    std::string to(text.size() / 3, '\0');
    EXPECT_THAT(source.Read(to.data(), to.size()), IsOk());
    ASSERT_THAT(source.Restart(), IsOk());
    ASSERT_THAT(source.Read(to.data(), to.size()), IsOk());
    EXPECT_EQ(to.substr(0, 1000), text.substr(0, 1000));
    EXPECT_EQ(source.damage(), "");
  }
}

}  // namespace
}  // namespace roofmark::trace
