# SPDX-License-Identifier: Apache-2.0
"""Honest Triton states of a chunked gated delta rule: a program keeps some columns of one head's
state in registers, in float32, and goes over its sequence chunk by chunk."""

import triton
import triton.language as tl


@triton.jit
def _carry(
    k,
    w,
    u,
    g,
    state,
    state_indices,
    cu_seqlens,
    h,
    v_new,
    key_heads,
    value_heads,
    key_dim,
    value_dim,
    chunk,
    SEQS: tl.constexpr,
    TOKENS: tl.constexpr,
    KEYS: tl.constexpr,
    VALUES: tl.constexpr,
):
    seq = tl.program_id(2)
    head = tl.program_id(1)
    of_keys = head // (value_heads // key_heads)
    first = tl.load(cu_seqlens + seq)
    last = tl.load(cu_seqlens + seq + 1)
    # The chunks of all sequences before come first in h.
    others = tl.arange(0, SEQS)
    begin = tl.load(cu_seqlens + others, mask=others < seq, other=0)
    end = tl.load(cu_seqlens + others + 1, mask=others < seq, other=0)
    number = tl.sum((end - begin + chunk - 1) // chunk, axis=0).to(tl.int64)
    key = tl.arange(0, KEYS)
    value = tl.program_id(0) * VALUES + tl.arange(0, VALUES)
    token = tl.arange(0, TOKENS)
    in_key = key < key_dim
    in_value = value < value_dim
    mask = in_key[:, None] & in_value[None, :]
    slot = tl.load(state_indices + seq).to(tl.int64) * value_heads + head
    place = key[:, None] * value_dim + value[None, :]
    now = tl.load(state + slot * key_dim * value_dim + place, mask=mask, other=0.0)
    for start in range(first, last, chunk):
        row = (start + token).to(tl.int64)
        end_row = tl.minimum(start + chunk, last)
        there = row < end_row
        rounded = now.to(tl.bfloat16)
        to = (number * value_heads + head) * key_dim * value_dim
        tl.store(h + to + place, rounded, mask=mask)
        at = row * value_heads + head
        by_key = there[:, None] & in_key[None, :]
        by_value = there[:, None] & in_value[None, :]
        wide_w = tl.load(w + at[:, None] * key_dim + key[None, :], mask=by_key, other=0.0)
        values = tl.load(u + at[:, None] * value_dim + value[None, :], mask=by_value, other=0.0)
        values = values.to(tl.float32) - tl.dot(wide_w, rounded)
        tl.store(
            v_new + at[:, None] * value_dim + value[None, :], values.to(tl.bfloat16), mask=by_value
        )
        total = tl.load(g + at, mask=there, other=0.0)
        left = tl.load(g + (end_row.to(tl.int64) - 1) * value_heads + head)
        decay = tl.exp(tl.where(there, left - total, float("-inf")))
        keys = tl.load(
            k + (row * key_heads + of_keys)[None, :] * key_dim + key[:, None],
            mask=there[None, :] & in_key[:, None],
            other=0.0,
        )
        now = tl.dot(keys, (values * decay[:, None]).to(tl.bfloat16), now * tl.exp(left))
        number += 1
    tl.store(state + slot * key_dim * value_dim + place, now, mask=mask)


def run(
    k,
    w,
    u,
    g,
    state_indices,
    cu_seqlens,
    h,
    v_new,
    state,
    seqs,
    key_heads,
    value_heads,
    key_dim,
    value_dim,
    chunk,
):
    values = min(32, max(16, triton.next_power_of_2(value_dim)))
    _carry[(triton.cdiv(value_dim, values), value_heads, seqs)](
        k,
        w,
        u,
        g,
        state,
        state_indices,
        cu_seqlens,
        h,
        v_new,
        key_heads,
        value_heads,
        key_dim,
        value_dim,
        chunk,
        SEQS=triton.next_power_of_2(seqs),
        TOKENS=max(16, triton.next_power_of_2(chunk)),
        KEYS=max(16, triton.next_power_of_2(key_dim)),
        VALUES=values,
        num_warps=4,
        num_stages=2,
    )
