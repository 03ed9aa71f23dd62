// SPDX-License-Identifier: Apache-2.0
// Call names are classified once per distinct name.
#include "trace/calls.h"

#include <tuple>

#include "trace/event_head.h"

namespace roofmark::trace {
namespace {

constexpr uint8_t kLaunching = 1;
constexpr uint8_t kGraph = 2;
// A runtime and a driver call may share an id; a profile in which thousands do is nonsense, and
// must not take quadratic time.
constexpr int kMaxDuplicates = 64;

uint8_t KindOf(std::string_view name) {
  uint8_t kind = 0;
  if (IsLaunchingCall(name)) kind |= kLaunching;
  if (name.find("GraphLaunch") != std::string_view::npos) kind |= kGraph;
  return kind;
}

}  // namespace

CallFinder::CallFinder(const Profile& profile)
    : profile_(profile),
      index_(profile.calls.size(), [&](uint32_t row) { return profile.calls[row].correlation; }),
      kinds_(profile.text.size(), UINT8_MAX) {
  for (const RuntimeCall& call : profile.calls) {
    uint8_t& kind = kinds_[call.name];
    if (kind == UINT8_MAX) kind = KindOf(profile.text.Text(call.name));
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
  int tried = 0;
  for (uint32_t row = index_.Next(first); row != kNone32 && tried < kMaxDuplicates; ++tried) {
    if (rank(row) < rank(best)) best = row;
    row = index_.Next(row);
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
