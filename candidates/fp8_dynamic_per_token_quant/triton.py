# SPDX-License-Identifier: Apache-2.0
"""An honest Triton quantisation of rows to e4m3fnuz: the row stays in registers between its largest
element and its codes."""

import torch
import triton
import triton.language as tl


@triton.jit
def _encode(values):
    """Codes of e4m3fnuz (bias 8), which NVIDIA's units do not make: nearest, ties to even."""
    bits = values.to(tl.int32, bitcast=True)
    size = bits & 0x7FFFFFFF
    # Normal numbers keep three bits of the significand.
    normal = ((size + 0x7FFFF + ((size >> 20) & 1)) >> 20) - ((127 - 8) << 3)
    # Below 2^-7 codes are multiples of 2^-10, and 8192 + x has exactly that spacing.
    shifted = tl.abs(values) + 8192.0
    subnormal = shifted.to(tl.int32, bitcast=True) - 0x46000000
    code = tl.where(tl.abs(values) < 0.0078125, subnormal, normal)
    negative = (bits < 0) & (code != 0)  # there is no negative zero
    return (code | tl.where(negative, 0x80, 0)).to(tl.uint8)


@triton.jit
def _quantise(x, codes, scales, hidden, fp8_max, min_scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < hidden
    values = tl.load(x + row * hidden + columns, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(values), axis=0) / fp8_max, min_scale)
    code = _encode(tl.clamp(values / scale, -fp8_max, fp8_max))
    tl.store(codes + row * hidden + columns, code, mask=mask)
    tl.store(scales + row, scale)


def run(x, q, scale, tokens, hidden, fp8_max, min_scale):
    block = triton.next_power_of_2(hidden)
    _quantise[(tokens,)](
        x,
        q.view(torch.uint8),
        scale,
        hidden,
        fp8_max,
        min_scale,
        BLOCK=block,
        num_warps=min(16, max(1, block // 512)),
    )
