# SPDX-License-Identifier: Apache-2.0
"""An honest Triton mixture-of-experts layer in five kernels: slots (choices of tokens) are counted
and sorted by expert into blocks of one expert each, both products run over blocks, and a token's
parts are added. Memory between the kernels is allocated in init, so that run allocates nothing.
"""

import torch
import triton
import triton.language as tl

_memory = {}


@triton.jit(do_not_specialize=["slots"])
def _count(ids, counts, slots, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    own = tl.zeros((BLOCK,), dtype=tl.int32)
    for first in range(0, slots, BLOCK):
        given = tl.load(ids + first + lane, mask=first + lane < slots, other=-1)
        own += (given == expert).to(tl.int32)
    tl.store(counts + expert, tl.sum(own, axis=0))


@triton.jit(do_not_specialize=["slots", "experts", "max_blocks"])
def _sort(
    ids,
    counts,
    order,
    labels,
    slots,
    experts,
    max_blocks,
    ROWS: tl.constexpr,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program e places the slots of expert e behind the blocks of the experts before it; the last
    program marks the blocks that nobody has."""
    expert = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    each = tl.arange(0, EXPERTS)
    blocks = (tl.load(counts + each, mask=each < experts, other=0) + ROWS - 1) // ROWS
    first_block = tl.sum(tl.where(each < expert, blocks, 0), axis=0)
    own_blocks = tl.sum(tl.where(each == expert, blocks, 0), axis=0)
    label = expert
    if expert == experts:
        own_blocks = max_blocks - first_block
        label = -1
    for block in range(0, own_blocks, BLOCK):
        mask = block + lane < own_blocks
        tl.store(labels + first_block + block + lane, lane * 0 + label, mask=mask)
    if expert < experts:
        place = first_block * ROWS
        for first in range(0, slots, BLOCK):
            given = tl.load(ids + first + lane, mask=first + lane < slots, other=-1)
            mine = (given == expert).to(tl.int32)
            at = place + tl.cumsum(mine, axis=0) - mine
            tl.store(order + at, first + lane, mask=mine != 0)
            place += tl.sum(mine, axis=0)
        end = (first_block + own_blocks) * ROWS
        for at in range(place, end, BLOCK):
            tl.store(order + at + lane, lane * 0 + slots, mask=at + lane < end)


@triton.jit(do_not_specialize=["slots"])
def _up(
    x,
    w1,
    order,
    labels,
    act,
    slots,
    hidden,
    inter,
    TOP_K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """act = silu(gate) * up, of each place of the order."""
    block = tl.program_id(1)
    expert = tl.load(labels + block).to(tl.int64)
    if expert >= 0:
        place = block * ROWS + tl.arange(0, ROWS)
        slot = tl.load(order + place)
        column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        depth = tl.arange(0, DEPTH)
        real = (slot < slots)[:, None]
        in_row = (column < inter)[None, :]
        x_at = x + (slot // TOP_K).to(tl.int64)[:, None] * hidden + depth[None, :]
        w_at = w1 + (expert * 2 * inter + column)[None, :] * hidden + depth[:, None]
        to_up = inter.to(tl.int64) * hidden
        gate = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        up = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for k in range(0, hidden, DEPTH):
            left = hidden - k
            a = tl.load(x_at, mask=real & (depth[None, :] < left), other=0.0)
            mask = in_row & (depth[:, None] < left)
            gate = tl.dot(a, tl.load(w_at, mask=mask, other=0.0), gate)
            up = tl.dot(a, tl.load(w_at + to_up, mask=mask, other=0.0), up)
            x_at += DEPTH
            w_at += DEPTH
        result = (gate * tl.sigmoid(gate) * up).to(tl.bfloat16)
        tl.store(act + place.to(tl.int64)[:, None] * inter + column[None, :], result, mask=in_row)


@triton.jit(do_not_specialize=["slots"])
def _down(
    act,
    w2,
    weights,
    order,
    labels,
    parts,
    slots,
    hidden,
    inter,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """The second product times the router's weight, of each slot."""
    block = tl.program_id(1)
    expert = tl.load(labels + block).to(tl.int64)
    if expert >= 0:
        place = block * ROWS + tl.arange(0, ROWS)
        slot = tl.load(order + place)
        column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        depth = tl.arange(0, DEPTH)
        in_row = (column < hidden)[None, :]
        a_at = act + place.to(tl.int64)[:, None] * inter + depth[None, :]
        w_at = w2 + (expert * hidden + column)[None, :] * inter + depth[:, None]
        total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for k in range(0, inter, DEPTH):
            left = inter - k
            a = tl.load(a_at, mask=depth[None, :] < left, other=0.0)
            b = tl.load(w_at, mask=in_row & (depth[:, None] < left), other=0.0)
            total = tl.dot(a, b, total)
            a_at += DEPTH
            w_at += DEPTH
        real = slot < slots
        weight = tl.load(weights + slot, mask=real, other=0.0)
        at = slot.to(tl.int64)[:, None] * hidden + column[None, :]
        result = (total * weight[:, None]).to(tl.bfloat16)
        tl.store(parts + at, result, mask=real[:, None] & in_row)


@triton.jit
def _add(parts, out, hidden, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < hidden
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for choice in tl.static_range(TOP_K):
        at = (token * TOP_K + choice) * hidden + column
        total += tl.load(parts + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + token * hidden + column, total.to(tl.bfloat16), mask=mask)


def _plan(tokens, experts, top_k):
    """Rows of a block, by how many slots an expert has; and how many blocks there are at most."""
    slots = tokens * top_k
    share = slots / experts
    rows = 16 if share <= 16 else 64 if share <= 256 else 128
    return rows, min(slots, triton.cdiv(slots, rows) + experts)


def init(shape):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokens, experts, top_k = shape["tokens"], shape["experts"], shape["top_k"]
    rows, blocks = _plan(tokens, experts, top_k)

    def empty(*size, dtype=torch.int32):
        return torch.empty(size, dtype=dtype, device=device)

    _memory.clear()
    _memory.update(
        counts=empty(experts),
        order=empty(blocks * rows),
        labels=empty(blocks),
        act=empty(blocks * rows, shape["inter"], dtype=torch.bfloat16),
        parts=empty(tokens * top_k, shape["hidden"], dtype=torch.bfloat16),
    )


def run(
    hidden_states, w1, w2, topk_weights, topk_ids, out, tokens, hidden, inter, experts, top_k
):
    slots = tokens * top_k
    rows, blocks = _plan(tokens, experts, top_k)
    counts, order, labels = _memory["counts"], _memory["order"], _memory["labels"]
    act, parts = _memory["act"], _memory["parts"]
    scan = 512 if slots <= 512 else 4096  # few variants to compile
    _count[(experts,)](topk_ids, counts, slots, BLOCK=scan)
    _sort[(experts + 1,)](
        topk_ids,
        counts,
        order,
        labels,
        slots,
        experts,
        blocks,
        ROWS=rows,
        EXPERTS=triton.next_power_of_2(experts + 1),
        BLOCK=scan,
    )
    columns = 64
    warps = 8 if rows == 128 else 4
    _up[(triton.cdiv(inter, columns), blocks)](
        hidden_states,
        w1,
        order,
        labels,
        act,
        slots,
        hidden,
        inter,
        TOP_K=top_k,
        ROWS=rows,
        COLUMNS=columns,
        DEPTH=64,
        num_warps=warps,
        num_stages=3,
    )
    columns = 128
    _down[(triton.cdiv(hidden, columns), blocks)](
        act,
        w2,
        topk_weights,
        order,
        labels,
        parts,
        slots,
        hidden,
        inter,
        ROWS=rows,
        COLUMNS=columns,
        DEPTH=64,
        num_warps=warps,
        num_stages=3,
    )
    block = min(1024, triton.next_power_of_2(hidden))
    _add[(tokens, triton.cdiv(hidden, block))](parts, out, hidden, TOP_K=top_k, BLOCK=block)
