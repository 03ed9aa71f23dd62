# SPDX-License-Identifier: Apache-2.0
"""Honest Triton decode over the packed cache: a program has one sequence and one cache head, so
keys and values are read once for all query heads that share them; online softmax over tiles of
keys."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["max_pages"])
def _attend(
    q,
    key_cache,
    value_cache,
    table,
    lens,
    out,
    scale_log2,
    query_heads,
    kv_heads,
    max_pages,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    HEAD: tl.constexpr,
    SIZE: tl.constexpr,
    PAGE: tl.constexpr,
    PACK: tl.constexpr,
    TILE: tl.constexpr,
):
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    length = tl.load(lens + seq)
    row = tl.arange(0, ROWS)
    size = tl.arange(0, SIZE)
    place = (seq * query_heads + kv_head * GROUP + row)[:, None] * HEAD + size[None, :]
    valid = (row < GROUP)[:, None] & (size < HEAD)[None, :]
    queries = tl.load(q + place, mask=valid, other=0.0)
    largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    acc = tl.zeros((ROWS, SIZE), dtype=tl.float32)
    for first in range(0, length, TILE):
        key = first + tl.arange(0, TILE)
        seen = key < length
        page = tl.load(table + seq * max_pages + key // PAGE, mask=seen, other=0).to(tl.int64)
        block = (page * kv_heads + kv_head) * (HEAD * PAGE)
        slot = key % PAGE
        packed = (size // PACK) * (PAGE * PACK) + size % PACK
        mask = (size < HEAD)[:, None] & seen[None, :]
        k_at = (block + slot * PACK)[None, :] + packed[:, None]
        scores = tl.dot(queries, tl.load(key_cache + k_at, mask=mask, other=0.0)) * scale_log2
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        shrink = tl.exp2(largest - new_largest)
        p = tl.exp2(scores - new_largest[:, None])
        total = total * shrink + tl.sum(p, 1)
        v_at = (block + slot)[:, None] + (size * PAGE)[None, :]
        mask = seen[:, None] & (size < HEAD)[None, :]
        values = tl.load(value_cache + v_at, mask=mask, other=0.0)
        acc = tl.dot(p.to(values.dtype), values, acc * shrink[:, None])
        largest = new_largest
    tl.store(out + place, (acc / total[:, None]).to(queries.dtype), mask=valid)


def run(
    q,
    key_cache,
    value_cache,
    block_table,
    seq_lens,
    out,
    seqs,
    query_heads,
    kv_heads,
    head_size,
    page_size,
    max_pages,
    pack,
):
    group = query_heads // kv_heads
    _attend[(seqs, kv_heads)](
        q,
        key_cache,
        value_cache,
        block_table,
        seq_lens,
        out,
        head_size**-0.5 * 1.4426950408889634,
        query_heads,
        kv_heads,
        max_pages,
        GROUP=group,
        ROWS=max(16, triton.next_power_of_2(group)),
        HEAD=head_size,
        SIZE=max(16, triton.next_power_of_2(head_size)),
        PAGE=page_size,
        PACK=int(pack),
        TILE=64,
        num_warps=4,
        num_stages=2,
    )
