// SPDX-License-Identifier: Apache-2.0
#include "gate/coldness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/stats.h"
#include "device/cuda_stage.h"

namespace roofmark::gate {
namespace {

constexpr int64_t kLine = 128;
constexpr int64_t kPage = int64_t{2} << 20;
// Beside the first line of a page, which the probe reads to find the page, lie lines of nobody.
constexpr int64_t kHeadOfPage = 4096;
// Operands count as warm when this much more of their lines than of the known misses were fast: a
// tenth of its operands in the cache shortens no call by a tenth.
constexpr double kWarmShare = 0.10;
constexpr double kDeviations = 3;
// A verdict rests on no fewer lines.
constexpr int64_t kLeastLines = 64;
// Nor on fewer batches. Of 1250 verdicts on an H200 none lacked clear readings.
constexpr int64_t kLeastBatches = 6;
// The median miss took 1.78 times the median hit at least in these verdicts.
constexpr double kAlike = 1.25;

Result<std::vector<double>> Cycles(const Json& probe, const char* key) {
  std::vector<double> cycles;
  for (const Json& one : TRY(probe.ArrayAt(key))->array()) {
    if (!one.is_int() || one.as_int() < 0) {
      return Fail(ErrorKind::kInput, fmt::format("{} of a probe are no cycles", key));
    }
    cycles.push_back(static_cast<double>(one.as_int()));
  }
  return cycles;
}

double ShareOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// That a flush was kept from evicting: its own lines say so, or this device tells hits from misses
// of others.
std::string BlurredFault(const Coldness& coldness) {
  const auto most = [&coldness](int64_t batches) { return 2 * batches > coldness.batches; };
  if (coldness.batches < kLeastBatches || !most(coldness.unclear)) return "";
  if (most(coldness.alike)) {
    return fmt::format(
        "in {} of {} batches lines that the flush evicts loaded as fast as lines in the L2 cache: "
        "the flush was kept from its work",
        coldness.alike, coldness.batches);
  }
  if (coldness.clear_elsewhere < kLeastBatches) return "";
  return fmt::format(
      "in {} of {} batches loads from the L2 cache could not be told from others, which this "
      "device shows clearly of other candidates: the flush or its probe was disturbed",
      coldness.unclear, coldness.batches);
}

}  // namespace

void Coldness::Add(const Coldness& other) {
  sampled += other.sampled;
  warm += other.warm;
  misses += other.misses;
  misses_fast += other.misses_fast;
  batches += other.batches;
  unclear += other.unclear;
  alike += other.alike;
  clear_elsewhere = std::max(clear_elsewhere, other.clear_elsewhere);
  if (other.batches == 0) return;
  hit_cycles = other.hit_cycles;
  miss_cycles = other.miss_cycles;
}

std::vector<int64_t> SampleLines(const device::ArenaLayout& operands, Random* random) {
  std::vector<const device::TensorPlace*> cold;
  int64_t lines = 0;
  const auto lines_of = [](const device::TensorPlace& place) {
    return place.tensor.Bytes() / kLine;
  };
  for (const device::TensorPlace& place : operands.places) {
    if (place.tensor.residency != Residency::kCold || lines_of(place) == 0) continue;
    cold.push_back(&place);
    lines += lines_of(place);
  }
  std::set<int64_t> chosen;
  for (size_t tries = 0; lines > 0 && tries < 4 * device::kProbedLines; ++tries) {
    if (chosen.size() == device::kProbedLines) break;
    auto line = static_cast<int64_t>(random->Below(static_cast<uint64_t>(lines)));
    size_t at = 0;
    while (line >= lines_of(*cold[at])) line -= lines_of(*cold[at++]);
    const int64_t offset = cold[at]->offset + line * kLine;
    if (offset % kPage >= kHeadOfPage) chosen.insert(offset);
  }
  return {chosen.begin(), chosen.end()};
}

Result<Coldness> ReadColdness(const Json& probe, size_t lines) {
  const std::vector<double> operands = TRY(Cycles(probe, "operands"));
  const std::vector<double> hits = TRY(Cycles(probe, "hits"));
  const std::vector<double> misses = TRY(Cycles(probe, "misses"));
  if (operands.size() != lines || hits.size() != misses.size() || (lines > 0 && hits.empty())) {
    return Fail(ErrorKind::kInput, "a probe lacks lines");
  }
  Coldness found;
  if (lines == 0) return found;
  found.batches = 1;
  found.hit_cycles = Median(hits);
  found.miss_cycles = Median(misses);
  if (Quantile(hits, 0.75) >= Quantile(misses, 0.25)) {
    found.unclear = 1;
    found.alike = found.miss_cycles < kAlike * found.hit_cycles ? 1 : 0;
    return found;
  }
  const double limit = (Quantile(hits, 0.9) + Quantile(misses, 0.1)) / 2;
  const auto fast = [limit](double cycles) { return cycles < limit; };
  found.sampled = static_cast<int64_t>(operands.size());
  found.warm = std::ranges::count_if(operands, fast);
  found.misses = static_cast<int64_t>(misses.size());
  found.misses_fast = std::ranges::count_if(misses, fast);
  return found;
}

std::string WarmFault(const Coldness& coldness) {
  if (std::string blurred = BlurredFault(coldness); !blurred.empty()) return blurred;
  if (coldness.sampled < kLeastLines || coldness.misses == 0) return "";
  const double excess =
      ShareOf(coldness.warm, coldness.sampled) - ShareOf(coldness.misses_fast, coldness.misses);
  // The deviation of a difference of two shares, if both were one.
  const double both =
      ShareOf(coldness.warm + coldness.misses_fast, coldness.sampled + coldness.misses);
  const double lines =
      1 / static_cast<double>(coldness.sampled) + 1 / static_cast<double>(coldness.misses);
  const double deviation = std::sqrt(both * (1 - both) * lines);
  if (excess <= kWarmShare + kDeviations * deviation) return "";
  return fmt::format(
      "{} of {} sampled lines of operands were in the L2 cache before their call, though a flush "
      "had passed: another call fetched them, or had them kept",
      coldness.warm, coldness.sampled);
}

std::string ColdnessText(const Coldness& coldness) {
  if (coldness.batches == 0) return "";
  if (coldness.sampled == 0) {
    return fmt::format(
        "coldness not shown: loads from the L2 cache took {:.0f} cycles, others {:.0f}",
        coldness.hit_cycles, coldness.miss_cycles);
  }
  std::string text = fmt::format(
      "{} of {} sampled lines of operands were warm before their call ({:.0f} cycles a "
      "hit, {:.0f} a miss)",
      coldness.warm, coldness.sampled, coldness.hit_cycles, coldness.miss_cycles);
  if (coldness.unclear > 0) {
    text += fmt::format("; not shown in {} of {} batches, where the two took alike",
                        coldness.unclear, coldness.batches);
  }
  return text;
}

}  // namespace roofmark::gate
