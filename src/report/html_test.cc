// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/testing.h"
#include "report/html_internal.h"
#include "report/report.h"

namespace roofmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kLibrary = "/* plotly.js v2.35.2 */ var Plotly = {};";

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
}

TEST(EscapeForScript, ParsesToTheSameValueAndCannotEndItsElement) {
  const Json json = Json::MakeObject().Set("a", "</script><!-- & \xe2\x80\xa8 \"quoted\" \\");
  const std::string escaped = EscapeForScript(json.Dump());
  EXPECT_THAT(escaped, Not(HasSubstr("<")));
  EXPECT_THAT(escaped, Not(HasSubstr(">")));
  EXPECT_EQ(Json::Parse(escaped).value(), json);
}

TEST(FillTemplate, DoesNotSearchWhatItFilledIn) {
  EXPECT_EQ(FillTemplate("[{{a}}{{b}}]", {{"a", "{{b}}"}, {"b", "x"}}).value(), "[{{b}}x]");
}

TEST(FillTemplate, RefusesANameThatNothingFills) {
  EXPECT_THAT(FillTemplate("{{c}}", {{"a", ""}}), HasError(ErrorKind::kInput, "'c'"));
  EXPECT_THAT(FillTemplate("{{c", {}), HasError(ErrorKind::kInput, "stays open"));
}

TEST(ToHtml, CarriesItsScriptsByHashAndForbidsEverythingElse) {
  const std::string html = ToHtml(report::Run{.title = "T"}, kLibrary).value();
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  // openssl dgst -sha256 -binary | base64, of kLibrary.
  EXPECT_THAT(html, HasSubstr("'sha256-aNBKGok0NURCOSkzNT2gqNzekpDZeRcKnifwAOghLm4='"));
}

TEST(ToHtml, KeepsHostileTextOutOfTheMarkup) {
  report::Run run{.title = "</title><script>alert(1)</script>"};
  run.notes = {"</script><script>alert(2)</script>", "{{plotly}}"};
  const std::string html = ToHtml(run, kLibrary).value();
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("{{plotly}}"));
}

TEST(ToHtml, RefusesALibraryThatIsNotPlotly) {
  EXPECT_THAT(ToHtml(report::Run{}, "var x;"), HasError(ErrorKind::kInput, "not plotly.js"));
  EXPECT_THAT(ToHtml(report::Run{}, "plotly.js v2 </SCRIPT >"),
              HasError(ErrorKind::kInput, "would end its script element"));
}

}  // namespace
}  // namespace roofmark::report
