// SPDX-License-Identifier: Apache-2.0
// roofmark generate: profiles whose totals or weights are known, for tests of size and statistics.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/args.h"
#include "cli/progress.h"
#include "pipeline/generate_fleet.h"
#include "trace/replicate.h"

namespace roofmark::cli {
namespace {

// "10GB", "500 MB", "4096"; decimal multiples.
Result<uint64_t> ParseSize(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}};
  double unit = 1;
  for (const auto& [name, value] : kUnits) {
    if (!text.ends_with(name)) continue;
    text.remove_suffix(name.size());
    unit = value;
    break;
  }
  const Result<double> number = ParseDouble(Trim(text));
  if (!number || !(*number > 0) || *number * unit > 1e13) {
    return Fail(ErrorKind::kUsage, "--size takes an amount like 500MB or 10GB, up to 10000GB");
  }
  return static_cast<uint64_t>(*number * unit);
}

Result<int> GenerateOne(const GenerateArgs& args) {
  const uint64_t size = TRY(ParseSize(args.size));
  Progress progress("writing");
  const trace::Replicated made = TRY(trace::ReplicateProfile(
      args.profile, args.out,
      {.bytes = size,
       .layout = args.one_line ? trace::EventLayout::kOneLine : trace::EventLayout::kNative},
      [&](uint64_t bytes) { progress.Show(bytes >> 20, size >> 20, "MiB"); }));
  if (args.format == Format::kJson) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("profile", args.out.string())
                           .Set("copies", made.copies)
                           .Set("events", made.events)
                           .Set("bytes", made.bytes)
                           .Dump());
  } else {
    fmt::print("{}: {} copies, {} events, {}\n", args.out.string(), made.copies, made.events,
               HumanBytes(static_cast<double>(made.bytes)));
  }
  return 0;
}

Result<int> GenerateMany(const GenerateArgs& args) {
  Progress progress("writing profiles");
  const auto known = TRY(
      pipeline::GenerateFleet(args.out,
                              {.profiles = args.profiles,
                               .applications = args.applications,
                               .seed = args.seed,
                               .recording = args.recording},
                              [&](size_t done, size_t total) { progress.Show(done, total, ""); }));
  if (args.format == Format::kText) fmt::print("{:24} {:8} {:>8}\n", "operator", "phase", "share");
  for (const pipeline::KnownShare& row : known) {
    const std::string op = row.op.empty() ? "unattributed" : row.op;
    if (args.format == Format::kJson) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("operator", op)
                             .Set("phase", PhaseName(row.phase))
                             .Set("share", row.share)
                             .Dump());
    } else {
      fmt::print("{:24} {:8} {:>6.2f} %\n", op, PhaseName(row.phase), 100 * row.share);
    }
  }
  if (args.format == Format::kText) {
    fmt::print("\n{} profiles of {} applications: roofmark mine {}\n", args.profiles,
               args.applications, (args.out / "manifest.csv").string());
  }
  return 0;
}

}  // namespace

Result<int> Generate(const GenerateArgs& args) {
  if (args.fleet == !args.profile.empty()) {
    return Fail(ErrorKind::kUsage,
                "generate needs a profile to replicate, or --fleet: roofmark generate "
                "small.json.gz --size 10GB -o big.json");
  }
  return args.fleet ? GenerateMany(args) : GenerateOne(args);
}

}  // namespace roofmark::cli
