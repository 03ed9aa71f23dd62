// SPDX-License-Identifier: Apache-2.0
//
// The gated delta rule for a CPU, token by token: a thread has a head of a sequence, whose state it
// updates in place. The value's columns lie together, so that the inner loops are vectors.

#include "roofmark/gated_delta_rule_update.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

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

// The row over its L2 norm, times `scale`.
void Unit(const uint16_t* row, float eps, float scale, std::vector<float>* to) {
  float squares = 0.0f;
  for (size_t i = 0; i < to->size(); ++i) {
    (*to)[i] = ToFloat(row[i]);
    squares += (*to)[i] * (*to)[i];
  }
  const float factor = scale / std::sqrt(squares + eps);
  for (float& value : *to) value *= factor;
}

struct Token {
  std::vector<float> q, k;
  float decay;
  float strength;
};

// `state` is key_dim rows of value_dim.
void Step(const Token& token, const uint16_t* v, float* state, std::vector<float>* missing,
          std::vector<float>* read, uint16_t* out) {
  const size_t values = missing->size();
  std::fill(missing->begin(), missing->end(), 0.0f);
  std::fill(read->begin(), read->end(), 0.0f);
  for (size_t i = 0; i < token.k.size(); ++i) {
    float* row = state + i * values;
    for (size_t j = 0; j < values; ++j) {
      row[j] *= token.decay;
      (*missing)[j] += token.k[i] * row[j];
    }
  }
  for (size_t j = 0; j < values; ++j) {
    (*missing)[j] = token.strength * (ToFloat(v[j]) - (*missing)[j]);
  }
  for (size_t i = 0; i < token.k.size(); ++i) {
    float* row = state + i * values;
    for (size_t j = 0; j < values; ++j) {
      row[j] += token.k[i] * (*missing)[j];
      (*read)[j] += token.q[i] * row[j];
    }
  }
  for (size_t j = 0; j < values; ++j) out[j] = ToBf16((*read)[j]);
}

void OneHead(const gated_delta_rule_update_args& args, int64_t seq, int64_t head) {
  const auto keys = static_cast<size_t>(args.key_dim);
  const auto values = static_cast<size_t>(args.value_dim);
  const auto* starts = static_cast<const int32_t*>(args.cu_seqlens.data);
  const int64_t slot = static_cast<const int32_t*>(args.state_indices.data)[seq];
  float* state = static_cast<float*>(args.state.data) +
                 (slot * args.value_heads + head) * args.key_dim * args.value_dim;
  const float rate = std::exp(static_cast<const float*>(args.A_log.data)[head]);
  const float bias = ToFloat(static_cast<const uint16_t*>(args.dt_bias.data)[head]);
  const auto eps = static_cast<float>(args.eps);
  const float scale = 1.0f / std::sqrt(static_cast<float>(args.key_dim));
  Token token{std::vector<float>(keys), std::vector<float>(keys), 0.0f, 0.0f};
  std::vector<float> missing(values);
  std::vector<float> read(values);
  for (int64_t t = starts[seq]; t < starts[seq + 1]; ++t) {
    const int64_t of_keys =
        (t * args.query_heads + head / (args.value_heads / args.query_heads)) * args.key_dim;
    Unit(static_cast<const uint16_t*>(args.q.data) + of_keys, eps, scale, &token.q);
    Unit(static_cast<const uint16_t*>(args.k.data) + of_keys, eps, 1.0f, &token.k);
    const int64_t at = t * args.value_heads + head;
    const float dt = ToFloat(static_cast<const uint16_t*>(args.a.data)[at]) + bias;
    // softplus, without overflow
    const float soft = std::max(dt, 0.0f) + std::log1p(std::exp(-std::fabs(dt)));
    token.decay = std::exp(-rate * soft);
    token.strength =
        1.0f / (1.0f + std::exp(-ToFloat(static_cast<const uint16_t*>(args.b.data)[at])));
    Step(token, static_cast<const uint16_t*>(args.v.data) + at * args.value_dim, state, &missing,
         &read, static_cast<uint16_t*>(args.out.data) + at * args.value_dim);
  }
}

}  // namespace

extern "C" int run(const gated_delta_rule_update_args* args, void* /*workspace*/,
                   void* /*stream*/) {
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t seq = 0; seq < args->seqs; ++seq) {
    for (int64_t head = 0; head < args->value_heads; ++head) OneHead(*args, seq, head);
  }
  return 0;
}
