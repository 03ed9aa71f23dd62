// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ fp8 product with block scales for Hopper, on mma.sync. Without wgmma, sm_90's
// compiler turns an fp8 mma.sync into conversions to fp16 and an fp16 one, for each mma anew; this
// kernel converts each fragment once and multiplies in fp16, which holds every e4m3 value exactly,
// summing in float32. Tiles of one scale group (128 of k) come through a four-stage cp.async
// pipeline; each group's sum is scaled into the float32 result in registers. Few rows of a mean few
// tiles, so k is then split over blocks, and a second kernel adds the parts in a fixed order.

#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/block_scaled_mm.h"

namespace {

constexpr int kGroup = 128;  // scale group, and the depth of a tile, in bytes too
constexpr int kTileN = 128;  // one column of scales of b
constexpr int kThreads = 256;
constexpr int kStages = 4;
constexpr int kTargetBlocks = 264;  // two for each of 132 multiprocessors

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes, or writes zeros where `valid` is not set.
__device__ __forceinline__ void CopyAsync16(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)), "l"(from),
               "r"(valid ? 16 : 0));
}

__device__ __forceinline__ void CopyAsync4(void* to, const void* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(SharedAddress(to)), "l"(from),
               "r"(valid ? 4 : 0));
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;");
}

template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void LoadMatrix4(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// Four e4m3 values to four fp16 ones: `low` holds bytes 0 and 1, `high` bytes 2 and 3.
__device__ __forceinline__ void Widen(uint32_t codes, uint32_t& low, uint32_t& high) {
  asm("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.rn.f16x2.e4m3x2 %0, a; cvt.rn.f16x2.e4m3x2 %1, b; "
      "}"
      : "=r"(low), "=r"(high)
      : "r"(codes));
}

__device__ __forceinline__ float DecodeOne(uint8_t code) {
  float value;
  asm("{ .reg .b16 a, l, h; .reg .b32 p; cvt.u16.u32 a, %1; cvt.rn.f16x2.e4m3x2 p, a; mov.b32 {l, "
      "h}, p; "
      "cvt.f32.f16 %0, l; }"
      : "=f"(value)
      : "r"(static_cast<uint32_t>(code)));
  return value;
}

__device__ __forceinline__ void MultiplyAdd(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                            uint32_t a3, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

struct Problem {
  const uint8_t* a;
  const uint8_t* b;
  const float* a_scales;
  const float* b_scales;
  float* out;  // c, or the parts of a split k
  int64_t m;
  int64_t n;
  int64_t k;
  int groups;  // of k
  int groups_per_split;
  int tiles_m;
  int tiles_n;
};

// A row of a tile is 128 bytes, all 32 banks; rows are told apart by a rotated order of their
// chunks.
__device__ __forceinline__ int Swizzled(int row, int chunk) {
  return row * kGroup + ((chunk ^ (row & 7)) << 4);
}

template <int kTileM>
struct Stage {
  alignas(128) uint8_t a[kTileM * kGroup];
  alignas(128) uint8_t b[kTileN * kGroup];
  float a_scales[kTileM];
};

template <int kRows>
__device__ __forceinline__ void LoadTile(uint8_t* tile, const uint8_t* matrix, int64_t row0,
                                         int64_t rows, int64_t k, int group) {
  for (int i = threadIdx.x; i < kRows * 8; i += kThreads) {
    const int row = i / 8;
    const int chunk = i % 8;
    const int64_t at = int64_t{group} * kGroup + chunk * 16;
    const bool valid = row0 + row < rows && at < k;
    const uint8_t* from = valid ? matrix + (row0 + row) * k + at : matrix;
    CopyAsync16(tile + Swizzled(row, chunk), from, valid);
  }
}

template <int kTileM>
__device__ __forceinline__ void LoadStage(Stage<kTileM>& stage, const Problem& p, int64_t row0,
                                          int64_t column0, int group) {
  LoadTile<kTileM>(stage.a, p.a, row0, p.m, p.k, group);
  LoadTile<kTileN>(stage.b, p.b, column0, p.n, p.k, group);
  if (threadIdx.x < kTileM) {
    const bool valid = row0 + threadIdx.x < p.m;
    const int64_t at = valid ? (row0 + threadIdx.x) * p.groups + group : 0;
    CopyAsync4(stage.a_scales + threadIdx.x, p.a_scales + at, valid);
  }
}

// Warps lie kWarpsM x (8 / kWarpsM) over the tile; each holds kM x kN fragments of 16 x 8.
template <int kTileM, int kWarpsM>
struct Layout {
  static constexpr int kWarpsN = 8 / kWarpsM;
  static constexpr int kM = kTileM / kWarpsM / 16;
  static constexpr int kN = kTileN / kWarpsN / 8;
};

template <int kTileM, int kWarpsM>
__device__ __forceinline__ void MultiplyStage(
    float (&sum)[Layout<kTileM, kWarpsM>::kM][Layout<kTileM, kWarpsM>::kN][4],
    const Stage<kTileM>& stage, float b_scale, int warp_m, int warp_n, int lane) {
  using L = Layout<kTileM, kWarpsM>;
  // b: eight chunks of 16 of k; a thread's four codes of a chunk fill both halves of a k16
  // fragment. The order of k within a fragment is free as long as a and b agree.
  uint32_t b[L::kN][8][2];
#pragma unroll
  for (int n = 0; n < L::kN; ++n) {
    const int row = warp_n * L::kN * 8 + n * 8 + lane % 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t codes[4];
      LoadMatrix4(codes, stage.b + Swizzled(row, half * 4 + lane / 8));
#pragma unroll
      for (int j = 0; j < 4; ++j) Widen(codes[j], b[n][half * 4 + j][0], b[n][half * 4 + j][1]);
    }
  }
#pragma unroll
  for (int m = 0; m < L::kM; ++m) {
    const int row0 = warp_m * L::kM * 16 + m * 16;
    float part[L::kN][4] = {};
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      uint32_t codes[4];  // rows 0-7 and 8-15 of one chunk, then of the next
      LoadMatrix4(codes, stage.a + Swizzled(row0 + lane % 16, pair * 2 + lane / 16));
      uint32_t a[4][2];
#pragma unroll
      for (int j = 0; j < 4; ++j) Widen(codes[j], a[j][0], a[j][1]);
#pragma unroll
      for (int n = 0; n < L::kN; ++n) {
        MultiplyAdd(part[n], a[0][0], a[1][0], a[0][1], a[1][1], b[n][pair * 2][0],
                    b[n][pair * 2][1]);
      }
#pragma unroll
      for (int n = 0; n < L::kN; ++n) {
        MultiplyAdd(part[n], a[2][0], a[3][0], a[2][1], a[3][1], b[n][pair * 2 + 1][0],
                    b[n][pair * 2 + 1][1]);
      }
    }
    const float upper = stage.a_scales[row0 + lane / 4] * b_scale;
    const float lower = stage.a_scales[row0 + lane / 4 + 8] * b_scale;
#pragma unroll
    for (int n = 0; n < L::kN; ++n) {
      sum[m][n][0] = fmaf(part[n][0], upper, sum[m][n][0]);
      sum[m][n][1] = fmaf(part[n][1], upper, sum[m][n][1]);
      sum[m][n][2] = fmaf(part[n][2], lower, sum[m][n][2]);
      sum[m][n][3] = fmaf(part[n][3], lower, sum[m][n][3]);
    }
  }
}

