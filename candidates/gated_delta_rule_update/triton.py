# SPDX-License-Identifier: Apache-2.0
"""An honest Triton gated delta rule, token by token: a program keeps some columns of one head's
state in registers for a whole sequence, since columns of the value do not meet."""

import triton
import triton.language as tl


@triton.jit
def _update(
    A_log,
    a,
    dt_bias,
    q,
    k,
    v,
    b,
    state,
    state_indices,
    cu_seqlens,
    out,
    query_heads,
    value_heads,
    key_dim,
    value_dim,
    eps,
    scale,
    KEYS: tl.constexpr,
    VALUES: tl.constexpr,
):
    head = tl.program_id(1)
    seq = tl.program_id(2)
    key = tl.arange(0, KEYS)
    value = tl.program_id(0) * VALUES + tl.arange(0, VALUES)
    in_key = key < key_dim
    in_value = value < value_dim
    mask = in_key[:, None] & in_value[None, :]
    slot = tl.load(state_indices + seq).to(tl.int64) * value_heads + head
    at = state + (slot * key_dim + key)[:, None] * value_dim + value[None, :]
    now = tl.load(at, mask=mask, other=0.0)
    rate = tl.exp(tl.load(A_log + head))
    bias = tl.load(dt_bias + head).to(tl.float32)
    of_keys = head // (value_heads // query_heads)
    first = tl.load(cu_seqlens + seq).to(tl.int64)
    last = tl.load(cu_seqlens + seq + 1).to(tl.int64)
    for token in range(first, last):
        row = token * query_heads + of_keys
        one_q = tl.load(q + row * key_dim + key, mask=in_key, other=0.0).to(tl.float32)
        one_k = tl.load(k + row * key_dim + key, mask=in_key, other=0.0).to(tl.float32)
        one_q = one_q * (scale / tl.sqrt(tl.sum(one_q * one_q, axis=0) + eps))
        one_k = one_k / tl.sqrt(tl.sum(one_k * one_k, axis=0) + eps)
        row = token * value_heads + head
        one_v = tl.load(v + row * value_dim + value, mask=in_value, other=0.0).to(tl.float32)
        strength = tl.sigmoid(tl.load(b + row).to(tl.float32))
        dt = tl.load(a + row).to(tl.float32) + bias
        # softplus, without overflow
        soft = tl.maximum(dt, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(dt)))
        now = now * tl.exp(-rate * soft)
        missing = strength * (one_v - tl.sum(now * one_k[:, None], axis=0))
        now += one_k[:, None] * missing[None, :]
        result = tl.sum(now * one_q[:, None], axis=0)
        tl.store(out + row * value_dim + value, result.to(tl.bfloat16), mask=in_value)
    tl.store(at, now, mask=mask)


def run(
    A_log,
    a,
    dt_bias,
    q,
    k,
    v,
    b,
    state_indices,
    cu_seqlens,
    out,
    state,
    seqs,
    query_heads,
    value_heads,
    key_dim,
    value_dim,
    eps,
):
    values = 16
    _update[(triton.cdiv(value_dim, values), value_heads, seqs)](
        A_log,
        a,
        dt_bias,
        q,
        k,
        v,
        b,
        state,
        state_indices,
        cu_seqlens,
        out,
        query_heads,
        value_heads,
        key_dim,
        value_dim,
        eps,
        key_dim**-0.5,
        KEYS=triton.next_power_of_2(key_dim),
        VALUES=values,
        num_warps=1,
    )
