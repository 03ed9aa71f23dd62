// SPDX-License-Identifier: Apache-2.0
// The page in headless Chromium: what it draws is counted in the document that the browser ends up
// with, its console must stay silent, and it must ask for nothing. Skipped, openly, where there is
// no Chromium or no plotly.min.js.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "base/text.h"
#include "report/html_internal.h"
#include "report/summary_internal.h"
#include "sample_run.h"

namespace roofmark::report {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

size_t Count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

// From the first to the second of two elements that follow each other.
std::string_view Between(std::string_view text, std::string_view first, std::string_view second) {
  const size_t from = text.find(fmt::format("id=\"{}\"", first));
  const size_t to = text.find(fmt::format("id=\"{}\"", second), from);
  return from == text.npos || to == text.npos ? "" : text.substr(from, to - from);
}

size_t PointsIn(std::string_view chart) {
  return Count(chart, "<path class=\"point\"") + Count(chart, "<path class=\"point ");
}

// Cells of the treemap: the root, operators, shapes with several phases, and workloads.
size_t CellsOf(const Run& run) {
  std::set<std::string> operators;
  std::map<std::string, size_t> shapes;
  size_t cells = 1;
  for (const WorkloadRow& row : run.workloads) {
    if (row.weight.value <= 0) continue;
    ++cells;
    operators.insert(row.op);
    ++shapes[row.op + "/" + row.shape];
  }
  for (const auto& [shape, phases] : shapes) cells += phases > 1 ? 1 : 0;
  return cells + operators.size();
}

struct Page {
  std::string document;              // as the browser has it after drawing
  std::vector<std::string> console;  // lines that the page wrote or caused
  std::vector<std::string> asked;    // addresses that were requested
};

class ReportPage : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      if (const Result<std::string> found = FindProgram(name); found && browser_.empty()) {
        browser_ = *found;
      }
    }
    if (browser_.empty()) GTEST_SKIP() << "no Chromium here; apt-get install chromium";
    const Result<fs::path> plotly = FindPlotly();
    if (!plotly) GTEST_SKIP() << plotly.error().message();
    const Result<std::string> text = ReadFile(*plotly);
    ASSERT_THAT(text, IsOk());
    plotly_ = *text;
  }

  // The page as drawn; `fragment` is what the address says after '#'.
  void Open(const report::Run& run, const std::string& fragment, Page* page) {
    const Result<std::string> html = ToHtml(run, plotly_);
    ASSERT_THAT(html, IsOk());
    OpenHtml(*html, fragment, page);
  }

  void OpenHtml(const std::string& html, const std::string& fragment, Page* page) {
    const Result<TempDir> folder = TempDir::Make("report");
    ASSERT_THAT(folder, IsOk());
    const fs::path file = folder->path() / "report.html";
    ASSERT_THAT(WriteFile(file, html), IsOk());
    const fs::path log = folder->path() / "net.json";
    // Names resolve to nothing, so that not even the browser's own services are reached.
    const Result<CommandResult> ran = RunCommand(
        {browser_, "--no-sandbox", "--headless=new", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
         "--user-data-dir=" + (folder->path() / "profile").string(),
         "--log-net-log=" + log.string(), "--window-size=1600,1200", "--virtual-time-budget=20000",
         "--dump-dom", "file://" + file.string() + (fragment.empty() ? "" : "#" + fragment)},
        {.timeout_s = 240, .max_output = 64 << 20});
    ASSERT_THAT(ran, IsOk());
    ASSERT_EQ(ran->exit_code, 0) << ran->err;
    page->document = ran->out;
    for (const std::string_view line : Split(ran->err, '\n')) {
      if (line.find("CONSOLE") != line.npos) page->console.emplace_back(line);
    }
    const Result<std::string> requests = ReadFile(log);
    ASSERT_THAT(requests, IsOk());
    CollectAddresses(*requests, page);
  }

 private:
  // Requests of the browser's own services (updates, accounts) are not the page's.
  static void CollectAddresses(std::string_view log, Page* page) {
    constexpr std::string_view kUrl = "\"url\":\"";
    for (size_t at = log.find(kUrl); at != log.npos; at = log.find(kUrl, at + 1)) {
      const size_t from = at + kUrl.size();
      const std::string_view url = log.substr(from, log.find('"', from) - from);
      const size_t host = url.find("//") + 2;
      const std::string_view name = url.substr(host, url.find('/', host) - host);
      const bool own = name.ends_with(".google.com") || name.ends_with(".googleapis.com");
      if (url.starts_with("http") && !own) page->asked.emplace_back(url);
    }
  }

  std::string browser_;
  std::string plotly_;
};

