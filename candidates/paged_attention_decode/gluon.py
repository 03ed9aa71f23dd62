# SPDX-License-Identifier: Apache-2.0
"""Honest Gluon decode over the packed cache: a program has one query head of a sequence; online
softmax over tiles of keys. Keys lie in runs of channels and values in runs of tokens, so each has a
layout of its own, and the weights move from one to the other."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
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
    HEAD: gl.constexpr,
    SIZE: gl.constexpr,
    PAGE: gl.constexpr,
    PACK: gl.constexpr,
    TILE: gl.constexpr,
):
    k_layout: gl.constexpr = gl.BlockedLayout([1, 8], [16, 2], [4, 1], [1, 0])
    v_layout: gl.constexpr = gl.BlockedLayout([8, 1], [2, 16], [1, 4], [0, 1])
    seq = gl.program_id(0).to(gl.int64)
    head = gl.program_id(1)
    kv_head = head // (query_heads // kv_heads)
    length = gl.load(lens + seq)
    row = (seq * query_heads + head) * HEAD
    k_size = gl.arange(0, SIZE, layout=gl.SliceLayout(0, k_layout))
    v_size = gl.arange(0, SIZE, layout=gl.SliceLayout(0, v_layout))
    k_token = gl.arange(0, TILE, layout=gl.SliceLayout(1, k_layout))
    v_token = gl.arange(0, TILE, layout=gl.SliceLayout(1, v_layout))
    query = gl.load(q + row + k_size, mask=k_size < HEAD, other=0.0).to(gl.float32) * scale_log2
    packed = (k_size // PACK) * (PAGE * PACK) + k_size % PACK
    largest = gl.to_tensor(float("-inf"))
    total = gl.to_tensor(0.0)
    acc = gl.zeros([SIZE], gl.float32, layout=gl.SliceLayout(0, v_layout))
    for first in range(0, length, TILE):
        key = first + k_token
        seen = key < length
        page = gl.load(table + seq * max_pages + key // PAGE, mask=seen, other=0).to(gl.int64)
        at = (page * kv_heads + kv_head) * (HEAD * PAGE) + key % PAGE * PACK
        mask = seen[:, None] & (k_size < HEAD)[None, :]
        keys = gl.load(key_cache + (at[:, None] + packed[None, :]), mask=mask, other=0.0)
        scores = gl.sum(keys.to(gl.float32) * query[None, :], axis=1)
        scores = gl.where(seen, scores, float("-inf"))
        new_largest = gl.maximum(largest, gl.max(scores, axis=0))
        shrink = gl.exp2(largest - new_largest)
        weights = gl.exp2(scores - new_largest)
        total = total * shrink + gl.sum(weights, axis=0)
        key = first + v_token
        seen = key < length
        page = gl.load(table + seq * max_pages + key // PAGE, mask=seen, other=0).to(gl.int64)
        at = (page * kv_heads + kv_head) * (HEAD * PAGE) + key % PAGE
        mask = seen[:, None] & (v_size < HEAD)[None, :]
        v_at = at[:, None] + (v_size * PAGE)[None, :]
        values = gl.load(value_cache + v_at, mask=mask, other=0.0).to(gl.float32)
        weights = gl.convert_layout(weights, gl.SliceLayout(1, v_layout))
        acc = acc * shrink + gl.sum(values * weights[:, None], axis=0)
        largest = new_largest
    gl.store(out + row + v_size, (acc / total).to(out.dtype.element_ty), mask=v_size < HEAD)


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
    _attend[(seqs, query_heads)](
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
        HEAD=head_size,
        SIZE=max(16, triton.next_power_of_2(head_size)),
        PAGE=page_size,
        PACK=int(pack),
        TILE=64,
        num_warps=4,
    )
