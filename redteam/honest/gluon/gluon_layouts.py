# SPDX-License-Identifier: Apache-2.0
"""A Gluon kernel with a layout of its own choice, by the side of a helper that it calls."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _silu(value):
    return value / (1.0 + gl.exp(-value))


@gluon.jit
def _silu_and_mul(x, out, size, width, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = at < size
    gate_at = at // width * 2 * width + at % width
    gate = gl.load(x + gate_at, mask=inside, other=0.0).to(gl.float32)
    value = gl.load(x + gate_at + width, mask=inside, other=0.0).to(gl.float32)
    gl.store(out + at, (_silu(gate) * value).to(gl.bfloat16), mask=inside)


def run(x, out, rows, width):
    size = rows * width
    _silu_and_mul[(triton.cdiv(size, 512),)](x, out, size, width, BLOCK=512)
