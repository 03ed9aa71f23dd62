// SPDX-License-Identifier: Apache-2.0
// roofmark mine --on processes, --on slurm: in parts that may be killed and are run again.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/fleet_table.h"
#include "cli/progress.h"
#include "pipeline/mine_parts.h"

namespace roofmark::cli {

Result<int> MineOnePart(const MineArgs& args) {
  TRY(pipeline::MinePart(args.profiles.front(), TRY(trace::Rules::LoadDefault())));
  return 0;
}

Result<int> MineElsewhere(const MineArgs& args) {
  if (args.out.empty()) {
    return Fail(ErrorKind::kUsage,
                fmt::format("mine --on {0} needs -o: the parts are kept beside it, "
                            "so that an interrupted run goes on",
                            args.on));
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return Fail(ErrorKind::kIo, "/proc/self/exe: " + error.message());
  std::vector<std::string> options;
  for (const std::string_view option : Split(args.slurm, ' ')) {
    if (!option.empty()) options.emplace_back(option);
  }
  const auto runner = args.on == "slurm" ? pipeline::SlurmRunner(program, std::move(options))
                                         : pipeline::ProcessRunner(program);
  const std::vector<trace::ProfileInput> inputs = TRY(trace::FindProfiles(args.profiles));
  Progress progress("mining parts");
  const auto show = [&](size_t done, size_t total) {
    progress.Show(done, total, fmt::format("{} profiles", inputs.size()));
  };
  const pipeline::MinedFleet fleet = TRY(pipeline::MineParts(
      inputs, fs::path(args.out.string() + ".parts"), *runner, {.parts = args.parts}, show));
  for (const std::string& why : fleet.skipped) fmt::print(stderr, "skipped: {}\n", why);
  TRY(WriteFile(args.out, fleet.aggregate.ToJson().Dump() + "\n"));
  if (args.format == Format::kJson) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("profiles", static_cast<int64_t>(fleet.aggregate.profiles().size()))
                           .Set("skipped", static_cast<int64_t>(fleet.skipped.size()))
                           .Set("aggregate", args.out.string())
                           .Dump());
    return 0;
  }
  PrintFleet(fleet.aggregate);
  fmt::print("\naggregate of {} profiles: {}\n", fleet.aggregate.profiles().size(),
             args.out.string());
  return 0;
}

}  // namespace roofmark::cli
