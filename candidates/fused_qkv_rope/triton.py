# SPDX-License-Identifier: Apache-2.0
"""An honest Triton split of q, k, v with rotary embedding.

Angles reach thousands of turns, so their fraction of a turn is taken in float64 before cosine and
sine in float32. Turns a position of each frequency are a table made in init.
"""

import math

import torch
import triton
import triton.language as tl

_turns = {}


@triton.jit
def _split(
    qkv,
    positions,
    turns,
    q,
    k,
    v,
    query_heads,
    kv_heads,
    HALF: tl.constexpr,
    SIZE: tl.constexpr,
    HEADS: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    packed = query_heads + 2 * kv_heads
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    channel = tl.arange(0, SIZE)
    turn = tl.load(positions + token).to(tl.float64) * tl.load(
        turns + channel, mask=channel < HALF, other=0.0
    )
    angle = ((turn - tl.floor(turn + 0.5)) * 6.283185307179586).to(tl.float32)
    c = tl.cos(angle)[None, :]
    s = tl.sin(angle)[None, :]
    at = (token * packed + head)[:, None] * (2 * HALF) + channel[None, :]
    mask = (head < packed)[:, None] & (channel < HALF)[None, :]
    first = tl.load(qkv + at, mask=mask, other=0.0)
    second = tl.load(qkv + at + HALF, mask=mask, other=0.0)
    wide = first.to(tl.float32)
    wide_too = second.to(tl.float32)
    turned = (wide * c - wide_too * s).to(first.dtype)
    turned_too = (wide_too * c + wide * s).to(first.dtype)
    to_q = (token * query_heads + head)[:, None] * (2 * HALF) + channel[None, :]
    of_q = mask & (head < query_heads)[:, None]
    tl.store(q + to_q, turned, mask=of_q)
    tl.store(q + to_q + HALF, turned_too, mask=of_q)
    key = head - query_heads
    to_k = (token * kv_heads + key)[:, None] * (2 * HALF) + channel[None, :]
    of_k = mask & ((key >= 0) & (key < kv_heads))[:, None]
    tl.store(k + to_k, turned, mask=of_k)
    tl.store(k + to_k + HALF, turned_too, mask=of_k)
    to_v = to_k - kv_heads * (2 * HALF)
    of_v = mask & (key >= kv_heads)[:, None]
    tl.store(v + to_v, first, mask=of_v)
    tl.store(v + to_v + HALF, second, mask=of_v)


def init(shape):
    size, base = shape["head_size"], float(shape["base"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    channel = torch.arange(0, size, 2, dtype=torch.float64)
    _turns[size] = (base ** (-channel / size) / (2.0 * math.pi)).to(device)


def run(qkv, positions, q, k, v, tokens, query_heads, kv_heads, head_size):
    heads = query_heads + 2 * kv_heads
    many = 8 if tokens * heads >= 4096 else 1
    _split[(tokens, triton.cdiv(heads, many))](
        qkv,
        positions,
        _turns[head_size],
        q,
        k,
        v,
        query_heads,
        kv_heads,
        HALF=head_size // 2,
        SIZE=triton.next_power_of_2(head_size // 2),
        HEADS=many,
        num_warps=4 if many > 1 else 1,
    )
