// SPDX-License-Identifier: Apache-2.0
#include "trace/check_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trace/step_label.h"

namespace roofmark::trace {
namespace {

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string Time(int64_t ns) {
  return HumanTime(static_cast<double>(ns));
}

// How shapes are recorded, by what made the profile.
const char* HowToRecordShapes(ProfileFormat format) {
  switch (format) {
    case ProfileFormat::kNsys:
      return "run the model under torch.autograd.profiler.emit_nvtx(record_shapes=True)";
    case ProfileFormat::kRocpd:
    case ProfileFormat::kRpd:
    case ProfileFormat::kRocprofJson:
    case ProfileFormat::kRocprofCsv:
      return "this profiler records no operators: record with PyTorch's (vLLM, SGLang) instead";
    default:
      return "record with shapes on (PyTorch: record_shapes=True; vLLM: "
             "torch_profiler_record_shapes; SGLang: \"record_shapes\": true), or put an execution "
             "trace NAME_et.json beside it";
  }
}

const char* HowToPairGraphs(ProfileFormat format) {
  if (format == ProfileFormat::kNsys) {
    return "record from before the graphs are captured with --cuda-graph-trace=node, under "
           "emit_nvtx";
  }
  return "record the capture too and put it beside: capture_traces/ (vLLM, SGLang) or "
         "NAME_capture.json.gz";
}

class Checker {
 public:
  Checker(const Profile& profile, const Totals& totals) : profile_(profile), totals_(totals) {}

  void Run(const LinkedProfile& linked, const Attribution& attribution, int64_t unattributed_ns,
           int64_t unknown_phase_ns) {
    Wholeness();
    if (totals_.kernels == 0) {
      Add(Weight::kUnusable, "kernels", "no kernel ran while this was recorded",
          "record device activity too (ProfilerActivity.CUDA; nsys -t cuda; rocprofv3 "
          "--kernel-trace), while requests are served");
      return;
    }
    Operators();
    Links();
    Graphs(attribution.pairing);
    Labels(linked, unknown_phase_ns);
    if (static_cast<double>(unattributed_ns) >
        kUnmappedAlarm * static_cast<double>(totals_.union_ns)) {
      Add(Weight::kLacks, "rules",
          fmt::format("{} of {} is claimed by no rule", Time(unattributed_ns),
                      Time(totals_.union_ns)),
          "mine --unknown lists the kernels as rules to fill in");
    }
    Found(attribution.shape_times);
    Notes();
  }

  std::vector<Finding> Take() {
    std::ranges::stable_sort(findings_, {}, &Finding::weight);
    return std::move(findings_);
  }

 private:
  void Add(Weight weight, const char* id, std::string what, std::string way_out) {
    findings_.push_back({weight, id, std::move(what), std::move(way_out)});
  }

  void Wholeness() {
    const ReadLoss& loss = profile_.loss;
    if (loss.truncated()) {
      Add(Weight::kLacks, "end", loss.damage.empty() ? "the profile ends early" : loss.damage,
          "copy it again, or let the profiler finish writing before the process ends");
    }
    if (loss.split.damaged_events > 0) {
      Add(Weight::kLacks, "damage",
          fmt::format("{} of {} events do not read", loss.split.damaged_events,
                      profile_.events + loss.split.damaged_events),
          "");
    }
    if (loss.negative_dur > 0) {
      Add(Weight::kNote, "durations",
          fmt::format("{} events end before they begin and count as 0", loss.negative_dur), "");
    }
  }

  void Operators() {
    const bool any =
        std::ranges::any_of(profile_.ops, [](const CpuOp& op) { return !op.annotation; });
    const bool shaped = std::ranges::any_of(
        profile_.ops, [&](const CpuOp& op) { return HasDims(op.arguments, profile_.text); });
    if (!any) {
      Add(Weight::kLacks, "operators", "no operator of a framework: kernels are known by name only",
          profile_.format == ProfileFormat::kNsys
              ? "run the model under torch.autograd.profiler.emit_nvtx(record_shapes=True)"
              : "record CPU activity too (ProfilerActivity.CPU)");
    } else if (!shaped) {
      Add(Weight::kLacks, "shapes", "no operator has its sizes recorded",
          HowToRecordShapes(profile_.format));
    }
  }

