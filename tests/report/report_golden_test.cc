// SPDX-License-Identifier: Apache-2.0
// Markdown and JSON against approved files. ROOFMARK_APPROVE=1 rewrites them; review the diff.
#include <cstdlib>
#include <string>

#include "base/files.h"
#include "base/testing.h"
#include "sample_run.h"

namespace roofmark::report {
namespace {

const fs::path kFolder = fs::path(ROOFMARK_SOURCE_DIR) / "tests/report/golden";

void ExpectApproved(const std::string& name, const std::string& text) {
  const fs::path path = kFolder / name;
  if (std::getenv("ROOFMARK_APPROVE") != nullptr) {
    ASSERT_THAT(WriteFile(path, text), IsOk());
    return;
  }
  const Result<std::string> approved = ReadFile(path);
  ASSERT_THAT(approved, IsOk());
  EXPECT_EQ(text, *approved) << path << " differs; ROOFMARK_APPROVE=1 accepts the new text";
}

TEST(ReportGolden, MarkdownOfTheSampleRun) {
  ExpectApproved("sample.md", ToMarkdown(SampleRun()));
}

TEST(ReportGolden, MarkdownOfAReadyCandidate) {
  ExpectApproved("ready.md", ToMarkdown(ReadyRun()));
}

TEST(ReportGolden, MarkdownOfHostileTexts) {
  ExpectApproved("hostile.md", ToMarkdown(HostileRun()));
}

TEST(ReportGolden, JsonOfAReadyCandidate) {
  ExpectApproved("ready.json", ToJson(ReadyRun()).Dump(1) + "\n");
}

}  // namespace
}  // namespace roofmark::report
