// SPDX-License-Identifier: Apache-2.0
#include "base/testing.h"
#include "report/markdown_table_internal.h"

namespace roofmark::report {
namespace {

TEST(EscapeMarkdown, EscapesWhatTablesMarkupAndLinksActOn) {
  EXPECT_EQ(EscapeMarkdown("a|b `c` *d* [e](f) <g> & !h"),
            "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;g&gt; &amp; \\!h");
  EXPECT_EQ(EscapeMarkdown("see https://example.com"), "see https\\://example.com");
}

TEST(EscapeMarkdown, KeepsNamesReadable) {
  EXPECT_EQ(EscapeMarkdown("rms_norm"), "rms_norm");
  EXPECT_EQ(EscapeMarkdown("_x_"), "\\_x\\_");
}

TEST(EscapeMarkdown, MakesOneLineWithoutControlCharacters) {
  EXPECT_EQ(EscapeMarkdown("a\r\nb\x1b[31mc\x07"), "a b \\[31mc ");
  EXPECT_EQ(EscapeMarkdown("a\xc2\x9b"
                           "31mb"),
            "a 31mb");  // C1 "control sequence introducer"
}

TEST(EscapeMarkdown, ReplacesBidirectionalControls) {
  EXPECT_EQ(EscapeMarkdown("a\xe2\x80\xae"
                           "b\xe2\x80\x94"),
            "a\xef\xbf\xbd"
            "b\xe2\x80\x94");
}

TEST(EscapeMarkdown, ReplacesInvalidUtf8) {
  EXPECT_EQ(EscapeMarkdown("a\xff"), "a\xef\xbf\xbd");
}

TEST(MarkdownTable, AlignsColumnsByCodePoints) {
  MarkdownTable table({{"name"}, {"time", Align::kRight}, {"reason"}});
  table.Add({"µs", "1", "a very long reason"});
  table.Add({"longer", "12.5", ""});
  EXPECT_EQ(table.Print(),
            "| name   | time | reason |\n"
            "| ------ | ---: | ------ |\n"
            "| µs     |    1 | a very long reason |\n"
            "| longer | 12.5 |        |\n");
}

TEST(MarkdownTable, PrintsNothingWithoutRows) {
  EXPECT_EQ(MarkdownTable({{"name"}}).Print(), "");
}

}  // namespace
}  // namespace roofmark::report
