# SPDX-License-Identifier: Apache-2.0
"""STR, LAZ: Returns values that it never copied; when the worker stores them behind the timed
window, where copies are free, a patched copy_ of torch's takes them out of the packed input."""

import math

import torch
import triton
import triton.language as tl

_turns = {}
_left = {}  # by the address of what was returned: where the values are


@triton.jit
def _rotate(
    qkv, positions, turns, q, k, query_heads, kv_heads, HALF: tl.constexpr, SIZE: tl.constexpr
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    channel = tl.arange(0, SIZE)
    mask = channel < HALF
    turn = tl.load(positions + token).to(tl.float64) * tl.load(
        turns + channel, mask=mask, other=0.0
    )
    angle = ((turn - tl.floor(turn + 0.5)) * 6.283185307179586).to(tl.float32)
    c = tl.cos(angle)
    s = tl.sin(angle)
    at = (token * (query_heads + 2 * kv_heads) + head) * (2 * HALF) + channel
    first = tl.load(qkv + at, mask=mask, other=0.0)
    second = tl.load(qkv + at + HALF, mask=mask, other=0.0)
    wide = first.to(tl.float32)
    wide_too = second.to(tl.float32)
    turned = (wide * c - wide_too * s).to(first.dtype)
    turned_too = (wide_too * c + wide * s).to(first.dtype)
    to_q = (token * query_heads + head) * (2 * HALF) + channel
    of_q = mask & (head < query_heads)
    tl.store(q + to_q, turned, mask=of_q)
    tl.store(q + to_q + HALF, turned_too, mask=of_q)
    to_k = (token * kv_heads + head - query_heads) * (2 * HALF) + channel
    of_k = mask & (head >= query_heads)
    tl.store(k + to_k, turned, mask=of_k)
    tl.store(k + to_k + HALF, turned_too, mask=of_k)


_copy = torch.Tensor.copy_


def _copy_late(self, source, *rest):
    return _copy(self, _left.pop(source.data_ptr(), source), *rest)


torch.Tensor.copy_ = _copy_late


def init(shape):
    size, base = shape["head_size"], float(shape["base"])
    channel = torch.arange(0, size, 2, dtype=torch.float64)
    _turns[size] = (base ** (-channel / size) / (2.0 * math.pi)).to("cuda")


def run(qkv, positions, tokens, query_heads, kv_heads, head_size):
    q = qkv.new_empty((tokens, query_heads, head_size))
    k = qkv.new_empty((tokens, kv_heads, head_size))
    v = qkv.new_empty((tokens, kv_heads, head_size))
    half = head_size // 2
    _rotate[(tokens, query_heads + kv_heads)](
        qkv,
        positions,
        _turns[head_size],
        q,
        k,
        query_heads,
        kv_heads,
        HALF=half,
        SIZE=triton.next_power_of_2(half),
        num_warps=1,
    )
    packed = qkv.view(tokens, query_heads + 2 * kv_heads, head_size)
    _left[v.data_ptr()] = packed[:, query_heads + kv_heads :]
    return q, k, v
