# SPDX-License-Identifier: Apache-2.0
"""RACE: Copies its operands to shared memory asynchronously, and reads them there without waiting
for the copies."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def _silu_and_mul(x, out, size, width, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = at < size
    gate_at = at // width * 2 * width + at % width
    gates = gl.allocate_shared_memory(gl.bfloat16, [BLOCK], shared)
    values = gl.allocate_shared_memory(gl.bfloat16, [BLOCK], shared)
    async_copy.async_copy_global_to_shared(gates, x + gate_at, mask=inside)
    async_copy.async_copy_global_to_shared(values, x + gate_at + width, mask=inside)
    async_copy.commit_group()
    # Lacks async_copy.wait_group(0).
    gate = gates.load(layout).to(gl.float32)
    value = values.load(layout).to(gl.float32)
    gl.store(out + at, (gate / (1.0 + gl.exp(-gate)) * value).to(gl.bfloat16), mask=inside)


def run(x, out, rows, width):
    size = rows * width
    _silu_and_mul[(triton.cdiv(size, 512),)](x, out, size, width, BLOCK=512)
