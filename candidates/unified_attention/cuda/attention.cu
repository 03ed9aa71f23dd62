// SPDX-License-Identifier: Apache-2.0
//
// Honest CUDA C++ attention over a paged cache for Hopper, on mma.sync. The queries of all heads
// that share a cache head are rows of one tile (row r is token r / heads, head r % heads), so the
// cache is read once for all of them. Two kernels:
//   Prefill  128 rows a block, 16 a warp; tiles of 64 keys pass through two cp.async buffers.
//   Decode   16 rows a block; each of four warps streams its own tiles of 16 keys, blocks split the
//            keys, and a third kernel joins the parts.
// A batch that mixes both runs both, and each takes the sequences of its class.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "plan.cuh"
#include "roofmark/unified_attention.h"
#include "tiles.cuh"

namespace {

using namespace plan;
using namespace tiles;

struct Problem {
  const __nv_bfloat16* q;
  const uint4* keys;  // the caches, counted in 16-byte chunks
  const uint4* values;
  const int* starts;  // cu_seqlens_q
  const int* kv_lens;
  const int* table;
  __nv_bfloat16* out;
  float* part_out;   // [sequence][cache head][row][split][head_size]; null when keys are not split
  float* part_lse;   // [sequence][cache head][row][split], base 2
  float scale_log2;  // softmax scale times log2(e)
  int query_heads;
  int kv_heads;
  int heads;  // query heads a cache head
  int head_size;
  int page_size;
  int max_pages;
  int seqs;
  int decode_rows;  // sequences of at most so many rows are decode's
  int row_tiles;    // decode: tiles of 16 rows a sequence
  int split_keys;   // decode: keys a split
  int splits;
};

// Where the keys of one sequence and cache head lie.
struct Cache {
  const int* table;
  int page_size;
  int chunks_per_token;
  int head_chunk;

