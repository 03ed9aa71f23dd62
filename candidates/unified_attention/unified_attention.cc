// SPDX-License-Identifier: Apache-2.0
//
// Paged causal attention for a CPU: one query and head at a time, in two passes over its keys
// (scores and their maximum, then weights and values), in float32. Scores wait in a row of the
// workspace.

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "roofmark/unified_attention.h"

namespace {

constexpr int kMostHeadSize = 512;
constexpr int kThreads = 4;

inline float ToFloat(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest bfloat16, ties to even; the values here are finite.
inline uint16_t ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

struct Pages {
  const int32_t* table;  // of one sequence
  int64_t page_size;
  int64_t token_stride;  // cache elements from one token to the next
  int64_t head_offset;

  int64_t Offset(int64_t key) const {
    return (table[key / page_size] * page_size + key % page_size) * token_stride + head_offset;
  }
};

void AttendOne(const uint16_t* q, const uint16_t* keys, const uint16_t* values, const Pages& pages,
               int64_t seen, int64_t head_size, float* scores, uint16_t* out) {
  float query[kMostHeadSize];
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_size));
  for (int64_t d = 0; d < head_size; ++d) query[d] = ToFloat(q[d]) * scale;
  float largest = -INFINITY;
  for (int64_t key = 0; key < seen; ++key) {
    const uint16_t* k = keys + pages.Offset(key);
    float lanes[8] = {};
    int64_t d = 0;
    for (; d + 8 <= head_size; d += 8) {
      for (int lane = 0; lane < 8; ++lane) lanes[lane] += query[d + lane] * ToFloat(k[d + lane]);
    }
    float score = 0.0f;
    for (; d < head_size; ++d) score += query[d] * ToFloat(k[d]);
    for (const float lane : lanes) score += lane;
    scores[key] = score;
    largest = score > largest ? score : largest;
  }
  float sum = 0.0f;
  float total[kMostHeadSize] = {};
  for (int64_t key = 0; key < seen; ++key) {
    const float weight = std::exp(scores[key] - largest);
    const uint16_t* v = values + pages.Offset(key);
    sum += weight;
    for (int64_t d = 0; d < head_size; ++d) total[d] += weight * ToFloat(v[d]);
  }
  for (int64_t d = 0; d < head_size; ++d) out[d] = ToBf16(total[d] / sum);
}

int ThreadNumber() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace

extern "C" int64_t workspace_bytes(const unified_attention_args* args) {
  return kThreads * args->max_kv * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const unified_attention_args* args, void* workspace, void* /*stream*/) {
  if (args->head_size > kMostHeadSize) return 2;
  const auto* q = static_cast<const uint16_t*>(args->q.data);
  const auto* keys = static_cast<const uint16_t*>(args->key_cache.data);
  const auto* values = static_cast<const uint16_t*>(args->value_cache.data);
  const auto* starts = static_cast<const int32_t*>(args->cu_seqlens_q.data);
  const auto* kv_lens = static_cast<const int32_t*>(args->seqused_k.data);
  const auto* table = static_cast<const int32_t*>(args->block_table.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  const int64_t group = args->query_heads / args->kv_heads;
  for (int64_t seq = 0; seq < args->seqs; ++seq) {
    const int64_t begin = starts[seq];
    const int64_t q_len = starts[seq + 1] - begin;
#pragma omp parallel for schedule(dynamic) num_threads(kThreads)
    for (int64_t at = 0; at < q_len * args->query_heads; ++at) {
      const int64_t head = at % args->query_heads;
      const int64_t i = at / args->query_heads;
      const Pages pages{.table = table + seq * args->max_pages,
                        .page_size = args->page_size,
                        .token_stride = args->kv_heads * args->head_size,
                        .head_offset = head / group * args->head_size};
      const int64_t place = ((begin + i) * args->query_heads + head) * args->head_size;
      AttendOne(q + place, keys, values, pages, kv_lens[seq] - q_len + i + 1, args->head_size,
                static_cast<float*>(workspace) + ThreadNumber() * args->max_kv, out + place);
    }
  }
  return 0;
}
