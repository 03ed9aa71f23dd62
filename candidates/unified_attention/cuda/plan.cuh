// SPDX-License-Identifier: Apache-2.0
//
// Which kernels a shape runs and how decode splits its keys, from the shape alone, so that
// workspace_bytes and run agree.

#pragma once

#include <cstdint>

#include "roofmark/unified_attention.h"

namespace plan {

constexpr int kPrefillWarps = 8;
constexpr int kPrefillRows = kPrefillWarps * 16;
constexpr int kPrefillKeys = 64;
constexpr int kDecodeWarps = 4;
constexpr int kDecodeRows = 16;
constexpr int kDecodeKeys = 16;
constexpr int kSplitAlign = kDecodeKeys * kDecodeWarps;
constexpr int kMostSplits = 64;

struct Plan {
  bool prefill;
  bool decode;
  int decode_rows;
  int row_tiles;
  int split_keys;
  int splits;
};

inline int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Decode's blocks that an H200 holds at once, by shared memory: 227 KB for each of 132 processors.
inline int64_t ResidentBlocks(int64_t head_size) {
  const int64_t size = head_size <= 64    ? 64
                       : head_size <= 80  ? 80
                       : head_size <= 128 ? 128
                       : head_size <= 192 ? 192
                                          : 256;
  const int64_t bytes = (kDecodeRows + kDecodeWarps * 4 * kDecodeKeys) * (size + 8) * 2 + 1536;
  return 132 * (227 * 1024 / bytes);
}

// How many keys a block of decode takes. Equal lengths: the fewest splits that fill whole waves of
// blocks well. Ragged ones: small enough that the longest sequence does not outlast the rest.
inline int64_t KeysPerSplit(const unified_attention_args& args, int64_t blocks) {
  const int64_t resident = ResidentBlocks(args.head_size);
  const int64_t most = CeilDiv(args.max_kv, 2 * kSplitAlign);
  int64_t splits = 1;
  if (args.total_kv == args.seqs * args.max_kv) {
    double best = 0.0;
    for (int64_t s = 1; s <= most && s <= kMostSplits && best < 0.95; ++s) {
      const int64_t waves = CeilDiv(blocks * s, resident);
      const double filled = static_cast<double>(blocks * s) / static_cast<double>(waves * resident);
      if (filled > best + 0.02) {
        best = filled;
        splits = s;
      }
    }
  } else {
    const int64_t share = args.total_kv * (blocks / args.seqs) / resident;
    splits = CeilDiv(args.max_kv, share / 3 + 1);
    if (splits > most) splits = most;
    if (splits > kMostSplits) splits = kMostSplits;
  }
  return CeilDiv(CeilDiv(args.max_kv, splits), kSplitAlign) * kSplitAlign;
}

inline Plan MakePlan(const unified_attention_args& args) {
  const int64_t heads = args.query_heads / args.kv_heads;
  Plan plan{};
  plan.decode = true;
  if (args.max_q * heads <= 64) {
    plan.row_tiles = static_cast<int>(CeilDiv(args.max_q * heads, kDecodeRows));
  } else {
    plan.prefill = true;
    // Equal lengths: nobody decodes. Otherwise whoever has one tile of rows may.
    plan.decode = args.total_q != args.seqs * args.max_q;
    plan.row_tiles = static_cast<int>(CeilDiv(heads, kDecodeRows));
  }
  plan.decode_rows = plan.decode ? plan.row_tiles * kDecodeRows : 0;
  plan.split_keys =
      static_cast<int>(KeysPerSplit(args, args.seqs * plan.row_tiles * args.kv_heads));
  plan.splits = static_cast<int>(CeilDiv(args.max_kv, plan.split_keys));
  return plan;
}

// Rows of parts, over all sequences.
inline int64_t PartRows(const unified_attention_args& args, const Plan& plan) {
  return args.seqs * args.kv_heads * plan.row_tiles * kDecodeRows;
}

}  // namespace plan
