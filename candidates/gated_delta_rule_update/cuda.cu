// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ gated delta rule, token by token: a block keeps 32 columns of one head's state
// in shared memory for a whole sequence, since columns of the value do not meet. A warp has every
// fourth row of them, a lane a column.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "roofmark/gated_delta_rule_update.h"

namespace {

constexpr int kColumns = 32;
constexpr int kWarps = 4;
constexpr int kBlock = kColumns * kWarps;

struct Problem {
  const float* A_log;
  const __nv_bfloat16* a;
  const __nv_bfloat16* dt_bias;
  const __nv_bfloat16* q;
  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  const __nv_bfloat16* b;
  float* state;
  const int32_t* slots;
  const int32_t* starts;
  __nv_bfloat16* out;
  int query_heads;
  int value_heads;
  int key_dim;
  int value_dim;
  float eps;
  float scale;
};

// The whole block's sum; `parts` has one place a warp.
__device__ float SumOfBlock(float value, float* parts) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// The row over its L2 norm, times `scale`, into shared memory. A thread reads what it wrote.
__device__ void Unit(const __nv_bfloat16* row, int size, float eps, float scale, float* to,
                     float* parts) {
  float squares = 0.0f;
  for (int i = threadIdx.x; i < size; i += kBlock) {
    to[i] = __bfloat162float(row[i]);
    squares += to[i] * to[i];
  }
  const float factor = scale / sqrtf(SumOfBlock(squares, parts) + eps);
  for (int i = threadIdx.x; i < size; i += kBlock) to[i] *= factor;
}

__global__ void __launch_bounds__(kBlock) Update(Problem p) {
  extern __shared__ float now[];  // key_dim rows of kColumns, then q and k
  __shared__ float of_q[kWarps];
  __shared__ float of_k[kWarps];
  __shared__ float seen[kWarps][kColumns];
  __shared__ float read[kWarps][kColumns];
  float* q = now + p.key_dim * kColumns;
  float* k = q + p.key_dim;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int column = static_cast<int>(blockIdx.x) * kColumns + lane;
  const bool mine = column < p.value_dim;
  const int head = static_cast<int>(blockIdx.y);
  const int seq = static_cast<int>(blockIdx.z);
  float* state = p.state + (int64_t{p.slots[seq]} * p.value_heads + head) * p.key_dim * p.value_dim;
  for (int row = warp; row < p.key_dim; row += kWarps) {
    now[row * kColumns + lane] = mine ? state[int64_t{row} * p.value_dim + column] : 0.0f;
  }
  const float rate = expf(p.A_log[head]);
  const float bias = __bfloat162float(p.dt_bias[head]);
  for (int64_t token = p.starts[seq]; token < p.starts[seq + 1]; ++token) {
    const int64_t keys =
        (token * p.query_heads + head / (p.value_heads / p.query_heads)) * p.key_dim;
    Unit(p.q + keys, p.key_dim, p.eps, p.scale, q, of_q);
    Unit(p.k + keys, p.key_dim, p.eps, 1.0f, k, of_k);
    __syncthreads();
    const int64_t at = token * p.value_heads + head;
    const float dt = __bfloat162float(p.a[at]) + bias;
    // softplus, without overflow
    const float decay = expf(-rate * (fmaxf(dt, 0.0f) + log1pf(expf(-fabsf(dt)))));
    float sum = 0.0f;
    for (int row = warp; row < p.key_dim; row += kWarps) {
      const float value = now[row * kColumns + lane] * decay;
      now[row * kColumns + lane] = value;
      sum += k[row] * value;
    }
    seen[warp][lane] = sum;
    __syncthreads();
    const float predicted = seen[0][lane] + seen[1][lane] + seen[2][lane] + seen[3][lane];
    const float value = mine ? __bfloat162float(p.v[at * p.value_dim + column]) : 0.0f;
    const float missing = (value - predicted) / (1.0f + expf(-__bfloat162float(p.b[at])));
    sum = 0.0f;
    for (int row = warp; row < p.key_dim; row += kWarps) {
      const float updated = now[row * kColumns + lane] + k[row] * missing;
      now[row * kColumns + lane] = updated;
      sum += q[row] * updated;
    }
    read[warp][lane] = sum;
    __syncthreads();  // also before the next token's q and k take their places
    if (warp == 0 && mine) {
      p.out[at * p.value_dim + column] =
          __float2bfloat16(read[0][lane] + read[1][lane] + read[2][lane] + read[3][lane]);
    }
  }
  for (int row = warp; row < p.key_dim; row += kWarps) {
    if (mine) state[int64_t{row} * p.value_dim + column] = now[row * kColumns + lane];
  }
}

}  // namespace

extern "C" int run(const gated_delta_rule_update_args* args, void* /*workspace*/,
                   void* stream_handle) {
  if (args->seqs == 0) return 0;
  const Problem p{.A_log = static_cast<const float*>(args->A_log.data),
                  .a = static_cast<const __nv_bfloat16*>(args->a.data),
                  .dt_bias = static_cast<const __nv_bfloat16*>(args->dt_bias.data),
                  .q = static_cast<const __nv_bfloat16*>(args->q.data),
                  .k = static_cast<const __nv_bfloat16*>(args->k.data),
                  .v = static_cast<const __nv_bfloat16*>(args->v.data),
                  .b = static_cast<const __nv_bfloat16*>(args->b.data),
                  .state = static_cast<float*>(args->state.data),
                  .slots = static_cast<const int32_t*>(args->state_indices.data),
                  .starts = static_cast<const int32_t*>(args->cu_seqlens.data),
                  .out = static_cast<__nv_bfloat16*>(args->out.data),
                  .query_heads = static_cast<int>(args->query_heads),
                  .value_heads = static_cast<int>(args->value_heads),
                  .key_dim = static_cast<int>(args->key_dim),
                  .value_dim = static_cast<int>(args->value_dim),
                  .eps = static_cast<float>(args->eps),
                  .scale = 1.0f / std::sqrt(static_cast<float>(args->key_dim))};
  const auto shared = static_cast<int>(args->key_dim * (kColumns + 2) * sizeof(float));
  // Past 48 KiB shared memory has to be asked for.
  if (cudaFuncSetAttribute(Update, cudaFuncAttributeMaxDynamicSharedMemorySize, shared) !=
      cudaSuccess) {
    return 1;
  }
  const dim3 grid(static_cast<unsigned>((p.value_dim + kColumns - 1) / kColumns),
                  static_cast<unsigned>(p.value_heads), static_cast<unsigned>(args->seqs));
  Update<<<grid, kBlock, static_cast<size_t>(shared), static_cast<cudaStream_t>(stream_handle)>>>(
      p);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
