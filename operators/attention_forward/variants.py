# SPDX-License-Identifier: Apache-2.0
"""Attention without a mask computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import attention_routes as routes

EXTRA_SHAPES = (
    {"q_lens": [3], "kv_lens": [2500], "heads": 2, "head_size": 64},
    {"q_lens": [70, 20], "kv_lens": [70, 20], "heads": 3, "head_size": 128},
)
_ALL = ("typical", "heavy_tail", "offset")
_SPREAD = ("typical", "heavy_tail")
_SCORES = 1 << 25  # held at a time
_AFFORDABLE = 1 << 33  # scores of a shape that a wrong program still computes in full


def _groups(lens):
    """Sequences of equal lengths."""
    alike = {}
    for s, pair in enumerate(lens):
        alike.setdefault(pair, []).append(s)
    return alike.items()


def _pieces(shape, seqs, q_len, kv_len):
    """Lists of sequences and slices of heads whose keys and scores have a bounded size."""
    heads, wide = shape["heads"], kv_len * shape["head_size"]
    some = min(heads, max(1, _SCORES // wide))
    batch = max(1, _SCORES // (max(q_len * kv_len, wide) * some))
    for at in range(0, len(seqs), batch):
        for head in range(0, heads, some):
            yield seqs[at : at + batch], slice(head, head + some)


def _attention(
    reduce=routes.exact,
    scale=lambda head_size: head_size**-0.5,
    starts=lambda shape, at_q, at_k: (at_q, at_k),
    lens=lambda shape: list(zip(shape["q_lens"], shape["kv_lens"])),
    visible=None,
    applies=lambda shape: True,
    affordable=_AFFORDABLE,
):
    """Attention with parts replaced, some sequences of equal lengths, heads and queries at a time.
    `visible(query, key, kv_len)` says which keys a query sees."""

    def compute(shape, q, k, v, cu_seqlens_q, cu_seqlens_k):
        if not applies(shape) or shape["pairs"] * shape["heads"] > affordable:
            return None
        at_q, at_k = starts(shape, cu_seqlens_q.long(), cu_seqlens_k.long())
        out = torch.zeros_like(q)
        for (q_len, kv_len), seqs in _groups(lens(shape)):
            for chosen, heads in _pieces(shape, seqs, q_len, kv_len):
                key = torch.arange(kv_len, device=q.device)
                rows = (at_k[chosen][:, None] + key).clamp(max=len(k) - 1)
                keys, values = (t[:, heads][rows].float().transpose(1, 2) for t in (k, v))
                step = max(1, _SCORES // (len(chosen) * kv_len * keys.shape[1]))
                for query in torch.arange(q_len, device=q.device).split(step):
                    where = at_q[chosen][:, None] + query
                    scores = q[:, heads][where].float().transpose(1, 2) @ keys.transpose(2, 3)
                    scores *= scale(q.shape[2])
                    if visible:
                        hidden = ~visible(query[:, None], key, kv_len)
                        scores.masked_fill_(hidden, float("-inf"))
                    got = reduce(scores, values, q.dtype)
                    if got is None:
                        return None
                    out[:, heads][where] = got.transpose(1, 2).to(q.dtype)
        return {"out": out}

    return compute


HONEST = {
    name: _attention(route, affordable=float("inf")) for name, route in routes.HONEST.items()
}


def _several(shape):
    return shape["seqs"] > 1


def _ragged(shape):
    return len(set(shape["kv_lens"])) > 1


def _crossed(shape):
    return shape["q_lens"] != shape["kv_lens"] and shape["seqs"] > 1


def _longer(shape):
    return shape["max_kv"] > 1


def _many_keys(shape):
    return min(shape["kv_lens"]) >= 32 and shape["total_q"] * shape["heads"] >= 8


def _few_keys(shape):
    return 1 < shape["max_kv"] <= 4096 and shape["total_q"] * shape["heads"] >= 64


def _one_sequence(shape):
    return [(shape["total_q"], shape["total_kv"])]


def _even(shape, at_q, at_k):
    """As if all sequences had the same length; the last one is where it was."""
    index = torch.arange(len(at_k), device=at_k.device)
    return at_q, index * (shape["total_kv"] // shape["seqs"])


def _spoil(places):
    """A correct answer but for zeros in some places."""

    def compute(shape, **tensors):
        got = _attention(routes.probabilities_rounded)(shape, **tensors)
        if got is not None:
            got["out"][places] = 0
        return got

    return compute


def _first_head_for_all(shape, **tensors):
    got = _attention(routes.probabilities_rounded)(shape, **tensors)
    if got is None or shape["heads"] == 1:
        return None
    return {"out": got["out"][:, :1].expand_as(got["out"]).contiguous()}


def _values(shape, q, k, v, cu_seqlens_q, cu_seqlens_k):
    """The values themselves: what one key would give."""
    return {"out": v.clone()} if v.shape == q.shape and shape["max_kv"] > 1 else None


WRONG = {
    "zeros": (lambda shape, q, **_: {"out": torch.zeros_like(q)}, _ALL),
    "a constant": (lambda shape, q, **_: {"out": torch.full_like(q, 0.5)}, _ALL),
    "a copy of q": (lambda shape, q, **_: {"out": q.clone()}, _ALL),
    "q itself": (lambda shape, q, **_: {"out": q}, _ALL),
    "the values": (_values, _ALL),
    "the mean of the values": (_attention(routes.uniform, applies=_longer), _ALL),
    "the value of the sharpest key": (
        _attention(routes.sharpest_key, applies=_longer),
        ("typical",),
    ),
    "not normalised": (_attention(routes.not_normalised, applies=_longer), _SPREAD),
    "causal": (
        _attention(visible=lambda query, key, n: key <= query, applies=_longer),
        _SPREAD,
    ),
    "all in one sequence": (_attention(lens=_one_sequence, applies=_several), _SPREAD),
    "lengths all alike": (_attention(starts=_even, applies=_ragged), _ALL),
    "first sequence's keys for all": (
        _attention(starts=lambda shape, at_q, at_k: (at_q, at_k * 0), applies=_several),
        _ALL,
    ),
    "offsets of queries for keys": (
        _attention(starts=lambda shape, at_q, at_k: (at_q, at_q), applies=_crossed),
        _ALL,
    ),
    "keys one off": (
        _attention(starts=lambda shape, at_q, at_k: (at_q, at_k + 1), applies=_few_keys),
        _SPREAD,
    ),
    "last key hidden": (
        _attention(visible=lambda query, key, n: (key < n - 1) | (key == 0), applies=_few_keys),
        _SPREAD,
    ),
    "own key hidden": (
        _attention(
            visible=lambda query, key, n: (key != query) | (n == 1),
            applies=lambda shape: _few_keys(shape) and min(shape["kv_lens"]) > 1,
        ),
        _SPREAD,
    ),
    "first half of the keys": (
        _attention(visible=lambda query, key, n: key <= (n - 1) // 2, applies=_longer),
        _SPREAD,
    ),
    "every other key": (
        _attention(visible=lambda query, key, n: key % 2 == 0, applies=_longer),
        _SPREAD,
    ),
    "64 keys around": (
        _attention(
            visible=lambda query, key, n: (key - query).abs() <= 32,
            applies=lambda shape: shape["q_lens"] == shape["kv_lens"] and shape["max_kv"] >= 96,
        ),
        _SPREAD,
    ),
    "no scale": (_attention(scale=lambda head_size: 1.0, applies=_longer), _SPREAD),
    "scale of another head size": (
        _attention(scale=lambda head_size: (2 * head_size) ** -0.5, applies=_longer),
        _SPREAD,
    ),
    "scale of a padded head": (
        _attention(
            scale=lambda head_size: (-(-head_size // 32) * 32) ** -0.5,
            applies=lambda shape: shape["head_size"] % 32 and shape["max_kv"] > 1,
        ),
        _SPREAD,
    ),
    "no running maximum": (_attention(routes.no_maximum), ("offset",)),
    "scores in bf16": (_attention(routes.scores_in_bf16, applies=_many_keys), ("offset",)),
    "probabilities in fp8": (
        _attention(routes.probabilities_in_fp8, applies=_many_keys),
        ("typical",),
    ),
    "output summed in bf16": (
        _attention(routes.output_in_bf16, affordable=1 << 27),
        ("offset",),
    ),
    "first head for all": (_first_head_for_all, _ALL),
    "last token missing": (_spoil((-1,)), _ALL),
    "last head missing": (_spoil((slice(None), -1)), _ALL),
    "last channels missing": (_spoil((Ellipsis, slice(-8, None))), _ALL),
}
