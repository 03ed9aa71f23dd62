// SPDX-License-Identifier: Apache-2.0
#include "sample_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/hash.h"

namespace roofmark::report {
namespace {

struct Size {
  const char* op;
  const char* shape;
  Phase phase;
  const char* detail;
  Engine engine;
  double ops;
  double bytes;
  double weight;  // relative
};

using enum Engine;
constexpr Phase kPre = Phase::kPrefill;
constexpr Phase kDec = Phase::kDecode;

// Operations and bytes of published shapes; source: arXiv 2607.14541, released data.
constexpr std::array kSizes = {
    Size{"rms_norm", "3", kPre, "tokens=16200 hidden=1024", kVectorF32, 49782600, 66357248, 8},
    Size{"rms_norm", "16", kPre, "tokens=1504 hidden=128", kVectorF32, 579040, 770304, 2},
    Size{"rms_norm", "38", kPre, "tokens=8290 hidden=2048", kVectorF32, 50942050, 67915776, 11},
    Size{"rms_norm", "48", kDec, "tokens=53 hidden=7168", kVectorF32, 1139765, 1533952, 9},
    Size{"rms_norm", "53", kPre, "tokens=3804 hidden=7168", kVectorF32, 81805020, 109082624, 14},
    Size{"silu_and_mul", "2", kPre, "rows=4688 width=768", kVectorF32, 18001920, 21602304, 10},
    Size{"silu_and_mul", "10", kDec, "rows=183 width=1024", kVectorF32, 936960, 1124352, 6},
    Size{"silu_and_mul", "23", kPre, "rows=8192 width=2048", kVectorF32, 83886080, 100663296, 17},
    Size{"silu_and_mul", "36", kPre, "rows=15381 width=4096", kVectorF32, 315002880, 378003456, 9},
    Size{"unified_attention", "0", kPre, "q_lens=256 (130 times) query_heads=10 head_size=128",
         kTensorBF16, 21895577600, 187442324, 38},
    Size{"unified_attention", "9", kPre, "q_lens=256 (324 times) query_heads=16 head_size=64",
         kTensorBF16, 87312826368, 849369892, 66},
    Size{"unified_attention", "20", kPre, "q_lens=6294 query_heads=32 kv_heads=4", kTensorBF16,
         324573020160, 116012596, 92},
    Size{"unified_attention", "21", kPre, "q_lens=2018 query_heads=32 kv_heads=8", kTensorBF16,
         33377009664, 41329160, 41},
    Size{"unified_attention", "c-decode-b64-8k", kDec, "q_lens=1 (64 times) kv_lens=8192",
         kTensorBF16, 8589934592, 2149580800, 118},
    Size{"unified_attention", "c-decode-b64-8k", Phase::kMixed,
         "q_lens=1 (63 times), 512 kv_lens=8192", kTensorBF16, 77309411328, 2153775104, 47},
    Size{"block_scaled_mm", "1", kPre, "m=1024 n=2048 k=2048", kTensorFp8, 8688500736, 14746624,
         31},
    Size{"block_scaled_mm", "3", kPre, "m=6918 n=2048 k=2048", kTensorFp8, 58698289152, 75478400,
         53},
    Size{"block_scaled_mm", "12", kDec, "m=237 n=4096 k=4096", kTensorFp8, 8044621824, 21665408,
         60},
    Size{"block_scaled_mm", "15", kPre, "m=8192 n=4096 k=4096", kTensorFp8, 278065577984, 185602048,
         84},
    Size{"block_scaled_mm", "17", kPre, "m=24576 n=4096 k=4096", kTensorFp8, 834196733952,
         523243520, 72},
};

DeviceCard SampleDevice() {
  DeviceCard card{.name = "Sample GPU", .kind = "cuda", .arch = "sm_90"};
  card.datasheet.present = true;
  card.datasheet.memory_bytes_per_s = 4.8e12;
  card.datasheet.launch_floor_s = 2e-6;
  card.datasheet.sources = {{"memory", "made up for tests"}, {"tensor_bf16", "made up for tests"}};
  const auto set = [](Ceilings* ceilings, Engine engine, double rate) {
    ceilings->ops_per_s[static_cast<size_t>(engine)] = rate;
  };
  set(&card.datasheet, kTensorBF16, 989e12);
  set(&card.datasheet, kTensorFp8, 1979e12);
  set(&card.datasheet, kVectorF32, 67e12);
  card.measured = card.datasheet;
  card.measured.memory_bytes_per_s = 4.1e12;
  card.measured.launch_floor_s = 2.3e-6;
  set(&card.measured, kTensorBF16, 760e12);
  set(&card.measured, kTensorFp8, 1300e12);
  set(&card.measured, kVectorF32, 54e12);
  card.measured_note = "made up for tests; no device was measured";
  return card;
}

Roof RoofOf(const WorkloadRow& row, const Ceilings& ceilings) {
  const double compute = row.ops / ceilings.ops_per_s[static_cast<size_t>(row.engine)];
  const double memory = row.bytes / ceilings.memory_bytes_per_s;
  const double floor = ceilings.launch_floor_s;
  const double sol = std::max({compute, memory, floor});
  const std::string bound = sol == floor    ? "launch"
                            : sol == memory ? "memory"
                                            : std::string(EngineName(row.engine));
  return {.sol_ns = sol * 1e9, .bound_by = bound};
}

WorkloadRow RowOf(const Size& size, double total, const DeviceCard& card) {
  WorkloadRow row{.op = size.op,
                  .shape = size.shape,
                  .phase = size.phase,
                  .detail = size.detail,
                  .engine = size.engine,
                  .ops = size.ops,
                  .bytes = size.bytes};
  const double weight = size.weight / total;
  row.weight = {.value = weight,
                .low = weight * 0.93,
                .high = weight * 1.08,
                .label = WeightLabel::kMined,
                .provenance = "sample"};
  row.datasheet = RoofOf(row, card.datasheet);
  row.measured = RoofOf(row, card.measured);
  row.deployed_ns = row.datasheet.sol_ns / 0.46;
  return row;
}

struct Maker {
  const char* name;
  Lane lane;
  Role role;
  double attained;  // typical share of the speed of light
  Shares shares;
};

// own, dsl, vendor, framework, compiler, prebuilt, runtime, unknown
constexpr Maker kCuda = {"cuda_v3", Lane::kCuda, Role::kCandidate, 0.74, {1, 0, 0, 0, 0, 0, 0, 0}};
constexpr Maker kTriton = {
    "triton", Lane::kTriton, Role::kCandidate, 0.66, {0, 0.985, 0, 0, 0, 0, 0.015, 0}};
constexpr Maker kDecoy = {
    "decoy_gemm", Lane::kCuda, Role::kCandidate, 0.7, {0.03, 0, 0.95, 0, 0, 0, 0, 0.02}};
constexpr Maker kEager = {
    "torch_eager", Lane::kTorch, Role::kBaseline, 0.41, {0, 0, 0.22, 0.74, 0, 0, 0.04, 0}};
constexpr Maker kCompile = {
    "torch_compile", Lane::kTorch, Role::kBaseline, 0.58, {0, 0, 0.21, 0.04, 0.75, 0, 0, 0}};

Interval Around(double median, double share) {
  return {.median = median, .low = median * (1 - share), .high = median * (1 + 1.4 * share)};
}

Verdict Passed(const WorkloadRow& row, const Maker& maker, Random* random) {
  const double noise = static_cast<double>(random->Below(1000)) / 1000;
  // Small workloads attain less, as they do.
  const double size = std::clamp((std::log10(row.datasheet.sol_ns) - 2.8) / 1.6, 0.35, 1.0);
  const double attained = maker.attained * size * (0.82 + 0.3 * noise);
  const double time = row.datasheet.sol_ns / std::min(attained, 0.97);
  Verdict verdict{.operator_name = row.op,
                  .shape = row.shape,
                  .phase = row.phase,
                  .candidate = maker.name,
                  .candidate_hash = Sha256Hex(maker.name),
                  .lane = maker.lane,
                  .role = maker.role,
                  .device = "Sample GPU",
                  .gate = Gate::kPerformance,
                  .outcome = Outcome::kPassed};
  verdict.time_ns = Around(time, random->Below(6) == 0 ? 0.07 : 0.004 + 0.02 * noise);
  verdict.attainment = Interval{.median = row.datasheet.sol_ns / verdict.time_ns->median,
                                .low = row.datasheet.sol_ns / verdict.time_ns->high,
                                .high = row.datasheet.sol_ns / verdict.time_ns->low};
  verdict.attainment_against = "datasheet";
  verdict.clocks = Clocks{.device = *verdict.time_ns,
                          .event = Around(time + 2350, 0.01),
                          .host = Around(time + 2900, 0.02)};
  verdict.shares = maker.shares;
  verdict.kernels = {
      fmt::format("{} 1.000 {}_{}_kernel", OwnerName(Owner::kOwn), row.op, maker.name)};
  verdict.reason = "timing is stable, the clocks agree";
  verdict.level = "user namespaces, seccomp, CUPTI";
  verdict.max_error = 0.11 + 0.4 * noise;
  return verdict;
}

void Refuse(Verdict* verdict, Gate gate, Outcome outcome, std::string reason) {
  verdict->gate = gate;
  verdict->outcome = outcome;
  verdict->reason = std::move(reason);
  if (gate == Gate::kPerformance) return;  // it was measured
  verdict->time_ns.reset();
  verdict->attainment.reset();
  verdict->clocks.reset();
  verdict->shares.reset();
  verdict->kernels.clear();
}

void FailSome(Run* run) {
  for (Verdict& v : run->verdicts) {
    if (v.candidate == "decoy_gemm") {
      Refuse(
          &v, Gate::kPerformance, Outcome::kFallback,
          "95 % of the device time is in libcublasLt.so.13, loaded by the candidate; a kernel of "
          "its own runs 0.4 us beside it");
    } else if (v.candidate == "triton" && v.shape == "c-decode-b64-8k") {
      Refuse(
          &v, Gate::kCorrectness, Outcome::kWrongOutput,
          "out: 4096 of 262144 elements over tolerance, the largest by 31 times, first at [63, 4, "
          "0]: got 0.0312, want 0.4688");
    } else if (v.candidate == "triton" && v.shape == "21") {
      Refuse(&v, Gate::kPerformance, Outcome::kUnstable,
             "the interval is 9.8 % of the median after 400 samples; asked for 2 %");
    } else if (v.candidate == "torch_compile" && v.shape == "17") {
      Refuse(&v, Gate::kCorrectness, Outcome::kTimedOut, "no answer within 120 s; it was killed");
    }
  }
}

// Weighted over the workloads of `op` (all: every one) and `phase`; what failed counts 0.
ScoreRow ScoreOf(const Run& run, const Maker& maker, const std::string& op,
                 std::optional<Phase> phase, ScoreKind kind) {
  ScoreRow row{.candidate = maker.name, .lane = maker.lane, .role = maker.role, .op = op};
  row.phase = phase;
  row.kind = kind;
  Interval fleet;
  double judged = 0;
  for (const Verdict& v : run.verdicts) {
    if (v.candidate != maker.name || (op != "all" && v.operator_name != op)) continue;
    if (phase && v.phase != *phase) continue;
    const auto workload = std::ranges::find_if(run.workloads, [&](const WorkloadRow& w) {
      return w.op == v.operator_name && w.shape == v.shape && w.phase == v.phase;
    });
    const double weight = workload->weight.value;
    row.weight += weight;
    judged += 1;
    row.pass.compile += 1;
    row.pass.correctness += v.gate == Gate::kPerformance ? 1 : 0;
    row.pass.performance += v.passed() ? 1 : 0;
    const double time = v.time_ns ? v.time_ns->median : workload->deployed_ns;
    fleet.median += weight * time / workload->deployed_ns;
    if (!v.passed()) continue;
    row.s += weight * v.attainment->median;
    row.low += weight * v.attainment->low;
    row.high += weight * v.attainment->high;
  }
  for (double* share : {&row.s, &row.low, &row.high}) *share /= row.weight;
  for (double* rate : {&row.pass.compile, &row.pass.correctness, &row.pass.performance}) {
    *rate /= judged;
  }
  row.adoption = Adoption(maker.shares);
  row.fleet_time = Around(fleet.median / row.weight, 0.012);
  return row;
}

void AddScores(Run* run, std::span<const Maker> makers) {
  std::vector<std::string> ops = {"all"};
  for (const WorkloadRow& row : run->workloads) {
    if (std::ranges::find(ops, row.op) == ops.end()) ops.push_back(row.op);
  }
  for (const Maker& maker : makers) {
    for (const std::string& op : ops) {
      const auto has = [&](const Verdict& v) {
        return v.candidate == maker.name && (op == "all" || v.operator_name == op);
      };
      if (std::ranges::none_of(run->verdicts, has)) continue;
      run->scores.push_back(ScoreOf(*run, maker, op, std::nullopt, ScoreKind::kRoofmark));
      run->scores.push_back(ScoreOf(*run, maker, op, std::nullopt, ScoreKind::kPublished));
    }
    for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      if (std::string_view(maker.name) == "decoy_gemm") continue;
      run->scores.push_back(ScoreOf(*run, maker, "all", phase, ScoreKind::kRoofmark));
    }
  }
}

Run RunOf(const std::vector<Size>& sizes, std::span<const Maker> makers) {
  Run run{.title = "Sample run", .date = "2026-11-29T12:00:00Z", .suite = "sample 1.0.0"};
  run.device = SampleDevice();
  run.driver = "580.0 (sample)";
  run.versions = {{"Roofmark", "0.1.0"}, {"CUDA", "13.0"}, {"PyTorch", "2.11"}};
  run.level = "user namespaces, seccomp, Landlock, CUPTI injection; clocks not locked";
  run.notes = {"Every time in this report is made up by formula; no device was measured."};
  double total = 0;
  for (const Size& size : sizes) total += size.weight;
  for (const Size& size : sizes) run.workloads.push_back(RowOf(size, total, *run.device));
  Random random(7);
  for (const Maker& maker : makers) {
    for (const WorkloadRow& row : run.workloads) {
      if (std::string_view(maker.name) == "decoy_gemm" && row.op != "block_scaled_mm") continue;
      run.verdicts.push_back(Passed(row, maker, &random));
    }
  }
  return run;
}

}  // namespace

