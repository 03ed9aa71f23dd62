// SPDX-License-Identifier: Apache-2.0
#include "score/sampling_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/student_t.h"

namespace roofmark::score {
namespace {

struct Draw {
  const Workload* workload = nullptr;  // nullptr: outside of the mean
  double probability = 1;
  double weight = 0;
  double residual = 0;
};
using DrawsOfStratum = std::vector<Draw>;

// Variances of independent parts, with their degrees of freedom.
struct Sum {
  double variance = 0;
  double by_degrees = 0;  // sum of variance^2 / degrees

  void Add(double part, double degrees) {
    variance += part;
    by_degrees += part * part / degrees;
  }
};

struct Mean {
  double weight = 0;
  double value = 0;
  double variance = 0;  // of the values, by weight
};

Mean MeanOf(std::span<const MeanTerm> terms) {
  Mean mean;
  double sum = 0;
  for (const MeanTerm& term : terms) {
    mean.weight += term.weight;
    sum += term.weight * term.value;
  }
  if (!(mean.weight > 0)) return mean;
  mean.value = sum / mean.weight;
  for (const MeanTerm& term : terms) {
    const double off = term.value - mean.value;
    mean.variance += term.weight / mean.weight * off * off;
  }
  const auto count = static_cast<double>(terms.size());
  if (count > 1) mean.variance *= count / (count - 1);
  return mean;
}

// The draws with a probability under 1 of each stratum that has one in the mean.
std::vector<DrawsOfStratum> StrataOf(std::span<const MeanTerm> terms, const SuiteDraws& draws,
                                     const Mean& mean) {
  std::map<std::string, const MeanTerm*> inside;
  for (const MeanTerm& term : terms) inside.emplace(term.workload->Id(), &term);
  std::map<std::string, DrawsOfStratum> strata;
  for (const auto& [id, drawn] : draws) {
    if (drawn.probability >= 1) continue;
    Draw draw{.probability = drawn.probability};
    if (const auto found = inside.find(id); found != inside.end()) {
      const MeanTerm& term = *found->second;
      draw.workload = term.workload;
      draw.weight = term.weight / mean.weight;
      draw.residual = draw.weight * (term.value - mean.value);
    }
    strata[drawn.stratum].push_back(draw);
  }
  std::vector<DrawsOfStratum> counted;
  for (auto& [name, stratum] : strata) {
    const bool any = std::ranges::any_of(stratum, [](const Draw& d) { return d.workload; });
    if (any) counted.push_back(std::move(stratum));
  }
  return counted;
}

void AddSeveral(const DrawsOfStratum& stratum, Sum& sum) {
  const auto count = static_cast<double>(stratum.size());
  double factors = 0;
  double centre = 0;
  for (const Draw& draw : stratum) {
    factors += 1 - draw.probability;
    centre += (1 - draw.probability) * draw.residual;
  }
  centre /= factors;
  double variance = 0;
  for (const Draw& draw : stratum) {
    const double off = draw.residual - centre;
    variance += (1 - draw.probability) * count / (count - 1) * off * off;
  }
  sum.Add(variance, count - 1);
}

// Strata with one draw each, as if they were one stratum.
void AddCollapsed(const DrawsOfStratum& singles, Sum& sum) {
  const auto count = static_cast<double>(singles.size());
  double weight = 0;
  double residual = 0;
  for (const Draw& draw : singles) {
    weight += draw.weight;
    residual += draw.residual;
  }
  if (!(weight > 0)) return;
  double variance = 0;
  for (const Draw& draw : singles) {
    const double off = draw.residual - draw.weight / weight * residual;
    variance += count / (count - 1) * off * off;
  }
  sum.Add(variance, count - 1);
}

// Adds up groups of several and returns what is alone in its group.
template <typename KeyOf>
DrawsOfStratum Collapse(const DrawsOfStratum& singles, KeyOf key_of, Sum& sum) {
  std::map<std::pair<std::string, Phase>, DrawsOfStratum> groups;
  for (const Draw& draw : singles) groups[key_of(draw)].push_back(draw);
  DrawsOfStratum left;
  for (const auto& [key, group] : groups) {
    if (group.size() > 1) {
      AddCollapsed(group, sum);
    } else {
      left.push_back(group.front());
    }
  }
  return left;
}

}  // namespace

SamplingError SamplingErrorOf(std::span<const MeanTerm> terms, const SuiteDraws& draws) {
  SamplingError sampling;
  const Mean mean = MeanOf(terms);
  if (!(mean.weight > 0)) return sampling;
  for (const MeanTerm& term : terms) {
    const auto found = draws.find(term.workload->Id());
    if (found == draws.end() || found->second.probability >= 1) continue;
    sampling.drawn += term.weight / mean.weight;
    ++sampling.draws;
  }
  Sum sum;
  DrawsOfStratum singles;
  for (const DrawsOfStratum& stratum : StrataOf(terms, draws, mean)) {
    if (stratum.size() > 1) {
      AddSeveral(stratum, sum);
    } else {
      singles.push_back(stratum.front());
    }
  }
  singles = Collapse(
      singles,
      [](const Draw& draw) {
        return std::pair(draw.workload->op->name, draw.workload->shape.phase);
      },
      sum);
  singles = Collapse(
      singles, [](const Draw& draw) { return std::pair(draw.workload->op->name, Phase::kUnknown); },
      sum);
  singles =
      Collapse(singles, [](const Draw&) { return std::pair(std::string(), Phase::kUnknown); }, sum);
  for (const Draw& draw : singles) {
    if (terms.size() > 1) {
      sum.Add(draw.weight * draw.weight * mean.variance, static_cast<double>(terms.size() - 1));
    } else {
      sampling.unknown += draw.weight;
    }
  }
  sampling.error = std::sqrt(sum.variance);
  if (sum.by_degrees > 0) {
    sampling.degrees = std::max(1.0, sum.variance * sum.variance / sum.by_degrees);
  }
  return sampling;
}

Interval Widened(const Interval& interval, const SamplingError& sampling, double least,
                 double most) {
  const double reach = StudentT95(sampling.degrees) * sampling.error;
  if (!(reach > 0)) return interval;
  Interval wide = interval;
  wide.low = std::max(std::min(least, interval.low),
                      interval.median - std::hypot(interval.median - interval.low, reach));
  wide.high = std::min(std::max(most, interval.high),
                       interval.median + std::hypot(interval.high - interval.median, reach));
  return wide;
}

}  // namespace roofmark::score
