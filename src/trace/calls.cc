// SPDX-License-Identifier: Apache-2.0
// Call names are classified once per distinct name.
#include "trace/calls.h"

#include <tuple>

namespace roofmark::trace {
namespace {

constexpr uint8_t kLaunching = 1;
constexpr uint8_t kGraph = 2;

uint8_t KindOf(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  uint8_t kind = 0;
  if (has("Launch") || has("Memcpy") || has("Memset") || has("Graph")) kind |= kLaunching;
  if (has("GraphLaunch")) kind |= kGraph;
  return kind;
}

}  // namespace

CallFinder::CallFinder(const Profile& profile)
    : profile_(profile), index_(profile.calls.size()), kinds_(profile.text.size(), UINT8_MAX) {
  for (uint32_t row = 0; row < profile.calls.size(); ++row) {
    const RuntimeCall& call = profile.calls[row];
    uint8_t& kind = kinds_[call.name];
    if (kind == UINT8_MAX) kind = KindOf(profile.text.Text(call.name));
    if (call.correlation != kNoId) index_.Add(call.correlation, row);
  }
}

uint32_t CallFinder::Find(const Launch& launch) const {
  if (launch.correlation == kNoId) return kNone32;
  if (launch.correlation == 0 && profile_.vendor == "rocm") return kNone32;
  const uint32_t first = index_.First(launch.correlation);
  if (first == kNone32 || index_.Next(first) == kNone32) return first;
  const auto rank = [&](uint32_t row) {
    const int64_t gap = launch.start_ns - profile_.calls[row].start_ns;
    return std::tuple(!IsLaunching(row), gap < 0, gap < 0 ? -gap : gap);
  };
  uint32_t best = first;
  for (uint32_t row = index_.Next(first); row != kNone32; row = index_.Next(row)) {
    if (rank(row) < rank(best)) best = row;
  }
  return best;
}

bool CallFinder::IsGraphLaunch(uint32_t call) const {
  return (kinds_[profile_.calls[call].name] & kGraph) != 0;
}

bool CallFinder::IsLaunching(uint32_t call) const {
  return (kinds_[profile_.calls[call].name] & kLaunching) != 0;
}

}  // namespace roofmark::trace
