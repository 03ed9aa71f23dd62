// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/files.h"

namespace roofmark::report {

std::string_view ScoreKindName(ScoreKind kind) {
  constexpr std::array<std::string_view, 2> kNames = {"published", "roofmark"};
  return kNames[static_cast<size_t>(kind)];
}

Result<fs::path> FindPlotly() {
  std::vector<fs::path> places;
  if (const char* vendor = std::getenv("ROOFMARK_VENDOR"); vendor != nullptr) {
    places.emplace_back(fs::path(vendor) / "plotly.min.js");
  } else {
    const fs::path data = TRY(DataDir());
    places.emplace_back(data / "vendor" / "plotly.min.js");
    places.emplace_back(data / "build" / "vendor" / "plotly.min.js");
  }
  std::string looked;
  for (const fs::path& place : places) {
    std::error_code ignored;
    if (fs::is_regular_file(place, ignored)) return place;
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("the HTML report needs plotly.min.js, which is not at {}. `./run build` "
                          "puts it there; by hand: python3 -m pip download plotly==5.24.1 "
                          "--no-deps, unzip plotly/package_data/plotly.min.js from the wheel, and "
                          "name its folder in ROOFMARK_VENDOR",
                          looked));
}

Result<Written> WriteReport(const Run& run, const fs::path& folder) {
  const fs::path library = TRY(FindPlotly());
  const std::string plotly = TRY(ReadFile(library, uint64_t{64} << 20));
  Written written{.html = folder / "report.html",
                  .markdown = folder / "report.md",
                  .json = folder / "report.json"};
  const std::string html = TRY_IN(ToHtml(run, plotly), library.string());
  TRY(WriteFile(written.html, html));
  TRY(WriteFile(written.markdown, ToMarkdown(run)));
  TRY(WriteFile(written.json, ToJson(run).Dump(1) + "\n"));
  return written;
}

}  // namespace roofmark::report
