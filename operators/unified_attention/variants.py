# SPDX-License-Identifier: Apache-2.0
"""Paged attention computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

from roofmark_ref import fp8

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


def _exact(scores, v):
    return torch.softmax(scores.double(), -1) @ v.double()


def _probabilities_rounded(scores, v):
    # As matrix units take them: relative to the row's maximum, in bf16; the sum stays in float32.
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return p.to(torch.bfloat16).float() @ v / p.sum(-1, keepdim=True)


def _normalised_then_rounded(scores, v):
    return torch.softmax(scores, -1).to(torch.bfloat16).float() @ v


def _online(scores, v, keys=16):
    largest = torch.full(scores.shape[:-1] + (1,), float("-inf"))
    total, out = torch.zeros_like(largest), torch.zeros(scores.shape[:-1] + (v.shape[-1],))
    for s, part in zip(scores.split(keys, -1), v.split(keys, -2)):
        new = torch.maximum(largest, s.amax(-1, keepdim=True))
        base = torch.where(new == float("-inf"), torch.zeros_like(new), new)
        p, shrink = torch.exp(s - base), torch.exp(largest - base)
        total = total * shrink + p.sum(-1, keepdim=True)
        out = out * shrink + p.to(torch.bfloat16).float() @ part
        largest = new
    return out / total


def _split_keys(scores, v):
    size = max(1, scores.shape[-1] // 3)
    parts, lse = [], []
    for s, part in zip(scores.split(size, -1), v.split(size, -2)):
        lse.append(torch.logsumexp(s, -1, keepdim=True))
        parts.append(torch.nan_to_num(torch.softmax(s, -1)) @ part)
    weight = torch.softmax(torch.stack(lse), 0)
    return (weight * torch.stack(parts)).sum(0)


def _scores_in_bf16(scores, v):
    return torch.softmax(scores.to(torch.bfloat16).float(), -1) @ v


def _no_maximum(scores, v):
    p = torch.exp(scores)
    return p @ v / p.sum(-1, keepdim=True)


def _uniform(scores, v):
    seen = torch.isfinite(scores).to(v.dtype)
    return seen / seen.sum(-1, keepdim=True) @ v


def _probabilities_in_fp8(scores, v):
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return fp8.decode(fp8.encode(p)) @ v / p.sum(-1, keepdim=True)


def _output_in_bf16(scores, v):
    """The running output kept in bf16, a tile of 16 keys at a time; long contexts only."""
    if scores.shape[-1] < 2000:
        return None
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    out = torch.zeros(scores.shape[:-1] + (v.shape[-1],), dtype=torch.bfloat16)
    for s, part in zip(p.split(16, -1), v.split(16, -2)):
        out = (out.float() + s @ part).to(torch.bfloat16)
    return out.float() / p.sum(-1, keepdim=True)


def _attention(
    reduce=_exact,
    mask=lambda key, last: key <= last,
    scale=None,
    head_map=None,
    page_map=None,
    keys=None,
    applies=lambda shape: True,
):
    """Attention with parts replaced. `mask(key, last)` says which keys a query sees whose own key
    is `last`."""

    def compute(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
        if not applies(shape):
            return None
        heads, kv_heads, head_size = shape["query_heads"], shape["kv_heads"], shape["head_size"]
        source = (
            head_map(heads, kv_heads) if head_map else torch.arange(heads) // (heads // kv_heads)
        )
        factor = scale(head_size) if scale else head_size**-0.5
        out = torch.zeros_like(q)
        for s, (q_len, kv_len) in enumerate(zip(shape["q_lens"], shape["kv_lens"])):
            start = int(cu_seqlens_q[s])
            table = block_table[s].long()
            if page_map:
                table = page_map(shape, s, table)
            k, v = (
                cache[table].flatten(0, 1)[:kv_len][:, source].float().transpose(0, 1)
                for cache in (key_cache, value_cache)
            )
            scores = q[start : start + q_len].float().transpose(0, 1) @ k.transpose(1, 2) * factor
            last = kv_len - q_len + torch.arange(q_len)[:, None]
            visible = mask(torch.arange(kv_len), last)
            if keys:
                visible = visible & keys(torch.arange(kv_len), kv_len)
            got = reduce(scores.masked_fill(~visible, float("-inf")), v)
            if got is None:
                return None
            out[start : start + q_len] = got.transpose(0, 1).to(torch.bfloat16)
        return {"out": out}

    return compute


HONEST = {
    "float64": _attention(),
    "probabilities rounded": _attention(_probabilities_rounded),
    "normalised, then rounded": _attention(_normalised_then_rounded),
    "online, 16 keys at a time": _attention(_online),
    "keys split in three": _attention(_split_keys),
}


def _long_queries(shape):
    return max(shape["q_lens"]) > 1


def _chunked(shape):
    return any(1 < q < kv for q, kv in zip(shape["q_lens"], shape["kv_lens"]))


def _grouped(shape):
    return 1 < shape["kv_heads"] < shape["query_heads"]


def _one_page_off(shape, s, table):
    return table.roll(1)


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
    "the mean of the values": (_attention(_uniform), _ALL),
    "page table ignored": (
        _attention(page_map=lambda shape, s, table: torch.arange(len(table))),
        _ALL,
    ),
    "pages one off": (_attention(page_map=_one_page_off), _ALL),
    "not causal": (_attention(mask=lambda key, last: key >= 0, applies=_long_queries), _ALL),
    "aligned at the top left": (
        _attention(mask=lambda key, last: key <= last - last[0], applies=_chunked),
        _ALL,
    ),
    "own key hidden": (
        _attention(mask=lambda key, last: (key < last) | (key == 0), applies=_long_queries),
        ("typical", "heavy_tail"),
    ),
    "one key too many": (
        _attention(mask=lambda key, last: key <= last + 1, applies=_long_queries),
        ("typical", "heavy_tail"),
    ),
    "no scale": (_attention(scale=lambda head_size: 1.0), ("typical", "heavy_tail")),
    "scale of another head size": (
        _attention(scale=lambda head_size: (2 * head_size) ** -0.5),
        ("typical", "heavy_tail"),
    ),
    "heads dealt in turn": (
        _attention(
            head_map=lambda heads, kv_heads: torch.arange(heads) % kv_heads, applies=_grouped
        ),
        _ALL,
    ),
    "first cache head for all": (
        _attention(
            head_map=lambda heads, kv_heads: torch.zeros(heads, dtype=torch.long), applies=_grouped
        ),
        _ALL,
    ),
    "first half of the keys": (
        _attention(
            keys=lambda key, kv_len: key < (kv_len + 1) // 2,
            mask=lambda key, last: (key <= last) | (key == 0),
        ),
        ("typical", "heavy_tail"),
    ),
    "every other key": (
        _attention(keys=lambda key, kv_len: key % 2 == 0),
        ("typical", "heavy_tail"),
    ),
    "last 32 keys": (
        _attention(
            mask=lambda key, last: (key <= last) & (key > last - 32),
            applies=lambda shape: max(shape["kv_lens"]) >= 64,
        ),
        ("typical", "heavy_tail"),
    ),
    "no running maximum": (_attention(_no_maximum), ("offset",)),
    "scores in bf16": (_attention(_scores_in_bf16), ("offset",)),
    "probabilities in fp8": (_attention(_probabilities_in_fp8), ("typical", "heavy_tail")),
    "output summed in bf16": (_attention(_output_in_bf16), ("offset",)),
    "last token missing": (_last_token_missing, _ALL),
    "last channels missing": (_last_channels_missing, _ALL),
}
