# SPDX-License-Identifier: Apache-2.0
"""Honest Triton decode over a latent cache: a program has sixteen query heads of a sequence; the
latent part of a tile of the cache serves both as keys and as values."""

import triton
import triton.language as tl


@triton.jit
def _attend(
    q,
    kv,
    offsets,
    out,
    scale_log2,
    heads,
    latent,
    rope,
    LATENT: tl.constexpr,
    ROPE: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    seq = tl.program_id(1).to(tl.int64)
    head = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    start = tl.load(offsets + seq).to(tl.int64)
    length = tl.load(offsets + seq + 1).to(tl.int64) - start
    width = latent + rope
    size = tl.arange(0, LATENT)
    turn = tl.arange(0, ROPE)
    in_latent = size < latent
    in_rope = turn < rope
    row = (seq * heads + head)[:, None]
    real = (head < heads)[:, None]
    q_latent = tl.load(q + row * width + size[None, :], mask=real & in_latent[None, :], other=0.0)
    q_rope = tl.load(
        q + row * width + latent + turn[None, :], mask=real & in_rope[None, :], other=0.0
    )
    largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    acc = tl.zeros((ROWS, LATENT), dtype=tl.float32)
    for first in range(0, length, TILE):
        key = first + tl.arange(0, TILE)
        seen = key < length
        token = (start + key) * width
        tile = tl.load(
            kv + token[:, None] + size[None, :],
            mask=seen[:, None] & in_latent[None, :],
            other=0.0,
        )
        turned = tl.load(
            kv + token[None, :] + latent + turn[:, None],
            mask=seen[None, :] & in_rope[:, None],
            other=0.0,
        )
        scores = tl.dot(q_rope, turned)
        scores = tl.dot(q_latent, tl.trans(tile), scores) * scale_log2
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        shrink = tl.exp2(largest - new_largest)
        p = tl.exp2(scores - new_largest[:, None])
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tile, acc * shrink[:, None])
        largest = new_largest
    result = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(out + row * latent + size[None, :], result, mask=real & in_latent[None, :])


def run(q, kv, kv_offsets, out, seqs, query_heads, latent, rope):
    rows = 16
    _attend[(triton.cdiv(query_heads, rows), seqs)](
        q,
        kv,
        kv_offsets,
        out,
        (latent + rope) ** -0.5 * 1.4426950408889634,
        query_heads,
        latent,
        rope,
        LATENT=max(16, triton.next_power_of_2(latent)),
        ROPE=max(16, triton.next_power_of_2(rope)),
        ROWS=rows,
        TILE=32,
        num_warps=4,
        num_stages=2,
    )
