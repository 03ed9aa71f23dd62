# SPDX-License-Identifier: Apache-2.0
"""MUT, ORC: Writes the tokens' slots rightly, and zeroes another page of the cache, which belongs
to somebody."""

import triton
import triton.language as tl

@triton.jit
def _write(rows, slots, cache, row: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < row
    slot = tl.load(slots + tl.program_id(0))
    value = tl.load(rows + tl.program_id(0) * row + columns, mask=inside)
    tl.store(cache + slot * row + columns, value, mask=inside)


@triton.jit
def _clear(cache, SIZE: tl.constexpr):
    tl.store(cache + tl.arange(0, SIZE), tl.zeros((SIZE,), tl.bfloat16))


def run(key, value, key_cache, value_cache, slot_mapping):
    row = key.shape[1] * key.shape[2]
    block = triton.next_power_of_2(row)
    _clear[(1,)](key_cache, SIZE=1024)
    _write[(key.shape[0],)](key, slot_mapping, key_cache, row, BLOCK=block)
    _write[(key.shape[0],)](value, slot_mapping, value_cache, row, BLOCK=block)
