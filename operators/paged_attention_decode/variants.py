# SPDX-License-Identifier: Apache-2.0
"""Decode over a packed, paged cache computed in ways that a checker must accept, and in ways that
it must refuse."""

import torch

from roofmark_ref import attention_routes as routes

EXTRA_SHAPES = (
    {
        "kv_lens": [4000, 2100],
        "query_heads": 4,
        "kv_heads": 2,
        "head_size": 64,
        "page_size": 16,
        "half_type": 0,
    },
)
_ALL = ("typical", "heavy_tail", "offset")
_SPREAD = ("typical", "heavy_tail")
_ELEMENTS = 1 << 25  # gathered at a time


def _unpack_keys(pages):
    """[n, heads, packs, page_size, 8] of a sequence -> [heads, n * page_size, head_size]."""
    return pages.permute(1, 0, 3, 2, 4).flatten(3, 4).flatten(1, 2)


def _unpack_keys_wrongly(pages):
    """As if the page of a head were [page_size, head_size]."""
    n, heads, packs, page_size, pack = pages.shape
    return pages.transpose(0, 1).reshape(heads, n * page_size, packs * pack)


def _unpack_values(pages):
    return pages.permute(1, 0, 3, 2).flatten(1, 2)


def _unpack_values_wrongly(pages):
    return pages.transpose(0, 1).reshape(pages.shape[1], -1, pages.shape[2])


