# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon gated delta rule, token by token: a program keeps some columns of one head's
state in the registers of a warp for a whole sequence, since columns of the value do not meet."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
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
    KEYS: gl.constexpr,
    VALUES: gl.constexpr,
):
    # A thread has four columns of every eighth row.
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [1, 1], [1, 0])
    head = gl.program_id(1)
    seq = gl.program_id(2)
    key = gl.arange(0, KEYS, layout=gl.SliceLayout(1, layout))
    value = gl.arange(0, VALUES, layout=gl.SliceLayout(0, layout))
    value += gl.program_id(0) * VALUES
    in_key = key < key_dim
    in_value = value < value_dim
    mask = in_key[:, None] & in_value[None, :]
    slot = gl.load(state_indices + seq).to(gl.int64) * value_heads + head
    at = state + (slot * key_dim + key)[:, None] * value_dim + value[None, :]
    now = gl.load(at, mask=mask, other=0.0)
    rate = gl.exp(gl.load(A_log + head))
    bias = gl.load(dt_bias + head).to(gl.float32)
    of_keys = head // (value_heads // query_heads)
    first = gl.load(cu_seqlens + seq).to(gl.int64)
    last = gl.load(cu_seqlens + seq + 1).to(gl.int64)
    for token in range(first, last):
        row = token * query_heads + of_keys
        one_q = gl.load(q + row * key_dim + key, mask=in_key, other=0.0).to(gl.float32)
        one_k = gl.load(k + row * key_dim + key, mask=in_key, other=0.0).to(gl.float32)
        one_q = one_q * (scale / gl.sqrt(gl.sum(one_q * one_q, axis=0) + eps))
        one_k = one_k / gl.sqrt(gl.sum(one_k * one_k, axis=0) + eps)
        row = token * value_heads + head
        one_v = gl.load(v + row * value_dim + value, mask=in_value, other=0.0).to(gl.float32)
        strength = 1.0 / (1.0 + gl.exp(-gl.load(b + row).to(gl.float32)))
        dt = gl.load(a + row).to(gl.float32) + bias
        # softplus, without overflow
        soft = gl.maximum(dt, 0.0) + gl.log(1.0 + gl.exp(-gl.abs(dt)))
        now = now * gl.exp(-rate * soft)
        missing = strength * (one_v - gl.sum(now * one_k[:, None], axis=0))
        now += one_k[:, None] * missing[None, :]
        result = gl.sum(now * one_q[:, None], axis=0)
        gl.store(out + row * value_dim + value, result.to(gl.bfloat16), mask=in_value)
    gl.store(at, now, mask=mask)


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
