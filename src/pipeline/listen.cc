// SPDX-License-Identifier: Apache-2.0
#include "pipeline/listen.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "candidate/build.h"
#include "device/lease.h"
#include "gate/paired_blocks.h"
#include "pipeline/against_total.h"
#include "pipeline/job.h"
#include "pipeline/prepare.h"
#include "suite/expression.h"

namespace roofmark::pipeline {
namespace {

using Out = std::function<Result<void>(const Json&)>;

Json ErrorLine(Json id, const Error& error) {
  return Json::MakeObject()
      .Set("id", std::move(id))
      .Set("error", Json::MakeObject()
                        .Set("kind", ErrorKindName(error.kind()))
                        .Set("message", error.message()));
}

// A job that is being prepared, or why it cannot be. What it points to lies in the heap.
struct Pending {
  Job job;
  std::unique_ptr<TempDir> folder;  // of its source
  std::vector<const Workload*> workloads;
  std::vector<Entry> entries;
  size_t lines = 0;  // of its comparisons, the total included
  size_t skipped = 0;
  bool held = false;  // it calls itself a baseline, and is judged as a candidate all the same
  std::optional<Preparation> preparation;
  std::optional<Error> error;
};

// What a job has come to. The verdicts of its baseline are no answer to it.
struct Tally {
  struct Compared {
    std::string shape;
    Phase phase;
    Against against;
  };
  size_t verdicts = 0;
  size_t passed = 0;
  size_t baselines = 0;  // verdicts on a candidate that is one by its own word: in no other count
  size_t passed_baselines = 0;
  std::vector<Compared> compared;

  void Add(const Verdict& verdict, bool has_baseline) {
    if (has_baseline && !verdict.against) return;
    if (verdict.role == Role::kBaseline) {
      ++baselines;
      passed_baselines += verdict.passed() ? 1 : 0;
      return;
    }
    ++verdicts;
    passed += verdict.passed() ? 1 : 0;
    if (verdict.against) compared.push_back({verdict.shape, verdict.phase, *verdict.against});
  }
};

class Listener {
 public:
  Listener(LineReader* in, const Out& out, const suite::Suite& suite, const Machine& machine,
           Recorder* recorder, const ListenOptions& options)
      : in_(in),
        out_(out),
        suite_(suite),
        machine_(machine),
        recorder_(recorder),
        options_(options),
        references_(machine.device->info().kind) {}

  Result<void> Run() {
    while (true) {
      TRY(ReadAhead());
      if (pending_.empty()) return {};
      Pending pending = std::move(pending_.front());
      pending_.pop_front();
      TRY(Answer(pending));
    }
  }

 private:
  // Waits for a line only where there is nothing else to do.
  Result<void> ReadAhead() {
    const size_t most = 1 + FieldsAhead(machine_.device->info().kind);
    while (pending_.size() < most) {
      const auto wait = pending_.empty() ? LineReader::Wait::kYes : LineReader::Wait::kNo;
      const std::optional<LineReader::Line> line = TRY(in_->Next(wait));
      if (!line) return {};
      if (!line->too_long && Trim(line->text).empty()) continue;
      const Result<Job> job =
          line->too_long ? Result<Job>(Fail(ErrorKind::kInput,
                                            fmt::format("longer than {} bytes", kMostLineBytes)))
                         : ParseJob(line->text);
      if (!job) {
        TRY(out_(ErrorLine(IdOf(line->text), job.error()).Set("line", line->number)));
        continue;
      }
      pending_.push_back(Begin(*job));
    }
    return {};
  }

  Pending Begin(const Job& job) {
    Pending pending{.job = job};
    if (const Result<void> begun = Plan(&pending); !begun) pending.error = begun.error();
    return pending;
  }

