# SPDX-License-Identifier: Apache-2.0
"""Slots grouped in padded blocks in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import moe_routes

EXTRA_SHAPES = ()
_ALL = ("typical", "heavy_tail", "offset")


def _stable(expert, slot, slots):
    return expert * slots + slot


def _align(shape, topk_ids, key=_stable, block_size=None, at_least=0, padding_first=False):
    """The answer, with slots in the order of key(expert, slot, slots)."""
    size = block_size or shape["block_size"]
    flat = topk_ids.reshape(-1).to(torch.int64)
    device, slots = flat.device, len(flat)
    slot = torch.arange(slots, device=device)
    order = key(flat, slot, slots).argsort()
    counts = torch.bincount(flat, minlength=shape["experts"])
    blocks = torch.div(counts + (size - 1), size, rounding_mode="floor").clamp(min=at_least)
    first = (blocks.cumsum(0) - blocks) * size
    if padding_first:
        first = first + blocks * size - counts
    expert = flat[order]
    rank = slot - (counts.cumsum(0) - counts)[expert]
    place = (first[expert] + rank).clamp(max=shape["max_padded"] - 1)
    sorted_ids = torch.full((shape["max_padded"],), slots, dtype=torch.int32, device=device)
    sorted_ids[place] = order.to(torch.int32)
    labels = torch.arange(shape["experts"], dtype=torch.int32, device=device)
    labels = labels.repeat_interleave(blocks)[: shape["max_blocks"]]
    expert_ids = torch.full((shape["max_blocks"],), -1, dtype=torch.int32, device=device)
    expert_ids[: len(labels)] = labels
    return {
        "sorted_token_ids": sorted_ids,
        "expert_ids": expert_ids,
        "num_tokens_post_pad": (blocks.sum() * size).to(torch.int32).reshape(1),
    }


def _with(**how):
    return lambda shape, topk_ids: _align(shape, topk_ids, **how)


HONEST = {
    "stable": _with(),
    "backwards inside an expert": _with(key=lambda expert, slot, slots: expert * slots - slot),
    "any order inside an expert": _with(key=moe_routes.at_random),
    "padding first": _with(padding_first=True),
}


def _if_other(compute):
    """What compute() gives, or None where that happens to be right."""

    def checked(shape, topk_ids):
        wrong = compute(shape, topk_ids)
        if wrong is None:
            return None
        right = _align(shape, topk_ids)
        return None if all(torch.equal(wrong[name], right[name]) for name in right) else wrong

    return checked


def _changed(**changes):
    def compute(shape, topk_ids):
        answer = _align(shape, topk_ids)
        used = int(answer["num_tokens_post_pad"])
        for name, change in changes.items():
            answer[name] = change(shape, answer[name], used).to(torch.int32).contiguous()
        return answer

    return _if_other(compute)


def _zeros(shape, topk_ids):
    return {name: tensor * 0 for name, tensor in _align(shape, topk_ids).items()}


def _in_order(shape, topk_ids, values):
    """Values in the first places, the number of slots in the others."""
    answer = _align(shape, topk_ids)
    answer["sorted_token_ids"].fill_(shape["slots"])
    answer["sorted_token_ids"][: shape["slots"]] = values.to(torch.int32)
    return answer


def _unsorted(shape, topk_ids):
    return _in_order(shape, topk_ids, torch.arange(shape["slots"], device=topk_ids.device))


def _not_padded(shape, topk_ids):
    order = torch.sort(topk_ids.reshape(-1), stable=True).indices
    return _in_order(shape, topk_ids, order)


def _padded_with(value):
    def change(shape, ids, used):
        padding = ids == shape["slots"]
        padding[used:] = False
        return torch.where(padding, torch.full_like(ids, value), ids)

    return change


def _tail(value):
    def change(shape, tensor, used):
        tensor[used * len(tensor) // shape["max_padded"] :] = value
        return tensor

    return change


def _tokens(shape, ids, used):
    return torch.div(ids, shape["top_k"], rounding_mode="floor")


def _last_missing(shape, ids, used):
    return torch.where(ids == shape["slots"] - 1, torch.full_like(ids, shape["slots"]), ids)


def _ends_exchanged(shape, ids, used):
    """Two slots of different experts in each other's place."""
    real = (ids < shape["slots"]).nonzero().flatten()
    ids[real[0]], ids[real[-1]] = ids[real[-1]].clone(), ids[real[0]].clone()
    return ids


def _counted(shape, labels, used):
    return torch.arange(len(labels), device=labels.device)


def _half_blocks(shape, topk_ids):
    return _align(shape, topk_ids, block_size=max(1, shape["block_size"] // 2))


def _first_choice_only(shape, topk_ids):
    return _align(shape, topk_ids[:, :1].expand_as(topk_ids)) if shape["top_k"] > 1 else None


def _first_half_doubled(shape, topk_ids):
    half = shape["tokens"] // 2
    if half == 0:
        return None
    wrong = _align(shape, topk_ids[torch.arange(shape["tokens"], device=topk_ids.device) % half])
    # The same choices would only be in another order.
    first = topk_ids.sort(1).values
    return None if bool((first == first[:1]).all()) else wrong


def _by_tokens(shape, topk_ids):
    """Slots numbered choice by choice: slot j * tokens + t."""
    return None if 1 in topk_ids.shape else _align(shape, topk_ids.t())


WRONG = {
    "zeros": (_zeros, _ALL),
    "a copy": (lambda shape, topk_ids: _in_order(shape, topk_ids, topk_ids.reshape(-1)), _ALL),
    "unsorted": (_unsorted, _ALL),
    "not padded": (_not_padded, _ALL),
    "padded with 0": (_changed(sorted_token_ids=_padded_with(0)), _ALL),
    "padded with -1": (_changed(sorted_token_ids=_padded_with(-1)), _ALL),
    "tail of slots left at 0": (_changed(sorted_token_ids=_tail(0)), _ALL),
    "tail of labels left at 0": (_changed(expert_ids=_tail(0)), _ALL),
    "tokens for slots": (_changed(sorted_token_ids=_tokens), _ALL),
    "choices before tokens": (_by_tokens, _ALL),
    "last slot missing": (_changed(sorted_token_ids=_last_missing), _ALL),
    "two slots exchanged": (_changed(sorted_token_ids=_ends_exchanged), _ALL),
    "labels one late": (_changed(expert_ids=lambda shape, labels, used: labels.roll(1, 0)), _ALL),
    "labels one up": (_changed(expert_ids=lambda shape, labels, used: labels + 1), _ALL),
    "labels ignored": (_changed(expert_ids=_counted), _ALL),
    "total without padding": (
        _changed(num_tokens_post_pad=lambda shape, total, used: total * 0 + shape["slots"]),
        _ALL,
    ),
    "total in blocks": (
        _changed(num_tokens_post_pad=lambda shape, total, used: total // shape["block_size"]),
        _ALL,
    ),
    "a block for each expert": (_if_other(_with(at_least=1)), _ALL),
    "blocks of half the size": (_if_other(_half_blocks), _ALL),
    "first choice only": (_first_choice_only, _ALL),
    "first half of the tokens, twice": (_first_half_doubled, _ALL),
}
