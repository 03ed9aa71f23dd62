// SPDX-License-Identifier: Apache-2.0
// From a launch to the runtime call that launched it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/id_index.h"
#include "trace/profile.h"

namespace roofmark::trace {

class CallFinder {
 public:
  explicit CallFinder(const Profile& profile);

  // The row of the call in profile.calls, or kNone32. Among several with the launch's correlation
  // id: a launching call before others, one that starts before the launch before others, then the
  // nearest. Correlation id 0 means nothing on ROCm and finds nothing there.
  uint32_t Find(const Launch& launch) const;
  // Launches a graph, so that the launch is a node of it.
  bool IsGraphLaunch(uint32_t call) const;
  // Launches a kernel, copies, fills, or deals with graphs.
  bool IsLaunching(uint32_t call) const;

 private:
  const Profile& profile_;
  IdIndex index_;
  std::vector<uint8_t> kinds_;  // by name
};

}  // namespace roofmark::trace
