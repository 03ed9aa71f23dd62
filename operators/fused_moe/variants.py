# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts layer computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch
import torch.nn.functional as F

from roofmark_ref import moe, moe_routes

# Long in hidden, where sums in few bits show.
EXTRA_SHAPES = ({"tokens": 6, "hidden": 4096, "inter": 48, "experts": 2, "top_k": 1, "skew": 0},)
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 24
_FLOAT64_AT_MOST = 5e11  # operations; many devices have few float64 units


def _out(tensor):
    return {"out": tensor.to(torch.bfloat16)}


def _bf16(tensor):
    return tensor.to(torch.bfloat16).to(torch.float32)


def _product(x, weight, dtype):
    return x.to(dtype) @ weight.to(dtype).t()


def _in_halves(x, weight, dtype):
    half = x.shape[1] // 2
    return _product(x[:, half:], weight[:, half:], dtype) + _product(
        x[:, :half], weight[:, :half], dtype
    )


def _kept_in_bf16(x, weight, dtype):
    """A running sum in bf16, a step of 32 (a few matrix instructions) at a time."""
    total = torch.zeros((len(x), len(weight)), dtype=torch.bfloat16, device=x.device)
    for a, b in zip(x.split(32, 1), weight.split(32, 1)):
        total = (total.to(dtype) + _product(a, b, dtype)).to(torch.bfloat16)
    return total.to(dtype)


def _silu_and_mul(gate, up, dtype):
    return F.silu(gate) * up