__device__ __forceinline__ void StorePair(float* out, const Problem& p, int64_t row, int64_t column,
                                          float first, float second) {
  if (row >= p.m || column >= p.n) return;
  float* at = out + row * p.n + column;
  if (p.n % 2 == 0) {
    *reinterpret_cast<float2*>(at) = make_float2(first, second);
  } else {
    at[0] = first;
    if (column + 1 < p.n) at[1] = second;
  }
}

// Blocks that run together share eight rows of tiles, so that both operands stay in L2.
__device__ __forceinline__ void TileOf(int block, const Problem& p, int& tile_m, int& tile_n) {
  constexpr int kBand = 8;
  const int band = block / (kBand * p.tiles_n);
  const int rest = p.tiles_m - band * kBand;
  const int height = rest < kBand ? rest : kBand;
  const int within = block - band * kBand * p.tiles_n;
  tile_m = band * kBand + within % height;
  tile_n = within / height;
}

template <int kTileM, int kWarpsM>
__global__ void __launch_bounds__(kThreads, kTileM <= 64 ? 2 : 1) MultiplyTiles(const Problem p) {
  using L = Layout<kTileM, kWarpsM>;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* stages = reinterpret_cast<Stage<kTileM>*>(shared);
  int tile_m, tile_n;
  TileOf(blockIdx.x, p, tile_m, tile_n);
  const int64_t row0 = int64_t{tile_m} * kTileM;
  const int64_t column0 = int64_t{tile_n} * kTileN;
  const int lane = threadIdx.x % 32;
  const int warp_m = threadIdx.x / 32 % kWarpsM;
  const int warp_n = threadIdx.x / 32 / kWarpsM;
  const int first = blockIdx.y * p.groups_per_split;
  const int last = min(p.groups, first + p.groups_per_split);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (first + s < last) LoadStage<kTileM>(stages[s], p, row0, column0, first + s);
    CommitCopies();
  }
  float sum[L::kM][L::kN][4] = {};
  for (int group = first; group < last; ++group) {
    WaitCopies<kStages - 2>();
    __syncthreads();
    const int next = group + kStages - 1;
    if (next < last) LoadStage<kTileM>(stages[(next - first) % kStages], p, row0, column0, next);
    CommitCopies();
    const float b_scale = __ldg(p.b_scales + int64_t{tile_n} * p.groups + group);
    MultiplyStage<kTileM, kWarpsM>(sum, stages[(group - first) % kStages], b_scale, warp_m, warp_n,
                                   lane);
  }
  float* out = p.out + int64_t{blockIdx.y} * p.m * p.n;
