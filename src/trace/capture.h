// SPDX-License-Identifier: Apache-2.0
// Capture profiles: what servers record while they capture a graph. Nothing runs then, but every
// launch that becomes a node of the graph is there, under its operator, with shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/op_forest.h"
#include "trace/profile.h"

namespace roofmark::trace {

// A node of a captured graph.
struct CapturedNode {
  LaunchKind kind = LaunchKind::kKernel;
  TextId kernel = kNoText;  // its name in the capture profile's texts; CUDA does not record it
  uint32_t op = kNone32;    // row in the capture profile's ops
};

// The mode of a step of an eager run, which stands for a graph.
inline constexpr std::string_view kEagerMode = "EAGER";

struct CapturedGraph {
  int64_t tokens = -1;  // that it was captured for, from the annotation; -1 = not said
  std::string mode;     // "FULL", "PIECEWISE", "DECODE", kEagerMode; empty = not said
  std::vector<CapturedNode> nodes;
};

struct CaptureProfile {
  std::string name;  // of its file; empty where there is none
  Profile profile;
  std::unique_ptr<OpForest> forest;  // over profile; stays valid when this moves
  std::vector<CapturedGraph> graphs;
  CaptureProfile(CaptureProfile&&) = delete;
  CaptureProfile() = default;
};

// Finds the graphs of a profile that was recorded during capture. One that captures nothing is
// taken for an eager run of the same model: its labelled steps stand for graphs (kEagerMode).
Result<std::unique_ptr<CaptureProfile>> ReadCaptureProfile(const std::filesystem::path& path);
std::unique_ptr<CaptureProfile> MakeCaptureProfile(Profile profile);

// The capture profiles that lie beside a profile: the folder capture_traces (all that its
// execution_details.json names, or all in it), and NAME_capture.json[.gz] beside NAME.json[.gz].
std::vector<std::filesystem::path> FindCaptureProfiles(const std::filesystem::path& profile);
// Whether a path is itself such a capture profile.
bool IsCaptureProfilePath(const std::filesystem::path& path);

}  // namespace roofmark::trace