  // The chunk at which a token's head begins.
  __device__ __forceinline__ int Offset(int key) const {
    const int page = __ldg(table + key / page_size);
    return (page * page_size + key % page_size) * chunks_per_token + head_chunk;
  }
};

// One warp copies kRows rows of keys and values; lane r knows the place of row r (negative: zeros).
template <int kSize, int kRows>
__device__ __forceinline__ void LoadRows(__nv_bfloat16* keys, __nv_bfloat16* values,
                                         const Problem& p, int offset_of_lane, int lane) {
  constexpr int kChunks = kSize / 8;
  const int chunks = p.head_size / 8;
#pragma unroll
  for (int i = 0; i < (kRows * kChunks + 31) / 32; ++i) {
    const int at = i * 32 + lane;
    const int row = at / kChunks;
    const int chunk = at % kChunks;
    const int offset = __shfl_sync(0xffffffffu, offset_of_lane, row % 32);
    if (kRows * kChunks % 32 != 0 && row >= kRows) continue;
    const bool valid = offset >= 0 && chunk < chunks;
    const int64_t from = valid ? int64_t{offset} + chunk : 0;
    CopyAsync16(keys + row * kPitch<kSize> + chunk * 8, p.keys + from, valid);
    CopyAsync16(values + row * kPitch<kSize> + chunk * 8, p.values + from, valid);
  }
}

// The queries of rows row0 .. row0 + kRows, zeros past the end.
template <int kSize, int kRows, int kThreads>
__device__ __forceinline__ void LoadQueries(__nv_bfloat16* to, const Problem& p, int start,
                                            int row0, int rows, int kv_head) {
  constexpr int kChunks = kSize / 8;
  for (int at = threadIdx.x; at < kRows * kChunks; at += kThreads) {
    const int row = at / kChunks;
    const int chunk = at % kChunks;
    const bool valid = row0 + row < rows && chunk * 8 < p.head_size;
    const int token = (row0 + row) / p.heads;
    const int head = kv_head * p.heads + (row0 + row) % p.heads;
    const int64_t from = (int64_t{start + token} * p.query_heads + head) * p.head_size + chunk * 8;
    CopyAsync16(to + row * kPitch<kSize> + chunk * 8, p.q + (valid ? from : 0), valid);
  }
}

// The sequence that owns a tile. Sequence s starts at tile starts[s] * heads / rows + s, which
// leaves each at least the tiles it needs; the rare spare tile ends early. A warp searches 32 ways
// at once.
__device__ __forceinline__ int FindSequence(const Problem& p, int tile, int lane, int& first_tile) {
  int low = 0;
  int high = p.seqs;
  while (high - low > 1) {
    const int step = (high - low + 31) / 32;
    const int probe = low + lane * step;
    const bool before =
        probe < high && int64_t{__ldg(p.starts + probe)} * p.heads / kPrefillRows + probe <= tile;
    const int count = __popc(__ballot_sync(0xffffffffu, before));
    low += (count - 1) * step;
    high = min(high, low + step);
  }
  first_tile = static_cast<int>(int64_t{__ldg(p.starts + low)} * p.heads / kPrefillRows) + low;
  return low;
}

__device__ __forceinline__ Cache CacheOf(const Problem& p, int seq, int kv_head) {
  return Cache{.table = p.table + int64_t{seq} * p.max_pages,
               .page_size = p.page_size,
               .chunks_per_token = p.kv_heads * (p.head_size / 8),
               .head_chunk = kv_head * (p.head_size / 8)};
}

// Writes a warp's 16 rows through its own rows of shared memory, in 16-byte pieces.
template <int kSize>
__device__ __forceinline__ void StoreRows(const Running<kSize>& running, __nv_bfloat16* staging,
                                          const Problem& p, int start, int row0, int rows,
                                          int kv_head, int lane) {
  const float upper = 1.0f / QuadSum(running.sum[0]);
  const float lower = 1.0f / QuadSum(running.sum[1]);
#pragma unroll
  for (int d = 0; d < kSize / 8; ++d) {
    auto* at =
        reinterpret_cast<uint32_t*>(staging + lane / 4 * kPitch<kSize> + d * 8 + lane % 4 * 2);
    at[0] = Pack(running.out[d][0] * upper, running.out[d][1] * upper);
    at[8 * kPitch<kSize> / 2] = Pack(running.out[d][2] * lower, running.out[d][3] * lower);
  }
  __syncwarp();
  constexpr int kChunks = kSize / 8;
  for (int at = lane; at < 16 * kChunks; at += 32) {
    const int row = at / kChunks;
    const int chunk = at % kChunks;
    if (row0 + row >= rows || chunk * 8 >= p.head_size) continue;
    const int token = (row0 + row) / p.heads;
    const int head = kv_head * p.heads + (row0 + row) % p.heads;
    const int64_t to = (int64_t{start + token} * p.query_heads + head) * p.head_size + chunk * 8;
    *reinterpret_cast<uint4*>(p.out + to) =
        *reinterpret_cast<const uint4*>(staging + row * kPitch<kSize> + chunk * 8);
  }
}

template <int kSize>
constexpr int kPrefillBytes =
    (kPrefillRows + 4 * kPrefillKeys) * kPitch<kSize> * static_cast<int>(sizeof(__nv_bfloat16));

template <int kSize>
__global__ void __launch_bounds__(kPrefillWarps * 32, kSize <= 80 ? 2 : 1)
    Prefill(const Problem p) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto* queries = reinterpret_cast<__nv_bfloat16*>(shared);
  __nv_bfloat16* buffers = queries + kPrefillRows * kPitch<kSize>;  // keys and values, twice
  constexpr int kBuffer = kPrefillKeys * kPitch<kSize>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int kv_head = blockIdx.y;
  // The last tiles of a sequence see the most keys: they go first.
  const int tile = gridDim.x - 1 - blockIdx.x;
  int first_tile;
  const int seq = FindSequence(p, tile, lane, first_tile);
  const int start = __ldg(p.starts + seq);
  const int q_len = __ldg(p.starts + seq + 1) - start;
  const int kv_len = __ldg(p.kv_lens + seq);
  const int rows = q_len * p.heads;
  const int row0 = (tile - first_tile) * kPrefillRows;
  if (row0 >= rows || rows <= p.decode_rows) return;

  const Cache cache = CacheOf(p, seq, kv_head);
  const auto limit_of = [&](int row) { return kv_len - q_len + min(row, rows - 1) / p.heads + 1; };
  const int block_limit = limit_of(row0 + kPrefillRows - 1);
  const int warp_row = row0 + warp * 16;
  const int limit[2] = {limit_of(warp_row + lane / 4), limit_of(warp_row + lane / 4 + 8)};
  const int warp_least = limit_of(warp_row);
  const int warp_most = warp_row < rows ? limit_of(warp_row + 15) : 0;
  const int tiles = (block_limit + kPrefillKeys - 1) / kPrefillKeys;

