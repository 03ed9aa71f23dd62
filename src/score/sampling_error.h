// SPDX-License-Identifier: Apache-2.0
// The part of a score's error that comes from the suite: its tail was drawn by probability, and
// other draws would have given another score.
#pragma once

#include <cstdint>
#include <span>

#include "base/stats.h"
#include "model/suite_draws.h"
#include "model/workload.h"

namespace roofmark::score {

// A workload's figure in a weighted mean; its weight is share / probability.
struct MeanTerm {
  const Workload* workload = nullptr;
  double weight = 0;
  double value = 0;
};

struct SamplingError {
  double drawn = 0;    // share of the mean's weight that drawn workloads carry
  int64_t draws = 0;   // how many these are
  double error = 0;    // standard error of the mean
  double degrees = 1;  // of freedom, for Student's t
  double unknown = 0;  // share of the weight whose draws tell no error: too few of them
};

// The standard error of sum(w y) / sum(w) over the terms, as an estimate of the mean over all
// workloads that the suite was selected from. The mean is a ratio of two Horvitz-Thompson
// estimates, so the variance is that of the estimated total of its residuals
// z = w (y - mean) / sum(w) (linearisation), which are 0 for drawn workloads outside of the terms.
// It is the sum over the strata of `draws`:
//   several draws   Hajek's estimate, which needs no joint probabilities (those of a systematic
//                   sample are not all positive): sum c (z - B)^2 with c = (1 - p) n / (n - 1) and
//                   B = sum(c z) / sum(c) over the n draws with a probability p under 1. The order
//                   of a systematic draw helps and is not counted, so it errs to the wide side.
//   one draw        collapsed strata: with single draws of the same operator and phase, else of the
//                   operator, else of any, g/(g - 1) sum (z - w/sum(w) sum(z))^2 over these g,
//                   which errs to the wide side by what the strata differ. A single one that is
//                   left is lent the variance of y over all terms; with fewer than two terms it is
//                   `unknown`.
// Degrees of freedom: Satterthwaite's.
// Sources: Saerndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), chapter 5 (ratios
// and domains by linearisation) and section 3.7 (strata); Hajek, "Asymptotic theory of rejective
// sampling with varying probabilities from a finite population", Annals of Mathematical Statistics
// 35 (1964), as in Tille, Sampling Algorithms (2006), section 7.5; Wolter, Introduction to Variance
// Estimation, 2nd ed. (2007), section 2.5 (collapsed strata).
SamplingError SamplingErrorOf(std::span<const MeanTerm> terms, const SuiteDraws& draws);

// A 95 % interval with a second, independent error added: from the ends' distances to the point, by
// the root of their squares. `least` and `most` bound what the figure can be.
// Source: Zou, Donner, "Construction of confidence limits about effect measures: a general
// approach", Statistics in Medicine 27 (2008).
Interval Widened(const Interval& interval, const SamplingError& sampling, double least,
                 double most);

}  // namespace roofmark::score