TEST_F(ReportPage, DrawsEveryWorkloadAsAPointAndEveryWeightAsACell) {
  const report::Run run = SampleRun();
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(run, "", &page));
  EXPECT_THAT(page.document, HasSubstr("data-drawn=\"yes\""));
  EXPECT_EQ(PointsIn(Between(page.document, "roofline", "roofline-key")), Points(run).size());
  EXPECT_EQ(Count(Between(page.document, "weights", "weights-key"), "<path class=\"surface\""),
            CellsOf(run));
}

TEST_F(ReportPage, ShowsPassedAndFailedVerdictsInTheStripAndTheTable) {
  const report::Run run = SampleRun();
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(run, "", &page));
  EXPECT_EQ(PointsIn(Between(page.document, "strip", "score-switch")), run.verdicts.size());
  EXPECT_EQ(Count(Between(page.document, "verdicts", "provenance"), "<tr class=\"row"),
            run.verdicts.size());
  EXPECT_THAT(page.document, HasSubstr("81 of 81 verdicts"));
}

TEST_F(ReportPage, SaysAtTheTopWhoIsReadyAndWhatFailed) {
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(SampleRun(), "", &page));
  const std::string_view top = Between(page.document, "headline", "filters");
  EXPECT_THAT(top, HasSubstr("1 of 3 candidates is ready"));
  EXPECT_THAT(top, HasSubstr("fallback 5, wrong_output 2, unstable 1"));
  EXPECT_THAT(top, HasSubstr("score S, roofmark"));
  EXPECT_THAT(top, HasSubstr("slower than torch_compile on rms_norm/16"));
}

TEST_F(ReportPage, IsSilentAndAsksForNothing) {
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(SampleRun(), "theme=dark", &page));
  EXPECT_THAT(page.console, IsEmpty());
  EXPECT_THAT(page.asked, IsEmpty());
  EXPECT_THAT(page.document, HasSubstr("data-theme=\"dark\""));
}

// The control of the two tests around it: what they look for would be seen.
TEST_F(ReportPage, WouldBeCaughtComplainingOrAsking) {
  Page page;
  ASSERT_NO_FATAL_FAILURE(OpenHtml(
      "<script>throw new Error('broken')</script><img src='http://example.invalid/x'>", "", &page));
  EXPECT_THAT(page.console, Contains(HasSubstr("broken")));
  EXPECT_THAT(page.asked, Contains("http://example.invalid/x"));
}

TEST_F(ReportPage, ShowsHostileTextAsText) {
  const report::Run run = HostileRun();
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(run, "", &page));
  EXPECT_THAT(page.document, HasSubstr("data-drawn=\"yes\""));
  EXPECT_THAT(page.document, HasSubstr("<title>Run &lt;/script&gt;"));
  EXPECT_EQ(Count(page.document, "<img"), 0U);
  EXPECT_EQ(Count(page.document, "<script"), 3U);
  EXPECT_THAT(std::string(Between(page.document, "verdicts", "provenance")),
              HasSubstr("&lt;img src=x onerror=\"document.title='owned'\"&gt;"));
  EXPECT_THAT(page.document, Not(HasSubstr("<a href=\"https://example.com\"")));
  EXPECT_EQ(PointsIn(Between(page.document, "roofline", "roofline-key")), Points(run).size());
  EXPECT_THAT(page.console, IsEmpty());
  EXPECT_THAT(page.asked, IsEmpty());
}

TEST_F(ReportPage, FiltersVerdictsByWhatTheAddressSays) {
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(SampleRun(), "filter=triton%20unstable", &page));
  EXPECT_THAT(page.document, HasSubstr("1 of 81 verdicts"));
  EXPECT_EQ(Count(Between(page.document, "verdicts", "provenance"), "<tr class=\"row"), 1U);
}

TEST_F(ReportPage, DrawsTwoThousandPointsAndVerdicts) {
  const report::Run run = LargeRun(500, 4);
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(run, "", &page));
  EXPECT_EQ(PointsIn(Between(page.document, "roofline", "roofline-key")), Points(run).size());
  EXPECT_EQ(Count(Between(page.document, "verdicts", "provenance"), "<tr class=\"row"), 2000U);
  EXPECT_THAT(page.console, IsEmpty());
}

TEST_F(ReportPage, StandsWithoutVerdictsScoresOrDevice) {
  report::Run run = SampleRun();
  run.verdicts.clear();
  run.scores.clear();
  run.readiness.clear();
  run.device.reset();
  run.mined.reset();
  Page page;
  ASSERT_NO_FATAL_FAILURE(Open(run, "", &page));
  EXPECT_THAT(page.document, HasSubstr("Nothing has been judged"));
  EXPECT_EQ(PointsIn(Between(page.document, "roofline", "roofline-key")), run.workloads.size());
  EXPECT_THAT(page.console, IsEmpty());
}

}  // namespace
}  // namespace roofmark::report
