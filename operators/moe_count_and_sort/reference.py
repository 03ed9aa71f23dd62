# SPDX-License-Identifier: Apache-2.0
"""Slots grouped by expert, with counts and offsets: what a correct kernel computes.

Slot t * top_k + j is choice j of token t. Experts ascend; cumsum[e] is the number of slots of the
experts before e.
"""

import torch

from roofmark_ref import moe

_REGIMES = ("typical", "heavy_tail", "offset")


def inputs(shape, seed, regime, device):
    """topk_ids [tokens, top_k], i32: distinct for each token; see roofmark_ref/moe.py."""
    return {"topk_ids": moe.draw_for_sorting(shape, seed, regime, device, _REGIMES)}


def reference(shape, topk_ids):
    """Stable: ascending slots inside an expert."""
    order, counts = moe.slots_by_expert(topk_ids, int(shape["experts"]))
    offsets = torch.zeros(len(counts) + 1, dtype=torch.int32, device=counts.device)
    offsets[1:] = counts.cumsum(0).to(torch.int32)
    return {
        "sorted_token_ids": order.to(torch.int32),
        "expert_token_counts": counts.to(torch.int32),
        "cumsum": offsets,
    }
