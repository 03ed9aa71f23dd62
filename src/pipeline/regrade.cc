// SPDX-License-Identifier: Apache-2.0
#include "pipeline/regrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/files.h"
#include "candidate/build.h"
#include "gate/evidence.h"
#include "pipeline/evaluate.h"
#include "suite/card.h"
#include "suite/make_workload.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

// Verdicts that are checked again by one compilation and one reference.
struct Group {
  std::vector<Regraded*> verdicts;
  std::map<std::string, std::string> secrets;  // by shape
  gate::Circumstances known;
};

void Differ(Regraded* regraded, std::string difference) {
  regraded->status = Regraded::Status::kDifferent;
  regraded->differences.push_back(std::move(difference));
}

void Damage(Regraded* regraded, std::string what) {
  regraded->status = Regraded::Status::kDamaged;
  regraded->differences = {std::move(what)};
}

Result<void> Recompute(Regraded* regraded) {
  const Verdict& archived = regraded->verdict;
  if (archived.evidence.Find("timing") == nullptr) {
    if (archived.time_ns) Differ(regraded, "it states a time, but no measurement was archived");
    return {};
  }
  const Verdict again = TRY(gate::ConcludeAgain(archived));
  regraded->recomputed = true;
  for (std::string& difference : DifferencesOf(archived, again)) {
    Differ(regraded, std::move(difference));
  }
  if (archived.against) {
    regraded->notes.emplace_back("the comparison with the baseline is not computed again");
  }
  return {};
}

// What a verdict is worth before anything runs. Returns what it was judged under, or nothing where
// it cannot be run again.
std::optional<gate::Circumstances> Examine(const store::Store& store, Regraded* regraded) {
  Result<Json> evidence = store.ReadEvidence(regraded->id);
  if (!evidence) {
    Damage(regraded, evidence.error().message());
    return {};
  }
  if (evidence->is_null()) {
    regraded->status = Regraded::Status::kNotArchived;
    regraded->notes.emplace_back(
        "it was kept without evidence, by an older Roofmark; judge the candidate again");
    return {};
  }
  regraded->verdict.evidence = std::move(*evidence);
  Result<gate::Circumstances> known = gate::CircumstancesOf(regraded->verdict.evidence);
  const Result<void> computed =
      known ? Recompute(regraded) : Result<void>(std::unexpected(known.error()));
  if (!computed) {
    Damage(regraded, "its evidence makes no sense: " + computed.error().message());
    return {};
  }
  return std::move(*known);
}

// Appends to the last group where one compilation serves both.
void Join(const gate::Circumstances& known, int64_t run, Regraded* regraded,
          std::map<std::string, std::vector<std::unique_ptr<Group>>>* groups) {
  const std::string key =
      fmt::format("{:020} {} {} {} {} {}", run, regraded->verdict.candidate_hash,
                  known.operator_files, regraded->verdict.evidence.Find("gate")->Dump(),
                  regraded->verdict.evidence.Find("effort")->Dump(), known.options.call_timeout_s);
  std::vector<std::unique_ptr<Group>>& alike = (*groups)[key];
  const std::string& shape = regraded->verdict.shape;
  if (alike.empty() || alike.back()->secrets.contains(shape)) {
    alike.push_back(std::make_unique<Group>(Group{.known = known}));
  }
  alike.back()->verdicts.push_back(regraded);
  alike.back()->secrets[shape] = known.secret;
}

// What has become of the operator since; empty where it is as it was.
Result<std::string> ChangeOf(const std::string& operator_name, const std::string& archived) {
  for (const auto& op : TRY(suite::ReadAllOperators())) {
    if (op->name != operator_name) continue;
    if (TRY(store::Store::HashFolder(op->folder)) == archived) return std::string();
    return "operator " + operator_name + " was edited since; the archived one is used";
  }
  return "this Roofmark has no operator " + operator_name + "; the archived one is used";
}

