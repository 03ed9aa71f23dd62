// SPDX-License-Identifier: Apache-2.0
// roofmark judge --listen: jobs as JSON lines on stdin, verdicts as JSON lines on stdout.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "cli/devices.h"
#include "cli/judge_modes.h"
#include "cli/selection.h"
#include "gate/ledger.h"
#include "pipeline/listen.h"
#include "pipeline/timings.h"

namespace roofmark::cli {
namespace {

Result<void> PrintLine(const Json& line) {
  fmt::print("{}\n", line.Dump());
  if (std::fflush(stdout) != 0) return Fail(ErrorKind::kIo, "nobody reads the verdicts any more");
  return {};
}

}  // namespace

Result<int> JudgeListen(const JudgeArgs& args) {
  if (!args.candidates.empty()) {
    return Fail(ErrorKind::kUsage, "--listen takes jobs from stdin; leave the candidates out");
  }
  // A reader that went away is an error of the output, not a death.
  ::signal(SIGPIPE, SIG_IGN);
  const DeviceKind kind = TRY(UseDevice(args.device));
  const suite::Suite defaults = TRY(
      LoadSelection(args.selection, kind == DeviceKind::kCpu ? "small" : "published,corrected"));
  const suite::Suite whole = TRY(LoadSelection(args.selection, "all"));
  const pipeline::Machine machine = TRY(pipeline::OpenMachine(kind, args.card));
  pipeline::ListenOptions options{
      .judge = {.last_gate = TRY(ParseGate(args.gate)),
                .effort = args.quick ? gate::Effort::kQuick : gate::Effort::kFull,
                .require_adoption = args.require_adoption,
                .dump_dir = args.dump,
                .sanitize = args.sanitize,
                .call_timeout_s = args.timeout_s},
      .quick = args.quick,
      .against = args.against,
      .mode = TRY(ModeOf(args)),
      .alias = args.alias,
      .hold_baselines = args.hold_baselines,
      .waiting = TellWhoMeasures};
  for (const Workload& workload : defaults.workloads) options.shapes.insert(workload.Id());
  pipeline::Recorder recorder =
      TRY(pipeline::Recorder::Open(args.store, machine, {}, "roofmark judge --listen", whole.name));
  LineReader in(STDIN_FILENO, pipeline::kMostLineBytes);
  size_t verdicts = 0;
  TRY(pipeline::Listen(
      &in,
      [&](const Json& line) {
        verdicts += line.Find("outcome") != nullptr ? 1 : 0;
        return PrintLine(line);
      },
      whole, machine, &recorder, options));
  if (args.timings) {
    TRY(PrintLine(pipeline::TimingsToJson(gate::Ledger::Instance().Read(), verdicts)));
  }
  return 0;
}

}  // namespace roofmark::cli
