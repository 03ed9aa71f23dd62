// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include <string>

#include "base/testing.h"

namespace roofmark {
namespace {

TEST(Hex, GivesBackEveryByte) {
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  EXPECT_EQ(ToHex(bytes).substr(0, 6), "000102");
  EXPECT_EQ(ToHex(bytes).substr(506), "fdfeff");
  EXPECT_EQ(FromHex(ToHex(bytes)), bytes);
  EXPECT_EQ(FromHex(""), "");
}

TEST(Hex, RefusesWhatIsNoDigitAndLeavesOutAnOddOne) {
  for (const char* text : {"0g", "g0", "AB", " 1", "0x41"}) EXPECT_EQ(FromHex(text), std::nullopt);
  EXPECT_EQ(FromHex("414"), "A");
}

}  // namespace
}  // namespace roofmark
