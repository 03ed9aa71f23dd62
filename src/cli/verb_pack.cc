// SPDX-License-Identifier: Apache-2.0
// `roofmark pack`: writes the sealed bundle of one operator and lane, or checks one.
#include <fmt/format.h>

#include "base/files.h"
#include "cli/args.h"
#include "pipeline/pack.h"
#include "pipeline/pack_check.h"
#include "suite/suite.h"

namespace roofmark::cli {
namespace {

Result<int> CheckSealed(const PackArgs& args) {
  const fs::path& folder = args.check;
  pipeline::CheckAgainst against{.data = TRY(DataDir())};
  if (!args.op.empty()) {
    const suite::Suite loaded = TRY(suite::LoadSuite({.operators = {args.op}}));
    against.operator_folder = loaded.FindOperator(args.op)->folder;
  }
  const std::vector<pipeline::Finding> findings = TRY(pipeline::CheckBundle(folder, against));
  for (const pipeline::Finding& finding : findings) {
    fmt::print("{}\n", pipeline::FindingText(finding));
  }
  if (findings.empty()) {
    fmt::print("{}: sealed; nothing hidden is in it\n", folder.string());
    return 0;
  }
  fmt::print("{}: {} finding{}; do not hand it out\n", folder.string(), findings.size(),
             findings.size() == 1 ? "" : "s");
  return 1;
}

Result<int> Write(const PackArgs& args) {
  if (args.op.empty() || args.lane.empty() || args.out.empty()) {
    return Fail(ErrorKind::kUsage,
                "pack needs --operator, --lane and -o FOLDER, or --check FOLDER alone");
  }
  const Result<Lane> lane = ParseLane(args.lane);
  if (!lane) return Fail(ErrorKind::kUsage, "--lane: " + lane.error().message());
  const suite::Suite loaded = TRY(suite::LoadSuite({.operators = {args.op}}));
  const pipeline::PackedBundle packed =
      TRY(pipeline::PackBundle(*loaded.FindOperator(args.op), {.lane = *lane, .alias = args.alias},
                               args.out, TRY(DataDir())));
  fmt::print("{}: sealed bundle of {} for the lane {}; nothing hidden is in it\n",
             args.out.string(), args.op, args.lane);
  if (!args.alias.empty()) {
    fmt::print("in it the operator is {}; judge its candidates with --operator {} --alias {}\n",
               args.alias, args.op, args.alias);
  }
  fmt::print("its canary {} is recorded in {}; keep that file out of the bundle\n", packed.canary,
             packed.sidecar.string());
  return 0;
}

}  // namespace

Result<int> Pack(const PackArgs& args) {
  if (args.check.empty()) return Write(args);
  if (!args.lane.empty() || !args.out.empty() || !args.alias.empty()) {
    return Fail(ErrorKind::kUsage,
                "--check takes a bundle, and --operator where its name is an alias; no other "
                "option");
  }
  return CheckSealed(args);
}

}  // namespace roofmark::cli