// The archived operator and candidate, in a folder of their own.
struct Restored {
  TempDir folder;
  Candidate candidate;
  std::unique_ptr<const Operator> op;
  std::vector<Workload> workloads;
};

Result<Restored> Restore(const store::Store& store, const Group& group) {
  const Verdict& first = group.verdicts.front()->verdict;
  Restored restored{.folder = TRY(TempDir::Make("roofmark-regrade")), .candidate = {}};
  const fs::path sources = restored.folder.path() / "candidate";
  restored.candidate = TRY(store.RestoreCandidate(first.candidate_hash, sources));
  if (TRY(candidate::ContentHashOf(restored.candidate)) != first.candidate_hash) {
    return Fail(ErrorKind::kInput,
                fmt::format("the archive's list of files of candidate {} was altered; judge the "
                            "candidate into this store once more",
                            first.candidate));
  }
  const fs::path folder = restored.folder.path() / "operators" / first.operator_name;
  TRY(store.RestoreFolder(group.known.operator_files, folder));
  restored.op = std::make_unique<const Operator>(TRY(suite::ReadOperator(folder)));
  for (const Regraded* regraded : group.verdicts) {
    const auto shape = std::ranges::find(restored.op->shapes, regraded->verdict.shape, &Shape::id);
    if (shape == restored.op->shapes.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the archived operator has no shape {}", regraded->verdict.shape));
    }
    restored.workloads.push_back(TRY(suite::MakeWorkload(*restored.op, *shape)));
  }
  return restored;
}

void CompareOutcome(const Verdict& again, Regraded* regraded) {
  regraded->ran = true;
  const Verdict& archived = regraded->verdict;
  if (archived.gate == Gate::kPerformance) {
    if (!again.passed()) {
      Differ(regraded, fmt::format("it passed correctness then; now {} gave {}: {}",
                                   GateName(again.gate), OutcomeName(again.outcome), again.reason));
    }
    if (!gate::IsConclusion(archived.outcome)) {
      regraded->notes.emplace_back(
          "it was refused for what was seen in timed calls, which are not made again");
    }
    return;
  }
  if (again.gate == archived.gate && again.outcome == archived.outcome) return;
  Differ(regraded, fmt::format("{} gave {} then, {} gives {} now: {}", GateName(archived.gate),
                               OutcomeName(archived.outcome), GateName(again.gate),
                               OutcomeName(again.outcome), again.reason));
}

Result<void> RunGroup(const store::Store& store, const Group& group, const Machine& machine) {
  const Result<Restored> restored = Restore(store, group);
  if (!restored) {
    for (Regraded* regraded : group.verdicts) Damage(regraded, restored.error().message());
    return {};
  }
  const Verdict& first = group.verdicts.front()->verdict;
  const std::string change = TRY(ChangeOf(first.operator_name, group.known.operator_files));
  const std::string& here = machine.device->info().name;
  for (Regraded* regraded : group.verdicts) {
    if (!change.empty()) regraded->notes.push_back(change);
    if (here != first.device) {
      regraded->notes.push_back(
          fmt::format("judged on {}, checked again on {}", first.device, here));
    }
  }
  gate::JudgeOptions options = group.known.options;
  options.last_gate = std::min(options.last_gate, Gate::kCorrectness);
  options.secrets = group.secrets;
  const Entry entry{.operator_name = restored->op->name, .candidate = restored->candidate};
  return Evaluate(restored->workloads, {entry}, machine, options,
                  [&](const Verdict& again, size_t /*done*/, size_t /*total*/) -> Result<void> {
                    for (Regraded* regraded : group.verdicts) {
                      if (regraded->verdict.shape == again.shape) CompareOutcome(again, regraded);
                    }
                    return {};
                  });
}

// Each device kind is opened when the first group needs it, and only once.
class Machines {
 public:
  const Result<Machine>& Of(DeviceKind kind) {
    std::optional<Result<Machine>>& machine = machines_[kind];
    if (!machine) machine.emplace(OpenMachine(kind, ""));
    return *machine;
  }

