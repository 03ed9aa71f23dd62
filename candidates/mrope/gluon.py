# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon rotary embedding with three position axes: a program has some heads of a token,
half a warp a head of 64 frequencies, and loads of each frequency only the cosine and sine of the
axis that counts."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _rotate(
    source,
    target,
    cos,
    sin,
    tokens,
    heads,
    head_size,
    half,
    section_t,
    section_h,
    HEADS: gl.constexpr,
    HALF: gl.constexpr,
    REST: gl.constexpr,
    WARPS: gl.constexpr,
):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [WARPS, 1], [1, 0])
    token = gl.program_id(0).to(gl.int64)
    head = gl.program_id(1) * HEADS + gl.arange(0, HEADS, layout=gl.SliceLayout(1, layout))
    channel = gl.arange(0, HALF, layout=gl.SliceLayout(0, layout))
    axis = (channel >= section_t).to(gl.int32) + (channel >= section_t + section_h).to(gl.int32)
    angle = (axis.to(gl.int64) * tokens + token) * half + channel
    c = gl.load(cos + angle, mask=channel < half, other=0.0)[None, :]
    s = gl.load(sin + angle, mask=channel < half, other=0.0)[None, :]
    row = (token * heads + head)[:, None] * head_size
    at = row + channel[None, :]
    mask = (head < heads)[:, None] & (channel < half)[None, :]
    first = gl.load(source + at, mask=mask, other=0.0).to(gl.float32)
    second = gl.load(source + at + half, mask=mask, other=0.0).to(gl.float32)
    gl.store(target + at, (first * c - second * s).to(gl.bfloat16), mask=mask)
    gl.store(target + at + half, (second * c + first * s).to(gl.bfloat16), mask=mask)
    if REST > 0:
        rest = 2 * half + gl.arange(0, REST, layout=gl.SliceLayout(0, layout))
        kept_mask = (head < heads)[:, None] & (rest < head_size)[None, :]
        kept_at = row + rest[None, :]
        kept = gl.load(source + kept_at, mask=kept_mask, other=0.0)
        gl.store(target + kept_at, kept, mask=kept_mask)


def run(
    q,
    k,
    cos,
    sin,
    q_out,
    k_out,
    tokens,
    query_heads,
    kv_heads,
    head_size,
    section_t,
    section_h,
    half,
):
    # Attributes of a card arrive as floats.
    section_t, section_h, half = int(section_t), int(section_h), int(half)
    rest = head_size - 2 * half
    for source, target, heads in ((q, q_out, query_heads), (k, k_out, kv_heads)):
        many = min(16, triton.next_power_of_2(heads))
        warps = 4 if many >= 8 else 1
        _rotate[(tokens, triton.cdiv(heads, many))](
            source,
            target,
            cos,
            sin,
            tokens,
            heads,
            head_size,
            half,
            section_t,
            section_h,
            HEADS=many,
            HALF=triton.next_power_of_2(half),
            REST=triton.next_power_of_2(rest) if rest else 0,
            WARPS=warps,
            num_warps=warps,
        )
