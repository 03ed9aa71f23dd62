// SPDX-License-Identifier: Apache-2.0
// Walks the calls between BeginCapture and EndCapture of each thread.
#include "trace/capture.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/files.h"
#include "trace/calls.h"
#include "trace/profile_format.h"
#include "trace/step_label.h"

namespace roofmark::trace {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What a call adds to the graph that is being captured.
std::optional<LaunchKind> NodeKind(std::string_view call) {
  if (Has(call, "Launch") && Has(call, "Kernel")) return LaunchKind::kKernel;
  if (Has(call, "Memcpy")) return LaunchKind::kCopy;
  if (Has(call, "Memset")) return LaunchKind::kFill;
  return std::nullopt;
}

// Reads the calls of one profile in order of thread and time.
class CaptureReader {
 public:
  explicit CaptureReader(CaptureProfile& capture) : capture_(capture) {}

  void Run() {
    const Rows<RuntimeCall>& calls = capture_.profile.calls;
    std::vector<uint32_t> order(calls.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, {}, [&](uint32_t row) { return std::pair(calls[row].thread, calls[row].start_ns); });
    uint32_t thread = kNone32;
    for (const uint32_t row : order) {
      if (calls[row].thread != thread) open_.reset();
      thread = calls[row].thread;
      TakeCall(calls[row]);
    }
  }

 private:
  void TakeCall(const RuntimeCall& call) {
    const std::string_view name = capture_.profile.text.Text(call.name);
    if (Has(name, "BeginCapture")) {
      open_ = Begin(call);
      covered_until_ = INT64_MIN;
      return;
    }
    if (!open_) return;
    if (Has(name, "EndCapture")) {
      capture_.graphs.push_back(std::move(*open_));
      open_.reset();
      return;
    }
    // A driver call inside a runtime call is the same launch.
    const std::optional<LaunchKind> kind = NodeKind(name);
    if (!kind || call.start_ns < covered_until_) return;
    covered_until_ = call.end_ns;
    open_->nodes.push_back({.kind = *kind,
                            .kernel = call.kernel,
                            .op = capture_.forest->Innermost(call.thread, call.start_ns)});
  }

  CapturedGraph Begin(const RuntimeCall& call) const {
    CapturedGraph graph;
    uint32_t op = capture_.forest->Innermost(call.thread, call.start_ns);
    for (; op != kNone32; op = capture_.forest->Parent(op)) {
      const auto label =
          ParseCaptureLabel(capture_.profile.text.Text(capture_.profile.ops[op].name));
      if (!label) continue;
      graph.tokens = label->tokens;
      graph.mode = label->mode;
      break;
    }
    return graph;
  }

  CaptureProfile& capture_;
  std::optional<CapturedGraph> open_;
  int64_t covered_until_ = INT64_MIN;
};

// The annotation around an operator that labels a step, kNone32 where there is none.
uint32_t StepAround(const Profile& profile, const OpForest& forest, uint32_t op, StepLabel& label) {
  for (; op != kNone32; op = forest.Parent(op)) {
    if (!profile.ops[op].annotation) continue;
    if (const auto read = ParseStepLabel(profile.text.Text(profile.ops[op].name))) {
      label = *read;
      return op;
    }
  }
  return kNone32;
}

// An eager run of the same model: each of its labelled steps is the sequence of kernels that a
// graph of that step would hold, with operators and, on CUDA too, with names.
void ReadEagerSteps(CaptureProfile& capture) {
  const Profile& profile = capture.profile;
  const CallFinder calls(profile);
  std::map<uint32_t, size_t> graph_of;  // by the annotation's row
  std::vector<uint32_t> order(profile.kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](uint32_t row) { return profile.kernels[row].start_ns; });
  for (const uint32_t row : order) {
    const Launch kernel = profile.kernels[row];
    const uint32_t call = calls.Find(kernel);
    if (call == kNone32 || calls.IsGraphLaunch(call)) continue;
    const uint32_t op =
        capture.forest->Innermost(profile.calls[call].thread, profile.calls[call].start_ns);
    StepLabel label;
    const uint32_t step = StepAround(profile, *capture.forest, op, label);
    if (step == kNone32) continue;
    const auto [entry, fresh] = graph_of.try_emplace(step, capture.graphs.size());
    if (fresh) {
      const int64_t tokens = label.context.tokens + label.generation.tokens;
      capture.graphs.push_back({.tokens = tokens, .mode = std::string(kEagerMode), .nodes = {}});
    }
    capture.graphs[entry->second].nodes.push_back(
        {.kind = LaunchKind::kKernel, .kernel = kernel.name, .op = op});
  }
}

constexpr std::string_view kFolder = "capture_traces";
constexpr std::string_view kDetails = "execution_details.json";

// The files that the sidecar names, missing ones too: reading them says so. Empty where there is no
// usable sidecar, or none of its files is there.
std::vector<fs::path> FilesOfSidecar(const fs::path& folder) {
  std::vector<fs::path> files;
  const Result<Json> details = ReadJson(folder / kDetails);
  if (!details || !details->is_array()) return files;
  for (const Json& entry : details->array()) {
    const Json* file = entry.Find("file");
    if (file == nullptr || !file->is_string()) continue;
    // Only names beside the sidecar: a profile is foreign data.
    const fs::path name = fs::path(file->as_string()).filename();
    if (!name.empty()) files.push_back(folder / name);
  }
  const auto is_there = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
  };
  if (std::ranges::none_of(files, is_there)) files.clear();
  return files;
}

}  // namespace

std::unique_ptr<CaptureProfile> MakeCaptureProfile(Profile profile) {
  auto capture = std::make_unique<CaptureProfile>();
  capture->profile = std::move(profile);
  capture->forest = std::make_unique<OpForest>(capture->profile);
  CaptureReader(*capture).Run();
  if (capture->graphs.empty()) ReadEagerSteps(*capture);
  return capture;
}

Result<std::unique_ptr<CaptureProfile>> ReadCaptureProfile(const fs::path& path) {
  auto capture = MakeCaptureProfile(TRY(ReadProfile(path)));
  capture->name = path.filename().string();
  return capture;
}

std::vector<fs::path> FindCaptureProfiles(const fs::path& profile) {
  std::vector<fs::path> found;
  const fs::path folder = profile.parent_path() / kFolder;
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) {
    found = FilesOfSidecar(folder);
    if (found.empty()) {
      for (const fs::path& path : ListFolder(folder).value_or(std::vector<fs::path>{})) {
        const std::string name = path.filename().string();
        if (IsProfileName(name) && name != kDetails) found.push_back(path);
      }
    }
  }
  const std::string name = profile.filename().string();
  const size_t dot = name.find(".json");
  if (dot != std::string::npos) {
    for (const char* extension : {"_capture.json", "_capture.json.gz"}) {
      const fs::path beside = profile.parent_path() / (name.substr(0, dot) + extension);
      if (fs::is_regular_file(beside, ignored)) found.push_back(beside);
    }
  }
  std::ranges::sort(found);
  return found;
}

bool IsCaptureProfilePath(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.parent_path().filename() == kFolder || name.ends_with("_capture.json") ||
         name.ends_with("_capture.json.gz");
}

}  // namespace roofmark::trace