Run SampleRun() {
  constexpr std::array kMakers = {kCuda, kTriton, kDecoy, kEager, kCompile};
  Run run = RunOf({kSizes.begin(), kSizes.end()}, kMakers);
  FailSome(&run);
  // A workload that nobody has judged yet, and one without a weight.
  std::erase_if(run.verdicts, [](const Verdict& v) {
    return v.operator_name == "silu_and_mul" && v.shape == "36";
  });
  run.workloads[1].weight = {};
  AddScores(&run, kMakers);
  run.readiness = {{.candidate = "cuda_v3", .ready = true},
                   {.candidate = "triton",
                    .ready = false,
                    .reasons = {"slower than torch_compile on rms_norm/16"}}};
  run.mined =
      MinedTotals{.profiles = 12,
                  .gpu_ns = 8.4e9,
                  .unattributed_ns = 1.3e9,
                  .loss = 0.0004,
                  .unattributed = {{"void at::native::vectorized_elementwise_kernel<4>", 7.1e8},
                                   {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 4.2e8}}};
  return run;
}

Run ReadyRun() {
  constexpr std::array kMakers = {kCuda, kEager};
  Run run = RunOf({kSizes.begin(), kSizes.begin() + 5}, kMakers);
  AddScores(&run, kMakers);
  run.readiness = {{.candidate = "cuda_v3", .op = "rms_norm", .ready = true}};
  return run;
}

