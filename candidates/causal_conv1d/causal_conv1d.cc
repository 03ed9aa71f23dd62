// SPDX-License-Identifier: Apache-2.0
//
// A causal convolution over packed sequences for a CPU: a thread has a channel, walks its
// sequences, and keeps the last inputs of each in its slot once the sequence is done.

#include "roofmark/causal_conv1d.h"

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

struct Taps {
  std::vector<float> weight;
  float bias;
};

// `row` is width - 1 columns of what stood before and then the tokens.
void Convolve(const uint16_t* row, const Taps& taps, int64_t tokens, uint16_t* out) {
  for (int64_t t = 0; t < tokens; ++t) {
    float sum = taps.bias;
    for (size_t j = 0; j < taps.weight.size(); ++j) {
      sum += taps.weight[j] * ToFloat(row[t + static_cast<int64_t>(j)]);
    }
    out[t] = ToBf16(sum / (1.0f + std::exp(-sum)));
  }
}

void OneChannel(const causal_conv1d_args& args, int64_t channel) {
  const int64_t before = args.width - 1;
  const auto* weight = static_cast<const uint16_t*>(args.weight.data) + channel * args.width;
  Taps taps{.weight = {}, .bias = ToFloat(static_cast<const uint16_t*>(args.bias.data)[channel])};
  for (int64_t j = 0; j < args.width; ++j) taps.weight.push_back(ToFloat(weight[j]));
  const auto* starts = static_cast<const int32_t*>(args.query_start_loc.data);
  const auto* slots = static_cast<const int32_t*>(args.cache_indices.data);
  const auto* begun = static_cast<const uint8_t*>(args.has_initial_state.data);
  const uint16_t* x = static_cast<const uint16_t*>(args.x.data) + channel * args.total;
  uint16_t* out = static_cast<uint16_t*>(args.out.data) + channel * args.total;
  std::vector<uint16_t> row;
  for (int64_t seq = 0; seq < args.seqs; ++seq) {
    uint16_t* state =
        static_cast<uint16_t*>(args.conv_states.data) + (slots[seq] * args.dim + channel) * before;
    row.assign(static_cast<size_t>(before), 0);
    if (begun[seq] != 0) row.assign(state, state + before);
    row.insert(row.end(), x + starts[seq], x + starts[seq + 1]);
    Convolve(row.data(), taps, starts[seq + 1] - starts[seq], out + starts[seq]);
    std::memcpy(state, row.data() + row.size() - before,
                static_cast<size_t>(before) * sizeof(uint16_t));
  }
}

}  // namespace

extern "C" int run(const causal_conv1d_args* args, void* /*workspace*/, void* /*stream*/) {
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < args->dim; ++channel) OneChannel(*args, channel);
  return 0;
}
