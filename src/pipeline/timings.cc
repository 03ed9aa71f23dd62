// SPDX-License-Identifier: Apache-2.0
#include "pipeline/timings.h"

#include <fmt/format.h>

#include <numeric>

#include "base/text.h"

namespace roofmark::pipeline {
namespace {

Json PartsToJson(const gate::PartSeconds& parts) {
  Json json = Json::MakeObject();
  for (size_t i = 0; i < gate::kPartCount; ++i) {
    if (parts[i] > 0) json.Set(gate::PartName(static_cast<gate::Part>(i)), parts[i]);
  }
  return json;
}

std::string_view KindText(gate::PartKind kind) {
  switch (kind) {
    case gate::PartKind::kCompiling:
      return "compiling";
    case gate::PartKind::kReference:
      return "reference";
    case gate::PartKind::kMeasuring:
      return "measuring";
    case gate::PartKind::kOverhead:
      return "overhead";
    case gate::PartKind::kNotOurs:
      break;
  }
  return "another judge";
}

std::string Human(double seconds) {
  return HumanTime(seconds * 1e9);
}

double Share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

}  // namespace

Json TimingsToJson(const gate::Ledger::Totals& totals, size_t workloads) {
  Json candidates = Json::MakeArray();
  for (const auto& [who, parts] : totals.whose) {
    candidates.Push(Json::MakeObject().Set("candidate", who).Set("parts", PartsToJson(parts)));
  }
  Json timings = Json::MakeObject().Set("wall_s", totals.wall_s).Set("workloads", workloads);
  if (workloads > 0) {
    timings.Set("s_per_workload", totals.wall_s / static_cast<double>(workloads));
  }
  timings.Set("overhead_share", totals.OverheadShare())
      .Set("parts", PartsToJson(totals.all))
      .Set("ahead", PartsToJson(totals.ahead))
      .Set("candidates", std::move(candidates));
  return Json::MakeObject().Set("timings", std::move(timings));
}

std::string TimingsTable(const gate::Ledger::Totals& totals, size_t workloads) {
  std::string table = fmt::format("{:14} {:14} {:>10} {:>7} {:>12}\n", "time of", "is", "in all",
                                  "share", "done ahead");
  for (size_t i = 0; i < gate::kPartCount; ++i) {
    if (totals.all[i] <= 0 && totals.ahead[i] <= 0) continue;
    const auto part = static_cast<gate::Part>(i);
    table += fmt::format("{:14} {:14} {:>10} {:>5.1f} % {:>12}\n", gate::PartName(part),
                         KindText(gate::KindOf(part)), Human(totals.all[i]),
                         Share(totals.all[i], totals.wall_s),
                         totals.ahead[i] > 0 ? Human(totals.ahead[i]) : "-");
  }
  for (const auto& [who, parts] : totals.whose) {
    table += fmt::format("{:14} {}\n", Human(std::accumulate(parts.begin(), parts.end(), 0.0)),
                         who.empty() ? "before and between" : who);
  }
  table += fmt::format("{} in all", Human(totals.wall_s));
  if (workloads > 0) {
    table += fmt::format(", {} a shape over {}",
                         Human(totals.wall_s / static_cast<double>(workloads)), workloads);
  }
  return table + fmt::format("; overhead {:.1f} %\n", 100 * totals.OverheadShare());
}

}  // namespace roofmark::pipeline
