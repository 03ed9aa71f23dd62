// SPDX-License-Identifier: Apache-2.0
#include "trace/number_text.h"

#include <string>

#include "base/testing.h"

namespace roofmark::trace {
namespace {

TEST(NumberText, ReadsMicrosecondsExactly) {
  EXPECT_EQ(ParseMicroseconds("2915995397672.546"), 2915995397672546);
  EXPECT_EQ(ParseMicroseconds("7812345678901.001"), 7812345678901001);
  EXPECT_EQ(ParseMicroseconds("1610366662254362"), 1610366662254362000);
  EXPECT_EQ(ParseMicroseconds("9223372036854775"), 9223372036854775000);
  EXPECT_EQ(ParseMicroseconds("9223372036854776"), std::nullopt);
  EXPECT_EQ(ParseMicroseconds("1610366662254362.25"), 1610366662254362250);
  EXPECT_EQ(ParseMicroseconds("123456789.5"), 123456789500);
  EXPECT_EQ(ParseMicroseconds("12"), 12000);
  EXPECT_EQ(ParseMicroseconds("0.5"), 500);
  EXPECT_EQ(ParseMicroseconds("\"3.25\""), 3250);
  EXPECT_EQ(ParseMicroseconds("-3.0"), -3000);
  EXPECT_EQ(ParseMicroseconds("1.5e3"), 1500000);
  EXPECT_EQ(ParseMicroseconds("15E-1"), 1500);
  EXPECT_EQ(ParseMicroseconds("1.610366662254362e+15"), 1610366662254362000);
}

TEST(NumberText, ReadsTheSameOfAnEvent) {
  for (const char* text : {"2915995397672.546",
                           "1610366662254362",
                           "161036666225436",
                           "12",
                           "0.5",
                           "1.25",
                           "1.047",
                           "7",
                           "123456789.5",
                           "12345678",
                           "12345678.123",
                           "-3.0",
                           "1.5e3",
                           "",
                           ".5",
                           "1.",
                           "1..5",
                           "x",
                           "12x",
                           "1x.5",
                           "1.5000",
                           "99999999999999999999",
                           "9223372036854776"}) {
    const std::string around = "123456" + std::string(text);
    EXPECT_EQ(ParseEventMicroseconds(std::string_view(around).substr(6)), ParseMicroseconds(text))
        << text;
  }
}

TEST(NumberText, RoundsFurtherDecimals) {
  EXPECT_EQ(ParseMicroseconds("1.0004999"), 1000);
  EXPECT_EQ(ParseMicroseconds("1.0005"), 1001);
  EXPECT_EQ(ParseMicroseconds("0.29999999999999999"), 300);
}

TEST(NumberText, RefusesWhatIsNoTime) {
  for (const char* text : {"", "nan", "NaN", "inf", "-", ".", "1x", "1e", "1e9999",
                           "99999999999999999999", "{}", "true"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
}

TEST(NumberText, ReadsIdentifiersBeyond64Bits) {
  EXPECT_EQ(ParseIdentifier("17"), 17U);
  EXPECT_EQ(ParseIdentifier("18446744073709551614"), 18446744073709551614U);
  EXPECT_NE(ParseIdentifier("100000000000000000000000000000"),
            ParseIdentifier("100000000000000000000000000001"));
}

TEST(NumberText, ReadsIntegersInQuotes) {
  EXPECT_EQ(ParseInteger(" \"-12\" "), -12);
  EXPECT_EQ(ParseInteger("1.5"), std::nullopt);
}

}  // namespace
}  // namespace roofmark::trace
