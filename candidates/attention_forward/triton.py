# SPDX-License-Identifier: Apache-2.0
"""Honest Triton attention within packed sequences, not causal: a program has some rows of one head
and goes over all keys of its sequence with the online softmax."""

import triton
import triton.language as tl


@triton.jit
def _attend(
    q,
    k,
    v,
    starts_q,
    starts_k,
    out,
    scale_log2,
    heads,
    HEAD: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    seq = tl.program_id(2)
    head = tl.program_id(1)
    start = tl.load(starts_q + seq)
    q_len = tl.load(starts_q + seq + 1) - start
    start_k = tl.load(starts_k + seq)
    kv_len = tl.load(starts_k + seq + 1) - start_k
    row0 = tl.program_id(0) * ROWS
    if row0 < q_len:
        row = row0 + tl.arange(0, ROWS)
        size = tl.arange(0, SIZE)
        in_head = size < HEAD
        place = ((start + row).to(tl.int64) * heads + head)[:, None] * HEAD + size[None, :]
        valid = (row < q_len)[:, None] & in_head[None, :]
        queries = tl.load(q + place, mask=valid, other=0.0)
        largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
        total = tl.zeros((ROWS,), dtype=tl.float32)
        acc = tl.zeros((ROWS, SIZE), dtype=tl.float32)
        base = (start_k.to(tl.int64) * heads + head) * HEAD
        for first in range(0, kv_len, TILE):
            key = first + tl.arange(0, TILE)
            seen = key < kv_len
            token = base + key.to(tl.int64) * (heads * HEAD)
            mask = in_head[:, None] & seen[None, :]
            keys = tl.load(k + token[None, :] + size[:, None], mask=mask, other=0.0)
            scores = tl.dot(queries, keys) * scale_log2
            scores = tl.where(seen[None, :], scores, float("-inf"))
            new_largest = tl.maximum(largest, tl.max(scores, 1))
            shrink = tl.exp2(largest - new_largest)
            p = tl.exp2(scores - new_largest[:, None])
            total = total * shrink + tl.sum(p, 1)
            mask = seen[:, None] & in_head[None, :]
            values = tl.load(v + token[:, None] + size[None, :], mask=mask, other=0.0)
            acc = tl.dot(p.to(tl.bfloat16), values, acc * shrink[:, None])
            largest = new_largest
        tl.store(out + place, (acc / total[:, None]).to(tl.bfloat16), mask=valid)


def run(q, k, v, cu_seqlens_q, cu_seqlens_k, out, seqs, max_q, heads, head_size):
    rows = 128 if max_q > 64 else 16
    _attend[(triton.cdiv(max_q, rows), heads, seqs)](
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        out,
        head_size**-0.5 * 1.4426950408889634,
        heads,
        HEAD=head_size,
        SIZE=max(16, triton.next_power_of_2(head_size)),
        ROWS=rows,
        TILE=64,
        num_warps=8 if rows == 128 else 4,
        num_stages=3,
    )
