# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon sum over a token's expert outputs: one piece of a token's row in each program,
its choices added in float32 by the thread that stores their sum."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _add_choices(
    given, out, hidden, TOP_K: gl.constexpr, BLOCK: gl.constexpr, WARPS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [WARPS], [0])
    token = gl.program_id(0).to(gl.int64)
    columns = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = columns < hidden
    total = gl.zeros([BLOCK], gl.float32, layout=layout)
    for choice in gl.static_range(TOP_K):
        at = (token * TOP_K + choice) * hidden + columns
        total += gl.load(given + at, mask=mask, other=0.0).to(gl.float32)
    gl.store(out + token * hidden + columns, total.to(gl.bfloat16), mask=mask)


def run(expert_outputs, out, tokens, top_k, hidden):
    block = min(2048, triton.next_power_of_2(hidden))
    warps = max(1, block // 256)
    _add_choices[(tokens, triton.cdiv(hidden, block))](
        expert_outputs, out, hidden, TOP_K=top_k, BLOCK=block, WARPS=warps, num_warps=warps
    )
