# SPDX-License-Identifier: Apache-2.0
"""Paged causal attention in Triton: one kernel for any query length, one that splits contexts.

The 2d kernel walks all keys of a sequence for a block of queries. At decode there is one query a
sequence, so the 3d kernel gives each program a segment of the context instead, and reduce_segments
merges the partial results (flash decoding). The names are those that vLLM's Triton backend uses.
"""

import triton
import triton.language as tl


@triton.jit
def _attend(q, last_key, begin, end, k_ptr, v_ptr, table_ptr, kv_head, scale_log2,
            ROWS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr,
            TILE: tl.constexpr):
    """Online softmax of ROWS queries over keys begin .. end; row r sees keys up to last_key[r]."""
    dims = tl.arange(0, HEAD)
    high = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    total = tl.zeros([ROWS], dtype=tl.float32)
    acc = tl.zeros([ROWS, HEAD], dtype=tl.float32)
    for start in range(begin, end, TILE):
        keys = start + tl.arange(0, TILE)
        key_ok = keys < end
        page = tl.load(table_ptr + keys // PAGE, mask=key_ok, other=0).to(tl.int64)
        base = ((page * PAGE + keys % PAGE) * KV_HEADS + kv_head) * HEAD
        k = tl.load(k_ptr + base[None, :] + dims[:, None], mask=key_ok[None, :], other=0.0)
        scores = tl.dot(q, k) * scale_log2
        seen = (keys[None, :] <= last_key[:, None]) & key_ok[None, :]
        scores = tl.where(seen, scores, float("-inf"))
        new_high = tl.maximum(high, tl.max(scores, axis=1))
        new_high = tl.where(new_high > float("-inf"), new_high, 0.0)
        p = tl.exp2(scores - new_high[:, None])
        shrink = tl.exp2(high - new_high)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + base[:, None] + dims[None, :], mask=key_ok[:, None], other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        high = new_high
    return acc, high, total


@triton.jit
def kernel_unified_attention_2d(out_ptr, q_ptr, k_ptr, v_ptr, cu_q_ptr, kv_len_ptr, table_ptr,
                                table_stride, scale_log2, Q_HEADS: tl.constexpr,
                                KV_HEADS: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr,
                                BLOCK_Q: tl.constexpr, TILE: tl.constexpr):
    """Grid (query blocks of the longest sequence, sequences * cache heads)."""
    GROUP: tl.constexpr = Q_HEADS // KV_HEADS
    ROWS: tl.constexpr = BLOCK_Q * GROUP
    seq = tl.program_id(1) // KV_HEADS
    kv_head = tl.program_id(1) % KV_HEADS
    first = tl.load(cu_q_ptr + seq)
    q_len = tl.load(cu_q_ptr + seq + 1) - first
    q_start = tl.program_id(0) * BLOCK_Q
    if q_start >= q_len:
        return
    kv_len = tl.load(kv_len_ptr + seq)
    rows = tl.arange(0, ROWS)
    dims = tl.arange(0, HEAD)
    q_at = q_start + rows // GROUP
    at = ((first + q_at).to(tl.int64) * Q_HEADS + kv_head * GROUP + rows % GROUP) * HEAD
    row_ok = q_at < q_len
    q = tl.load(q_ptr + at[:, None] + dims[None, :], mask=row_ok[:, None], other=0.0)
    past = kv_len - q_len
    end = tl.minimum(kv_len, past + q_start + BLOCK_Q)
    acc, high, total = _attend(q, past + q_at, 0, end, k_ptr, v_ptr,
                               table_ptr + seq.to(tl.int64) * table_stride, kv_head, scale_log2,
                               ROWS, KV_HEADS, HEAD, PAGE, TILE)
    acc = acc / total[:, None]
    tl.store(out_ptr + at[:, None] + dims[None, :], acc.to(tl.bfloat16), mask=row_ok[:, None])


@triton.jit
def kernel_unified_attention_3d(part_ptr, high_ptr, total_ptr, q_ptr, k_ptr, v_ptr, cu_q_ptr,
                                kv_len_ptr, table_ptr, table_stride, scale_log2,
                                Q_HEADS: tl.constexpr, KV_HEADS: tl.constexpr,
                                HEAD: tl.constexpr, PAGE: tl.constexpr, ROWS: tl.constexpr,
                                TILE: tl.constexpr, SEGMENTS: tl.constexpr):
    """Grid (sequences, cache heads, segments); every sequence has one query."""
    GROUP: tl.constexpr = Q_HEADS // KV_HEADS
    seq = tl.program_id(0)
    kv_head = tl.program_id(1)
    segment = tl.program_id(2)
    kv_len = tl.load(kv_len_ptr + seq)
    span = tl.cdiv(kv_len, SEGMENTS * TILE) * TILE
    begin = segment * span
    if begin >= kv_len:
        return
    token = tl.load(cu_q_ptr + seq).to(tl.int64)
    rows = tl.arange(0, ROWS)
    dims = tl.arange(0, HEAD)
    row_ok = rows < GROUP
    head = token * Q_HEADS + kv_head * GROUP + rows
    q = tl.load(q_ptr + head[:, None] * HEAD + dims[None, :], mask=row_ok[:, None], other=0.0)
    acc, high, total = _attend(q, kv_len - 1 + rows * 0, begin, tl.minimum(kv_len, begin + span),
                               k_ptr, v_ptr, table_ptr + seq.to(tl.int64) * table_stride, kv_head,
                               scale_log2, ROWS, KV_HEADS, HEAD, PAGE, TILE)
    at = head * SEGMENTS + segment
    tl.store(part_ptr + at[:, None] * HEAD + dims[None, :], acc, mask=row_ok[:, None])
    tl.store(high_ptr + at, high, mask=row_ok)
    tl.store(total_ptr + at, total, mask=row_ok)


@triton.jit
def reduce_segments(out_ptr, part_ptr, high_ptr, total_ptr, cu_q_ptr, kv_len_ptr,
                    Q_HEADS: tl.constexpr, HEAD: tl.constexpr, TILE: tl.constexpr,
                    SEGMENTS: tl.constexpr):
    """Grid (sequences, query heads): the segments of one head, weighted by their softmax sums."""
    seq = tl.program_id(0)
    token = tl.load(cu_q_ptr + seq).to(tl.int64)
    kv_len = tl.load(kv_len_ptr + seq)
    span = tl.cdiv(kv_len, SEGMENTS * TILE) * TILE
    segment = tl.arange(0, SEGMENTS)
    used = segment * span < kv_len
    dims = tl.arange(0, HEAD)
    head = token * Q_HEADS + tl.program_id(1)
    at = head * SEGMENTS + segment
    high = tl.load(high_ptr + at, mask=used, other=float("-inf"))
    total = tl.load(total_ptr + at, mask=used, other=0.0)
    part = tl.load(part_ptr + at[:, None] * HEAD + dims[None, :], mask=used[:, None], other=0.0)
    weight = tl.exp2(high - tl.max(high, axis=0))
    out = tl.sum(part * weight[:, None], axis=0) / tl.sum(total * weight, axis=0)
    tl.store(out_ptr + head * HEAD + dims, out.to(tl.bfloat16))
