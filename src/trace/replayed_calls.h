// SPDX-License-Identifier: Apache-2.0
// Numbers for the calls of replayed graphs: what was captured once is called anew by each replay.
// The numbers of a replay are forgotten with its last kernel, so that memory does not grow with
// the replays.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "trace/links.h"
#include "trace/profile.h"

namespace roofmark::trace {

class ReplayedCalls {
 public:
  // Numbers count on from `next`.
  ReplayedCalls(const Links& links, uint32_t next) : next_(next) {
    for (size_t kernel = 0; kernel < links.size(); ++kernel) {
      if (IsNode(links[kernel])) ++LeftOf(links[kernel]);
    }
  }

  // The number of a captured call in the replay that the kernel belongs to.
  uint32_t NumberOf(const Link& link, uint32_t captured) {
    const auto [entry, fresh] = replays_[link.call].try_emplace(captured, next_);
    if (fresh) ++next_;
    return entry->second;
  }
  // To be called for each kernel in the end, in whatever order.
  void Done(const Link& link) {
    if (IsNode(link) && --LeftOf(link) == 0) replays_.erase(link.call);
  }

 private:
  static bool IsNode(const Link& link) {
    return link.kind == LinkKind::kGraph || link.kind == LinkKind::kGraphNode;
  }
  uint32_t& LeftOf(const Link& link) {
    const size_t slot = link.call == kNone32 ? 0 : size_t{link.call} + 1;
    if (slot >= left_.size()) left_.resize(slot + 1);
    return left_[slot];
  }

  Rows<uint32_t> left_;  // kernels to come, by row of the call that launched them plus one
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, uint32_t>> replays_;  // by that call
  uint32_t next_;
};

}  // namespace roofmark::trace
