// SPDX-License-Identifier: Apache-2.0
// roofmark check: the compile and correctness gates on the shapes of a sealed bundle, for whoever
// writes the kernel. It prints outcome and reason. No verdict holds a time or an attainment here:
// the performance gate never runs, and the limit of a call cannot be chosen (who varies it has a
// clock).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "candidate/build.h"
#include "cli/args.h"
#include "pipeline/evaluate.h"
#include "pipeline/open_bundle.h"
#include "suite/make_workload.h"

namespace roofmark::cli {
namespace {

Result<DeviceKind> DeviceOf(const CheckArgs& args, Lane lane) {
  if (!args.device.empty()) return ParseDeviceKind(args.device);
  return NeedsGpu(lane) ? DeviceKind::kCuda : DeviceKind::kCpu;
}

// Shapes that are named; else all, but on a CPU only small ones where the bundle has any.
Result<std::vector<Workload>> ChosenOf(const Operator& op, const CheckArgs& args, DeviceKind kind) {
  const bool has_small =
      std::ranges::find(op.shapes, Tier::kSmall, &Shape::tier) != op.shapes.end();
  const bool only_small = kind == DeviceKind::kCpu && has_small && !args.all;
  std::vector<Workload> chosen;
  for (const Shape& shape : op.shapes) {
    const bool named = std::ranges::find(args.shapes, shape.id) != args.shapes.end();
    const bool suits = !only_small || shape.tier == Tier::kSmall;
    if (args.shapes.empty() ? !suits : !named) continue;
    chosen.push_back(TRY(suite::MakeWorkload(op, shape)));
  }
  for (const std::string& id : args.shapes) {
    if (std::ranges::find(op.shapes, id, &Shape::id) == op.shapes.end()) {
      return Fail(ErrorKind::kNotFound, fmt::format("the bundle has no shape '{}'", id));
    }
  }
  return chosen;
}

// What ran out is said by its rule: a figure would be a clock for whoever varies the limit.
std::string ReasonOf(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kTimedOut:
      return "a call took longer than rules.md allows";
    case Outcome::kCompileTimeout:
      return "compiling took longer than rules.md allows";
    default:
      return ValidUtf8(verdict.reason);
  }
}

class Printer {
 public:
  explicit Printer(Format format) : format_(format) {}

  void Print(const Verdict& verdict) {
    ++count_;
    refused_ += verdict.passed() ? 0 : 1;
    const std::string reason = ReasonOf(verdict);
    if (format_ == Format::kJson) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("shape", verdict.shape)
                             .Set("gate", GateName(verdict.gate))
                             .Set("outcome", OutcomeName(verdict.outcome))
                             .Set("reason", reason)
                             .Dump());
      return;
    }
    fmt::print("{:24} {}\n", verdict.shape, OutcomeName(verdict.outcome));
    if (reason.empty()) return;
    if (reason == last_reason_) {
      fmt::print("    as above\n");
    } else {
      for (const std::string_view line : Split(reason, '\n')) {
        if (!Trim(line).empty()) fmt::print("    {}\n", line);
      }
    }
    last_reason_ = reason;
  }

  int Finish() const {
    if (format_ == Format::kText) {
      fmt::print("{} shape{}, {} not passed\n", count_, count_ == 1 ? "" : "s", refused_);
      if (refused_ == 0)
        fmt::print("it compiles and is right; how fast it is, only a judge says\n");
    }
    return refused_ == 0 ? 0 : 1;
  }

 private:
  Format format_;
  size_t count_ = 0;
  size_t refused_ = 0;
  std::string last_reason_;
};

}  // namespace

Result<int> Check(const CheckArgs& args) {
  const pipeline::OpenBundle bundle = TRY(pipeline::ReadBundle(args.bundle));
  const Candidate candidate = TRY(candidate::ReadCandidate(args.candidate));
  if (candidate.lane != bundle.lane) {
    return Fail(
        ErrorKind::kInput,
        fmt::format("{} is a candidate of the lane {}; this bundle is for {}",
                    args.candidate.string(), LaneName(candidate.lane), LaneName(bundle.lane)));
  }
  const DeviceKind kind = TRY(DeviceOf(args, bundle.lane));
  const std::vector<Workload> workloads = TRY(ChosenOf(bundle.op, args, kind));
  const pipeline::Machine machine = TRY(pipeline::OpenMachine(kind, ""));
  const gate::JudgeOptions options{.last_gate = Gate::kCorrectness};
  Printer printer(args.format);
  TRY(pipeline::Evaluate(workloads, {{.operator_name = bundle.op.name, .candidate = candidate}},
                         machine, options,
                         [&](const Verdict& verdict, size_t /*done*/, size_t) -> Result<void> {
                           printer.Print(verdict);
                           return {};
                         }));
  return printer.Finish();
}

}  // namespace roofmark::cli
