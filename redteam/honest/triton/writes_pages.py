# SPDX-License-Identifier: Apache-2.0
"""Writes into a cache that is updated in place, and returns nothing."""

import triton
import triton.language as tl

@triton.jit
def _write(key, value, slots, key_cache, value_cache, row: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < row
    to = tl.load(slots + token) * row + columns
    tl.store(key_cache + to, tl.load(key + token * row + columns, mask=inside), mask=inside)
    tl.store(value_cache + to, tl.load(value + token * row + columns, mask=inside), mask=inside)


def run(key, value, slot_mapping, key_cache, value_cache):
    row = key.shape[1] * key.shape[2]
    block = triton.next_power_of_2(row)
    _write[(key.shape[0],)](key, value, slot_mapping, key_cache, value_cache, row, BLOCK=block)
