# SPDX-License-Identifier: Apache-2.0
"""An honest Triton rotary embedding with three position axes: a program has some heads of a token,
and loads of each frequency only the cosine and sine of the axis that counts."""

import triton
import triton.language as tl


@triton.jit
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
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    REST: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    channel = tl.arange(0, HALF)
    axis = (channel >= section_t).to(tl.int32) + (channel >= section_t + section_h).to(tl.int32)
    angle = (axis.to(tl.int64) * tokens + token) * half + channel
    c = tl.load(cos + angle, mask=channel < half, other=0.0)[None, :]
    s = tl.load(sin + angle, mask=channel < half, other=0.0)[None, :]
    row = (token * heads + head)[:, None] * head_size
    at = row + channel[None, :]
    mask = (head < heads)[:, None] & (channel < half)[None, :]
    first = tl.load(source + at, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(source + at + half, mask=mask, other=0.0).to(tl.float32)
    tl.store(target + at, (first * c - second * s).to(tl.bfloat16), mask=mask)
    tl.store(target + at + half, (second * c + first * s).to(tl.bfloat16), mask=mask)
    if REST > 0:
        rest = 2 * half + tl.arange(0, REST)
        mask = (head < heads)[:, None] & (rest < head_size)[None, :]
        kept = tl.load(source + row + rest[None, :], mask=mask, other=0.0)
        tl.store(target + row + rest[None, :], kept, mask=mask)


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
            num_warps=4 if many >= 8 else 1,
        )
