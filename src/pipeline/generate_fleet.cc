// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generate_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "trace/output_file.h"

namespace roofmark::pipeline {
namespace {

// One operator as vLLM and PyTorch write it. {T}: tokens, {H}: hidden size, {D}: twice that.
struct Kind {
  std::string_view op;  // as the rules name it; empty: unattributed
  std::string_view cpu_op;
  std::string_view kernel;
  std::string_view dims;
  std::string_view types;
};

constexpr std::string_view kBf16 = "\"c10::BFloat16\"";
constexpr std::array<Kind, 9> kKinds = {{
    {"rms_norm", "_C::rms_norm", "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>",
     "[[@T, @H], [@T, @H], [@H], []]", "@, @, @, \"Scalar\""},
    {"fused_add_rms_norm", "_C::fused_add_rms_norm",
     "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", "[[@T, @H], [@T, @H], [@H], []]",
     "@, @, @, \"Scalar\""},
    {"silu_and_mul", "_C::silu_and_mul",
     "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel, true>",
     "[[@T, @H], [@T, @D]]", "@, @"},
    {"gemm", "aten::mm", "nvjet_tst_128x64_64x6_2x1_v_bz_TNT", "[[@T, @H], [@H, @D]]", "@, @"},
    {"gemm", "aten::mm", "nvjet_tst_256x128_64x4_2x1_v_bz_TNN", "[[@T, @D], [@D, @H]]", "@, @"},
    {"communication", "c10d::allreduce_",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "[[[@T, @H]]]",
     "\"TensorList\""},
    {"sampling", "aten::argmax",
     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >",
     "[[@T, 151936], [], []]", "\"float\", \"Scalar\", \"Scalar\""},
    {"embedding", "aten::embedding",
     "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>",
     "[[151936, @H], [@T], [], [], []]", "@, \"long int\", \"Scalar\", \"Scalar\", \"Scalar\""},
    {"", "", "house_kernel_without_a_rule", "", ""},
}};
constexpr std::array<std::string_view, 2> kDevices = {"NVIDIA H200", "NVIDIA H20"};
constexpr std::array<Phase, 2> kPhases = {Phase::kPrefill, Phase::kDecode};
constexpr int64_t kScale = 1000;  // loads and means are in thousandths

struct Calls {
  int64_t mean = 0;    // thousandths, in a step of each profile
  int64_t dur_ns = 0;  // of each
};

struct PlannedApplication {
  std::string name;
  std::string_view device;
  size_t profiles = 0;
  int64_t hours = 0;
  int64_t hidden = 0;
  std::array<std::array<Calls, kKinds.size()>, kPhases.size()> calls;
};

int64_t Between(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(high - low + 1)));
}

std::vector<PlannedApplication> PlanFleet(const FleetPlan& plan, Random& random) {
  std::vector<PlannedApplication> fleet(plan.applications);
  const size_t least = std::max<size_t>(2, plan.profiles / plan.applications / 4);
  for (size_t i = 0; i < fleet.size(); ++i) {
    PlannedApplication& application = fleet[i];
    application.name = fmt::format("app-{:02}", i);
    application.device = kDevices[i % kDevices.size()];
    application.profiles = least;
    application.hours = int64_t{10} << random.Below(8);
    application.hours += Between(random, 0, application.hours);
    application.hidden = 1024 * Between(random, 2, 8);
    for (auto& phase : application.calls) {
      for (size_t kind = 0; kind < kKinds.size(); ++kind) {
        Calls& calls = phase[kind];
        calls.mean = Between(random, 200, 4000);
        calls.dur_ns = Between(random, 2000, 40000) * (kKinds[kind].op == "gemm" ? 6 : 1);
      }
      phase.back().mean = 100;  // little of the time is unattributed
    }
  }
  // Large applications are recorded more often.
  for (size_t given = least * fleet.size(); given < plan.profiles; ++given) {
    fleet[std::min(random.Below(fleet.size()), random.Below(fleet.size()))].profiles += 1;
  }
  return fleet;
}

