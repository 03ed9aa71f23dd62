// SPDX-License-Identifier: Apache-2.0
// roofmark suite import: problems of other benchmarks as operators, item by item.
#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "cli/args.h"
#include "exchange/import.h"

namespace roofmark::cli {
namespace {

void Print(const exchange::Item& item, Format format) {
  if (format == Format::kJson) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("item", item.item)
                           .Set("fate", exchange::FateName(item.fate))
                           .Set("what", item.what)
                           .Dump());
  } else {
    constexpr std::array<std::string_view, 3> kWords = {"carried", "changed", "NOT CARRIED"};
    fmt::print("{:11}  {}: {}\n", kWords[static_cast<size_t>(item.fate)], item.item, item.what);
  }
  std::fflush(stdout);
}

}  // namespace

Result<int> ImportSuite(const SuiteArgs& args) {
  if (args.name.empty() || args.out.empty()) {
    return Fail(ErrorKind::kUsage,
                "suite import needs what to import and a folder to write: roofmark suite import "
                "KernelBench/level1 -o imported");
  }
  const exchange::ImportReport report =
      TRY(exchange::Import({.source = args.name, .out = args.out, .format = args.format_of_source},
                           [&](const exchange::Item& item) { Print(item, args.format); }));
  if (args.format == Format::kText) {
    fmt::print("\n{} operators and {} candidates in {}\n", report.operators.size(),
               report.candidates.size(), args.out.string());
    if (!report.candidates.empty()) {
      fmt::print("roofmark judge {0}/candidates/{1} --operators {0}\n", args.out.string(),
                 report.candidates.front());
    }
  }
  // Something must have come over.
  return report.operators.empty() && report.candidates.empty() ? 1 : 0;
}

}  // namespace roofmark::cli
