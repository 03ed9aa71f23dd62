// SPDX-License-Identifier: Apache-2.0
// A referee for tests: kernels are texts with a scripted time or outcome, and their samples carry
// noise that depends on nothing but the two texts and the depth. It records its matches and can be
// told to fail.
#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "agent/referee.h"
#include "base/files.h"
#include "base/hash.h"

namespace roofmark::agent {

struct ScriptedKernel {
  double time_ns = 1000;
  Outcome outcome = Outcome::kPassed;
};

class ScriptedReferee : public Referee {
 public:
  // Asked for a kernel's script by its text.
  using Script = std::function<ScriptedKernel(const std::string& text)>;
  explicit ScriptedReferee(Script script) : script_(std::move(script)) {}

  Result<Match> Play(const fs::path& incumbent, const fs::path& challenger, Depth depth) override {
    const std::string a = TRY(ReadFile(incumbent));
    const std::string b = TRY(ReadFile(challenger));
    matches.emplace_back(a, b);
    if (before_match) TRY(before_match(matches.size()));
    Random random(std::stoull(Sha256Hex(a + "|" + b).substr(0, 15), nullptr, 16) +
                  static_cast<uint64_t>(depth));
    const size_t samples = depth == Depth::kScreen ? 32 : 128;
    return Match{.incumbent = VerdictOf(script_(a), samples, &random),
                 .challenger = VerdictOf(script_(b), samples, &random)};
  }

  std::vector<std::pair<std::string, std::string>> matches;  // texts, in order
  double noise = 0.01;
  // Called with the number of the match (from 1) before it is played; an error ends the campaign.
  std::function<Result<void>(size_t)> before_match;

 private:
  Verdict VerdictOf(const ScriptedKernel& kernel, size_t samples, Random* random) const {
    Verdict verdict{
        .operator_name = "op", .shape = "s", .gate = Gate::kPerformance, .outcome = kernel.outcome};
    if (kernel.outcome != Outcome::kPassed && kernel.outcome != Outcome::kUnstable) {
      verdict.gate = Gate::kCorrectness;
      verdict.reason = "scripted";
      return verdict;
    }
    for (size_t i = 0; i < samples; ++i) {
      const double u = static_cast<double>(random->Next() >> 11) * 0x1p-53;
      const double v = static_cast<double>(random->Next() >> 11) * 0x1p-53;
      const double normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
      verdict.samples_ns.push_back(kernel.time_ns * std::exp(noise * normal));
    }
    verdict.time_ns = MedianInterval(verdict.samples_ns);
    return verdict;
  }

  Script script_;
};

}  // namespace roofmark::agent
