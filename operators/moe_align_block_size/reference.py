# SPDX-License-Identifier: Apache-2.0
"""Slots grouped by expert in padded blocks: what a correct kernel computes.

Slot t * top_k + j is choice j of token t. Each expert's slots fill whole blocks, ascending by
expert; what is left of its last block, and of the whole output, holds the number of slots. Blocks
that nobody needs are labelled -1.
"""

import torch

from roofmark_ref import moe

_REGIMES = ("typical", "heavy_tail", "offset")


def inputs(shape, seed, regime, device):
    """topk_ids [tokens, top_k], i32: distinct for each token; see roofmark_ref/moe.py."""
    return {"topk_ids": moe.draw_for_sorting(shape, seed, regime, device, _REGIMES)}


def reference(shape, topk_ids):
    """Stable: ascending slots inside an expert, then its padding."""
    experts, block_size = int(shape["experts"]), int(shape["block_size"])
    device, slots = topk_ids.device, topk_ids.numel()
    order, counts = moe.slots_by_expert(topk_ids, experts)
    blocks = torch.div(counts + (block_size - 1), block_size, rounding_mode="floor")
    block_ends = blocks.cumsum(0)
    # Each sorted slot moves up by the padding of the experts before its own.
    shift = (block_ends - blocks) * block_size - (counts.cumsum(0) - counts)
    expert = topk_ids.reshape(-1).to(torch.int64)[order]
    place = torch.arange(slots, device=device) + shift[expert]
    sorted_ids = torch.full((int(shape["max_padded"]),), slots, dtype=torch.int32, device=device)
    sorted_ids[place] = order.to(torch.int32)
    block = torch.arange(int(shape["max_blocks"]), device=device)
    label = torch.searchsorted(block_ends, block, right=True)
    label = torch.where(label < experts, label, torch.full_like(label, -1))
    return {
        "sorted_token_ids": sorted_ids,
        "expert_ids": label.to(torch.int32),
        "num_tokens_post_pad": (block_ends[-1:] * block_size).to(torch.int32),
    }