  constexpr int kRowsPerWarp = kPrefillKeys / kPrefillWarps;
  const auto place = [&](int t) {
    const int key = t * kPrefillKeys + warp * kRowsPerWarp + lane;
    return lane < kRowsPerWarp && key < block_limit ? cache.Offset(key) : -1;
  };
  const auto load = [&](int t, int offset) {
    __nv_bfloat16* keys = buffers + t % 2 * 2 * kBuffer + warp * kRowsPerWarp * kPitch<kSize>;
    LoadRows<kSize, kRowsPerWarp>(keys, keys + kBuffer, p, offset, lane);
    CommitCopies();
  };
  LoadQueries<kSize, kPrefillRows, kPrefillWarps * 32>(queries, p, start, row0, rows, kv_head);
  load(0, place(0));
  int next_offset = place(1);

  Running<kSize> running;
  const __nv_bfloat16* own_queries = queries + warp * 16 * kPitch<kSize>;
  for (int t = 0; t < tiles; ++t) {
    WaitCopies<0>();
    __syncthreads();
    if (t + 1 < tiles) {
      load(t + 1, next_offset);
      next_offset = place(t + 2);
    }
    const int first_key = t * kPrefillKeys;
    if (first_key >= warp_most) continue;
    const __nv_bfloat16* keys = buffers + t % 2 * 2 * kBuffer;
    float scores[kPrefillKeys / 8][4] = {};
    Score<kSize, kPrefillKeys>(scores, own_queries, keys, lane);
    if (first_key + kPrefillKeys > warp_least) Mask<kPrefillKeys>(scores, first_key, limit, lane);
    Accumulate<kSize, kPrefillKeys>(running, scores, keys + kBuffer, p.scale_log2, lane);
  }
  if (warp_row >= rows) return;
  StoreRows<kSize>(running, queries + warp * 16 * kPitch<kSize>, p, start, warp_row, rows, kv_head,
                   lane);
}

template <int kSize>
constexpr int kDecodeBytes = (kDecodeRows + kDecodeWarps * 4 * kDecodeKeys) * kPitch<kSize> *
                             static_cast<int>(sizeof(__nv_bfloat16));

// Joins the four warps' results for the block's rows, and writes them out or as a part.
template <int kSize>
__device__ __forceinline__ void JoinWarps(const Running<kSize>& running, float* staging,
                                          const Problem& p, int seq, int start, int row0, int rows,
                                          int kv_head, int split) {
  __shared__ float largest[kDecodeWarps][kDecodeRows];
  __shared__ float sums[kDecodeWarps][kDecodeRows];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + i * 8;
    const float sum = QuadSum(running.sum[i]);
    if (lane % 4 == 0) {
      largest[warp][row] = running.largest[i] * p.scale_log2;
      sums[warp][row] = sum;
    }
#pragma unroll
    for (int d = 0; d < kSize / 8; ++d) {
      float* at = staging + (warp * kDecodeRows + row) * kSize + d * 8 + lane % 4 * 2;
      at[0] = running.out[d][i * 2];
      at[1] = running.out[d][i * 2 + 1];
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < kDecodeRows * kSize; at += kDecodeWarps * 32) {
    const int row = at / kSize;
    const int d = at % kSize;
    if (row0 + row >= rows || d >= p.head_size) continue;
    float most = -INFINITY;
    for (int w = 0; w < kDecodeWarps; ++w) most = fmaxf(most, largest[w][row]);
    const float base = most == -INFINITY ? 0.0f : most;
    float sum = 0.0f;
    float out = 0.0f;
    for (int w = 0; w < kDecodeWarps; ++w) {
      const float weight = Exp2(largest[w][row] - base);
      sum += weight * sums[w][row];
      out += weight * staging[(w * kDecodeRows + row) * kSize + d];
    }
    out = sum > 0.0f ? out / sum : 0.0f;
    if (p.part_out == nullptr) {
      const int token = (row0 + row) / p.heads;
      const int head = kv_head * p.heads + (row0 + row) % p.heads;
      p.out[(int64_t{start + token} * p.query_heads + head) * p.head_size + d] =
          __float2bfloat16(out);
    } else {
      const int64_t place =
          (int64_t{seq} * p.kv_heads + kv_head) * (p.row_tiles * kDecodeRows) + row0 + row;
      p.part_out[(place * p.splits + split) * p.head_size + d] = out;
      if (d == 0) p.part_lse[place * p.splits + split] = sum > 0.0f ? base + log2f(sum) : -INFINITY;
    }
  }
}

