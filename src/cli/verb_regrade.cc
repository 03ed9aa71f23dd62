// SPDX-License-Identifier: Apache-2.0
// roofmark judge --regrade: verdicts reproduced from the archive alone.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "base/text.h"
#include "cli/args.h"
#include "pipeline/regrade.h"

namespace roofmark::cli {
namespace {

using Status = pipeline::Regraded::Status;

Result<std::optional<int64_t>> IdOf(const std::string& text) {
  if (text == "all") return std::optional<int64_t>();
  int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 1) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("--regrade {}: give the number of a verdict in the store, or 'all'", text));
  }
  return std::optional<int64_t>(id);
}

std::string Line(const pipeline::Regraded& regraded) {
  const Verdict& verdict = regraded.verdict;
  std::string line = fmt::format("{:>5} {:18} {:22} {:24} {:18} {}", regraded.id,
                                 verdict.operator_name, verdict.shape, verdict.candidate,
                                 OutcomeName(verdict.outcome), StatusName(regraded.status));
  const auto add = [&](const std::string& text) {
    line += fmt::format("\n      {}", ValidUtf8(text.substr(0, text.find('\n'))));
  };
  for (const std::string& difference : regraded.differences) add(difference);
  for (const std::string& note : regraded.notes) add(note);
  return line;
}

}  // namespace

Result<int> Regrade(const JudgeArgs& args) {
  if (!args.candidates.empty()) {
    return Fail(ErrorKind::kUsage,
                "--regrade takes candidates from the archive; leave their files away");
  }
  const pipeline::RegradeOptions options{.id = TRY(IdOf(args.regrade)), .run = !args.no_run};
  const store::Store store = TRY(store::Store::Open(args.store, OpenMode::kReadOnly));
  size_t total = 0;
  size_t same = 0;
  size_t damaged = 0;
  TRY(pipeline::Regrade(store, options, [&](const pipeline::Regraded& regraded) {
    ++total;
    same += regraded.status == Status::kSame ? 1 : 0;
    damaged += regraded.status == Status::kDamaged ? 1 : 0;
    fmt::print("{}\n", args.format == Format::kJson ? pipeline::RegradedToJson(regraded).Dump()
                                                    : Line(regraded));
    std::fflush(stdout);
  }));
  if (args.format == Format::kText) {
    fmt::print("{} verdicts, {} the same, {} damaged\n", total, same, damaged);
  }
  if (damaged > 0) return 3;
  return same == total ? 0 : 1;
}

}  // namespace roofmark::cli
