# SPDX-License-Identifier: Apache-2.0
"""The Triton kernels of a mixture-of-experts layer: routing, grouping, grouped GEMM, final sum.

Nothing here needs the host: group sizes stay on the device and surplus programs of the grouped GEMM
end early, so the layer can be captured into a CUDA graph.
"""

import triton
import triton.language as tl


@triton.jit
def moe_topk_gating_softmax_kernel(weights_ptr, ids_ptr, logits_ptr, EXPERTS: tl.constexpr,
                                   EXPERTS_BLOCK: tl.constexpr, TOP_K: tl.constexpr):
    """Softmax over the experts of one token, then its TOP_K largest, largest first."""
    token = tl.program_id(0).to(tl.int64)
    expert = tl.arange(0, EXPERTS_BLOCK)
    logits = tl.load(logits_ptr + token * EXPERTS + expert, mask=expert < EXPERTS,
                     other=float("-inf")).to(tl.float32)
    p = tl.exp(logits - tl.max(logits, axis=0))
    p = p / tl.sum(p, axis=0)
    p = tl.where(expert < EXPERTS, p, -1.0)
    for rank in range(TOP_K):
        best = tl.argmax(p, axis=0)
        tl.store(weights_ptr + token * TOP_K + rank, tl.max(p, axis=0))
        tl.store(ids_ptr + token * TOP_K + rank, best.to(tl.int32))
        p = tl.where(expert == best, -1.0, p)


@triton.jit
def moe_align_block_size_count_kernel(counts_ptr, ids_ptr, routed, BLOCK: tl.constexpr):
    """One program an expert: how many of the routed rows are its own."""
    expert = tl.program_id(0)
    count = 0
    for start in range(0, routed, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + at, mask=at < routed, other=-1)
        count += tl.sum((ids == expert).to(tl.int32), axis=0)
    tl.store(counts_ptr + expert, count)


@triton.jit
def moe_align_block_size_scatter_kernel(sorted_ptr, block_expert_ptr, padded_ptr, counts_ptr,
                                        ids_ptr, routed, EXPERTS: tl.constexpr,
                                        EXPERTS_BLOCK: tl.constexpr, BLOCK_SIZE: tl.constexpr,
                                        BLOCK: tl.constexpr):
    """One program an expert: its rows in order, then the sentinel `routed` up to a full block."""
    expert = tl.program_id(0)
    experts = tl.arange(0, EXPERTS_BLOCK)
    counts = tl.load(counts_ptr + experts, mask=experts < EXPERTS, other=0)
    padded = (counts + BLOCK_SIZE - 1) // BLOCK_SIZE * BLOCK_SIZE
    first = tl.sum(tl.where(experts < expert, padded, 0), axis=0)
    own = tl.sum(tl.where(experts == expert, padded, 0), axis=0)
    count = tl.sum(tl.where(experts == expert, counts, 0), axis=0)
    if expert == 0:
        tl.store(padded_ptr, tl.sum(padded, axis=0))
    for block in range(0, own // BLOCK_SIZE):
        tl.store(block_expert_ptr + first // BLOCK_SIZE + block, expert)
    tail = count + tl.arange(0, BLOCK_SIZE)
    tl.store(sorted_ptr + first + tail, routed, mask=tail < own)
    placed = first
    for start in range(0, routed, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + at, mask=at < routed, other=-1)
        mine = (ids == expert).to(tl.int32)
        tl.store(sorted_ptr + placed + tl.cumsum(mine, axis=0) - 1, at, mask=mine > 0)
        placed += tl.sum(mine, axis=0)


@triton.jit
def fused_moe_kernel(c_ptr, a_ptr, b_ptr, weights_ptr, sorted_ptr, block_expert_ptr, padded_ptr,
                     n, k, routed, ROWS_PER_TOKEN: tl.constexpr, SCALE_ROWS: tl.constexpr,
                     BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c[r] = a[r // ROWS_PER_TOKEN] @ b[expert of r]^T for each grouped row r, times its weight."""
    tiles_n = tl.cdiv(n, BLOCK_N)
    block = tl.program_id(0) // tiles_n
    if block * BLOCK_M >= tl.load(padded_ptr):
        return
    rows = tl.load(sorted_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    row_ok = rows < routed
    expert = tl.load(block_expert_ptr + block).to(tl.int64)
    cols = (tl.program_id(0) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    col_ok = cols < n
    depth = tl.arange(0, BLOCK_K)
    a_at = a_ptr + (rows // ROWS_PER_TOKEN)[:, None] * k + depth[None, :]
    b_at = b_ptr + expert * n * k + cols[None, :].to(tl.int64) * k + depth[:, None]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        inside = depth < k - start
        a = tl.load(a_at + start, mask=row_ok[:, None] & inside[None, :], other=0.0)
        b = tl.load(b_at + start, mask=col_ok[None, :] & inside[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    if SCALE_ROWS:
        weight = tl.load(weights_ptr + rows, mask=row_ok, other=0.0)
        acc = acc * weight[:, None]
    c_at = c_ptr + rows[:, None] * n + cols[None, :]
    tl.store(c_at, acc.to(tl.bfloat16), mask=row_ok[:, None] & col_ok[None, :])


@triton.jit
def moe_sum_reduce_kernel(out_ptr, x_ptr, hidden, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    """out[token] = the sum of the token's TOP_K expert rows, in float32."""
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < hidden
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for rank in range(TOP_K):
        at = (token * TOP_K + rank) * hidden + cols
        acc += tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + token * hidden + cols, acc.to(tl.bfloat16), mask=mask)
