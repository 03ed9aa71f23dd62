// SPDX-License-Identifier: Apache-2.0
// Batches in which always the same call takes far longer than the others: the published time is a
// median, so work that one call does for all others would be in no number. What a kernel's data
// decide, or a machine's mood, hits calls at random. A first call also fetches the kernel's code,
// which the judge's own kernels put out of the caches between batches: where it is longer by no
// more than that takes, the mean of a batch's calls is the time instead, and all work is in it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace roofmark::gate {

class Uneven {
 public:
  // The times of a batch in nanoseconds, in order, and the slots of its calls. Which call is long
  // is not counted in batches of few calls, since there is no majority in them.
  void Add(std::span<const double> time_ns, const std::vector<size_t>& slots);
  // Whether half of the batches so far look uneven, and more of them are needed to say.
  bool Suspects() const;
  // Which call does the others' work, for a verdict; empty where none does.
  std::string Fault() const;
  // Whether it is the first call that is longer, always, by what fetching code takes.
  bool FetchesCode() const;
  // The mean time of each batch's calls, in nanoseconds.
  const std::vector<double>& means_ns() const { return means_ns_; }
  // What FetchesCode saw, for the verdict's level.
  std::string CodeText() const;
  // Whether in most batches the mean is longer than the median by more than honest calls vary.
  bool Skewed() const;
  std::string SkewText() const;

 private:
  std::vector<double> means_ns_;          // one a batch of three calls or more
  std::vector<double> skews_;             // and each over that batch's median
  std::map<size_t, size_t> by_position_;  // how often the call of this number was the long one
  std::map<size_t, size_t> by_slot_;
  size_t uneven_ = 0;
  std::vector<double> excess_ns_;  // of long first calls over their batches' medians
  double longest_ns_ = 0;          // of the last uneven batch, and the median there
  double median_ns_ = 0;
};

}  // namespace roofmark::gate
