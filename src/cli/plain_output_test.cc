// SPDX-License-Identifier: Apache-2.0
#include "cli/plain_output.h"

#include "base/json.h"
#include "base/testing.h"

namespace roofmark::cli {
namespace {

std::string Plain(std::string_view text) {
  PlainText plain;
  std::string shown = plain.Take(text);
  return shown + plain.Rest();
}

TEST(PlainText, LeavesTextOfAnyLanguageAsItIs) {
  constexpr std::string_view kText =
      "a\tb\n100 \xc2\xb5s \xe2\x80\x93 \xf0\x9f\x98\x80 \xc2\xa0.\\\n";
  EXPECT_EQ(Plain(kText), kText);
  EXPECT_EQ(Plain(""), "");
}

TEST(PlainText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(Plain("\x1b[1A\x1b[2K\rpassed\x1b[8m"), "\\u001b[1A\\u001b[2K\\u000dpassed\\u001b[8m");
  EXPECT_EQ(Plain("\a\b\x7f"), "\\u0007\\u0008\\u007f");
  EXPECT_EQ(Plain(std::string_view("\0", 1)), "\\u0000");
  // The same escapes as one character each: in UTF-8, and as terminals of eight bits take them.
  EXPECT_EQ(Plain("\xc2\x9b"
                  "2K"),
            "\\u009b2K");
  EXPECT_EQ(Plain("\x9b"
                  "2K"),
            "\xef\xbf\xbd"
            "2K");
}

TEST(PlainText, DoesNotDependOnWhereThePiecesEnd) {
  constexpr std::string_view kText = "\xc2\x9bx \xf0\x9f\x98\x80 \xe2\x80\x93\x1b \xc2";
  for (size_t at = 0; at <= kText.size(); ++at) {
    PlainText plain;
    std::string shown = plain.Take(kText.substr(0, at));
    shown += plain.Take(kText.substr(at));
    EXPECT_EQ(shown + plain.Rest(), Plain(kText)) << at;
  }
}

TEST(PlainText, KeepsTheMeaningOfALineOfJson) {
  const std::string text = "\x1b[2K \xc2\x9b \\ \x7f end";
  const std::string line = Json::MakeObject().Set("reason", text).Dump();
  const auto parsed = Json::Parse(Plain(line));
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(*parsed->String("reason"), text);
}

}  // namespace
}  // namespace roofmark::cli
