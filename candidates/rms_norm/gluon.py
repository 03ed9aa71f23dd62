# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon RMSNorm: a program has a row, whose elements lie in its threads' registers in
vectors of 16 bytes."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _norm_row(x, weight, out, hidden, eps, BLOCK: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [WARPS], [0])
    row = gl.program_id(0).to(gl.int64) * hidden
    columns = gl.arange(0, BLOCK, layout=layout)
    mask = columns < hidden
    values = gl.load(x + row + columns, mask=mask, other=0.0).to(gl.float32)
    scale = gl.load(weight + columns, mask=mask, other=0.0).to(gl.float32)
    factor = 1.0 / gl.sqrt(gl.sum(values * values, axis=0) / hidden + eps)
    gl.store(out + row + columns, (values * factor * scale).to(gl.bfloat16), mask=mask)


def run(x, weight, out, tokens, hidden, eps):
    block = triton.next_power_of_2(hidden)
    warps = min(16, max(1, block // 512))
    _norm_row[(tokens,)](x, weight, out, hidden, eps, BLOCK=block, WARPS=warps, num_warps=warps)