  Result<void> Plan(Pending* pending) {
    const Job& job = pending->job;
    const Operator* const op = suite_.FindOperator(job.operator_name);
    if (op == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no operator '{}'; `roofmark suite list` lists them",
                              job.operator_name));
    }
    pending->folder = std::make_unique<TempDir>(TRY(TempDir::Make("roofmark-job")));
    TRY(ReadEntries(pending, *op));
    pending->workloads = TRY(WorkloadsOf(job));
    pending->lines = pending->workloads.size() + 1;
    TRY(recorder_->Use(RunOptions(*pending)));
    if (!job.again) {
      pending->skipped = std::erase_if(pending->workloads, [&](const Workload* workload) {
        return recorder_->Knows(pending->entries.front().candidate, *workload);
      });
    }
    for (const Entry& entry : pending->entries) TRY(recorder_->Archive(entry.candidate));
    if (!pending->workloads.empty()) {
      pending->preparation = Preparation::Begin(*op, pending->entries, machine_.device->info());
    }
    return {};
  }

  Result<void> ReadEntries(Pending* pending, const Operator& op) {
    const Job& job = pending->job;
    const fs::path& against = job.against.empty() ? options_.against : job.against;
    pending->entries.push_back(
        {.operator_name = op.name, .candidate = TRY(CandidateOf(job, pending->folder->path()))});
    // A text comes from whoever is judged, and its own word exempts nobody.
    Role& role = pending->entries.front().candidate.role;
    if (role == Role::kBaseline && (options_.hold_baselines || !job.source.empty())) {
      pending->held = true;
      role = Role::kCandidate;
    }
    if (!against.empty()) {
      if (OptionsOf(*pending).last_gate != Gate::kPerformance) {
        return Fail(ErrorKind::kUsage, "against compares times; it needs the gate performance");
      }
      pending->entries.push_back({.operator_name = op.name,
                                  .candidate = TRY(candidate::ReadCandidate(against)),
                                  .baseline = true});
    }
    for (Entry& entry : pending->entries) entry.candidate.operator_alias = options_.alias;
    return AgreeOnMode(options_.mode, machine_.device->info().kind, &pending->entries);
  }

  Result<std::vector<const Workload*>> WorkloadsOf(const Job& job) const {
    std::vector<const Workload*> chosen;
    for (const Workload& workload : suite_.workloads) {
      if (workload.op->name != job.operator_name) continue;
      const bool wanted =
          job.shapes.empty() ? options_.shapes.contains(workload.Id())
                             : std::ranges::find(job.shapes, workload.shape.id) != job.shapes.end();
      if (wanted) chosen.push_back(&workload);
    }
    for (const std::string& shape : job.shapes) {
      if (std::ranges::none_of(chosen, [&](const Workload* w) { return w->shape.id == shape; })) {
        return Fail(ErrorKind::kNotFound,
                    fmt::format("{} has no shape '{}'; `roofmark suite show {}` lists them",
                                job.operator_name, shape, job.operator_name));
      }
    }
    if (chosen.empty()) {
      return Fail(ErrorKind::kInput,
                  job.operator_name + " has no shape for this device; name some");
    }
    if (job.quick.value_or(options_.quick) && job.shapes.empty()) return Telling(chosen);
    return chosen;
  }

  static std::vector<const Workload*> Telling(const std::vector<const Workload*>& workloads) {
    std::vector<Workload> copies;
    for (const Workload* workload : workloads) copies.push_back(*workload);
    std::vector<const Workload*> telling;
    for (const size_t index : suite::TellingWorkloads(copies)) telling.push_back(workloads[index]);
    return telling;
  }

  gate::JudgeOptions OptionsOf(const Pending& pending) const {
    gate::JudgeOptions options = options_.judge;
    if (pending.job.quick) {
      options.effort = *pending.job.quick ? gate::Effort::kQuick : gate::Effort::kFull;
    }
    if (pending.job.gate) options.last_gate = *pending.job.gate;
    options.line_error_rate =
        gate::kComparisonErrorRate / static_cast<double>(std::max<size_t>(1, pending.lines));
    return options;
  }

  // What verdicts depend on beside candidate, shape and device.
  Json RunOptions(const Pending& pending) const {
    const gate::JudgeOptions options = OptionsOf(pending);
    Json run = Json::MakeObject()
                   .Set("gate", GateName(options.last_gate))
                   .Set("quick", options.effort == gate::Effort::kQuick)
                   .Set("require_adoption", options.require_adoption)
                   .Set("mode", ModeName(pending.entries.front().candidate.mode))
                   .Set("against", pending.entries.size() > 1
                                       ? pending.entries.back().candidate.content_hash
                                       : std::string());
    if (pending.held) run.Set("role", "candidate");
    return run;
  }

