// SPDX-License-Identifier: Apache-2.0
// Replayed graphs carry neither operators nor shapes; the capture of the same graph has both, node
// by node. This file finds the capture of each replay and pairs their nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/capture.h"
#include "trace/links.h"
#include "trace/profile.h"

namespace roofmark::trace {

// What said that a replay is a captured graph.
enum class PairedBy : uint8_t {
  kNames,        // equal sequences of names
  kCommonNames,  // the longest common sequence of names, over the floor
  kOrder,        // equal numbers of nodes, whose names the capture does not have (CUDA)
};

// A captured graph that replays were found to be of.
struct PairedGraph {
  PairedBy by = PairedBy::kNames;
  bool eager = false;       // the "graph" is a step of an eager run
  std::string mode;         // of the capture: "FULL", "PIECEWISE"; empty = not said
  size_t nodes = 0;         // kernels of the replay
  size_t missing = 0;       // kernels that one of both has and the other lacks
  size_t contradicted = 0;  // pairs that the rules contradict: kernel and operator differ
  size_t fits = 1;          // captured graphs that fit as well, with this one
};

// Where a graph's node was captured.
struct CapturedOrigin {
  uint32_t capture = kNone32;  // index of the capture profile; kNone32 = not paired
  uint32_t op = kNone32;       // row in its ops
  int64_t tokens = -1;         // that the graph was captured for; -1 = not said
  uint32_t graph = 0;          // in GraphPairing::graphs
  // Several captures fit and disagree about the sizes of this node: the operator is known, its
  // shape is not.
  bool disputed = false;
};

struct PairingReport {
  uint64_t graphs = 0;          // replays
  uint64_t exact = 0;           // whose name sequence, or count on CUDA, is a capture's
  uint64_t aligned = 0;         // paired but for a few nodes
  uint64_t unpaired = 0;        // no capture fits, or none was given
  uint64_t unpaired_nodes = 0;  // kernels, of all replays
  int64_t unpaired_ns = 0;      // their time
};

struct GraphPairing {
  std::vector<CapturedOrigin> origins = std::vector<CapturedOrigin>(1);  // the first is none
  // By kernel, in origins; replays of a graph have the same ones. Empty where no kernel has one.
  std::vector<uint32_t> origin_of;
  std::vector<PairedGraph> graphs;  // that replays were found to be of
  PairingReport report;

  // Where a kernel that is a graph's node was captured.
  const CapturedOrigin& OriginOf(uint32_t kernel) const {
    return origins[origin_of.empty() ? 0 : origin_of[kernel]];
  }
};

// Says whether a kernel of this name can come from this captured node, by the operators that the
// rules see in both: false only where they contradict each other.
using Compatible = std::function<bool(std::string_view kernel, const CaptureProfile& capture,
                                      const CapturedNode& node)>;

// Pairs by name sequence where captures know names (HIP): equal sequences, else the longest common
// one if it covers 98 % of the longer of both. On CUDA by order: equal numbers of nodes, of which
// at least 98 % are compatible. Copies and fills count on both sides, or where that fails on
// neither. Where the step's label says how many tokens there were, only the smallest captured size
// of each mode that holds them is asked: the graph of another size, which may have the same names,
// did not run.
GraphPairing PairGraphs(const Profile& profile, const LinkedProfile& linked,
                        const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                        const Compatible& compatible);

}  // namespace roofmark::trace