  void Links() {
    if (Percent(totals_.kernels_no_runtime, totals_.kernels) > 1) {
      Add(Weight::kLacks, "calls",
          fmt::format("{} of {} kernels were launched outside what was recorded",
                      totals_.kernels_no_runtime, totals_.kernels),
          "begin recording before the first step that counts and synchronise before it ends");
    }
    if (profile_.format == ProfileFormat::kKineto && !ExternalIdsAreReal(totals_)) {
      Add(Weight::kNote, "ids",
          "External ids repeat the correlation ids (PyTorch before 2024) and are ignored", "");
    }
  }

  void Graphs(const PairingReport& pairing) {
    if (profile_.loss.whole_graphs > 0) {
      Add(Weight::kLacks, "nodes",
          fmt::format("{} graphs were recorded as a whole: their kernels are not there",
                      profile_.loss.whole_graphs),
          "nsys profile --cuda-graph-trace=node");
    }
    if (pairing.unpaired_ns > 0) {
      Add(Weight::kLacks, "graphs",
          fmt::format("{} of {} in {} kernels of replayed graphs whose capture is not there: no "
                      "shapes",
                      Time(pairing.unpaired_ns), Time(totals_.sum_kernel_ns),
                      pairing.unpaired_nodes),
          HowToPairGraphs(profile_.format));
    }
  }

  // Shapes that are no fact of the launch itself.
  void Found(const ShapeTimes& times) {
    int64_t found = 0;
    std::string ways;
    for (size_t i = static_cast<size_t>(ShapeFrom::kTraceByNames); i < times.size(); ++i) {
      if (times[i] == 0) continue;
      found += times[i];
      ways +=
          fmt::format("{}{}", ways.empty() ? "" : ", ", ShapeFromName(static_cast<ShapeFrom>(i)));
    }
    if (found == 0) return;
    Add(Weight::kNote, "paired",
        fmt::format("{} of {} have their shapes from another recording, paired with this one ({})",
                    Time(found), Time(totals_.sum_kernel_ns), ways),
        "mine --explain KERNEL says for each shape which file and why");
  }

  void Labels(const LinkedProfile& linked, int64_t unknown_phase_ns) {
    if (unknown_phase_ns > 0) {
      Add(Weight::kLacks, "phases",
          fmt::format("{} of {} has no phase", Time(unknown_phase_ns), Time(totals_.union_ns)),
          linked.labels.empty() ? "let the server label its steps (vLLM 0.26, SGLang: execute_.., "
                                  "step[..]), or record "
                                  "prefill and decode apart (SGLang: -EXTEND, -DECODE)"
                                : "label every step");
    }
    const auto steps = std::ranges::count_if(profile_.ops, [&](const CpuOp& op) {
      return op.annotation && ParseStepLabel(profile_.text.Text(op.name)).has_value();
    });
    if (!linked.labels.empty() && steps < 5) {
      Add(Weight::kNote, "steps", fmt::format("only {} labelled steps", steps),
          "record 5 to 20 steps of steady load: one step says little of a mix");
    }
    const bool detailed =
        std::ranges::any_of(linked.labels, [](const StepLabel& label) { return label.Detailed(); });
    if (!linked.labels.empty() && !detailed) {
      Add(Weight::kLacks, "lengths",
          "step labels without the sums of lengths: attention has no shape and mixed steps cannot "
          "be split for it",
          "turn on detailed step labels (sq, sk, sqsq, sqsk)");
    }
  }

  void Notes() {
    if (Percent(profile_.python_events, profile_.events) > 20) {
      Add(Weight::kNote, "stacks",
          fmt::format("{:.0f} % of the events are Python frames, which mining does not use",
                      Percent(profile_.python_events, profile_.events)),
          "record without stacks (with_stack=False): smaller files, less disturbance");
    }
    if (profile_.device_name.empty()) {
      Add(Weight::kNote, "device", "the profile does not name its GPU",
          "name it in the manifest (column device)");
    }
    if (!profile_.base_ns) {
      Add(Weight::kNote, "clock", "no base time: it cannot be laid beside another profile", "");
    }
  }

  const Profile& profile_;
  const Totals& totals_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view WeightName(Weight weight) {
  switch (weight) {
    case Weight::kUnusable:
      return "unusable";
    case Weight::kLacks:
      return "lacks";
    case Weight::kNote:
      break;
  }
  return "note";
}

std::vector<Finding> CheckForMining(const Profile& profile, const Totals& totals,
                                    const LinkedProfile& linked, const Attribution& attribution,
                                    int64_t unattributed_ns, int64_t unknown_phase_ns) {
  Checker checker(profile, totals);
  checker.Run(linked, attribution, unattributed_ns, unknown_phase_ns);
  return checker.Take();
}

}  // namespace roofmark::trace
