// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ causal convolution over packed sequences, in two kernels: a thread has an
// element of the output, and finds its sequence by bisection; then a thread has a channel of a
// sequence, and moves its last inputs into the slot that the first kernel has read.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "roofmark/causal_conv1d.h"

namespace {

constexpr int kBlock = 256;
constexpr int64_t kMostRows = 65535;  // of a grid; source: CUDA C++ Programming Guide, 5.1

struct Problem {
  const __nv_bfloat16* x;
  const __nv_bfloat16* weight;
  const __nv_bfloat16* bias;
  __nv_bfloat16* states;
  const int32_t* starts;
  const int32_t* slots;
  const uint8_t* begun;
  __nv_bfloat16* out;
  int64_t dim;
  int64_t total;
  int width;
  int seqs;

  __device__ __nv_bfloat16* State(int seq, int64_t channel) const {
    return states + (slots[seq] * dim + channel) * (width - 1);
  }
};

// The last sequence that starts at the token or before it; empty ones before it are passed over.
__device__ int SequenceOf(const Problem& p, int64_t token) {
  int low = 0;
  int high = p.seqs;  // starts[low] <= token < starts[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (p.starts[middle] <= token ? low : high) = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kBlock) Convolve(Problem p) {
  const int64_t token = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (token >= p.total) return;
  const int seq = SequenceOf(p, token);
  const int64_t inside = token - p.starts[seq];
  const bool has_state = p.begun[seq] != 0;
  const int before = p.width - 1;
  for (int64_t channel = blockIdx.y; channel < p.dim; channel += gridDim.y) {
    const __nv_bfloat16* row = p.x + channel * p.total + token;
    const __nv_bfloat16* state = p.State(seq, channel);
    float sum = __bfloat162float(p.bias[channel]);
    for (int tap = 0; tap < p.width; ++tap) {
      const int64_t source = inside - before + tap;
      float value = 0.0f;
      if (source >= 0) {
        value = __bfloat162float(row[tap - before]);
      } else if (has_state) {
        value = __bfloat162float(state[source + before]);
      }
      sum += __bfloat162float(p.weight[channel * p.width + tap]) * value;
    }
    p.out[channel * p.total + token] = __float2bfloat16(sum / (1.0f + expf(-sum)));
  }
}

__global__ void __launch_bounds__(kBlock) KeepLast(Problem p) {
  const int64_t channel = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (channel >= p.dim) return;
  const int before = p.width - 1;
  for (int seq = static_cast<int>(blockIdx.y); seq < p.seqs; seq += static_cast<int>(gridDim.y)) {
    const __nv_bfloat16* row = p.x + channel * p.total + p.starts[seq];
    const int64_t length = p.starts[seq + 1] - p.starts[seq];
    __nv_bfloat16* state = p.State(seq, channel);
    // Columns move to the left only, so none is overwritten before it is read.
    for (int column = 0; column < before; ++column) {
      const int64_t source = length - before + column;
      if (source >= 0) {
        state[column] = row[source];
      } else {
        state[column] = p.begun[seq] != 0 ? state[source + before] : __float2bfloat16(0.0f);
      }
    }
  }
}

unsigned Blocks(int64_t threads) {
  return static_cast<unsigned>((threads + kBlock - 1) / kBlock);
}

unsigned Rows(int64_t rows) {
  return static_cast<unsigned>(std::min(rows, kMostRows));
}

}  // namespace

extern "C" int run(const causal_conv1d_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (args->total == 0) return 0;
  const Problem p{.x = static_cast<const __nv_bfloat16*>(args->x.data),
                  .weight = static_cast<const __nv_bfloat16*>(args->weight.data),
                  .bias = static_cast<const __nv_bfloat16*>(args->bias.data),
                  .states = static_cast<__nv_bfloat16*>(args->conv_states.data),
                  .starts = static_cast<const int32_t*>(args->query_start_loc.data),
                  .slots = static_cast<const int32_t*>(args->cache_indices.data),
                  .begun = static_cast<const uint8_t*>(args->has_initial_state.data),
                  .out = static_cast<__nv_bfloat16*>(args->out.data),
                  .dim = args->dim,
                  .total = args->total,
                  .width = static_cast<int>(args->width),
                  .seqs = static_cast<int>(args->seqs)};
  Convolve<<<dim3(Blocks(p.total), Rows(p.dim)), kBlock, 0, stream>>>(p);
  KeepLast<<<dim3(Blocks(p.dim), Rows(p.seqs)), kBlock, 0, stream>>>(p);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
