# SPDX-License-Identifier: Apache-2.0
"""Slots counted and sorted in ways that a checker must accept, and in ways that it must refuse."""

import torch

from roofmark_ref import moe_routes

EXTRA_SHAPES = ()
_ALL = ("typical", "heavy_tail", "offset")


def _flat(topk_ids):
    return topk_ids.reshape(-1).to(torch.int64)


def _answer(order, counts, offsets):
    return {
        "sorted_token_ids": order.to(torch.int32).contiguous(),
        "expert_token_counts": counts.to(torch.int32).contiguous(),
        "cumsum": offsets.to(torch.int32).contiguous(),
    }


def _counts(shape, flat):
    return torch.bincount(flat, minlength=shape["experts"])


def _offsets(counts):
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _sorted_by(key):
    """The right answer with slots in the order of key(expert, slot, slots)."""

    def compute(shape, topk_ids):
        flat = _flat(topk_ids)
        slot = torch.arange(len(flat), device=flat.device)
        counts = _counts(shape, flat)
        return _answer(key(flat, slot, len(flat)).argsort(), counts, _offsets(counts))

    return compute


_right = _sorted_by(lambda expert, slot, slots: expert * slots + slot)

HONEST = {
    "stable": _right,
    "backwards inside an expert": _sorted_by(lambda expert, slot, slots: expert * slots - slot),
    "any order inside an expert": _sorted_by(moe_routes.at_random),
}


def _changed(**changes):
    """The right answer with some outputs changed; None where that changes nothing."""

    def compute(shape, topk_ids):
        right = _right(shape, topk_ids)
        wrong = {name: tensor.clone() for name, tensor in right.items()}
        for name, change in changes.items():
            wrong[name] = change(shape, wrong[name]).to(torch.int32).contiguous()
        same = all(torch.equal(wrong[name], right[name]) for name in right)
        return None if same else wrong

    return compute


def _zeros(shape, topk_ids):
    return {name: tensor * 0 for name, tensor in _right(shape, topk_ids).items()}


def _a_copy(shape, topk_ids):
    flat = _flat(topk_ids)
    counts = _counts(shape, flat)
    return _answer(flat, counts, _offsets(counts))


def _first_choice_only(shape, topk_ids):
    return _right(shape, topk_ids[:, :1].expand_as(topk_ids)) if shape["top_k"] > 1 else None


def _first_half_doubled(shape, topk_ids):
    half = shape["tokens"] // 2
    if half == 0:
        return None
    sample = topk_ids[torch.arange(shape["tokens"], device=topk_ids.device) % half]
    wrong, right = _right(shape, sample), _right(shape, topk_ids)
    same = torch.equal(wrong["expert_token_counts"], right["expert_token_counts"])
    return None if same else wrong


def _duplicated(shape, order):
    order[0] = order[-1]
    return order


def _swapped_ends(shape, order):
    """Two slots of different experts in each other's place."""
    order[0], order[-1] = order[-1].clone(), order[0].clone()
    return order


def _last_missing(shape, order):
    order[order == shape["slots"] - 1] = 0
    return order


def _inclusive(shape, offsets):
    return torch.cat([offsets[1:], offsets[-1:]])


def _without_total(shape, offsets):
    offsets[-1] = 0
    return offsets


def _last_expert_uncounted(shape, counts):
    counts[counts.nonzero()[-1]] -= 1
    return counts


def _by_tokens(shape, topk_ids):
    """Slots numbered choice by choice: slot j * tokens + t."""
    if shape["tokens"] == 1 or shape["top_k"] == 1:
        return None
    return _right(shape, topk_ids.t())


WRONG = {
    "zeros": (_zeros, _ALL),
    "a copy": (_a_copy, _ALL),
    "unsorted": (
        _changed(sorted_token_ids=lambda s, t: torch.arange(s["slots"], device=t.device)),
        _ALL,
    ),
    "tokens for slots": (
        _changed(sorted_token_ids=lambda s, t: torch.div(t, s["top_k"], rounding_mode="floor")),
        _ALL,
    ),
    "choices before tokens": (_by_tokens, _ALL),
    "experts backwards": (_changed(sorted_token_ids=lambda s, t: t.flip(0)), _ALL),
    "one slot twice": (_changed(sorted_token_ids=_duplicated), _ALL),
    "two slots exchanged": (_changed(sorted_token_ids=_swapped_ends), _ALL),
    "last slot missing": (_changed(sorted_token_ids=_last_missing), _ALL),
    "first choice only": (_first_choice_only, _ALL),
    "first half of the tokens, twice": (_first_half_doubled, _ALL),
    "counts one expert late": (_changed(expert_token_counts=lambda s, t: t.roll(1, 0)), _ALL),
    "counts all alike": (
        _changed(expert_token_counts=lambda s, t: torch.full_like(t, s["slots"] // s["experts"])),
        _ALL,
    ),
    "one slot not counted": (_changed(expert_token_counts=_last_expert_uncounted), _ALL),
    "inclusive offsets": (_changed(cumsum=_inclusive), _ALL),
    "offsets without the total": (_changed(cumsum=_without_total), _ALL),
}
