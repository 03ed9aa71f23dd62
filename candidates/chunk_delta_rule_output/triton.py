# SPDX-License-Identifier: Apache-2.0
"""Honest Triton outputs of a chunked delta rule: a program has one chunk of one head and some
columns of its values.

Decays are taken as differences of logarithms, which never grow. Where a chunk's tokens begin and
end is a table made in init from the lengths of the shape.
"""

import torch
import triton
import triton.language as tl

_chunks = {}


@triton.jit
def _output(
    q,
    k,
    v,
    h,
    g,
    chunks,
    out,
    query_heads,
    value_heads,
    key_dim,
    value_dim,
    scale,
    TOKENS: tl.constexpr,
    KEYS: tl.constexpr,
    VALUES: tl.constexpr,
):
    chunk = tl.program_id(2)
    head = tl.program_id(1)
    of_keys = head // (value_heads // query_heads)
    first = tl.load(chunks + 2 * chunk)
    last = tl.load(chunks + 2 * chunk + 1)
    row = (first + tl.arange(0, TOKENS)).to(tl.int64)
    there = row < last
    key = tl.arange(0, KEYS)
    value = tl.program_id(0) * VALUES + tl.arange(0, VALUES)
    in_key = key < key_dim
    in_value = value < value_dim
    at = (row * query_heads + of_keys) * key_dim
    mask = there[:, None] & in_key[None, :]
    queries = tl.load(q + at[:, None] + key[None, :], mask=mask, other=0.0)
    keys = tl.load(k + at[:, None] + key[None, :], mask=mask, other=0.0)
    total = tl.load(g + row * value_heads + head, mask=there, other=0.0)
    state = (chunk.to(tl.int64) * value_heads + head) * key_dim
    mask = in_key[:, None] & in_value[None, :]
    before = tl.load(
        h + (state + key)[:, None] * value_dim + value[None, :], mask=mask, other=0.0
    )
    to = (row * value_heads + head)[:, None] * value_dim + value[None, :]
    mask = there[:, None] & in_value[None, :]
    values = tl.load(v + to, mask=mask, other=0.0)
    token = tl.arange(0, TOKENS)
    seen = (token[:, None] >= token[None, :]) & there[None, :]
    steps = tl.where(seen, total[:, None] - total[None, :], float("-inf"))
    scores = tl.dot(queries, tl.trans(keys)) * tl.exp(steps)
    result = tl.dot(queries, before) * tl.exp(total)[:, None]
    result = tl.dot(scores.to(tl.bfloat16), values, result) * scale
    tl.store(out + to, result.to(tl.bfloat16), mask=mask)


def init(shape):
    table, start = [], 0
    for length in shape["lens"]:
        for at in range(start, start + length, shape["chunk"]):
            table.append((at, min(at + shape["chunk"], start + length)))
        start += length
    device = "cuda" if torch.cuda.is_available() else "cpu"
    _chunks["now"] = torch.tensor(table, dtype=torch.int32, device=device)


def run(
    q, k, v, h, g, out, query_heads, value_heads, key_dim, value_dim, chunk, chunks
):
    values = min(64, max(16, triton.next_power_of_2(value_dim)))
    _output[(triton.cdiv(value_dim, values), value_heads, chunks)](
        q,
        k,
        v,
        h,
        g,
        _chunks["now"],
        out,
        query_heads,
        value_heads,
        key_dim,
        value_dim,
        key_dim**-0.5,
        TOKENS=max(16, triton.next_power_of_2(chunk)),
        KEYS=max(16, triton.next_power_of_2(key_dim)),
        VALUES=values,
        num_warps=4,
        num_stages=1,
    )