template <int kSize>
__global__ void __launch_bounds__(kDecodeWarps * 32) Decode(const Problem p) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto* queries = reinterpret_cast<__nv_bfloat16*>(shared);
  constexpr int kBuffer = kDecodeKeys * kPitch<kSize>;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  __nv_bfloat16* buffers = queries + kDecodeRows * kPitch<kSize> + warp * 4 * kBuffer;
  const int seq = blockIdx.x / p.row_tiles;
  const int row0 = blockIdx.x % p.row_tiles * kDecodeRows;
  const int kv_head = blockIdx.y;
  const int start = __ldg(p.starts + seq);
  const int q_len = __ldg(p.starts + seq + 1) - start;
  const int kv_len = __ldg(p.kv_lens + seq);
  const int rows = q_len * p.heads;
  if (row0 >= rows || rows > p.decode_rows) return;
  const auto limit_of = [&](int row) { return kv_len - q_len + min(row, rows - 1) / p.heads + 1; };
  const int first = blockIdx.z * p.split_keys;
  const int last = min(limit_of(row0 + kDecodeRows - 1), first + p.split_keys);
  // Whole split past this tile's keys: the join looks at no part from there on.
  if (first >= last) return;

  const Cache cache = CacheOf(p, seq, kv_head);
  const int limit[2] = {limit_of(row0 + lane / 4), limit_of(row0 + lane / 4 + 8)};
  const int least = limit_of(row0);
  const int tiles = (last - first + kDecodeKeys - 1) / kDecodeKeys;
  const auto place = [&](int t) {
    const int key = first + t * kDecodeKeys + lane;
    return lane < kDecodeKeys && key < last ? cache.Offset(key) : -1;
  };
  const auto load = [&](int t, int offset) {
    __nv_bfloat16* keys = buffers + t / kDecodeWarps % 2 * 2 * kBuffer;
    if (t < tiles) LoadRows<kSize, kDecodeKeys>(keys, keys + kBuffer, p, offset, lane);
    CommitCopies();
  };
  LoadQueries<kSize, kDecodeRows, kDecodeWarps * 32>(queries, p, start, row0, rows, kv_head);
  load(warp, place(warp));
  int next_offset = place(warp + kDecodeWarps);
  WaitCopies<0>();
  __syncthreads();  // the queries, which all warps read

  Running<kSize> running;
  for (int t = warp; t < tiles; t += kDecodeWarps) {
    load(t + kDecodeWarps, next_offset);
    next_offset = place(t + 2 * kDecodeWarps);
    WaitCopies<1>();
    __syncwarp();
    const int first_key = first + t * kDecodeKeys;
    const __nv_bfloat16* keys = buffers + t / kDecodeWarps % 2 * 2 * kBuffer;
    float scores[kDecodeKeys / 8][4] = {};
    Score<kSize, kDecodeKeys>(scores, queries, keys, lane);
    if (first_key + kDecodeKeys > min(least, last)) {
      const int end[2] = {min(limit[0], last), min(limit[1], last)};
      Mask<kDecodeKeys>(scores, first_key, end, lane);
    }
    Accumulate<kSize, kDecodeKeys>(running, scores, keys + kBuffer, p.scale_log2, lane);
    __syncwarp();  // all lanes are done with this buffer before the next turn refills it
  }
  WaitCopies<0>();
  __syncthreads();
  JoinWarps<kSize>(running, reinterpret_cast<float*>(queries + kDecodeRows * kPitch<kSize>), p, seq,
                   start, row0, rows, kv_head, blockIdx.z);
}

// One warp a row: the parts, weighted by their sums of exponentials.
__global__ void __launch_bounds__(128) JoinSplits(const Problem p) {
  const int lane = threadIdx.x % 32;
  const int row_cap = p.row_tiles * kDecodeRows;
  const int64_t place = int64_t{blockIdx.x} * 4 + threadIdx.x / 32;
  if (place >= int64_t{p.seqs} * p.kv_heads * row_cap) return;
  const int row = static_cast<int>(place % row_cap);
  const int kv_head = static_cast<int>(place / row_cap % p.kv_heads);
  const int seq = static_cast<int>(place / row_cap / p.kv_heads);
  const int start = __ldg(p.starts + seq);
  const int q_len = __ldg(p.starts + seq + 1) - start;
  const int rows = q_len * p.heads;
  if (row >= rows || rows > p.decode_rows) return;
  const int tile_last = min(row / kDecodeRows * kDecodeRows + kDecodeRows, rows) - 1;
  const int limit = __ldg(p.kv_lens + seq) - q_len + tile_last / p.heads + 1;
  const int used = (limit + p.split_keys - 1) / p.split_keys;
  const float* lse = p.part_lse + place * p.splits;
  float most = -INFINITY;
  for (int s = 0; s < used; ++s) most = fmaxf(most, lse[s]);
  float sum = 0.0f;
  for (int s = 0; s < used; ++s) sum += Exp2(lse[s] - most);
  const int token = row / p.heads;
  const int head = kv_head * p.heads + row % p.heads;
  __nv_bfloat16* out = p.out + (int64_t{start + token} * p.query_heads + head) * p.head_size;
  for (int d = lane; d < p.head_size; d += 32) {
    float value = 0.0f;
    for (int s = 0; s < used; ++s) {
      value += Exp2(lse[s] - most) * p.part_out[(place * p.splits + s) * p.head_size + d];
    }
    out[d] = __float2bfloat16(value / sum);
  }
}

