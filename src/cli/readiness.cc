// SPDX-License-Identifier: Apache-2.0
#include "cli/readiness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace roofmark::cli {
namespace {

using Answer = FitnessItem::Answer;

FitnessItem Item(std::string name, bool fine, std::string why) {
  return {
      .name = std::move(name), .answer = fine ? Answer::kYes : Answer::kNo, .why = std::move(why)};
}

FitnessItem Gates(const std::vector<Verdict>& verdicts) {
  const auto passed = [](const Verdict& verdict) {
    return verdict.passed() && verdict.gate == Gate::kPerformance;
  };
  const auto fine = std::ranges::count_if(verdicts, passed);
  std::string why = fmt::format("{} of {} workloads passed all three", fine, verdicts.size());
  const auto bad = std::ranges::find_if_not(verdicts, passed);
  if (bad != verdicts.end()) {
    why += fmt::format("; {}: {} at the {} gate", bad->shape, OutcomeName(bad->outcome),
                       GateName(bad->gate));
  }
  return Item("gates", bad == verdicts.end(), std::move(why));
}

FitnessItem AdoptionOf(const std::vector<Verdict>& verdicts, double required) {
  double least = 1;
  for (const Verdict& verdict : verdicts) {
    if (verdict.role == Role::kBaseline) {
      return Item("adoption", false, "a baseline runs code of others by definition");
    }
    // Where the machine could not tell who ran, all shares are 0.
    if (!verdict.shares || *verdict.shares == Shares{}) {
      return Item("adoption", false, verdict.shape + ": it is not known whose code ran");
    }
    least = std::min(least, Adoption(*verdict.shares));
  }
  return Item("adoption", least >= required,
              fmt::format("at least {:.1f} % of device time in its own code; required {:.1f} %",
                          100 * least, 100 * required));
}

std::vector<FitnessItem> Compared(const AgainstSummary* compared) {
  if (compared == nullptr) {
    return {Item("not_slower", false, "nothing was compared"),
            Item("faster_in_total", false, "nothing was compared")};
  }
  if (compared->role == Role::kBaseline) {
    constexpr const char* kWhy = "it calls itself a baseline, and is compared as one";
    return {Item("not_slower", false, kWhy), Item("faster_in_total", false, kWhy)};
  }
  const Against& total = compared->total;
  std::string sum(StandingName(total.standing));
  if (total.ratio) {
    sum += fmt::format(", {:.3f} [{:.3f}, {:.3f}] of the time of {}", total.ratio->median,
                       total.ratio->low, total.ratio->high, total.baseline);
  }
  if (!total.reason.empty()) sum += "; " + total.reason;
  return {Item("not_slower", compared->not_slower,
               compared->not_slower
                   ? "shown on every weighted workload, against " + total.baseline
                   : "not shown on every weighted workload, against " + total.baseline),
          Item("faster_in_total", total.standing == Standing::kFaster, std::move(sum))};
}

// Of one item over all workloads: no where any says no, with what it says.
FitnessItem Worst(const std::vector<Verdict>& verdicts, const std::string& name) {
  FitnessItem worst;
  bool found = false;
  for (const Verdict& verdict : verdicts) {
    const auto item = std::ranges::find(verdict.fitness, name, &FitnessItem::name);
    if (item == verdict.fitness.end()) {
      return Item(name, false, verdict.shape + ": was not looked at, since a gate refused it");
    }
    if (!found) worst = *item;
    found = true;
    if (item->answer == Answer::kNo) return Item(name, false, verdict.shape + ": " + item->why);
  }
  return worst;
}

}  // namespace

std::vector<FitnessItem> Checklist(const std::vector<Verdict>& verdicts,
                                   const AgainstSummary* compared, double require_adoption) {
  std::vector<FitnessItem> items = {Gates(verdicts), AdoptionOf(verdicts, require_adoption)};
  std::ranges::move(Compared(compared), std::back_inserter(items));
  for (const char* name :
       {"cuda_graph", "host_synchronisation", "allocation", "workspace", "deterministic"}) {
    items.push_back(Worst(verdicts, name));
  }
  return items;
}

bool IsReady(const std::vector<FitnessItem>& items) {
  return !items.empty() && std::ranges::none_of(items, [](const FitnessItem& item) {
    return item.answer == Answer::kNo;
  });
}

void Readiness::Add(const Verdict& verdict) {
  for (std::vector<Verdict>& verdicts : by_candidate_) {
    const Verdict& first = verdicts.front();
    if (first.candidate == verdict.candidate && first.candidate_hash == verdict.candidate_hash) {
      verdicts.push_back(verdict);
      return;
    }
  }
  by_candidate_.push_back({verdict});
}

bool Readiness::Finish(const std::vector<AgainstSummary>& compared, Format format) const {
  bool all = !by_candidate_.empty();
  for (const std::vector<Verdict>& verdicts : by_candidate_) {
    const Verdict& first = verdicts.front();
    const auto summary = std::ranges::find_if(compared, [&](const AgainstSummary& one) {
      return one.candidate == first.candidate && one.hash == first.candidate_hash;
    });
    const std::vector<FitnessItem> items =
        Checklist(verdicts, summary == compared.end() ? nullptr : &*summary, require_adoption_);
    const bool ready = IsReady(items);
    all = all && ready;
    if (format == Format::kJson) {
      Json list = Json::MakeArray();
      for (const FitnessItem& item : items) list.Push(FitnessToJson(item));
      fmt::print("{}\n", Json::MakeObject()
                             .Set("operator", first.operator_name)
                             .Set("candidate", first.candidate)
                             .Set("mode", ModeName(first.mode))
                             .Set("workloads", static_cast<int64_t>(verdicts.size()))
                             .Set("ready", ready)
                             .Set("items", std::move(list))
                             .Dump());
      continue;
    }
    fmt::print("{} on {} workloads of {}: {}\n", first.candidate, verdicts.size(),
               first.operator_name, ready ? "ready" : "not ready");
    for (const FitnessItem& item : items) {
      const bool applies = item.answer != Answer::kNotApplicable;
      fmt::print("  {:14} {:21} {}\n", applies ? AnswerName(item.answer) : "not applicable",
                 item.name, ValidUtf8(item.why));
    }
  }
  return all;
}

}  // namespace roofmark::cli
