# SPDX-License-Identifier: Apache-2.0
"""An honest Triton cache writer: a program copies a piece of a token's key and value to its slot.
The caches are updated in place, so only the tokens' own rows move."""

import triton
import triton.language as tl


@triton.jit
def _write(key, value, key_cache, value_cache, slots, row, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = lane < row
    to = tl.load(slots + token) * row + lane
    tl.store(key_cache + to, tl.load(key + token * row + lane, mask=mask), mask=mask)
    tl.store(value_cache + to, tl.load(value + token * row + lane, mask=mask), mask=mask)


def run(key, value, key_cache, value_cache, slot_mapping, tokens, kv_heads, head_size):
    row = kv_heads * head_size
    block = min(2048, triton.next_power_of_2(row))
    _write[(tokens, triton.cdiv(row, block))](
        key,
        value,
        key_cache,
        value_cache,
        slot_mapping,
        row,
        BLOCK=block,
        num_warps=max(1, min(8, block // 256)),
    )