template <int kSize>
void Launch(const Problem& p, const Plan& plan, const unified_attention_args& args,
            cudaStream_t stream) {
  const auto kv_heads = static_cast<unsigned>(p.kv_heads);
  if (plan.prefill) {
    static const cudaError_t allowed = cudaFuncSetAttribute(
        Prefill<kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize, kPrefillBytes<kSize>);
    (void)allowed;  // a refusal shows as the launch's error
    const auto tiles = static_cast<unsigned>(args.total_q * p.heads / kPrefillRows + args.seqs);
    Prefill<kSize><<<dim3(tiles, kv_heads), kPrefillWarps * 32, kPrefillBytes<kSize>, stream>>>(p);
  }
  if (plan.decode) {
    static const cudaError_t allowed = cudaFuncSetAttribute(
        Decode<kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize, kDecodeBytes<kSize>);
    (void)allowed;
    const dim3 grid(static_cast<unsigned>(p.seqs * p.row_tiles), kv_heads,
                    static_cast<unsigned>(p.splits));
    Decode<kSize><<<grid, kDecodeWarps * 32, kDecodeBytes<kSize>, stream>>>(p);
    if (p.splits > 1) {
      const auto blocks = static_cast<unsigned>(CeilDiv(PartRows(args, plan), 4));
      JoinSplits<<<blocks, 128, 0, stream>>>(p);
    }
  }
}

bool Aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

bool Supported(const unified_attention_args& args) {
  const int64_t chunks = args.num_pages * args.page_size * args.kv_heads * args.head_size / 8;
  return args.head_size % 8 == 0 && args.head_size <= 256 && chunks < (int64_t{1} << 31) &&
         Aligned(args.q.data) && Aligned(args.key_cache.data) && Aligned(args.value_cache.data) &&
         Aligned(args.out.data);
}

}  // namespace

extern "C" int64_t workspace_bytes(const unified_attention_args* args) {
  const Plan plan = MakePlan(*args);
  if (!plan.decode || plan.splits == 1) return 0;
  return PartRows(*args, plan) * plan.splits * (args->head_size + 1) * int64_t{sizeof(float)};
}

extern "C" int run(const unified_attention_args* args, void* workspace, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (!Supported(*args)) return 2;
  const Plan plan = MakePlan(*args);
  Problem p{.q = static_cast<const __nv_bfloat16*>(args->q.data),
            .keys = static_cast<const uint4*>(args->key_cache.data),
            .values = static_cast<const uint4*>(args->value_cache.data),
            .starts = static_cast<const int*>(args->cu_seqlens_q.data),
            .kv_lens = static_cast<const int*>(args->seqused_k.data),
            .table = static_cast<const int*>(args->block_table.data),
            .out = static_cast<__nv_bfloat16*>(args->out.data),
            .part_out = nullptr,
            .part_lse = nullptr,
            .scale_log2 = rsqrtf(static_cast<float>(args->head_size)) * 1.44269504f,
            .query_heads = static_cast<int>(args->query_heads),
            .kv_heads = static_cast<int>(args->kv_heads),
            .heads = static_cast<int>(args->query_heads / args->kv_heads),
            .head_size = static_cast<int>(args->head_size),
            .page_size = static_cast<int>(args->page_size),
            .max_pages = static_cast<int>(args->max_pages),
            .seqs = static_cast<int>(args->seqs),
            .decode_rows = plan.decode_rows,
            .row_tiles = plan.row_tiles,
            .split_keys = plan.split_keys,
            .splits = plan.splits};
  if (plan.decode && plan.splits > 1) {
    if (workspace == nullptr) return 3;
    p.part_out = static_cast<float*>(workspace);
    p.part_lse = p.part_out + PartRows(*args, plan) * plan.splits * args->head_size;
  }
  if (p.head_size <= 64) {
    Launch<64>(p, plan, *args, stream);
  } else if (p.head_size <= 80) {
    Launch<80>(p, plan, *args, stream);
  } else if (p.head_size <= 128) {
    Launch<128>(p, plan, *args, stream);
  } else if (p.head_size <= 192) {
    Launch<192>(p, plan, *args, stream);
  } else {
    Launch<256>(p, plan, *args, stream);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