#pragma unroll
  for (int m = 0; m < L::kM; ++m) {
#pragma unroll
    for (int n = 0; n < L::kN; ++n) {
      const int64_t row = row0 + warp_m * L::kM * 16 + m * 16 + lane / 4;
      const int64_t column = column0 + warp_n * L::kN * 8 + n * 8 + lane % 4 * 2;
      StorePair(out, p, row, column, sum[m][n][0], sum[m][n][1]);
      StorePair(out, p, row + 8, column, sum[m][n][2], sum[m][n][3]);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    AddSplits(const float* __restrict__ parts, float* __restrict__ out, int64_t size, int splits) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= size) return;
  float sum = 0.0f;
  for (int s = 0; s < splits; ++s) sum += __ldcs(parts + s * size + i);
  out[i] = sum;
}

// Any k and alignment: one element a thread, read byte by byte.
__global__ void __launch_bounds__(kThreads) MultiplyPlain(const Problem p) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= p.m * p.n) return;
  const int64_t row = i / p.n;
  const int64_t column = i % p.n;
  float sum = 0.0f;
  for (int group = 0; group < p.groups; ++group) {
    const int64_t end = min(p.k, (int64_t{group} + 1) * kGroup);
    float part = 0.0f;
    for (int64_t at = int64_t{group} * kGroup; at < end; ++at) {
      part = fmaf(DecodeOne(p.a[row * p.k + at]), DecodeOne(p.b[column * p.k + at]), part);
    }
    const float scale =
        p.a_scales[row * p.groups + group] * p.b_scales[column / kGroup * p.groups + group];
    sum = fmaf(part, scale, sum);
  }
  p.out[i] = sum;
}

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

struct Plan {
  int tile_m;
  int splits;
};