def _layer(
    hidden_states,
    w1,
    w2,
    topk_weights,
    topk_ids,
    dtype=torch.float32,
    product=_product,
    activation=_silu_and_mul,
    rounded=lambda tensor: tensor,
    keep=lambda slots: slots,
    weight_first=False,
    total=torch.float32,
):
    """The layer, expert by expert, with a hook for each step."""
    top_k, inter = topk_ids.shape[1], w2.shape[2]
    weights = topk_weights.reshape(-1, 1).to(dtype)
    total = dtype if total == torch.float32 else total
    out = torch.zeros(hidden_states.shape, dtype=total, device=hidden_states.device)
    rows = max(1, _CHUNK // max(2 * inter, hidden_states.shape[1]))
    for expert, slots in moe.pieces(topk_ids, len(w1), rows):
        slots = keep(slots)
        if len(slots) == 0:
            continue
        tokens = slots // top_k
        both = rounded(product(hidden_states[tokens].to(dtype), w1[expert], dtype))
        act = rounded(activation(both[:, :inter], both[:, inter:], dtype))
        if weight_first:
            part = rounded(product(rounded(act * weights[slots]), w2[expert], dtype))
        else:
            part = rounded(product(act, w2[expert], dtype) * weights[slots])
        out.index_add_(0, tokens, part.to(total))
    return _out(out)


def _with(**hooks):
    return lambda shape, **tensors: _layer(**tensors, **hooks)


def _in_float64(shape, **tensors):
    work = 6.0 * shape["tokens"] * shape["top_k"] * shape["hidden"] * shape["inter"]
    return _layer(**tensors, dtype=torch.float64) if work < _FLOAT64_AT_MOST else None


def _by_tanh(gate, up, dtype):
    half = 0.5 * gate
    return (half * torch.tanh(half) + half) * up


def _choices_backwards(shape, topk_weights, topk_ids, **tensors):
    return _layer(topk_weights=topk_weights.flip(1), topk_ids=topk_ids.flip(1), **tensors)


HONEST = {
    "float64": _in_float64,
    "products in halves": _with(product=_in_halves),
    "by tanh": _with(activation=_by_tanh),
    "stored in bf16 between kernels": _with(rounded=_bf16),
    "stored in bf16, router weight before down": _with(rounded=_bf16, weight_first=True),
    "stored in bf16, choices summed in bf16": _with(rounded=_bf16, total=torch.bfloat16),
    "choices backwards": _choices_backwards,
}


def _changed(**changes):
    """The right layer of changed operands; a change that returns None does not apply."""

    def compute(shape, **tensors):
        for name, change in changes.items():
            tensors[name] = change(shape, tensors[name])
            if tensors[name] is None:
                return None
        return _layer(**tensors)

    return compute


def _if_many(axis, change):
    return lambda shape, tensor: change(tensor) if shape[axis] > 1 else None


def _halves_swapped(shape, w1):
    return torch.cat([w1[:, shape["inter"] :], w1[:, : shape["inter"]]], dim=1)


def _interleaved(shape, w1):
    return w1.view(-1, shape["inter"], 2, shape["hidden"]).transpose(1, 2).reshape(w1.shape)


def _first_half_doubled(x, weight, dtype):
    half = x.shape[1] // 2
    return _product(x[:, :half], weight[:, :half], dtype) * (x.shape[1] / half)


def _without_tail(x, weight, dtype):
    short = (x.shape[1] - 1) // 32 * 32
    return _product(x[:, :short], weight[:, :short], dtype)


def _first_choice_only(shape, topk_weights, topk_ids, **tensors):
    if shape["top_k"] == 1:
        return None
    return _layer(topk_weights=topk_weights[:, :1], topk_ids=topk_ids[:, :1], **tensors)


def _strongest_choice_only(shape, topk_weights, topk_ids, **tensors):
    # Where the router is all but certain of one expert, the others may not matter.
    if shape["top_k"] == 1:
        return None
    best = topk_weights.argmax(1, keepdim=True)
    return _layer(
        topk_weights=topk_weights.gather(1, best), topk_ids=topk_ids.gather(1, best), **tensors
    )


def _over_capacity_dropped(shape, topk_ids, **tensors):
    """Each expert takes at most 1.25 times its even share, as in training."""
    capacity = -(-5 * shape["tokens"] * shape["top_k"] // (4 * shape["experts"]))
    counts = moe.slots_by_expert(topk_ids, shape["experts"])[1]
    # Enough of a loss to tell: what is dropped is somebody's choice in full, of any weight.
    if int((counts - capacity).clamp(min=0).sum()) * 8 < topk_ids.numel():
        return None
    return _layer(topk_ids=topk_ids, keep=lambda slots: slots[:capacity], **tensors)


def _last_expert_wins(shape, hidden_states, w1, w2, topk_weights, topk_ids):
    """Overwrites where it should add: only a token's highest expert stays."""
    if shape["top_k"] == 1:
        return None
    last = topk_ids.argmax(1, keepdim=True)
    return _layer(hidden_states, w1, w2, topk_weights.gather(1, last), topk_ids.gather(1, last))


def _summed_in_bf16(shape, **tensors):
    return _layer(**tensors, product=_kept_in_bf16) if shape["hidden"] >= 3500 else None


def _last_row_missing(shape, **tensors):
    out = _layer(**tensors)["out"]
    out[-1] = 0
    return {"out": out}


def _last_column_missing(shape, **tensors):
    if shape["tokens"] < 4:  # a single element may be small by chance
        return None
    out = _layer(**tensors)["out"]
    out[:, -1] = 0
    return {"out": out}


def _weights_on_input(shape, hidden_states, w1, w2, topk_weights, topk_ids):
    """As for layers that scale what goes into an expert; all choices by the first weight."""
    mean = topk_weights.mean(1, keepdim=True)
    return _layer(hidden_states.float() * mean, w1, w2, torch.ones_like(topk_weights), topk_ids)


WRONG = {
    "zeros": (lambda shape, hidden_states, **_: _out(hidden_states * 0), _ALL),
    "a constant": (lambda shape, hidden_states, **_: _out(torch.ones_like(hidden_states)), _ALL),
    "a copy": (lambda shape, hidden_states, **_: _out(hidden_states.clone()), _ALL),
    "the input itself": (lambda shape, hidden_states, **_: {"out": hidden_states}, _ALL),
    "router weights all alike": (
        _changed(
            topk_weights=_if_many("top_k", lambda w: torch.full_like(w, 1.0 / w.shape[1]))
        ),
        _ALL,
    ),
    "router weights divided by their sum": (
        _changed(topk_weights=lambda shape, w: w / w.sum(1, keepdim=True)),
        _ALL,
    ),
    "router weights one choice off": (
        _changed(topk_weights=_if_many("top_k", lambda w: w.roll(1, 1))),
        _ALL,
    ),
    "router weights on the input": (_weights_on_input, _ALL),
    "ids one off": (_changed(topk_ids=moe_routes.ids_one_off), _ALL),
    "ids ignored": (_changed(topk_ids=moe_routes.ids_ignored), _ALL),
    "ids of the previous token": (
        _changed(
            topk_ids=lambda shape, ids: (
                None if torch.equal(ids, ids.roll(1, 0)) else ids.roll(1, 0)
            )
        ),
        _ALL,
    ),
    "hidden states of the previous token": (
        _changed(hidden_states=_if_many("tokens", lambda x: x.roll(1, 0))),
        ("typical", "heavy_tail"),
    ),
    "gate and up swapped": (_changed(w1=_halves_swapped), _ALL),
    "gate and up interleaved": (_changed(w1=_interleaved), _ALL),
    "no activation": (_with(activation=lambda gate, up, dtype: gate * up), _ALL),
    "gelu": (_with(activation=lambda gate, up, dtype: F.gelu(gate) * up), _ALL),
    "relu": (_with(activation=lambda gate, up, dtype: F.relu(gate) * up), _ALL),
    "up dropped": (_with(activation=lambda gate, up, dtype: F.silu(gate)), _ALL),
    "down of the next expert": (
        _changed(w2=_if_many("experts", lambda w: w.roll(1, 0))),
        _ALL,
    ),
    "first choice only": (_first_choice_only, ("typical", "offset")),
    "strongest choice only": (_strongest_choice_only, ("typical", "offset")),
    "last expert wins": (_last_expert_wins, ("typical", "offset")),
    "last slot of each expert missing": (_with(keep=lambda slots: slots[:-1]), _ALL),
    "over capacity dropped": (_over_capacity_dropped, ("typical", "offset")),
    "first half of the sums, doubled": (_with(product=_first_half_doubled), ("typical",)),
    "tail of the sums missing": (_with(product=_without_tail), ("typical", "offset")),
    "summed in bf16": (_summed_in_bf16, ("offset",)),
    "last row missing": (_last_row_missing, _ALL),
    "last column missing": (_last_column_missing, _ALL),
}
