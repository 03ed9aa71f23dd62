// SPDX-License-Identifier: Apache-2.0
#include "cli/mined_suite_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cli/fleet_table.h"

namespace roofmark::cli {
namespace {

// An array of two numbers.
Result<std::pair<double, double>> Ends(const Json& json, std::string_view key) {
  const Json::Array& ends = TRY(json.ArrayAt(key))->array();
  if (ends.size() != 2 || !ends[0].is_number() || !ends[1].is_number()) {
    return Fail(ErrorKind::kInput, fmt::format("{} is no pair of numbers", key));
  }
  return std::pair(ends[0].as_double(), ends[1].as_double());
}

// "[1.23, 4.56]" of `recordings`; it is null where each group was recorded once.
Result<std::string> RecordedText(const Json& json) {
  const Json* recordings = json.Find("recordings");
  if (recordings != nullptr && recordings->is_null()) return "once only";
  const auto [low, high] = TRY(Ends(json, "recordings"));
  return IntervalText(low, high);
}

// "1", or "1-3" where other fleets of this kind would rank it so.
Result<std::string> RankText(const Json& row) {
  const auto [first, last] = TRY(Ends(row, "rank"));
  return first == last ? fmt::format("{:.0f}", first) : fmt::format("{:.0f}-{:.0f}", first, last);
}

Result<void> PrintOperators(const Json& suite) {
  // Of one application nobody can tell what others like it do.
  const std::string interval = TRY(TRY(suite.ObjectAt("fleet"))->String("interval"));
  const bool several = interval.find("over applications") != std::string::npos;
  fmt::print("{:28} {:>8} {:>16} {:>16} {:>6} {:>12}\n", "share of GPU time (95 %)", "",
             "recorded again", "fleets like it", "rank", "in workloads");
  for (const Json& row : TRY(suite.ArrayAt("operators"))->array()) {
    const Json& share = *TRY(row.ObjectAt("share"));
    const double low = TRY(share.Double("low"));
    fmt::print("{:28} {:>6.2f} % {:>16} {:>16} {:>6} {:>10.2f} %\n", TRY(row.String("operator")),
               100 * TRY(share.Double("value")), TRY(RecordedText(row)),
               several ? IntervalText(low, TRY(share.Double("high"))) : "one only",
               TRY(RankText(row)), 100 * TRY(row.Double("in_workloads")));
  }
  fmt::print("{}", kIntervalsExplained);
  return {};
}

// The mass outside the suite and why it is there, largest first.
Result<void> PrintOutside(const Json& suite) {
  std::map<std::string, double> shares;
  for (const Json& row : TRY(suite.ArrayAt("operators"))->array()) {
    const Json& outside = *TRY(row.ObjectAt("outside"));
    for (const auto& [why, share] : outside.object()) shares[why] += TRY(outside.Double(why));
  }
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  fmt::print("\nmass outside the suite: {:.2f} %\n", 100 * TRY(suite.Double("outside")));
  bool sizes = false;
  for (const auto& [why, share] : sorted) {
    fmt::print("  {:>6.2f} %  {}\n", 100 * share, why);
    sizes = sizes || (why.starts_with("axis ") && why.ends_with(" not recorded"));
  }
  if (sizes) fmt::print("(the manifest's column `config` tells sizes that profiles lack)\n");
  return {};
}

// What is known of operators with a card whose shapes are not.
Result<void> PrintUnshaped(const Json& suite) {
  const double unknown = TRY(suite.Double("shape_unknown"));
  const double imputable = TRY(suite.Double("imputable"));
  if (!(unknown > 0)) return {};
  const bool imputed = TRY(suite.Double("imputed")) > 0;
  fmt::print("shapes unknown: {:.2f} %, of which {:.2f} % {} over known shapes{}\n", 100 * unknown,
             100 * imputable, imputed ? "are spread" : "could be spread",
             imputed || !(imputable > 0) ? "" : ": --impute");
  return {};
}

// An estimate that rests on a few draws is unbiased and unsteady.
Result<void> WarnOfFewDraws(const Json& suite) {
  constexpr double kMuch = 0.25;
  double drawn = 0;
  double largest = 0;
  int64_t draws = 0;
  for (const Json& workload : TRY(suite.ArrayAt("workloads"))->array()) {
    if (TRY(TRY(workload.ObjectAt("selection"))->String("as")) != "tail") continue;
    const double weight = TRY(TRY(workload.ObjectAt("weight"))->Double("value"));
    drawn += weight;
    largest = std::max(largest, weight);
    ++draws;
  }
  if (drawn < kMuch) return {};
  const std::string one = draws == 1 ? "" : fmt::format(", one for {:.1f} %", 100 * largest);
  fmt::print("{} draw{} for {:.1f} % of the GPU time{}: more --shapes make a score steadier\n",
             draws, draws == 1 ? " stands" : "s stand", 100 * drawn, one);
  return {};
}

Result<void> PrintSelection(const Json& suite) {
  std::map<std::string, int64_t> counts;
  for (const Json& workload : TRY(suite.ArrayAt("workloads"))->array()) {
    ++counts[TRY(TRY(workload.ObjectAt("selection"))->String("as"))];
  }
  if (counts["tail"] + counts["robustness"] > 0) {
    fmt::print("{} for sure ({:.1f} %), {} drawn for the rest, {} extremes without weight\n",
               counts["certain"], 100 * TRY(suite.Double("certain")), counts["tail"],
               counts["robustness"]);
  }
  if (const auto& strata = TRY(suite.ArrayAt("strata"))->array(); !strata.empty()) {
    const auto measured = std::ranges::count_if(strata, [](const Json& stratum) {
      const Json* deviation = stratum.Find("deviation");
      return deviation != nullptr && !deviation->is_null();
    });
    fmt::print("the tail has {} strat{}, drawn from {}\n", strata.size(),
               strata.size() == 1 ? "um" : "a",
               measured > 0 ? "by share and by how attainment varied in earlier rounds"
                            : "by share (--judged STORE: also by how attainment varied)");
    TRY(WarnOfFewDraws(suite));
  }
  std::string curve;
  for (const Json& point : TRY(suite.ArrayAt("coverage_curve"))->array()) {
    curve += fmt::format("{}{:.0f} % by {}", curve.empty() ? "" : ", ",
                         100 * TRY(point.Double("of_admitted")), TRY(point.Int("shapes")));
  }
  fmt::print("of what they speak for: {} shapes\n", curve);
  return {};
}

// "prefill 41.2 -> 30.0 %"
Result<void> PrintMix(const Json& suite) {
  if (suite.Find("phase_mix") == nullptr) return {};
  std::string text;
  for (const Json& phase : TRY(suite.ArrayAt("phase_mix"))->array()) {
    text +=
        fmt::format("{}{} {:.1f} -> {:.1f} %", text.empty() ? "" : ", ", TRY(phase.String("phase")),
                    100 * TRY(phase.Double("mined")), 100 * TRY(phase.Double("weighed")));
  }
  fmt::print("phases reweighed, recorded -> asked: {}\n", text);
  return {};
}

Result<void> PrintRefresh(const Json& suite) {
  if (const Json* smoothing = suite.Find("smoothing")) {
    const double now = 100 * TRY(smoothing->Double("new_weight"));
    const std::string from = TRY(smoothing->String("from"));
    fmt::print("weights: {:.0f} % this window, {:.0f} % the earlier one ({})\n", now, 100 - now,
               from == "asked" ? "as asked" : "by their " + from);
  }
  if (const Json* refresh = suite.Find("refresh")) {
    fmt::print(
        "{} shapes are of the previous suite, {} new; {} stay once more without weight, {} "
        "retired\n",
        TRY(refresh->Int("kept")), TRY(refresh->Int("new")), TRY(refresh->Int("retiring")),
        TRY(refresh->Int("retired")));
  }
  return {};
}

// "app-03 and 2 more"
Result<std::string> ApplicationsText(const Json& workload) {
  const Json::Array& applications = TRY(workload.ArrayAt("applications"))->array();
  if (applications.empty() || !applications[0].is_array() || applications[0].array().empty() ||
      !applications[0].array()[0].is_string()) {
    return "";
  }
  const std::string& first = applications[0].array()[0].as_string();
  const std::string name = first.size() == 64 ? first.substr(0, 12) : first;  // a profile's hash
  return applications.size() == 1 ? name
                                  : fmt::format("{} and {} more", name, applications.size() - 1);
}

}  // namespace

Result<void> PrintMinedSuite(const Json& suite) {
  TRY(PrintOperators(suite));
  TRY(PrintOutside(suite));
  fmt::print(
      "{} mined workloads speak for {:.1f} % of the fleet's GPU time; {:.2f} % is "
      "unattributed\n",
      TRY(suite.ArrayAt("workloads"))->array().size(), 100 * TRY(suite.Double("coverage")),
      100 * TRY(suite.Double("unattributed")));
  TRY(PrintMix(suite));
  TRY(PrintUnshaped(suite));
  TRY(PrintSelection(suite));
  return PrintRefresh(suite);
}

Result<void> PrintMinedWorkloads(const Json& suite) {
  struct Line {
    double weight = 0;
    std::string text;
  };
  std::vector<Line> lines;
  for (const Json& workload : TRY(suite.ArrayAt("workloads"))->array()) {
    const Json& selection = *TRY(workload.ObjectAt("selection"));
    const double weight = TRY(TRY(workload.ObjectAt("weight"))->Double("value"));
    constexpr size_t kWidth = 60;
    std::string axes = TRY(workload.ObjectAt("axes"))->Dump();
    if (axes.size() > kWidth) axes = axes.substr(0, kWidth) + "...";
    lines.push_back({.weight = weight,
                     .text = fmt::format(
                         "{:24} {:20} {:8} {:>6.2f} % {:>16}  {:10} {:>7.2g}  {:20} {}\n",
                         TRY(workload.String("operator")), TRY(workload.String("shape")),
                         TRY(workload.String("phase")), 100 * weight, TRY(RecordedText(workload)),
                         TRY(selection.String("as")), TRY(selection.Double("probability")),
                         TRY(ApplicationsText(workload)), axes)});
  }
  std::ranges::stable_sort(lines, std::greater<>(), &Line::weight);
  fmt::print("\n{:24} {:20} {:8} {:>8} {:>16}  {:10} {:>7}  {:20} {}\n", "operator", "shape",
             "phase", "weight", "recorded again", "selected", "prob.", "mostly from", "axes");
  for (const Line& line : lines) fmt::print("{}", line.text);
  return {};
}

}  // namespace roofmark::cli
