// SPDX-License-Identifier: Apache-2.0
// roofmark mine --merge: aggregates from anywhere to one, and bad profiles out of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "cli/args.h"
#include "cli/fleet_table.h"
#include "cli/progress.h"
#include "model/fold_shapes.h"
#include "pipeline/mine_fleet.h"

namespace roofmark::cli {
namespace {

// Folders stand for the .json files in them.
Result<std::vector<fs::path>> FindAggregates(const std::vector<fs::path>& paths) {
  std::vector<fs::path> found;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      found.push_back(path);
      continue;
    }
    for (const fs::path& entry : TRY(ListFolder(path))) {
      if (entry.extension() == ".json" && pipeline::IsAggregate(entry)) found.push_back(entry);
    }
  }
  if (found.empty()) {
    return Fail(ErrorKind::kNotFound, "no aggregate in what was named; `mine -o` writes them");
  }
  return found;
}

// Takes out the profile whose hash begins with `name`, or all of the aggregate of that name.
Result<size_t> Without(const std::string& name, Aggregate& aggregate) {
  std::vector<std::string> hashes;
  if (fs::is_regular_file(name)) {
    const Aggregate bad = TRY(pipeline::ReadAggregate(name));
    for (const auto& [hash, profile] : bad.profiles()) {
      hashes.push_back(hash);
    }
  } else {
    constexpr size_t kFewest = 8;
    for (const auto& [hash, profile] : aggregate.profiles()) {
      if (name.size() >= kFewest && hash.starts_with(name)) hashes.push_back(hash);
    }
    if (hashes.size() != 1) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("--without {}: no aggregate of this name, and {} (at least {} digits "
                              "of the sha256 that `mine --json` prints)",
                              name,
                              hashes.empty() ? "no profile's hash begins so"
                                             : "more than one profile's hash begins so",
                              kFewest));
    }
  }
  return static_cast<size_t>(std::ranges::count_if(
      hashes, [&](const std::string& hash) { return aggregate.Remove(hash); }));
}

Aggregate Folded(const Aggregate& aggregate, size_t most) {
  Aggregate folded;
  for (const auto& [hash, profile] : aggregate.profiles()) {
    ProfileAggregate smaller = profile;
    FoldShapes(smaller, most);
    folded.Add(std::move(smaller));
  }
  return folded;
}

}  // namespace

Result<int> MergeAggregates(const MineArgs& args) {
  const std::vector<fs::path> paths = TRY(FindAggregates(args.profiles));
  Aggregate merged;
  size_t read = 0;
  Progress progress("merging");
  for (size_t i = 0; i < paths.size(); ++i) {
    const Aggregate part = TRY(pipeline::ReadAggregate(paths[i]));
    read += part.profiles().size();
    merged.Merge(part);
    progress.Show(i + 1, paths.size(), paths[i].filename().string());
  }
  const size_t repeated = read - merged.profiles().size();
  size_t removed = 0;
  if (args.most_shapes > 0) merged = Folded(merged, args.most_shapes);
  for (const std::string& name : args.without) removed += TRY(Without(name, merged));
  if (!args.out.empty()) TRY(WriteFile(args.out, merged.ToJson().Dump() + "\n"));
  if (args.format == Format::kJson) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("aggregates", static_cast<int64_t>(paths.size()))
                           .Set("profiles", static_cast<int64_t>(merged.profiles().size()))
                           .Set("repeated", static_cast<int64_t>(repeated))
                           .Set("removed", static_cast<int64_t>(removed))
                           .Dump());
    return 0;
  }
  fmt::print("{} profiles of {} aggregate{}; {} were there more than once, {} taken out\n",
             merged.profiles().size(), paths.size(), paths.size() == 1 ? "" : "s", repeated,
             removed);
  PrintFleet(merged);
  if (!args.out.empty()) fmt::print("\naggregate: {}\n", args.out.string());
  return 0;
}

}  // namespace roofmark::cli