def _attention(
    reduce=routes.exact,
    scale=lambda head_size: head_size**-0.5,
    cache_heads=lambda kv_heads: list(range(kv_heads)),
    dealt=False,
    page_map=lambda shape, s, table: table,
    visible=None,
    length=lambda shape, s: shape["kv_lens"][s],
    unpack_keys=_unpack_keys,
    unpack_values=_unpack_values,
    applies=lambda shape: True,
):
    """Attention with parts replaced, a sequence and some of its cache heads at a time.
    `visible(key, n)` says which of n keys count; `dealt`: query head h reads cache head h %
    kv_heads."""

    def compute(shape, q, key_cache, value_cache, block_table, seq_lens):
        if not applies(shape):
            return None
        kv_heads, head_size = shape["kv_heads"], shape["head_size"]
        by_group = (shape["seqs"], -1, kv_heads, head_size)
        by_head = (shape["seqs"], kv_heads, -1, head_size)
        grouped = q.view(by_group).transpose(1, 2) if dealt else q.view(by_head)
        out = torch.zeros_like(grouped)
        source = torch.tensor(cache_heads(kv_heads), device=q.device)
        for s in range(shape["seqs"]):
            n = length(shape, s)
            table = page_map(shape, s, block_table[s].long())[: -(-n // shape["page_size"])]
            some = max(1, _ELEMENTS // (n * head_size))
            for heads in torch.arange(kv_heads, device=q.device).split(some):
                at = (table[:, None], source[heads])
                k = unpack_keys(key_cache[at])[:, :n].float()
                v = unpack_values(value_cache[at])[:, :n].float()
                scores = grouped[s, heads].float() @ k.transpose(1, 2) * scale(head_size)
                if visible:
                    hidden = ~visible(torch.arange(n, device=q.device), n)
                    scores.masked_fill_(hidden, float("-inf"))
                got = reduce(scores, v, q.dtype)
                if got is None:
                    return None
                out[s, heads] = got.to(q.dtype)
        out = out.transpose(1, 2) if dealt else out
        return {"out": out.reshape(q.shape).contiguous()}

    return compute


HONEST = {name: _attention(route) for name, route in routes.HONEST.items()}


def _many_keys_and_heads(shape):
    return min(shape["kv_lens"]) >= 32 and shape["seqs"] * shape["query_heads"] >= 8


def _ragged(shape):
    return min(shape["kv_lens"]) < shape["max_kv"]


def _open_page(shape):
    return any(n % shape["page_size"] for n in shape["kv_lens"])


def _grouped(shape):
    return 1 < shape["kv_heads"] < shape["query_heads"]


def _to_the_end_of_the_page(shape, s):
    return -(-shape["kv_lens"][s] // shape["page_size"]) * shape["page_size"]


def _spoil(places):
    """A correct answer but for zeros in some places."""

    def compute(shape, **tensors):
        out = _attention(routes.probabilities_rounded)(shape, **tensors)["out"]
        out[places] = 0
        return {"out": out}

    return compute


def _first_sequence_for_all(shape, **tensors):
    if shape["seqs"] == 1:
        return None
    out = _attention()(shape, **tensors)["out"]
    return {"out": out[:1].expand_as(out).contiguous()}


WRONG = {
    "zeros": (lambda shape, q, **_: {"out": torch.zeros_like(q)}, _ALL),
    "a constant": (lambda shape, q, **_: {"out": torch.full_like(q, 0.5)}, _ALL),
    "a copy of q": (lambda shape, q, **_: {"out": q.clone()}, _ALL),
    "q itself": (lambda shape, q, **_: {"out": q}, _ALL),
    "the mean of the values": (_attention(routes.uniform), _ALL),
    "the value of the sharpest key": (_attention(routes.sharpest_key), _SPREAD),
    "not normalised": (_attention(routes.not_normalised), _SPREAD),
    "page table ignored": (
        _attention(page_map=lambda shape, s, table: torch.arange(len(table), device=table.device)),
        _ALL,
    ),
    "pages one off": (_attention(page_map=lambda shape, s, table: table.roll(1)), _ALL),
    "keys not unpacked": (_attention(unpack_keys=_unpack_keys_wrongly), _ALL),
    "values not transposed": (_attention(unpack_values=_unpack_values_wrongly), _ALL),
    "no scale": (_attention(scale=lambda head_size: 1.0), _SPREAD),
    "scale of another head size": (
        _attention(scale=lambda head_size: (2 * head_size) ** -0.5),
        _SPREAD,
    ),
    "heads dealt in turn": (_attention(dealt=True, applies=_grouped), _ALL),
    "first cache head for all": (
        _attention(cache_heads=lambda kv_heads: [0] * kv_heads, applies=_grouped),
        _ALL,
    ),
    "first sequence for all": (_first_sequence_for_all, _ALL),
    "longest length for all": (
        _attention(length=lambda shape, s: shape["max_kv"], applies=_ragged),
        _ALL,
    ),
    "keys to the end of the page": (
        _attention(length=_to_the_end_of_the_page, applies=_open_page),
        _SPREAD,
    ),
    "own key hidden": (
        _attention(
            visible=lambda key, n: (key < n - 1) | (key == 0),
            applies=lambda shape: shape["max_kv"] > 1,
        ),
        _SPREAD,
    ),
    "first half of the keys": (
        _attention(visible=lambda key, n: key < (n + 1) // 2),
        _SPREAD,
    ),
    "every other key": (_attention(visible=lambda key, n: key % 2 == 0), _SPREAD),
    "last 32 keys": (
        _attention(
            visible=lambda key, n: key >= n - 32,
            applies=lambda shape: shape["max_kv"] >= 64,
        ),
        _SPREAD,
    ),
    "no running maximum": (_attention(routes.no_maximum), ("offset",)),
    "scores in bf16": (_attention(routes.scores_in_bf16), ("offset",)),
    "probabilities in fp8": (
        _attention(routes.probabilities_in_fp8, applies=_many_keys_and_heads),
        ("typical",),
    ),
    "output summed in bf16": (_attention(routes.output_in_bf16), ("offset",)),
    "last sequence missing": (_spoil((-1,)), _ALL),
    "last head missing": (_spoil((slice(None), -1)), _ALL),
    "last channels missing": (_spoil((Ellipsis, slice(-8, None))), _ALL),
}
