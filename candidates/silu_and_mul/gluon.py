# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon SiLU-and-multiply: a program has a piece of a row, a thread 16 bytes of both
halves at a time."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _gate(x, out, width, BLOCK: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [WARPS], [0])
    row = gl.program_id(0).to(gl.int64)
    columns = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = columns < width
    source = row * 2 * width + columns
    gate = gl.load(x + source, mask=mask, other=0.0).to(gl.float32)
    value = gl.load(x + source + width, mask=mask, other=0.0).to(gl.float32)
    result = gate / (1.0 + gl.exp(-gate)) * value
    gl.store(out + row * width + columns, result.to(gl.bfloat16), mask=mask)


def run(x, out, rows, width):
    block = min(1024, triton.next_power_of_2(width))
    warps = max(1, block // 256)
    grid = (rows, triton.cdiv(width, block))
    _gate[grid](x, out, width, BLOCK=block, WARPS=warps, num_warps=warps)