  // Errors are those of the output and of the store; the job's become a line.
  Result<void> Answer(Pending& pending) {
    Tally tally;
    std::optional<Error> broken;
    const VerdictSink sink = [&](const Verdict& verdict, size_t, size_t) -> Result<void> {
      tally.Add(verdict, pending.entries.size() > 1);
      Result<void> kept = recorder_->Add(verdict);
      if (kept) {
        kept = out_(VerdictToJson(verdict, Samples::kOmit)
                        .Set("machine", recorder_->machine_id())
                        .Set("id", pending.job.id));
      }
      if (!kept) broken = kept.error();
      return kept;
    };
    if (!pending.error) {
      if (const Result<void> judged = Judge(pending, sink); !judged) pending.error = judged.error();
    }
    if (broken) return std::unexpected(*broken);
    if (pending.error) return out_(ErrorLine(pending.job.id, *pending.error));
    Json done = Json::MakeObject()
                    .Set("id", pending.job.id)
                    .Set("done", true)
                    .Set("verdicts", tally.verdicts)
                    .Set("passed", tally.passed)
                    .Set("skipped", pending.skipped);
    if (tally.baselines > 0) {
      done.Set("baselines", Json::MakeObject()
                                .Set("verdicts", tally.baselines)
                                .Set("passed", tally.passed_baselines));
    }
    if (pending.entries.size() > 1) done.Set("against", TotalOf(pending, tally));
    return out_(done);
  }

  // Null where some of the shapes were judged before: a total is of one session.
  Json TotalOf(const Pending& pending, const Tally& tally) const {
    if (pending.skipped > 0 || tally.compared.empty()) return {};
    std::vector<WeighedComparison> weighed;
    for (const auto& [shape, phase, against] : tally.compared) {
      const auto found = std::ranges::find_if(pending.workloads, [&](const Workload* workload) {
        return workload->shape.id == shape && workload->shape.phase == phase;
      });
      weighed.push_back({.weight = found == pending.workloads.end() ? 0 : (*found)->weight.value,
                         .against = &against});
    }
    return AgainstToJson(TotalAgainst(weighed, OptionsOf(pending).line_error_rate))
        .Set("workloads", weighed.size())
        .Set("not_slower_anywhere", NotSlowerAnywhere(weighed));
  }

  Result<void> Judge(Pending& pending, const VerdictSink& sink) {
    if (!pending.preparation) return {};
    const Operator& op = *pending.workloads.front()->op;
    TRY(references_.Prefetch(op));
    // Let go of after the candidates have ended: their memory is back before another judge looks.
    std::optional<device::Lease> turn;
    const Field field = TRY(pending.preparation->Take());
    TRY(recorder_->Use(RunOptions(pending)));
    turn = TRY(TakeTurn(machine_, options_.waiting));
    HeldVerdicts verdicts(sink, pending.workloads.size());
    size_t done = 0;
    const Result<void> judged = EvaluateField(pending.workloads, field, &references_, machine_,
                                              OptionsOf(pending), &verdicts, &done);
    // After an error nobody knows what the reference still holds.
    if (!judged) references_.Drop(op);
    TRY(verdicts.PassOn(gate::Patience::kWait));
    return judged;
  }

  LineReader* in_;
  const Out& out_;
  const suite::Suite& suite_;
  const Machine& machine_;
  Recorder* recorder_;
  const ListenOptions& options_;
  References references_;
  std::deque<Pending> pending_;
};

}  // namespace

std::string_view ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInput:
      return "input";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kDevice:
      return "device";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kUsage:
      break;
  }
  return "usage";
}

Result<void> Listen(LineReader* in, const Out& out, const suite::Suite& suite,
                    const Machine& machine, Recorder* recorder, const ListenOptions& options) {
  return Listener(in, out, suite, machine, recorder, options).Run();
}

}  // namespace roofmark::pipeline
