# SPDX-License-Identifier: Apache-2.0
"""Latent decode attention computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import attention_routes as routes

EXTRA_SHAPES = ({"kv_lens": [2500], "query_heads": 2, "latent": 512, "rope": 64},)
_ALL = ("typical", "heavy_tail", "offset")
_SPREAD = ("typical", "heavy_tail")
_SCORES = 1 << 25  # held at a time


def _attention(
    reduce=routes.exact,
    scale=lambda shape: (shape["latent"] + shape["rope"]) ** -0.5,
    span=lambda shape, offsets, s: (offsets[s], offsets[s + 1]),
    channels=lambda shape: slice(None),
    value=lambda shape: slice(None, shape["latent"]),
    visible=None,
    applies=lambda shape: True,
):
    """Attention with parts replaced, a sequence and some heads at a time: rows `span`, scores over
    `channels`, values of channels `value`; `visible(key, n)` says which of n keys count."""

    def compute(shape, q, kv, kv_offsets):
        if not applies(shape):
            return None
        out = torch.zeros(q.shape[:2] + (shape["latent"],), dtype=torch.bfloat16, device=q.device)
        offsets, pick = kv_offsets.tolist(), channels(shape)
        for s in range(shape["seqs"]):
            first, end = span(shape, offsets, s)
            rows = kv[first:end].float()
            for heads in torch.arange(q.shape[1], device=q.device).split(
                max(1, _SCORES // len(rows))
            ):
                scores = q[s, heads][:, pick].float() @ rows[:, pick].t() * scale(shape)
                if visible:
                    hidden = ~visible(torch.arange(len(rows), device=q.device), len(rows))
                    scores.masked_fill_(hidden, float("-inf"))
                got = reduce(scores, rows[:, value(shape)], q.dtype)
                if got is None:
                    return None
                out[s, heads] = got.to(torch.bfloat16)
        return {"out": out}

    return compute


HONEST = {name: _attention(route) for name, route in routes.HONEST.items()}


def _from_the_start(shape, offsets, s):
    return offsets[s] - offsets[0], offsets[s + 1] - offsets[0]


def _evenly(shape, offsets, s):
    """As if all sequences had the same length."""
    length = shape["total_kv"] // shape["seqs"]
    return offsets[0] + s * length, offsets[0] + (s + 1) * length


def _one_more(shape, offsets, s):
    return offsets[s], offsets[s + 1] + 1


def _to_the_next_16(shape, offsets, s):
    length = -(-(offsets[s + 1] - offsets[s]) // 16) * 16
    return offsets[s], min(offsets[s] + length, shape["kv_rows"])


def _ragged(shape):
    return min(shape["kv_lens"]) < shape["max_kv"]


def _many_keys(shape):
    return min(shape["kv_lens"]) >= 32


def _many_keys_and_heads(shape):
    return _many_keys(shape) and shape["seqs"] * shape["query_heads"] >= 8


def _wide(shape):
    """In a narrow latent the common mean of the values outweighs what the scores decide."""
    return shape["latent"] >= 256


def _longer_than_one(shape):
    return shape["max_kv"] > 1


def _filled(value):
    def compute(shape, q, kv, kv_offsets):
        size = q.shape[:2] + (shape["latent"],)
        return {"out": torch.full(size, value, dtype=torch.bfloat16, device=q.device)}

    return compute


def _spoil(places):
    """A correct answer but for zeros in some places."""

    def compute(shape, **tensors):
        out = _attention(routes.probabilities_rounded)(shape, **tensors)["out"]
        out[places] = 0
        return {"out": out}

    return compute


def _first_for_all(axis):
    def compute(shape, **tensors):
        out = _attention(routes.probabilities_rounded)(shape, **tensors)["out"]
        if out.shape[axis] == 1:
            return None
        return {"out": out.narrow(axis, 0, 1).expand_as(out).contiguous()}

    return compute


def _last_row(shape, q, kv, kv_offsets):
    last = kv[kv_offsets[1:].long() - 1][:, None, : shape["latent"]]
    return {"out": last.expand(q.shape[:2] + (shape["latent"],)).contiguous()}


WRONG = {
    "zeros": (_filled(0.0), _ALL),
    "a constant": (_filled(0.5), _ALL),
    "a view of q": (lambda shape, q, **_: {"out": q[..., : shape["latent"]]}, _ALL),
    "a copy of the last rows": (_last_row, ("offset",)),
    "the mean of the values": (_attention(routes.uniform), _ALL),
    "the value of the sharpest key": (_attention(routes.sharpest_key), ("typical", "offset")),
    "not normalised": (_attention(routes.not_normalised), _SPREAD),
    "offsets from the start": (_attention(span=_from_the_start), _ALL),
    "lengths all alike": (_attention(span=_evenly, applies=_ragged), _ALL),
    "one row too many": (_attention(span=_one_more), _ALL),
    "rows to the next 16": (
        _attention(
            span=_to_the_next_16,
            applies=lambda shape: any(n % 16 for n in shape["kv_lens"]),
        ),
        _SPREAD,
    ),
    "own key hidden": (
        _attention(visible=lambda key, n: (key < n - 1) | (key == 0), applies=_longer_than_one),
        _SPREAD,
    ),
    "first half of the keys": (
        _attention(visible=lambda key, n: key <= (n - 1) // 2, applies=_longer_than_one),
        _SPREAD,
    ),
    "every other key": (
        _attention(visible=lambda key, n: key % 2 == 0, applies=_many_keys),
        _SPREAD,
    ),
    "last 32 keys": (
        _attention(
            visible=lambda key, n: key >= n - 32,
            applies=lambda shape: shape["max_kv"] >= 64,
        ),
        _SPREAD,
    ),
    "rotary channels dropped": (
        _attention(channels=lambda shape: slice(None, shape["latent"])),
        _SPREAD,
    ),
    "latent channels dropped": (
        _attention(channels=lambda shape: slice(shape["latent"], None)),
        _SPREAD,
    ),
    "values from the rotary end": (
        _attention(value=lambda shape: slice(shape["rope"], None)),
        _ALL,
    ),
    "no scale": (_attention(scale=lambda shape: 1.0), _SPREAD),
    "scale of the latent part": (
        _attention(scale=lambda shape: (2 * shape["latent"]) ** -0.5),
        _SPREAD,
    ),
    "scale of the unabsorbed head": (
        _attention(scale=lambda shape: (3.0 / (shape["latent"] + shape["rope"])) ** 0.5),
        _SPREAD,
    ),
    "no running maximum": (_attention(routes.no_maximum), ("offset",)),
    "scores in bf16": (_attention(routes.scores_in_bf16, applies=_wide), ("offset",)),
    "probabilities in fp8": (
        _attention(routes.probabilities_in_fp8, applies=_many_keys_and_heads),
        ("typical",),
    ),
    "output summed in bf16": (_attention(routes.output_in_bf16), ("offset",)),
    "first head for all": (_first_for_all(1), _ALL),
    "first sequence for all": (_first_for_all(0), _ALL),
    "last sequence missing": (_spoil((-1,)), _ALL),
    "last head missing": (_spoil((slice(None), -1)), _ALL),
    "last channels missing": (_spoil((Ellipsis, slice(-8, None))), _ALL),
}
