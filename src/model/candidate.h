// SPDX-License-Identifier: Apache-2.0
// A candidate: source files in one language that claim to implement an operator.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark {

// How a language's candidates are built and run.
enum class Lane { kCpp, kCuda, kTriton, kGluon, kCuteDsl, kTileLang, kFlyDsl, kTorch };
// "cpp" "cuda" "triton" "gluon" "cutedsl" "tilelang" "flydsl" "torch"
std::string_view LaneName(Lane lane);
Result<Lane> ParseLane(std::string_view name);
bool IsNative(Lane lane);  // compiled by the judge into a library; the others are Python
bool IsDsl(Lane lane);     // a language inside Python, whose own compiler makes the kernels
bool NeedsGpu(Lane lane);  // runs on a GPU alone; torch runs anywhere, cpp on a CPU alone

enum class DeviceKind { kCpu, kCuda };
std::string_view DeviceKindName(DeviceKind kind);
Result<DeviceKind> ParseDeviceKind(std::string_view name);

// Baselines (torch eager, torch.compile, vendor libraries) have adoption 0 by definition and are
// exempt from the fallback rule.
enum class Role { kCandidate, kBaseline };

// How `run` is brought about when it is timed: by calling it, or by replaying a CUDA graph that was
// captured around a call. The two are different things for a server, and are never mixed.
enum class Mode { kEager, kGraph };
std::string_view ModeName(Mode mode);  // "eager" "graph"
Result<Mode> ParseMode(std::string_view name);

struct Candidate {
  std::string name;
  Lane lane = Lane::kCpp;
  Role role = Role::kCandidate;
  std::filesystem::path folder;                // holds every source
  std::vector<std::filesystem::path> sources;  // relative to folder; the first holds the entry
  std::string entry = "run";
  std::vector<std::string> options;                  // compiler options
  std::vector<std::filesystem::path> include_paths;  // relative to folder
  std::string compiler;                // cuda: "nvcc" or "nvrtc"; "" = whatever is here
  std::vector<std::string> libraries;  // header-only ones of this machine: "cutlass", "cub"
  // What the sources call the operator, where that is not its name: they were written against a
  // bundle with an alias (pipeline/pack.h). Empty = the operator's name.
  std::string operator_alias;
  Mode mode = Mode::kEager;
  // False where the candidate says itself that equal inputs may give outputs of other bits.
  bool deterministic = true;
  std::string content_hash;  // SHA-256 over names and bytes of the sources
};

}  // namespace roofmark
