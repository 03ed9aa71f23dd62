# SPDX-License-Identifier: Apache-2.0
"""Slots counted and sorted, with lists."""

import numpy
import torch


def compute(shape, topk_ids):
    flat = topk_ids.flatten().tolist()
    by_expert = [[] for _ in range(shape["experts"])]
    for slot, expert in enumerate(flat):
        by_expert[expert].append(slot)
    offsets = [0]
    for mine in by_expert:
        offsets.append(offsets[-1] + len(mine))
    return {
        "sorted_token_ids": numpy.array(sum(by_expert, [])),
        "expert_token_counts": numpy.array([len(mine) for mine in by_expert]),
        "cumsum": numpy.array(offsets),
    }


def torch_own(shape, topk_ids):
    flat = topk_ids.flatten()
    counts = torch.bincount(flat, minlength=shape["experts"])
    return {
        "sorted_token_ids": torch.argsort(flat, stable=True),
        "expert_token_counts": counts,
        "cumsum": torch.nn.functional.pad(torch.cumsum(counts, 0), (1, 0)),
    }
