// SPDX-License-Identifier: Apache-2.0
// roofmark mine --explain and --check: what mining makes of a kernel and why, and what a profile
// lacks. Both read profiles one by one and write no aggregate.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/mine_pages.h"
#include "trace/rule_stub.h"
#include "trace/trace.h"

namespace roofmark::cli {
namespace {

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Calls show(summary) for each profile that is named or found; searched files that are no profiles
// are passed over.
template <typename Show>
Result<size_t> ForEachProfile(const MineArgs& args, const Show& show) {
  const trace::Rules rules = TRY(trace::Rules::LoadDefault());
  size_t profiles = 0;
  for (trace::ProfileInput& input : TRY(trace::FindProfiles(args.profiles))) {
    input.options.explain = args.explain;
    const auto summary = trace::MineProfile(input.path, rules, input.options);
    if (!summary && input.searched) continue;
    if (!summary) return std::unexpected(summary.error());
    ++profiles;
    show(*summary);
  }
  if (profiles == 0) return Fail(ErrorKind::kNotFound, "no profile in what was named");
  return profiles;
}

Json ToJson(const trace::Explanation& explanation, const Json& profile) {
  Json lines = Json::MakeArray();
  for (const std::string& line : explanation.lines) lines.Push(line);
  const std::string_view from = trace::ShapeFromName(explanation.shape_from);
  return std::move(Json::MakeObject()
                       .Set("profile", profile)
                       .Set("launches", explanation.launches)
                       .Set("sum_ns", explanation.sum_ns)
                       .Set("shape_from", from.empty() ? Json() : Json(from))
                       .Set("lines", std::move(lines)));
}

void PrintExplanation(const trace::Explanation& explanation, int64_t sum_ns) {
  fmt::print("\n{}\n", explanation.lines.empty() ? "" : explanation.lines[0]);
  fmt::print("  {} launches, {}, {:.1f} % of the kernels' time\n", explanation.launches,
             HumanTime(static_cast<double>(explanation.sum_ns)),
             Percent(explanation.sum_ns, sum_ns));
  for (size_t i = 1; i < explanation.lines.size(); ++i) {
    fmt::print("  {}\n", explanation.lines[i]);
  }
}

}  // namespace

Result<int> ExplainKernels(const MineArgs& args) {
  const bool text = args.format == Format::kText;
  size_t matches = 0;
  TRY(ForEachProfile(args, [&](const trace::ProfileSummary& summary) {
    matches += summary.explanations.size();
    const Json& profile = *summary.json.Find("profile");
    if (text && !summary.explanations.empty()) fmt::print("{}\n", profile.as_string());
    for (const trace::Explanation& explanation : summary.explanations) {
      if (text) {
        PrintExplanation(explanation, summary.aggregate.sum_ns);
      } else {
        fmt::print("{}\n", ToJson(explanation, profile).Dump());
      }
    }
  }));
  if (matches > 0) return 0;
  return Fail(ErrorKind::kNotFound,
              fmt::format("no kernel's name holds '{}', and no kernel is of an operator of that "
                          "name: `mine` lists the operators, `mine --unknown` names of kernels",
                          args.explain));
}

Result<int> CheckProfiles(const MineArgs& args) {
  const bool text = args.format == Format::kText;
  bool unusable = false;
  TRY(ForEachProfile(args, [&](const trace::ProfileSummary& summary) {
    const Json& json = summary.json;
    for (const trace::Finding& finding : summary.findings) {
      unusable = unusable || finding.weight == trace::Weight::kUnusable;
    }
    if (!text) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("profile", *json.Find("profile"))
                             .Set("kind", *json.Find("kind"))
                             .Set("findings", *json.Find("findings"))
                             .Dump());
      return;
    }
    fmt::print("{}: {}, {} events, {} kernels, {} of GPU time\n", json.Find("profile")->as_string(),
               json.Find("kind")->as_string(), json.Find("events")->as_int(),
               json.Find("kernels")->as_int(),
               HumanTime(static_cast<double>(summary.aggregate.busy_ns)));
    for (const trace::Finding& finding : summary.findings) {
      fmt::print("  {:8} {:10} {}\n", trace::WeightName(finding.weight), finding.id, finding.what);
      if (!finding.way_out.empty()) fmt::print("  {:19} {}\n", "", finding.way_out);
    }
    if (summary.findings.empty()) fmt::print("  nothing is missing\n");
  }));
  return unusable ? 1 : 0;
}

void PrintUnknown(const std::vector<trace::UnknownKernel>& unknown, int64_t busy_ns,
                  Format format) {
  if (format == Format::kJson) {
    for (const trace::UnknownKernel& kernel : unknown) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("kernel", kernel.name)
                             .Set("exposed_ns", kernel.exposed_ns)
                             .Set("launches", kernel.launches)
                             .Set("contains", trace::BaseKernelName(kernel.name))
                             .Dump());
    }
    return;
  }
  fmt::print("\nkernels that no rule claims:\n");
  if (unknown.empty()) {
    fmt::print("  none\n");
    return;
  }
  for (const trace::UnknownKernel& kernel : unknown) {
    fmt::print("  {:>10} {:>6.2f} % {:>8} launches  {}\n",
               HumanTime(static_cast<double>(kernel.exposed_ns)),
               Percent(kernel.exposed_ns, busy_ns), kernel.launches, kernel.name);
  }
  fmt::print("\nas rules, to finish and put into rules/:\n\n{}", trace::RuleStubs(unknown));
}

}  // namespace roofmark::cli
