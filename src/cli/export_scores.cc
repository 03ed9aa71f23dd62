// SPDX-License-Identifier: Apache-2.0
#include "cli/export_scores.h"

#include <fmt/format.h>

#include <set>

#include "base/files.h"
#include "cli/one_device.h"
#include "cli/selection.h"
#include "exchange/export.h"

namespace roofmark::cli {
Result<int> ExportScores(const ScoreArgs& args, const store::Store& store) {
  const std::vector<store::StoredVerdict> verdicts = TRY(store.ReadVerdicts(
      {.device = args.device, .mode = TRY(ParseMode(args.mode))}, store::History::kLatest));
  std::set<std::string> devices;
  for (const store::StoredVerdict& stored : verdicts) devices.insert(stored.verdict.device);
  TRY(OnlyDevice(args.store, args.device, devices));
  const std::vector<store::RunInfo> runs = TRY(store.ReadRuns());
  const suite::Suite suite = TRY(LoadSelection(args.selection, "all"));
  const exchange::ExportRequest request{
      .verdicts = verdicts, .runs = runs, .workloads = suite.workloads, .baseline = args.baseline};
  const exchange::Exported exported =
      TRY(args.export_as == "kernelbench" ? exchange::FastP(request)
                                          : exchange::FlashInferTraces(request));
  std::string text;
  for (const Json& line : exported.lines) text += line.Dump() + "\n";
  if (args.out.empty()) {
    fmt::print("{}", text);
  } else {
    TRY(WriteFile(args.out, text));
    fmt::print("{}: {} lines\n", args.out.string(), exported.lines.size());
  }
  for (const std::string& what : exported.left_out) fmt::print(stderr, "left out: {}\n", what);
  return 0;
}

}  // namespace roofmark::cli
