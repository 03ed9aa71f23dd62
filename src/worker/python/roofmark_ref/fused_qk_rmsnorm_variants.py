# SPDX-License-Identifier: Apache-2.0
"""The norm of query and key heads computed in ways that a checker must accept, and in ways that it
must refuse."""

import torch

from roofmark_ref import mistakes, rows
from roofmark_ref.norm_routes import inverse_rms, layer_norm, summed_in_pieces

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _parts(shape, hidden_states):
    heads = hidden_states.unflatten(1, (-1, shape["head_size"]))
    return heads.split([shape["heads"], shape["kv_heads"], shape["kv_heads"]], dim=1)


def _packed(q, k, v, like):
    return {"out": torch.cat([q, k, v], dim=1).to(like.dtype).flatten(1)}


def _scaled(x, factor, weight):
    return x * factor * weight


def _norm(inverse=inverse_rms, dtype=torch.float32, first=_scaled):
    """The operator with its rms, its precision or its order of products replaced."""

    def compute(shape, hidden_states, q_weight, k_weight):
        q, k, v = _parts(shape, hidden_states)
        done = []
        for part, weight in ((q, q_weight), (k, k_weight)):
            wide = part.to(dtype)
            done.append(first(wide, inverse(wide, shape["eps"]), weight.to(dtype)).to(part.dtype))
        return _packed(*done, v, hidden_states)

    return rows.by_rows(compute, "hidden_states")


def _rounded_before_weight(half):
    def first(x, factor, weight):
        return ((x * factor).to(half) * weight.to(half)).to(half)

    def compute(shape, hidden_states, q_weight, k_weight):
        return _norm(first=first)(
            shape, hidden_states=hidden_states, q_weight=q_weight, k_weight=k_weight
        )

    return compute


def _as_released(shape, hidden_states, **weights):
    return _rounded_before_weight(hidden_states.dtype)(shape, hidden_states, **weights)


_exact = _norm(dtype=torch.float64)

HONEST = {
    "float64": _exact,
    "rounded before the weight": _as_released,
    "summed in pieces": _norm(summed_in_pieces(24)),
    "summed one by one, backwards": _norm(
        lambda x, eps: torch.rsqrt(x.flip(-1).pow(2).cumsum(-1)[..., -1:] / x.shape[-1] + eps)
    ),
    "weight first": _norm(first=lambda x, factor, weight: x * weight * factor),
}


def _with_weights(change):
    def compute(shape, hidden_states, q_weight, k_weight):
        q_weight, k_weight = change(q_weight, k_weight)
        return _exact(shape, hidden_states=hidden_states, q_weight=q_weight, k_weight=k_weight)

    return compute


def _copied(where):
    """The right answer except for one part, which is the input's own."""

    def compute(shape, hidden_states, **weights):
        out = _exact(shape, hidden_states=hidden_states, **weights)["out"]
        edges = [0, shape["heads"], shape["heads"] + shape["kv_heads"]]
        at = slice(edges[where] * shape["head_size"], edges[where + 1] * shape["head_size"])
        out[:, at] = hidden_states[:, at]
        return {"out": out}

    return compute


def _values(change):
    def compute(shape, hidden_states, **weights):
        out = _exact(shape, hidden_states=hidden_states, **weights)["out"]
        at = (shape["heads"] + shape["kv_heads"]) * shape["head_size"]
        out[:, at:] = change(out[:, at:])
        return {"out": out}

    return compute


def _values_normed(shape, hidden_states, q_weight, k_weight):
    out = _exact(shape, hidden_states=hidden_states, q_weight=q_weight, k_weight=k_weight)["out"]
    at = (shape["heads"] + shape["kv_heads"]) * shape["head_size"]
    v = hidden_states[:, at:].float().unflatten(1, (-1, shape["head_size"]))
    out[:, at:] = (v * inverse_rms(v, shape["eps"]) * k_weight.float()).flatten(1).to(out.dtype)
    return {"out": out}


def _key_heads_one_off(shape, hidden_states, **weights):
    """Heads of keys and values taken in turn (k0 v0 k1 v1), as other layouts pack them."""
    if shape["kv_heads"] == 1:
        return None
    out = _exact(shape, hidden_states=hidden_states, **weights)["out"]
    heads = out.unflatten(1, (-1, shape["head_size"]))
    tail = heads[:, shape["heads"] :].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    return {"out": torch.cat([heads[:, : shape["heads"]], tail], dim=1).flatten(1)}


def _one_rms_for_all_heads(x, eps):
    return 1.0 / torch.sqrt(x.pow(2).mean(dim=(1, 2), keepdim=True) + eps)


def summed_in_bf16(shape, hidden_states, q_weight, k_weight):
    """A running sum in bf16 of products in bf16: wrong for float16 only. Over 128 elements it is no
    worse than what bf16's own rounding allows."""

    def inverse(x, eps):
        return torch.rsqrt(mistakes.summed_in_bf16(x.pow(2), step=1) / x.shape[-1] + eps)

    return _norm(inverse)(
        shape, hidden_states=hidden_states, q_weight=q_weight, k_weight=k_weight
    )


WRONG = {
    **mistakes.common(_exact),
    "a copy": (lambda shape, hidden_states, **_: {"out": hidden_states.clone()}, _ALL),
    "a view of the input": (lambda shape, hidden_states, **_: {"out": hidden_states}, _ALL),
    "queries copied": (_copied(0), _ALL),
    "keys copied": (_copied(1), _ALL),
    "values zero": (_values(torch.zeros_like), _ALL),
    "values normed": (_values_normed, _ALL),
    "keys and values in turn": (_key_heads_one_off, _ALL),
    "weights dropped": (
        _with_weights(lambda q, k: (torch.ones_like(q), torch.ones_like(k))),
        _ALL,
    ),
    "weights swapped": (_with_weights(lambda q, k: (k, q)), _ALL),
    "q's weight for both": (_with_weights(lambda q, k: (q, q)), _ALL),
    "weights one column off": (_with_weights(lambda q, k: (q.roll(1), k.roll(1))), _ALL),
    "weights plus one": (_with_weights(lambda q, k: (q.double() + 1, k.double() + 1)), _ALL),
    "one rms for all heads": (_norm(_one_rms_for_all_heads), ("typical", "heavy_tail")),
    "rms of one": (_norm(lambda x, eps: torch.ones_like(x[..., :1])), _ALL),
    "rms of the first half": (
        _norm(lambda x, eps: inverse_rms(x[..., : x.shape[-1] // 2], eps)),
        ("typical", "heavy_tail"),
    ),
    "layer norm": (_norm(first=layer_norm), ("offset",)),
    "no mean": (
        _norm(lambda x, eps: torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)),
        _ALL,
    ),
    "no eps": (_norm(lambda x, eps: inverse_rms(x, 0.0), torch.float64), ("offset",)),
    "eps added to the rms": (
        _norm(lambda x, eps: 1.0 / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps), torch.float64),
        ("offset",),
    ),
}
