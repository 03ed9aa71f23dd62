// SPDX-License-Identifier: Apache-2.0
// The page's text files, which the build embeds (cmake/EmbedText.cmake).
#pragma once

#include <string_view>

namespace roofmark::report {

extern const std::string_view kReportHtml;
extern const std::string_view kReportCss;
// The page's script, in the order in which its parts need each other.
extern const std::string_view kReportFormatJs;
extern const std::string_view kReportChartsJs;
extern const std::string_view kReportTablesJs;
extern const std::string_view kReportPageJs;

}  // namespace roofmark::report
