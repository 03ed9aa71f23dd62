// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <cstdlib>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::report {
namespace {

using ::testing::HasSubstr;

// Names a vendor folder for one test.
class VendorFolder {
 public:
  explicit VendorFolder(const fs::path& path) {
    if (const char* old = std::getenv("ROOFMARK_VENDOR"); old != nullptr) old_ = old;
    ::setenv("ROOFMARK_VENDOR", path.c_str(), 1);
  }
  ~VendorFolder() {
    if (old_.empty()) {
      ::unsetenv("ROOFMARK_VENDOR");
    } else {
      ::setenv("ROOFMARK_VENDOR", old_.c_str(), 1);
    }
  }
  VendorFolder(const VendorFolder&) = delete;
  VendorFolder& operator=(const VendorFolder&) = delete;

 private:
  std::string old_;
};

TEST(WriteReport, WritesAllThreeFormats) {
  const TempDir folder = TempDir::Make("report").value();
  ASSERT_THAT(WriteFile(folder.path() / "plotly.min.js", "/* plotly.js v2 */"), IsOk());
  const VendorFolder vendor(folder.path());
  const Result<Written> written = WriteReport(report::Run{.title = "T"}, folder.path() / "out");
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(ReadFile(written->html).value(), HasSubstr("<title>T</title>"));
  EXPECT_THAT(ReadFile(written->markdown).value(), HasSubstr("# T"));
  EXPECT_THAT(ReadJson(written->json), IsOk());
}

TEST(WriteReport, SaysHowToGetTheChartLibraryWhereItIsMissing) {
  const TempDir folder = TempDir::Make("report").value();
  const VendorFolder vendor(folder.path());
  const Result<Written> written = WriteReport(report::Run{}, folder.path());
  EXPECT_THAT(written, HasError(ErrorKind::kNotFound, "./run build"));
  EXPECT_THAT(written, HasError(ErrorKind::kNotFound, folder.path().string()));
}

TEST(ToJson, JoinsNothingThatIsNotThere) {
  const Json json = ToJson(report::Run{.title = "T"});
  EXPECT_EQ(json.String("format").value(), "roofmark-report");
  EXPECT_TRUE(json.Find("mined")->is_null());
  EXPECT_TRUE(json.ArrayAt("points").value()->array().empty());
}

}  // namespace
}  // namespace roofmark::report
