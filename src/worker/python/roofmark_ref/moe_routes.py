# SPDX-License-Identifier: Apache-2.0
"""What admission programs of several mixture-of-experts operators share."""

import torch


def ids_one_off(shape, ids):
    return (ids + 1) % shape["experts"] if shape["experts"] > shape["top_k"] else None


def ids_ignored(shape, ids):
    counted = torch.arange(shape["top_k"], dtype=ids.dtype, device=ids.device)
    if shape["experts"] == shape["top_k"] or shape["tokens"] < 3:  # few may agree by chance
        return None
    return counted.expand_as(ids)


def at_random(expert, slot, slots):
    """A sort key as atomics leave slots: any order inside an expert."""
    gen = torch.Generator(device=expert.device).manual_seed(slots)
    noise = torch.rand(slots, generator=gen, device=expert.device, dtype=torch.float64)
    return expert.to(torch.float64) + noise * 0.999