std::string Filled(std::string_view text, int64_t tokens, int64_t hidden) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (text[at] != '@') {
      out += text[at];
    } else if (rest.starts_with("@T") || rest.starts_with("@H") || rest.starts_with("@D")) {
      out += std::to_string(rest[1] == 'T' ? tokens : rest[1] == 'H' ? hidden : 2 * hidden);
      ++at;
    } else {
      out += kBf16;
    }
  }
  return out;
}

// Writes events one after the other, as Kineto does.
class ProfileText {
 public:
  explicit ProfileText(std::string_view device)
      : text_(fmt::format("{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {{\n      "
                          "\"id\": 0, \"name\": \"{}\"\n    }}\n  ],\n  \"cuda_runtime_version\": "
                          "13000,\n  \"record_shapes\": 1,\n  \"traceEvents\": [",
                          device)) {}

  void Step(std::string_view label, int64_t start, int64_t dur) {
    Event("user_annotation", label, "\"pid\": 1, \"tid\": 1", start, dur, "");
  }

  // An operator, the call that launches its kernel, and the kernel. Returns the kernel's end.
  int64_t Call(const Kind& kind, int64_t tokens, int64_t hidden, int64_t host, int64_t start,
               int64_t dur) {
    ++id_;
    if (!kind.cpu_op.empty()) {
      Event("cpu_op", kind.cpu_op, "\"pid\": 1, \"tid\": 1", host, 800,
            fmt::format("\"External id\": {}, \"Input type\": [{}], \"Input Dims\": {}", id_,
                        Filled(kind.types, tokens, hidden), Filled(kind.dims, tokens, hidden)));
    }
    Event("cuda_runtime", "cudaLaunchKernel", "\"pid\": 1, \"tid\": 1", host + 100, 300,
          fmt::format("\"External id\": {0}, \"correlation\": {1}", id_, id_ + 7000000));
    Event("kernel", kind.kernel, "\"pid\": 0, \"tid\": 7", start, dur,
          fmt::format("\"External id\": {0}, \"device\": 0, \"stream\": 7, \"correlation\": {1}",
                      id_, id_ + 7000000));
    return start + dur;
  }

  std::string Finish() { return text_ + "\n  ]\n}\n"; }

 private:
  void Event(std::string_view category, std::string_view name, std::string_view where,
             int64_t start, int64_t dur, const std::string& args) {
    text_ += fmt::format(
        "{}\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", {},\n    \"ts\": "
        "{}.{:03}, \"dur\": {}.{:03},\n    \"args\": {{\n      {}\n    }}\n  }}",
        first_ ? "" : ",", category, name, where, start / 1000, start % 1000, dur / 1000,
        dur % 1000, args);
    first_ = false;
  }

  std::string text_;
  int64_t id_ = 0;
  bool first_ = true;
};

// Rounds a number of millionths up or down, by chance, so that it is kept on average.
int64_t RoundedByChance(int64_t millionths, Random& random) {
  constexpr int64_t kMillion = kScale * kScale;
  return (millionths + Between(random, 0, kMillion - 1)) / kMillion;
}

std::string MakeProfile(const PlannedApplication& application, Random& random) {
  ProfileText text(application.device);
  // Profiles of one application begin at different times, so no two are one.
  int64_t device_time = 1000000 + Between(random, 0, int64_t{1} << 40);
  for (size_t phase = 0; phase < kPhases.size(); ++phase) {
    const bool prefill = kPhases[phase] == Phase::kPrefill;
    const int64_t tokens = prefill ? 64 * Between(random, 4, 128) : int64_t{8} << random.Below(5);
    const int64_t load = Between(random, 400, 1600);  // thousandths, 1000 on average
    const int64_t host = device_time;
    int64_t calls = 0;
    std::vector<const Kind*> order;
    for (size_t kind = 0; kind < kKinds.size(); ++kind) {
      const int64_t mean = application.calls[phase][kind].mean * load;
      const int64_t count = RoundedByChance(mean, random);
      order.insert(order.end(), static_cast<size_t>(count), &kKinds[kind]);
    }
    text.Step(prefill ? fmt::format("execute_context_1({})_generation_0(0)", tokens)
                      : fmt::format("execute_context_0(0)_generation_{0}({0})", tokens),
              host, 1000 * static_cast<int64_t>(order.size() + 1));
    int64_t free = host + 5000;
    for (const Kind* kind : order) {
      const auto index = static_cast<size_t>(kind - kKinds.data());
      const int64_t launch = host + 1000 * calls++ + 50;
      free = text.Call(*kind, tokens, application.hidden, launch, std::max(free, launch + 1000),
                       application.calls[phase][index].dur_ns);
    }
    device_time = std::max(free, host + 1000 * (calls + 2)) + 10000;
  }
  return text.Finish();
}