Plan MakePlan(const block_scaled_mm_args& args) {
  const int64_t tiles_n = CeilDiv(args.n, kTileN);
  const int64_t groups = CeilDiv(args.k, kGroup);
  Plan plan{.tile_m = 128, .splits = 1};
  if (args.m <= 16) {
    plan.tile_m = 16;
  } else if (args.m <= 32) {
    plan.tile_m = 32;
  } else if (args.m <= 64 || CeilDiv(args.m, 128) * tiles_n < 132) {
    plan.tile_m = 64;
  }
  const int64_t tiles = CeilDiv(args.m, plan.tile_m) * tiles_n;
  if (tiles < 132) {
    // At least four groups a part, or the pipeline never fills.
    const int64_t most = groups / 4 > 1 ? groups / 4 : 1;
    const int64_t wanted = kTargetBlocks / tiles;
    const int64_t parts = wanted < most ? wanted : most;
    plan.splits = static_cast<int>(CeilDiv(groups, CeilDiv(groups, parts)));
  }
  return plan;
}

template <int kTileM, int kWarpsM>
void Launch(Problem p, const Plan& plan, float* parts, float* c, cudaStream_t stream) {
  constexpr int kBytes = static_cast<int>(sizeof(Stage<kTileM>)) * kStages;
  static const cudaError_t allowed = cudaFuncSetAttribute(
      MultiplyTiles<kTileM, kWarpsM>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  (void)allowed;  // a refusal shows as the launch's error
  p.tiles_m = static_cast<int>(CeilDiv(p.m, kTileM));
  p.tiles_n = static_cast<int>(CeilDiv(p.n, kTileN));
  p.groups_per_split = static_cast<int>(CeilDiv(p.groups, plan.splits));
  p.out = plan.splits > 1 ? parts : c;
  const dim3 grid(static_cast<unsigned>(p.tiles_m) * static_cast<unsigned>(p.tiles_n),
                  static_cast<unsigned>(plan.splits));
  MultiplyTiles<kTileM, kWarpsM><<<grid, kThreads, kBytes, stream>>>(p);
  if (plan.splits == 1) return;
  const auto blocks = static_cast<unsigned>(CeilDiv(p.m * p.n, kThreads));
  AddSplits<<<blocks, kThreads, 0, stream>>>(parts, c, p.m * p.n, plan.splits);
}

bool Aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

}  // namespace

extern "C" int64_t workspace_bytes(const block_scaled_mm_args* args) {
  const Plan plan = MakePlan(*args);
  return plan.splits > 1 ? plan.splits * args->m * args->n * int64_t{sizeof(float)} : 0;
}

extern "C" int run(const block_scaled_mm_args* args, void* workspace, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (args->group != kGroup) return 2;  // other groups are not what this kernel is for
  if (args->m == 0 || args->n == 0) return 0;
  Problem p{.a = static_cast<const uint8_t*>(args->a.data),
            .b = static_cast<const uint8_t*>(args->b.data),
            .a_scales = static_cast<const float*>(args->a_scales.data),
            .b_scales = static_cast<const float*>(args->b_scales.data),
            .out = static_cast<float*>(args->c.data),
            .m = args->m,
            .n = args->n,
            .k = args->k,
            .groups = static_cast<int>(CeilDiv(args->k, kGroup)),
            .groups_per_split = 0,
            .tiles_m = 0,
            .tiles_n = 0};
  float* c = p.out;
  if (args->k % 16 != 0 || !Aligned(p.a) || !Aligned(p.b) || !Aligned(c)) {
    const auto blocks = static_cast<unsigned>(CeilDiv(p.m * p.n, kThreads));
    MultiplyPlain<<<blocks, kThreads, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
  const Plan plan = MakePlan(*args);
  if (plan.splits > 1 && workspace == nullptr) return 3;
  auto* parts = static_cast<float*>(workspace);
  switch (plan.tile_m) {
    case 16:
      Launch<16, 1>(p, plan, parts, c, stream);
      break;
    case 32:
      Launch<32, 1>(p, plan, parts, c, stream);
      break;
    case 64:
      Launch<64, 2>(p, plan, parts, c, stream);
      break;
    default:
      Launch<128, 2>(p, plan, parts, c, stream);
      break;
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
