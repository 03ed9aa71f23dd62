// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "device/cuda_stage.h"

namespace roofmark::gate {
namespace {

Result<MeteredModule> ParseModule(const Json& json) {
  MeteredModule module{.sha256 = TRY(json.String("sha256")), .loader = TRY(json.String("loader"))};
  const Json* const callers = TRY(json.ArrayAt("callers"));
  for (const Json& caller : callers->array()) {
    if (!caller.is_string()) return Fail(ErrorKind::kInput, "meter: a caller is no text");
    module.callers.push_back(caller.as_string());
  }
  if (json.Find("unreadable") != nullptr) module.unreadable = TRY(json.Bool("unreadable"));
  return module;
}

Result<MeteredName> ParseName(const Json& json, size_t modules) {
  MeteredName name{.name = TRY(json.String("name"))};
  const Json* const indices = TRY(json.ArrayAt("modules"));
  for (const Json& index : indices->array()) {
    if (!index.is_int() || index.as_int() < 0 || static_cast<size_t>(index.as_int()) >= modules) {
      return Fail(ErrorKind::kInput, "meter: a name refers to a module that is not listed");
    }
    name.modules.push_back(static_cast<size_t>(index.as_int()));
  }
  return name;
}

Result<MeteredOperation> ParseOperation(const Json& json, size_t names) {
  const auto is_int = [](const Json& field) { return field.is_int() && field.as_int() >= 0; };
  if (!json.is_array() || json.array().size() != 7 || !std::ranges::all_of(json.array(), is_int)) {
    return Fail(ErrorKind::kInput, "meter: an operation is not seven numbers");
  }
  const Json::Array& fields = json.array();
  if (fields[0].as_int() > 2 || static_cast<size_t>(fields[1].as_int()) >= names ||
      fields[3].as_int() < fields[2].as_int()) {
    return Fail(ErrorKind::kInput, "meter: an operation has a kind, name or time out of range");
  }
  return MeteredOperation{.kind = static_cast<MeteredKind>(fields[0].as_int()),
                          .name = static_cast<size_t>(fields[1].as_int()),
                          .start_ns = fields[2].as_int(),
                          .end_ns = fields[3].as_int(),
                          .stream = fields[4].as_int(),
                          .correlation = fields[5].as_int(),
                          .bytes = fields[6].as_int()};
}

enum class Part { kCandidate, kFlush, kMark, kProbe, kOther };

// A kernel is the stage's when its name is and the only module with that name is the stage's cubin.
Part PartOf(const MeterReport& report, const MeteredOperation& operation,
            const std::string& stage_sha256) {
  if (operation.kind != MeteredKind::kKernel) return Part::kCandidate;
  const MeteredName& name = report.names[operation.name];
  const bool from_stage =
      !name.modules.empty() && std::ranges::all_of(name.modules, [&](size_t module) {
        return report.modules[module].sha256 == stage_sha256;
      });
  if (!from_stage) return Part::kCandidate;
  if (name.name == device::kStageFlush) return Part::kFlush;
  if (name.name == device::kStageMark) return Part::kMark;
  if (name.name == device::kStageProbe) return Part::kProbe;
  const bool other = name.name == device::kStageHold || name.name == device::kStageTouch ||
                     name.name == device::kStageWarm;
  return other ? Part::kOther : Part::kCandidate;
}

// The stage's kernels around one call, and the flush behind it.
struct Window {
  int64_t flush_start = 0;
  int64_t begin = 0;  // start of the mark before the call
  int64_t end = 0;    // start of the mark behind the call
  int64_t next_flush = 0;
  // What was launched between the two marks has a correlation between these.
  int64_t launched_after = 0;
  int64_t launched_before = 0;
  int64_t stream = 0;  // of the marks
};

// Clocks of engines that copy may differ from those of the others by less than this.
constexpr int64_t kClockSlackNs = 1000;

// What the stage's own kernels show, in order. Gap i is what lies between the mark behind call
// i - 1 and the one before call i.
struct StageKernels {
  std::vector<int64_t> first_flush;  // start of a gap's first flush, by gap; -1 = none
  std::vector<int64_t> marks;        // starts
  std::vector<int64_t> launches;     // correlations of the marks
  int64_t stream = 0;                // of the marks
  std::vector<size_t> others;        // operations of the candidate
  size_t flushes = 0;
  size_t probes = 0;
  int64_t flushing_ns = 0;  // first flushes of gaps behind calls
};

StageKernels SortOut(const MeterReport& report, const std::string& stage_sha256, size_t calls) {
  StageKernels found;
  found.first_flush.resize(calls + 1, -1);
  for (size_t i = 0; i < report.operations.size(); ++i) {
    const MeteredOperation& operation = report.operations[i];
    const bool in_call = found.marks.size() % 2 == 1;
    const size_t gap = found.marks.size() / 2;
    switch (PartOf(report, operation, stage_sha256)) {
      case Part::kCandidate:
        found.others.push_back(i);
        break;
      case Part::kOther:
        // The stage's kernels are the candidate's where it is the candidate who launches them.
        if (in_call) found.others.push_back(i);
        break;
      case Part::kProbe:
        ++found.probes;
        break;
      case Part::kFlush:
        ++found.flushes;
        if (in_call || gap > calls || found.first_flush[gap] >= 0) break;
        found.first_flush[gap] = operation.start_ns;
        if (gap > 0) found.flushing_ns += operation.end_ns - operation.start_ns;
        break;
      case Part::kMark:
        found.marks.push_back(operation.start_ns);
        found.launches.push_back(operation.correlation);
        found.stream = operation.stream;
        break;
    }
  }
  return found;
}

struct Staged {
  std::vector<Window> windows;
  std::vector<size_t> others;  // operations of the candidate
  double flush_ns = 0;
  std::string fault;
};

Staged FindWindows(const MeterReport& report, const std::string& stage_sha256, size_t calls) {
  Staged staged;
  StageKernels found = SortOut(report, stage_sha256, calls);
  staged.others = std::move(found.others);
  // A probe lies between two flushes (device/cuda_stage.h).
  if (found.flushes != calls + 1 + found.probes || found.marks.size() != 2 * calls) {
    staged.fault = fmt::format(
        "the meter shows {} flushes and {} marks of {} calls: its records were cut or disturbed",
        found.flushes, found.marks.size(), calls);
    return staged;
  }
  if (calls > 0) {
    staged.flush_ns = static_cast<double>(found.flushing_ns) / static_cast<double>(calls);
  }
  for (size_t i = 0; i < calls; ++i) {
    const Window window = {found.first_flush[i],
                           found.marks[2 * i],
                           found.marks[2 * i + 1],
                           found.first_flush[i + 1],
                           found.launches[2 * i],
                           found.launches[2 * i + 1],
                           found.stream};
    if (window.flush_start < 0 || window.next_flush < 0) {
      staged.fault = fmt::format("the meter's marks of call {} are out of order", i);
      return staged;
    }
    staged.windows.push_back(window);
  }
  return staged;
}

// The first complaint stays.
void Note(Timeline& timeline, std::string text) {
  if (timeline.unsynchronised.empty()) timeline.unsynchronised = std::move(text);
}

// Whether this is the copy of an output that has not been copied yet, whose size it takes away.
bool Settles(const MeteredOperation& operation, const Window& window, std::vector<int64_t>& left) {
  if (operation.kind != MeteredKind::kMemcpy || operation.bytes == 0) return false;
  if (operation.stream != window.stream) return false;
  if (operation.start_ns < window.end || operation.end_ns > window.next_flush + kClockSlackNs) {
    return false;
  }
  const auto size = std::ranges::find(left, operation.bytes);
  if (size == left.end()) return false;
  left.erase(size);
  return true;
}

// Of a kernel that may launch others; where the records do not number launches, nobody can tell.
bool LaunchedWithin(const MeteredOperation& operation, const Window& window) {
  if (operation.kind != MeteredKind::kKernel || window.launched_before == 0) return true;
  return operation.correlation > window.launched_after &&
         operation.correlation < window.launched_before;
}

// `left` is the sizes of outputs that may still be copied behind a call, by call.
void Place(const MeterReport& report, size_t index, const std::vector<Window>& windows,
           Children children, std::vector<std::vector<int64_t>>& left, Timeline& timeline) {
  const MeteredOperation& operation = report.operations[index];
  const std::string& name = report.names[operation.name].name;
  // The last window whose mark came before this operation.
  const auto after = std::ranges::upper_bound(windows, operation.start_ns, {}, &Window::begin);
  if (after == windows.begin()) {
    return Note(timeline, fmt::format("{} ran before the first call", name));
  }
  const auto at = static_cast<size_t>(after - windows.begin()) - 1;
  const Window& window = windows[at];
  if (operation.start_ns >= window.next_flush) {
    return Note(timeline,
                fmt::format("{} started {} ns after call {} had been followed by the "
                            "next flush (stream {})",
                            name, operation.start_ns - window.next_flush, at, operation.stream));
  }
  if (Settles(operation, window, left[at])) {
    timeline.calls[at].settle_ns += static_cast<double>(operation.end_ns - operation.start_ns);
    return;
  }
  timeline.calls[at].operations.push_back(index);
  if (operation.start_ns >= window.end) {
    return Note(timeline, fmt::format("{} started {} ns after the stream of call {} was done "
                                      "(stream {})",
                                      name, operation.start_ns - window.end, at, operation.stream));
  }
  if (children == Children::kUnreported && !LaunchedWithin(operation, window)) {
    return Note(timeline, fmt::format("{} ran in call {} but was not launched by its run(): when "
                                      "the kernels end that it may launch, nobody knows",
                                      name, at));
  }
  if (operation.end_ns > window.next_flush) {
    Note(timeline, fmt::format("{} of call {} was still running {} ns into the next flush "
                               "(stream {})",
                               name, at, operation.end_ns - window.next_flush, operation.stream));
  }
}

// `end` is when the call ended by other evidence than its operations, or 0.
void Measure(const MeterReport& report, int64_t end, CallSpan& call) {
  if (call.operations.empty()) return;
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (const size_t index : call.operations) {
    first = std::min(first, report.operations[index].start_ns);
    last = std::max(last, report.operations[index].end_ns);
  }
  call.unseen_ns = static_cast<double>(std::max(int64_t{0}, end - last));
  call.device_ns = static_cast<double>(last - first) + call.unseen_ns;
}

}  // namespace

Result<MeterReport> ParseMeterReport(const Json& json) {
  MeterReport report{.fault = TRY(json.String("fault")),
                     .dropped = TRY(json.Int("dropped")),
                     .outside = TRY(json.Int("outside")),
                     .outside_name = TRY(json.String("outside_name")),
                     .conditionals = TRY(json.Int("conditionals"))};
  const Json* const modules = TRY(json.ArrayAt("modules"));
  for (const Json& module : modules->array()) report.modules.push_back(TRY(ParseModule(module)));
  const Json* const names = TRY(json.ArrayAt("names"));
  for (const Json& name : names->array()) {
    report.names.push_back(TRY(ParseName(name, report.modules.size())));
  }
  const Json* const operations = TRY(json.ArrayAt("operations"));
  for (const Json& operation : operations->array()) {
    report.operations.push_back(TRY(ParseOperation(operation, report.names.size())));
  }
  std::ranges::stable_sort(report.operations, {}, &MeteredOperation::start_ns);
  return report;
}

Timeline CutIntoCalls(const MeterReport& report, const std::string& stage_sha256, size_t calls,
                      const std::vector<int64_t>& returned, Children children) {
  Timeline timeline;
  timeline.calls.resize(calls);
  if (!report.fault.empty()) {
    timeline.fault = report.fault;
    return timeline;
  }
  if (report.dropped > 0) {
    timeline.fault = fmt::format("CUPTI dropped {} records", report.dropped);
    return timeline;
  }
  if (report.outside > 0) {
    Note(timeline,
         fmt::format("{} operation{} ran on the device outside of any call, {} first",
                     report.outside, report.outside == 1 ? "" : "s", report.outside_name));
  }
  const Staged staged = FindWindows(report, stage_sha256, calls);
  timeline.fault = staged.fault;
  timeline.flush_ns = staged.flush_ns;
  if (!timeline.fault.empty()) return timeline;
  std::vector<std::vector<int64_t>> left(calls, returned);
  for (const size_t index : staged.others) {
    Place(report, index, staged.windows, children, left, timeline);
  }
  for (size_t i = 0; i < calls; ++i) {
    const int64_t end = children == Children::kUnreported ? staged.windows[i].end : 0;
    Measure(report, end, timeline.calls[i]);
  }
  return timeline;
}

}  // namespace roofmark::gate