 private:
  std::map<DeviceKind, std::optional<Result<Machine>>> machines_;
};

}  // namespace

std::string_view StatusName(Regraded::Status status) {
  switch (status) {
    case Regraded::Status::kSame:
      return "same";
    case Regraded::Status::kDifferent:
      return "different";
    case Regraded::Status::kNotArchived:
      return "not_archived";
    case Regraded::Status::kDamaged:
      return "damaged";
  }
  return "";
}

Json RegradedToJson(const Regraded& regraded) {
  return Json::MakeObject()
      .Set("verdict", regraded.id)
      .Set("operator", regraded.verdict.operator_name)
      .Set("shape", regraded.verdict.shape)
      .Set("candidate", regraded.verdict.candidate)
      .Set("device", regraded.verdict.device)
      .Set("outcome", OutcomeName(regraded.verdict.outcome))
      .Set("status", StatusName(regraded.status))
      .Set("recomputed", regraded.recomputed)
      .Set("ran", regraded.ran)
      .Set("differences", Json::Array(regraded.differences.begin(), regraded.differences.end()))
      .Set("notes", Json::Array(regraded.notes.begin(), regraded.notes.end()));
}

std::vector<std::string> DifferencesOf(const Verdict& archived, const Verdict& again) {
  // As JSON a double is exact, so equal text is equal bits.
  const Json then = VerdictToJson(archived, Samples::kOmit);
  const Json now = VerdictToJson(again, Samples::kOmit);
  std::vector<std::string> keys = {"time_ns",    "clocks_ns",          "shares",      "adoption",
                                   "attainment", "attainment_against", "launch_bound"};
  if (gate::IsConclusion(archived.outcome)) keys.insert(keys.begin(), "outcome");
  std::vector<std::string> differences;
  for (const std::string& key : keys) {
    const std::string a = then.Find(key)->Dump();
    const std::string b = now.Find(key)->Dump();
    if (a != b) {
      differences.push_back(
          fmt::format("{} was {} and computes to {} from the raw samples", key, a, b));
    }
  }
  return differences;
}

Result<void> Regrade(const store::Store& store, const RegradeOptions& options,
                     const RegradeSink& sink) {
  std::vector<std::unique_ptr<Regraded>> all;
  std::map<std::string, std::vector<std::unique_ptr<Group>>> groups;
  for (store::StoredVerdict& stored : TRY(store.ReadVerdicts({}, store::History::kAll))) {
    if (options.id && *options.id != stored.id) continue;
    all.push_back(std::make_unique<Regraded>(
        Regraded{.id = stored.id, .verdict = std::move(stored.verdict)}));
    const std::optional<gate::Circumstances> known = Examine(store, all.back().get());
    if (known && options.run) Join(*known, stored.run, all.back().get(), &groups);
    // Nobody waits for a run to learn of what has none.
    if (!known || !options.run) sink(*all.back());
  }
  if (all.empty()) {
    return Fail(ErrorKind::kNotFound,
                options.id ? fmt::format("{} has no verdict {}; `--regrade all` names every one",
                                         store.path().string(), *options.id)
                           : store.path().string() + " has no verdict");
  }
  Machines machines;
  for (const auto& [unused, alike] : groups) {
    for (const std::unique_ptr<Group>& group : alike) {
      const Result<Machine>& machine = machines.Of(group->known.device);
      if (machine) {
        TRY(RunGroup(store, *group, *machine));
      } else {
        for (Regraded* regraded : group->verdicts) {
          regraded->notes.push_back(
              fmt::format("not compiled and checked again: that needs a {} device ({}); {}",
                          DeviceKindName(group->known.device), regraded->verdict.device,
                          machine.error().message()));
        }
      }
      for (const Regraded* regraded : group->verdicts) sink(*regraded);
    }
  }
  return {};
}

}  // namespace roofmark::pipeline