Run HostileRun() {
  const std::string tag = kHostileTag;
  const std::string script = "</script><script>document.title='owned'</script>";
  Run run = SampleRun();
  run.title = "Run " + script + tag;
  run.suite += tag;
  run.level += "\x1b[31m" + script;
  run.notes.push_back("{{data}} {{script}} <!-- " + tag);
  run.driver += tag;
  run.device->name += " " + tag;
  run.device->measured_note += script;
  run.versions.emplace_back("__proto__", tag);
  run.mined->unattributed[0].first = "void k<" + script + ">(a, b)|\n" + tag;
  for (WorkloadRow& row : run.workloads) {
    if (row.op != "silu_and_mul") continue;
    row.op = "silu<b>" + tag;
    row.detail += " | " + tag + "\xff";
  }
  for (Verdict& v : run.verdicts) {
    if (v.operator_name == "silu_and_mul") v.operator_name = "silu<b>" + tag;
    if (v.candidate == "triton") v.candidate = "triton" + script + tag;
    if (v.passed()) continue;
    v.reason += " | " + script + tag + "\n| `x` | \x1b]0;owned\x07 [a](javascript:alert(1)) " +
                "<a href=\"https://example.com\">%{x}</a> &lt; \xe2\x80\xae";
    v.kernels.push_back(tag);
  }
  for (ScoreRow& row : run.scores) {
    if (row.candidate == "triton") row.candidate = "triton" + script + tag;
    if (row.op == "silu_and_mul") row.op = "silu<b>" + tag;
  }
  run.readiness[1].candidate = "triton" + script + tag;
  run.readiness[1].reasons = {tag + script};
  return run;
}

Run LargeRun(size_t workloads, size_t candidates) {
  std::vector<Size> sizes;
  std::vector<std::string> names;
  names.reserve(workloads);
  for (size_t i = 0; i < workloads; ++i) {
    Size size = kSizes[i % kSizes.size()];
    const double scale = 0.2 + 0.17 * static_cast<double>(i / kSizes.size());
    names.push_back(std::to_string(i));
    size.shape = names.back().c_str();
    size.ops *= scale;
    size.bytes *= scale * (1 + 0.01 * static_cast<double>(i % 7));
    size.weight *= scale;
    sizes.push_back(size);
  }
  constexpr std::array kMakers = {kCuda, kTriton, kEager, kCompile};
  Run run = RunOf(sizes, std::span(kMakers).first(std::min(candidates, kMakers.size())));
  FailSome(&run);
  AddScores(&run, std::span(kMakers).first(std::min(candidates, kMakers.size())));
  return run;
}

}  // namespace roofmark::report