std::vector<KnownShare> SharesOf(const std::vector<PlannedApplication>& fleet) {
  std::map<std::pair<std::string_view, Phase>, double> shares;
  double hours = 0;
  for (const PlannedApplication& one : fleet) hours += static_cast<double>(one.hours);
  for (const PlannedApplication& one : fleet) {
    double busy = 0;
    const auto time = [&](size_t phase, size_t kind) {
      const Calls& calls = one.calls[phase][kind];
      return static_cast<double>(calls.mean) * static_cast<double>(calls.dur_ns);
    };
    for (size_t phase = 0; phase < kPhases.size(); ++phase) {
      for (size_t kind = 0; kind < kKinds.size(); ++kind) busy += time(phase, kind);
    }
    for (size_t phase = 0; phase < kPhases.size(); ++phase) {
      for (size_t kind = 0; kind < kKinds.size(); ++kind) {
        shares[{kKinds[kind].op, kPhases[phase]}] +=
            static_cast<double>(one.hours) / hours * time(phase, kind) / busy;
      }
    }
  }
  std::vector<KnownShare> known;
  for (const auto& [key, share] : shares) {
    known.push_back({.op = std::string(key.first), .phase = key.second, .share = share});
  }
  return known;
}

Json TruthToJson(const FleetPlan& plan, const std::vector<KnownShare>& known) {
  Json rows = Json::MakeArray();
  for (const KnownShare& row : known) {
    rows.Push(Json::MakeObject()
                  .Set("operator", row.op.empty() ? "unattributed" : row.op)
                  .Set("phase", PhaseName(row.phase))
                  .Set("share", row.share));
  }
  Json json = Json::MakeObject();
  json.Set("seed", static_cast<int64_t>(plan.seed));
  json.Set("profiles", static_cast<int64_t>(plan.profiles));
  json.Set("applications", static_cast<int64_t>(plan.applications));
  json.Set("shares", std::move(rows));
  return json;
}

}  // namespace

Result<std::vector<KnownShare>> GenerateFleet(
    const fs::path& folder, const FleetPlan& plan,
    const std::function<void(size_t done, size_t total)>& progress) {
  if (plan.applications == 0 || plan.profiles < 2 * plan.applications) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{} profiles of {} applications: each application needs two at least",
                            plan.profiles, plan.applications));
  }
  Random random(plan.seed);
  const std::vector<PlannedApplication> fleet = PlanFleet(plan, random);
  if (plan.recording > 0) random = Random(random.Next() + plan.recording);
  std::string manifest = "glob,application,model,framework,device,ranks,card_hours\n";
  size_t done = 0;
  for (const PlannedApplication& application : fleet) {
    std::error_code error;
    fs::create_directories(folder / application.name, error);
    if (error) {
      return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder.string(), error.message()));
    }
    for (size_t i = 0; i < application.profiles; ++i) {
      const fs::path path = folder / application.name / fmt::format("p-{:04}.json.gz", i);
      trace::OutputFile file = TRY(trace::OutputFile::Create(path));
      TRY(file.Write(MakeProfile(application, random)));
      TRY(file.Finish());
      if (progress) progress(++done, plan.profiles);
    }
    manifest += fmt::format("{0}/*.json.gz,{0},model-{1},vllm,{2},1,{3}\n", application.name,
                            application.hidden, application.device, application.hours);
  }
  TRY(WriteFile(folder / "manifest.csv", manifest));
  std::vector<KnownShare> known = SharesOf(fleet);
  TRY(WriteFile(folder / "truth.json", TruthToJson(plan, known).Dump(1) + "\n"));
  return known;
}

}  // namespace roofmark::pipeline
