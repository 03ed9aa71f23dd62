// SPDX-License-Identifier: Apache-2.0
// roofmark judge: candidates through the three gates, verdicts to the store and to stdout.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "candidate/build.h"
#include "cli/against_report.h"
#include "cli/args.h"
#include "cli/devices.h"
#include "cli/judge_modes.h"
#include "cli/progress.h"
#include "cli/readiness.h"
#include "cli/selection.h"
#include "device/lease.h"
#include "gate/ledger.h"
#include "gate/paired_blocks.h"
#include "pipeline/evaluate.h"
#include "pipeline/prepare.h"
#include "pipeline/record.h"
#include "pipeline/timings.h"
#include "suite/expression.h"
#include "worker/sanitizer.h"

namespace roofmark::cli {
namespace {

// The baseline is judged as one more candidate, of the operator that all the others have.
Result<void> AddBaseline(const JudgeArgs& args, const suite::Suite& suite,
                         std::vector<pipeline::Entry>* entries) {
  if (args.against.empty()) return {};
  if (args.gate != "performance") {
    return Fail(ErrorKind::kUsage, "--against compares times; it needs --gate performance");
  }
  pipeline::Entry entry{.operator_name = TRY(OperatorOf(args.against, args, suite)),
                        .candidate = TRY(candidate::ReadCandidate(args.against)),
                        .baseline = true};
  entry.candidate.operator_alias = args.alias;
  for (const pipeline::Entry& other : *entries) {
    if (other.operator_name == entry.operator_name) continue;
    return Fail(
        ErrorKind::kUsage,
        fmt::format("--against: {} implements {} and {} implements {}; judge the candidates "
                    "of one operator at a time",
                    entry.candidate.name, entry.operator_name, other.candidate.name,
                    other.operator_name));
  }
  entries->push_back(std::move(entry));
  return {};
}

Result<std::vector<pipeline::Entry>> ReadEntries(const JudgeArgs& args, DeviceKind device,
                                                 const suite::Suite& suite) {
  std::vector<pipeline::Entry> entries;
  for (const fs::path& path : args.candidates) {
    entries.push_back({.operator_name = TRY(OperatorOf(path, args, suite)),
                       .candidate = TRY(candidate::ReadCandidate(path))});
    entries.back().candidate.operator_alias = args.alias;
    if (args.hold_baselines) entries.back().candidate.role = Role::kCandidate;
  }
  TRY(AddBaseline(args, suite, &entries));
  TRY(pipeline::AgreeOnMode(TRY(ModeOf(args)), device, &entries));
  return entries;
}

// --quick judges three telling shapes of each operator.
std::vector<Workload> Chosen(const suite::Suite& suite, const JudgeArgs& args) {
  if (!args.quick || !args.selection.shapes.empty()) return suite.workloads;
  std::vector<Workload> chosen;
  for (auto begin = suite.workloads.begin(); begin != suite.workloads.end();) {
    const auto end = std::find_if(begin, suite.workloads.end(),
                                  [&](const Workload& other) { return other.op != begin->op; });
    for (const size_t index : suite::TellingWorkloads(std::span(begin, end))) {
      chosen.push_back(begin[static_cast<std::ptrdiff_t>(index)]);
    }
    begin = end;
  }
  return chosen;
}

// How a person would repeat this run, without paths of this machine.
std::string CommandOf(const JudgeArgs& args) {
  std::vector<std::string> words = {"roofmark", "judge"};
  for (const fs::path& path : args.candidates) words.push_back(path.filename().string());
  words.insert(words.end(), {"--device", args.device});
  if (!args.selection.tier.empty()) words.insert(words.end(), {"--tier", args.selection.tier});
  if (!args.alias.empty()) words.insert(words.end(), {"--alias", args.alias});
  if (!args.against.empty()) {
    words.insert(words.end(), {"--against", args.against.filename().string()});
  }
  if (!args.require.empty()) words.insert(words.end(), {"--require", args.require});
  if (!args.mode.empty()) words.insert(words.end(), {"--mode", args.mode});
  if (args.quick) words.emplace_back("--quick");
  if (args.sanitize) words.emplace_back("--sanitize");
  return Join(words, " ");
}

// One line for each candidate and workload, and a total for each candidate.
double LineErrorRate(const std::vector<Workload>& workloads,
                     const std::vector<pipeline::Entry>& entries) {
  const auto candidates = static_cast<size_t>(
      std::ranges::count_if(entries, [](const pipeline::Entry& entry) { return !entry.baseline; }));
  const auto judged =
      static_cast<size_t>(std::ranges::count_if(workloads, [&](const Workload& workload) {
        return workload.op->name == entries.front().operator_name;
      }));
  const size_t lines = (judged + 1) * candidates;
  return gate::kComparisonErrorRate / static_cast<double>(lines);
}

// Of candidates, and apart from them of those that call themselves a baseline.
struct Counts {
  size_t verdicts = 0;
  size_t refused = 0;
  size_t baselines = 0;
  size_t refused_baselines = 0;

