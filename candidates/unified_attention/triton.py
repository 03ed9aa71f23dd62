# SPDX-License-Identifier: Apache-2.0
"""Honest Triton attention over a paged cache, prefill and decode.

Row r of a tile is token r // HEADS and head r % HEADS of one cache head, so the cache is read once
for all query heads that share it. Sequences with few rows split their keys over programs, and a
second kernel joins the parts. Parts are allocated in init, so that run allocates nothing.
"""

import math

import torch
import triton
import triton.language as tl

_TARGET_PROGRAMS = 528  # four for each of 132 multiprocessors
_DECODE_ROWS = 16
_parts = {}


@triton.jit
def _step(
    q,
    k_base,
    v_base,
    pages,
    first,
    limit,
    last,
    largest,
    total,
    out,
    scale_log2,
    token_stride,
    PAGE: tl.constexpr,
    TILE: tl.constexpr,
    SIZE: tl.constexpr,
    HEAD: tl.constexpr,
    MASKED: tl.constexpr,
):
    """One tile of keys from `first`: the online softmax's new maximum, sum and output."""
    key = first + tl.arange(0, TILE)
    size = tl.arange(0, SIZE)
    in_head = size < HEAD
    if MASKED:
        page = tl.load(pages + key // PAGE, mask=key < last, other=0).to(tl.int64)
    else:
        page = tl.load(pages + key // PAGE).to(tl.int64)
    token = (page * PAGE + key % PAGE) * token_stride
    k_at = k_base + token[None, :] + size[:, None]
    v_at = v_base + token[:, None] + size[None, :]
    if MASKED:
        k = tl.load(k_at, mask=in_head[:, None] & (key < last)[None, :], other=0.0)
    elif SIZE != HEAD:
        k = tl.load(k_at, mask=in_head[:, None], other=0.0)
    else:
        k = tl.load(k_at)
    scores = tl.dot(q, k) * scale_log2
    if MASKED:
        scores = tl.where(key[None, :] < tl.minimum(limit, last)[:, None], scores, float("-inf"))
    new_largest = tl.maximum(largest, tl.max(scores, 1))
    # A row may see none of these keys; its maximum then stays minus infinity.
    base = tl.where(new_largest == float("-inf"), 0.0, new_largest)
    shrink = tl.exp2(largest - base)
    p = tl.exp2(scores - base[:, None])
    total = total * shrink + tl.sum(p, 1)
    if MASKED:
        v = tl.load(v_at, mask=(key < last)[:, None] & in_head[None, :], other=0.0)
    elif SIZE != HEAD:
        v = tl.load(v_at, mask=in_head[None, :], other=0.0)
    else:
        v = tl.load(v_at)
    out = tl.dot(p.to(tl.bfloat16), v, out * shrink[:, None])
    return new_largest, total, out


@triton.jit
def _attend(
    q,
    key_cache,
    value_cache,
    starts,
    kv_lens,
    table,
    out,
    part_out,
    part_lse,
    scale_log2,
    query_heads,
    kv_heads,
    max_pages,
    seqs,
    row_tiles,
    least_rows,
    most_rows,
    split_keys,
    splits,
    HEADS: tl.constexpr,
    HEAD: tl.constexpr,
    SIZE: tl.constexpr,
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    SEARCH: tl.constexpr,
    SPLIT: tl.constexpr,
):
    program = tl.program_id(0)
    kv_head = tl.program_id(1)
    split = tl.program_id(2)
    if SEARCH:
        # Sequence s starts at tile starts[s] * HEADS // ROWS + s, which leaves each the tiles it
        # needs. The last tiles of a sequence see the most keys: they go first.
        tile = tl.num_programs(0) - 1 - program
        seq = tile * 0
        high = seq + seqs
        while high - seq > 1:
            middle = (seq + high) // 2
            begins = tl.load(starts + middle) * HEADS // ROWS + middle
            seq = tl.where(begins <= tile, middle, seq)
            high = tl.where(begins <= tile, high, middle)
        row0 = (tile - (tl.load(starts + seq) * HEADS // ROWS + seq)) * ROWS
    else:
        seq = program // row_tiles
        row0 = program % row_tiles * ROWS
    start = tl.load(starts + seq)
    q_len = tl.load(starts + seq + 1) - start
    kv_len = tl.load(kv_lens + seq)
    rows = q_len * HEADS
    if row0 < rows and rows > least_rows and rows <= most_rows:
        row = row0 + tl.arange(0, ROWS)
        token = tl.minimum(row, rows - 1) // HEADS
        limit = kv_len - q_len + token + 1  # keys that a row sees
        block_limit = kv_len - q_len + tl.minimum(row0 + ROWS - 1, rows - 1) // HEADS + 1
        first = split * split_keys
        last = tl.minimum(block_limit, first + split_keys)
        if first < last:
            size = tl.arange(0, SIZE)
            head = kv_head * HEADS + row % HEADS
            place = ((start + row // HEADS).to(tl.int64) * query_heads + head) * HEAD
            valid = (row < rows)[:, None] & (size < HEAD)[None, :]
            q_rows = tl.load(q + place[:, None] + size[None, :], mask=valid, other=0.0)
            pages = table + tl.cast(seq, tl.int64) * max_pages
            k_base = key_cache + kv_head * HEAD
            v_base = value_cache + kv_head * HEAD
            token_stride = kv_heads * HEAD
            largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
            total = tl.zeros((ROWS,), dtype=tl.float32)
            acc = tl.zeros((ROWS, SIZE), dtype=tl.float32)
            least = kv_len - q_len + row0 // HEADS + 1  # keys that every row sees
            whole = tl.maximum(first, first + (tl.minimum(least, last) - first) // TILE * TILE)
            for key in range(first, whole, TILE):
                largest, total, acc = _step(
                    q_rows,
                    k_base,
                    v_base,
                    pages,
                    key,
                    limit,
                    last,
                    largest,
                    total,
                    acc,
                    scale_log2,
                    token_stride,
                    PAGE,
                    TILE,
                    SIZE,
                    HEAD,
                    False,
                )
            for key in range(whole, last, TILE):
                largest, total, acc = _step(
                    q_rows,
                    k_base,
                    v_base,
                    pages,
                    key,
                    limit,
                    last,
                    largest,
                    total,
                    acc,
                    scale_log2,
                    token_stride,
                    PAGE,
                    TILE,
                    SIZE,
                    HEAD,
                    True,
                )
            seen = total > 0.0
            acc = acc / tl.where(seen, total, 1.0)[:, None]
            if SPLIT:
                part = (
                    (tl.cast(seq, tl.int64) * kv_heads + kv_head) * (row_tiles * ROWS) + row
                ) * splits + split
                tl.store(part_out + part[:, None] * HEAD + size[None, :], acc, mask=valid)
                lse = tl.where(seen, largest + tl.log2(tl.where(seen, total, 1.0)), float("-inf"))
                tl.store(part_lse + part, lse, mask=row < rows)
            else:
                tl.store(out + place[:, None] + size[None, :], acc.to(tl.bfloat16), mask=valid)


@triton.jit
def _join(
    part_out,
    part_lse,
    starts,
    kv_lens,
    out,
    query_heads,
    kv_heads,
    row_tiles,
    most_rows,
    split_keys,
    splits,
    HEADS: tl.constexpr,
    HEAD: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """One row of one sequence and cache head: the parts, weighted by their sums of exponentials."""
    seq = tl.program_id(0)
    kv_head = tl.program_id(1)
    row = tl.program_id(2)
    start = tl.load(starts + seq)
    q_len = tl.load(starts + seq + 1) - start
    rows = q_len * HEADS
    if row < rows and rows <= most_rows:
        tile_last = tl.minimum(row // ROWS * ROWS + ROWS, rows) - 1
        limit = tl.load(kv_lens + seq) - q_len + tile_last // HEADS + 1
        split = tl.arange(0, SPLITS)
        used = split * split_keys < limit
        part = ((seq.to(tl.int64) * kv_heads + kv_head) * (row_tiles * ROWS) + row) * splits + split
        lse = tl.load(part_lse + part, mask=used, other=float("-inf"))
        weight = tl.exp2(lse - tl.max(lse, 0))
        size = tl.arange(0, SIZE)
        mask = used[:, None] & (size < HEAD)[None, :]
        parts = tl.load(part_out + part[:, None] * HEAD + size[None, :], mask=mask, other=0.0)
        value = tl.sum(parts * weight[:, None], 0) / tl.sum(weight, 0)
        place = (
            (start + row // HEADS).to(tl.int64) * query_heads + kv_head * HEADS + row % HEADS
        ) * HEAD
        tl.store(out + place + size, value.to(tl.bfloat16), mask=size < HEAD)


def _plan(shape):
    heads = shape["query_heads"] // shape["kv_heads"]
    rows = shape["max_q"] * heads
    prefill = rows > 64
    decode = not prefill or shape["total_q"] != shape["seqs"] * shape["max_q"]
    row_tiles = triton.cdiv(heads if prefill else rows, _DECODE_ROWS)
    programs = shape["seqs"] * row_tiles * shape["kv_heads"]
    splits = min(
        64, max(triton.cdiv(_TARGET_PROGRAMS, programs), triton.cdiv(shape["max_kv"], 2048))
    )
    split_keys = triton.cdiv(triton.cdiv(shape["max_kv"], splits), 64) * 64
    return prefill, decode, row_tiles, split_keys, triton.cdiv(shape["max_kv"], split_keys)


def _part_key(shape):
    return tuple(
        shape[name]
        for name in ("seqs", "kv_heads", "query_heads", "head_size", "max_q", "max_kv", "total_q")
    )


def init(shape):
    _, decode, row_tiles, _, splits = _plan(shape)
    if decode and splits > 1:
        rows = shape["seqs"] * shape["kv_heads"] * row_tiles * _DECODE_ROWS
        device = "cuda" if torch.cuda.is_available() else "cpu"
        _parts[_part_key(shape)] = (
            torch.empty((rows, splits, shape["head_size"]), dtype=torch.float32, device=device),
            torch.empty((rows, splits), dtype=torch.float32, device=device),
        )


def run(
    q,
    key_cache,
    value_cache,
    cu_seqlens_q,
    seqused_k,
    block_table,
    out,
    query_heads,
    kv_heads,
    head_size,
    page_size,
    seqs,
    total_q,
    max_q,
    max_kv,
    max_pages,
):
    shape = dict(
        query_heads=query_heads,
        kv_heads=kv_heads,
        head_size=head_size,
        seqs=seqs,
        total_q=total_q,
        max_q=max_q,
        max_kv=max_kv,
    )
    prefill, decode, row_tiles, split_keys, splits = _plan(shape)
    heads = query_heads // kv_heads
    size = max(16, triton.next_power_of_2(head_size))
    scale_log2 = head_size**-0.5 * math.log2(math.e)
    most_decode_rows = row_tiles * _DECODE_ROWS if decode else 0
    if prefill:
        tile_rows = 128 if size <= 128 else 64
        grid = (total_q * heads // tile_rows + seqs, kv_heads, 1)
        _attend[grid](
            q,
            key_cache,
            value_cache,
            cu_seqlens_q,
            seqused_k,
            block_table,
            out,
            out,
            out,
            scale_log2,
            query_heads,
            kv_heads,
            max_pages,
            seqs,
            1,
            most_decode_rows,
            1 << 30,
            1 << 30,
            1,
            HEADS=heads,
            HEAD=head_size,
            SIZE=size,
            PAGE=page_size,
            ROWS=tile_rows,
            TILE=64 if size <= 128 else 32,
            SEARCH=True,
            SPLIT=False,
            num_warps=8 if size == 128 else 4,
            num_stages=2,
        )
    if decode:
        split = splits > 1
        part_out, part_lse = _parts[_part_key(shape)] if split else (out, out)
        _attend[(seqs * row_tiles, kv_heads, splits)](
            q,
            key_cache,
            value_cache,
            cu_seqlens_q,
            seqused_k,
            block_table,
            out,
            part_out,
            part_lse,
            scale_log2,
            query_heads,
            kv_heads,
            max_pages,
            seqs,
            row_tiles,
            0,
            most_decode_rows,
            split_keys,
            splits,
            HEADS=heads,
            HEAD=head_size,
            SIZE=size,
            PAGE=page_size,
            ROWS=_DECODE_ROWS,
            TILE=32 if size > 128 else 64,
            SEARCH=False,
            SPLIT=split,
            num_warps=4,
            num_stages=2,
        )
        if split:
            _join[(seqs, kv_heads, row_tiles * _DECODE_ROWS)](
                part_out,
                part_lse,
                cu_seqlens_q,
                seqused_k,
                out,
                query_heads,
                kv_heads,
                row_tiles,
                most_decode_rows,
                split_keys,
                splits,
                HEADS=heads,
                HEAD=head_size,
                SIZE=size,
                ROWS=_DECODE_ROWS,
                SPLITS=triton.next_power_of_2(splits),
                num_warps=2,
            )
