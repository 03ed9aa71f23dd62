# SPDX-License-Identifier: Apache-2.0
"""Paged attention computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

from roofmark_ref import attention_routes as routes

EXTRA_SHAPES = (
    {
        "q_lens": [1, 1],
        "kv_lens": [4000, 2100],
        "query_heads": 4,
        "kv_heads": 2,
        "head_size": 128,
        "page_size": 16,
    },
    {
        "q_lens": [96],
        "kv_lens": [700],
        "query_heads": 2,
        "kv_heads": 1,
        "head_size": 64,
        "page_size": 16,
    },
)
_ALL = ("typical", "heavy_tail", "offset")
_SPREAD = ("typical", "heavy_tail")
_SCORES = 1 << 25  # held at a time, and elements of keys
_EVERY = 1 << 40  # more keys than any sequence has


def _softmax(scores, v, half):
    return torch.softmax(scores, -1) @ v


def _alike(shape):
    """Sequences by their lengths."""
    found = {}
    for s, lens in enumerate(zip(shape["q_lens"], shape["kv_lens"])):
        found.setdefault(lens, []).append(s)
    return found.items()


def _pieces(shape, seqs, kv_len):
    """Lists of sequences and slices of query heads whose keys have a bounded size."""
    heads, wide = shape["query_heads"], kv_len * shape["head_size"]
    some = min(heads, max(1, _SCORES // wide))
    batch = max(1, _SCORES // (wide * some))
    for at in range(0, len(seqs), batch):
        for head in range(0, heads, some):
            yield seqs[at : at + batch], slice(head, head + some)


def _gathered(cache, table, heads, seen):
    """[b, heads, seen, d] in float32 of the pages table [b, pages] and a cache head for each query
    head."""
    slot = torch.arange(cache.shape[1], device=cache.device)
    rows = cache[table[:, :, None, None], slot[:, None], heads]
    return rows.flatten(1, 2)[:, :seen].float().transpose(1, 2)


def _attention(
    reduce=_softmax,
    mask=lambda key, own, past: key <= own,
    ahead=1,
    scale=lambda head_size: head_size**-0.5,
    head_map=lambda head, kv_heads: head // (len(head) // kv_heads),
    page_map=lambda table: table,
    applies=lambda shape: True,
):
    """Attention with parts replaced, some sequences of equal lengths, heads and queries at a time.
    `mask(key, own, past)` says which keys a query sees whose own key is `own` and whose sequence
    had `past` tokens before its first query; keys more than `ahead` past its own are hidden."""

    def compute(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
        if not applies(shape):
            return None
        starts, tables = cu_seqlens_q.long(), page_map(block_table.long())
        source = head_map(torch.arange(q.shape[1], device=q.device), key_cache.shape[2])
        out = torch.zeros_like(q)
        for (q_len, kv_len), seqs in _alike(shape):
            past, pages = kv_len - q_len, -(-kv_len // key_cache.shape[1])
            for chosen, heads in _pieces(shape, seqs, kv_len):
                k, v = (
                    _gathered(cache, tables[chosen, :pages], source[heads], kv_len)
                    for cache in (key_cache, value_cache)
                )
                step = max(1, _SCORES // (k.shape[0] * k.shape[1] * kv_len))
                for query in torch.arange(q_len, device=q.device).split(step):
                    key = torch.arange(
                        min(kv_len, past + int(query[-1]) + 1 + ahead), device=q.device
                    )
                    rows = starts[chosen][:, None] + query
                    wide = q[:, heads][rows].float().transpose(1, 2)
                    scores = wide @ k[:, :, : len(key)].transpose(2, 3) * scale(q.shape[2])
                    hidden = ~mask(key, past + query[:, None], past)
                    scores.masked_fill_(hidden, float("-inf"))
                    got = reduce(scores, v[:, :, : len(key)], q.dtype)
                    if got is None:
                        return None
                    out[:, heads][rows] = got.transpose(1, 2).to(q.dtype)
        return {"out": out}

    return compute


HONEST = {name: _attention(route) for name, route in routes.HONEST.items()}


def _long_queries(shape):
    return max(shape["q_lens"]) > 1


def _chunked(shape):
    return any(1 < q < kv for q, kv in zip(shape["q_lens"], shape["kv_lens"]))


def _grouped(shape):
    return 1 < shape["kv_heads"] < shape["query_heads"]


def _last_token_missing(shape, **tensors):
    out = _attention()(shape, **tensors)["out"]
    out[-1] = 0
    return {"out": out}


def _last_channels_missing(shape, **tensors):
    out = _attention()(shape, **tensors)["out"]
    out[..., -8:] = 0
    return {"out": out}


WRONG = {
    "zeros": (lambda shape, q, **_: {"out": torch.zeros_like(q)}, _ALL),
    "a constant": (lambda shape, q, **_: {"out": torch.full_like(q, 0.5)}, _ALL),
    "a copy of q": (lambda shape, q, **_: {"out": q.clone()}, _ALL),
    "the mean of the values": (_attention(routes.uniform), _ALL),
    "page table ignored": (
        _attention(
            page_map=lambda t: torch.arange(t.shape[1], device=t.device).expand_as(t)
        ),
        _ALL,
    ),
    "pages one off": (_attention(page_map=lambda table: table.roll(1, 1)), _ALL),
    "not causal": (
        _attention(mask=lambda key, own, past: key >= 0, ahead=_EVERY, applies=_long_queries),
        _SPREAD,
    ),
    "aligned at the top left": (
        _attention(mask=lambda key, own, past: key <= own - past, applies=_chunked),
        _ALL,
    ),
    "own key hidden": (
        _attention(mask=lambda key, own, past: (key < own) | (key == 0)),
        _SPREAD,
    ),
    "one key too many": (
        _attention(mask=lambda key, own, past: key <= own + 1, applies=_long_queries),
        _SPREAD,
    ),
    "no scale": (_attention(scale=lambda head_size: 1.0), _SPREAD),
    "scale of another head size": (
        _attention(scale=lambda head_size: (2 * head_size) ** -0.5),
        _SPREAD,
    ),
    "heads dealt in turn": (
        _attention(head_map=lambda head, kv_heads: head % kv_heads, applies=_grouped),
        _ALL,
    ),
    "first cache head for all": (
        _attention(head_map=lambda head, kv_heads: head * 0, applies=_grouped),
        _ALL,
    ),
    "first half of the keys": (
        _attention(mask=lambda key, own, past: key <= own // 2),
        _SPREAD,
    ),
    "every other key": (
        _attention(mask=lambda key, own, past: (key <= own) & (key % 2 == 0)),
        _SPREAD,
    ),
    "last 32 keys": (
        _attention(
            mask=lambda key, own, past: (key <= own) & (key > own - 32),
            applies=lambda shape: max(shape["kv_lens"]) >= 64,
        ),
        _SPREAD,
    ),
    "no running maximum": (_attention(routes.no_maximum), ("offset",)),
    "scores in bf16": (_attention(routes.scores_in_bf16), ("offset",)),
    # Under heavy_tail one or two keys may decide, and their probabilities have few bits.
    "probabilities in fp8": (_attention(routes.probabilities_in_fp8), ("typical",)),
    "output summed in bf16": (_attention(routes.output_in_bf16), ("offset",)),
    "last token missing": (_last_token_missing, _ALL),
    "last channels missing": (_last_channels_missing, _ALL),
}