  void Add(const Verdict& verdict, bool is_against) {
    if (!is_against && verdict.role == Role::kBaseline) {
      ++baselines;
      refused_baselines += verdict.passed() ? 0 : 1;
      return;
    }
    ++verdicts;
    refused += is_against || verdict.passed() ? 0 : 1;
  }
  bool all_passed() const { return refused + refused_baselines == 0; }
};

void Print(const Verdict& verdict, const std::string& machine, Format format) {
  fmt::print("{}\n", format == Format::kJson
                         ? VerdictToJson(verdict, Samples::kOmit).Set("machine", machine).Dump()
                         : VerdictLine(verdict));
  std::fflush(stdout);
}

void PrintTimings(size_t verdicts, Format format) {
  const gate::Ledger::Totals totals = gate::Ledger::Instance().Read();
  if (format == Format::kJson) {
    fmt::print("{}\n", pipeline::TimingsToJson(totals, verdicts).Dump());
  } else {
    fmt::print("{}", pipeline::TimingsTable(totals, verdicts));
  }
}

// What the arguments must be together, before anything is opened.
Result<void> CheckUsage(const JudgeArgs& args) {
  const bool many = args.listen || !args.all.empty();
  if (args.candidates.empty() && !many) {
    return Fail(ErrorKind::kUsage,
                "name candidates, a folder of them with --all, --listen, or a verdict with "
                "--regrade");
  }
  if (!args.alias.empty() && args.selection.operators.size() != 1) {
    return Fail(ErrorKind::kUsage,
                "--alias needs --operator: say which operator it stands for; the bundle's "
                ".canary.json records it");
  }
  if (!args.alias.empty() && !suite::IsUsableName(args.alias)) {
    return Fail(ErrorKind::kUsage, "--alias: letters, digits and underscores");
  }
  if (!args.require.empty() && args.against.empty()) {
    return Fail(
        ErrorKind::kUsage,
        "--require ready needs --against BASELINE: a kernel is ready when it is better than "
        "what is deployed, so say what that is, e.g. --against torch_eager.py");
  }
  if (!args.require.empty() && many) {
    return Fail(
        ErrorKind::kUsage,
        "--require ready is asked of candidates that are named, not with --all or --listen");
  }
  if (!args.sanitize) return {};
  if (args.device != "cuda") {
    return Fail(ErrorKind::kUsage,
                "--sanitize needs --device cuda: compute-sanitizer watches the kernels of a GPU");
  }
  TRY(worker::FindSanitizer());
  return {};
}

}  // namespace

Result<std::string> OperatorOf(const fs::path& path, const JudgeArgs& args,
                               const suite::Suite& suite) {
  if (args.selection.operators.size() == 1) return args.selection.operators.front();
  const fs::path whole = fs::absolute(path).lexically_normal();
  for (fs::path folder = whole.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (suite.FindOperator(folder.filename().string()) != nullptr)
      return folder.filename().string();
  }
  return Fail(ErrorKind::kUsage,
              path.string() + ": say which operator it implements with --operator NAME");
}

std::string VerdictLine(const Verdict& verdict) {
  std::string line = fmt::format("{:18} {:22} {:24} {:18}", verdict.operator_name, verdict.shape,
                                 verdict.candidate, OutcomeName(verdict.outcome));
  if (verdict.time_ns) line += fmt::format(" {:>9}", HumanTime(verdict.time_ns->median));
  if (verdict.attainment) {
    line += fmt::format("  S {:.3f} [{:.3f}, {:.3f}]", verdict.attainment->median,
                        verdict.attainment->low, verdict.attainment->high);
  }
  if (verdict.shares) line += fmt::format("  adoption {:.0f} %", 100 * Adoption(*verdict.shares));
  if (verdict.role == Role::kBaseline) line += "  (a baseline: adoption is not asked)";
  if (!verdict.reason.empty()) {
    line += fmt::format("\n    {}", ValidUtf8(verdict.reason.substr(0, verdict.reason.find('\n'))));
  }
  return line;
}

std::string OfBaselines(size_t verdicts, size_t refused) {
  if (verdicts == 0) return {};
  return fmt::format(
      ", beside {} of baselines by their own word, {} not passed (--require-adoption holds them, "
      "too)",
      verdicts, refused);
}

Result<std::optional<Mode>> ModeOf(const JudgeArgs& args) {
  if (args.mode.empty()) return std::optional<Mode>();
  return std::optional<Mode>(TRY(ParseMode(args.mode)));
}

void TellWhoMeasures(const std::string& holder) {
  fmt::print(stderr, "waiting for the GPU: {}\n", holder);
}

Result<int> Judge(const JudgeArgs& args) {
  if (!args.regrade.empty()) return Regrade(args);
  TRY(CheckUsage(args));
  gate::Ledger::Instance().Open();
  if (!args.all.empty()) return JudgeAll(args);
  if (args.listen) return JudgeListen(args);
  const DeviceKind kind = TRY(UseDevice(args.device));
  const suite::Suite suite = TRY(
      LoadSelection(args.selection, kind == DeviceKind::kCpu ? "small" : "published,corrected"));
  const std::vector<pipeline::Entry> entries = TRY(ReadEntries(args, kind, suite));
  const pipeline::Machine machine = TRY(pipeline::OpenMachine(kind, args.card));
  const std::optional<device::Lease> turn = TRY(pipeline::TakeTurn(machine, TellWhoMeasures));
  pipeline::Recorder recorder =
      TRY(pipeline::Recorder::Open(args.store, machine, entries, CommandOf(args), suite.name));

  const std::vector<Workload> workloads = Chosen(suite, args);
  // Only the candidates have to pass; where the baseline does not, there is no comparison.
  const auto is_baseline = [&](const Verdict& verdict) {
    return !args.against.empty() && !verdict.against;
  };
  const double line_error_rate = LineErrorRate(workloads, entries);
  AgainstReport against(workloads, line_error_rate);
  Readiness readiness(args.require_adoption);
  Counts counts;
  {
    Progress progress("judging");
    const gate::JudgeOptions options{
        .last_gate = TRY(ParseGate(args.gate)),
        .effort = args.quick ? gate::Effort::kQuick : gate::Effort::kFull,
        .require_adoption = args.require_adoption,
        .dump_dir = args.dump,
        .line_error_rate = line_error_rate,
        .check_fitness = !args.require.empty(),
        .sanitize = args.sanitize,
        .call_timeout_s = args.timeout_s};
    TRY(pipeline::Evaluate(workloads, entries, machine, options,
                           [&](const Verdict& verdict, size_t done, size_t total) -> Result<void> {
                             // What was printed is in the store, whatever happens next.
                             TRY(recorder.Add(verdict));
                             Print(verdict, recorder.machine_id(), args.format);
                             against.Add(verdict, args.format);
                             if (!is_baseline(verdict)) readiness.Add(verdict);
                             counts.Add(verdict, is_baseline(verdict));
                             progress.Show(done, total,
                                           verdict.operator_name + "/" + verdict.shape);
                             return {};
                           }));
  }
  const std::vector<AgainstSummary> compared = against.Finish(args.format);
  const bool better = std::ranges::all_of(compared, &AgainstSummary::better);
  const bool ready = args.require.empty() || readiness.Finish(compared, args.format);
  if (args.format == Format::kText) {
    fmt::print("{} verdicts, {} not passed{}; kept in {}\n", counts.verdicts, counts.refused,
               OfBaselines(counts.baselines, counts.refused_baselines), args.store.string());
  }
  if (args.timings) PrintTimings(recorder.count(), args.format);
  return counts.all_passed() && better && ready ? 0 : 1;
}

}  // namespace roofmark::cli
