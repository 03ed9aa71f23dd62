// SPDX-License-Identifier: Apache-2.0
#include "gate/uneven.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/stats.h"
#include "base/text.h"

namespace roofmark::gate {
namespace {

constexpr size_t kLeastCalls = 6;
constexpr size_t kLeastForMeans = 3;
// A batch's mean over its median, in the middle of a timing's batches: at most 1.044 in 567 honest
// timings on an H200, cut into batches of 3, 5 and 16 calls (samples.jsonl.gz).
constexpr double kSkew = 1.06;
constexpr double kWorksForOthers = 1.5;
// A call is long when it takes this much more than its batch's median: of 567 honest timings on an
// H200 (results/h200-2026-11-30/samples.jsonl.gz) no call did.
constexpr double kLongRatio = 1.5;
constexpr double kLongNs = 3000;
// A random one of six calls is the same in five of six batches once in 250 times, and only where
// every batch has a long call at all.
constexpr size_t kBatches = 6;
// What fetching its code may cost a first call: 7.1 and 8.1 us were seen of a sort in registers
// (candidates/topk_filter/triton.py on two small shapes, an H200, 2026-11-30).
constexpr double kCodeNs = 12'000;

size_t Most(const std::map<size_t, size_t>& counts) {
  size_t most = 0;
  for (const auto& [key, count] : counts) most = std::max(most, count);
  return most;
}

}  // namespace

void Uneven::Add(std::span<const double> time_ns, const std::vector<size_t>& slots) {
  if (time_ns.size() < kLeastForMeans || slots.size() != time_ns.size()) return;
  const double median = Median(time_ns);
  means_ns_.push_back(std::accumulate(time_ns.begin(), time_ns.end(), 0.0) /
                      static_cast<double>(time_ns.size()));
  skews_.push_back(median > 0 ? means_ns_.back() / median : 1);
  if (time_ns.size() < kLeastCalls) return;
  const auto longest = std::ranges::max_element(time_ns);
  if (*longest <= kLongRatio * median || *longest <= median + kLongNs) return;
  const auto position = static_cast<size_t>(longest - time_ns.begin());
  ++uneven_;
  ++by_position_[position];
  ++by_slot_[slots[position]];
  if (position == 0) excess_ns_.push_back(*longest - median);
  longest_ns_ = *longest;
  median_ns_ = median;
}

bool Uneven::Suspects() const {
  if (means_ns_.empty() || means_ns_.size() >= kBatches) return false;
  return (uneven_ > 0 && 2 * uneven_ >= means_ns_.size()) || Median(skews_) > kSkew;
}

bool Uneven::Skewed() const {
  return means_ns_.size() >= kBatches && Median(skews_) > kSkew;
}

std::string Uneven::SkewText() const {
  return fmt::format(
      "the mean of a batch's calls is {:.2f} times their median: times are means of batches",
      Median(skews_));
}

bool Uneven::FetchesCode() const {
  return means_ns_.size() >= kBatches && 6 * excess_ns_.size() >= 5 * means_ns_.size() &&
         Median(excess_ns_) <= kCodeNs;
}

std::string Uneven::CodeText() const {
  return fmt::format(
      "the first call of a batch takes {} where the median is {}, as if it fetched the kernel's "
      "code: times are means of batches",
      HumanTime(longest_ns_), HumanTime(median_ns_));
}

std::string Uneven::Fault() const {
  if (means_ns_.size() < kBatches || FetchesCode()) return "";
  const size_t position = Most(by_position_);
  const size_t slot = Most(by_slot_);
  const size_t same = std::max(position, slot);
  if (6 * same < 5 * means_ns_.size()) {
    if (!Skewed() || Median(skews_) < kWorksForOthers) return "";
    return fmt::format(
        "the mean of a batch's calls is {:.2f} times their median (of {} batches): a few calls do "
        "the work of the others",
        Median(skews_), skews_.size());
  }
  return fmt::format(
      "in {} of {} batches the same call, by its {}, takes {} where the median of its batch is {}: "
      "it does work for the other calls",
      same, means_ns_.size(), position >= slot ? "place in the batch" : "operands",
      HumanTime(longest_ns_), HumanTime(median_ns_));
}

}  // namespace roofmark::gate
