# SPDX-License-Identifier: Apache-2.0
"""Outputs of a chunked gated delta rule computed in ways that a checker must accept, and in ways
that it must refuse."""

import torch

from roofmark_ref import gated_delta
from roofmark_ref.mistakes import zeroed

EXTRA_SHAPES = (
    {
        "lens": [200],
        "query_heads": 1,
        "value_heads": 2,
        "key_dim": 128,
        "value_dim": 128,
        "chunk": 64,
    },
)
_ALL = ("typical", "heavy_tail", "offset")
_ELEMENTS = 1 << 24


def _bf16(x):
    return x.to(torch.bfloat16).to(x.dtype)


def _between(total):
    return gated_delta.decay_between(total)


def _exact(q, k, v, h, total, decay):
    """One step: q, k [n, h, t, K]; v [n, h, t, V]; h [n, h, K, V]; total, the g of its tokens [n,
    h, t]; decay [n, h, t, t], 0 where nothing is seen."""
    return torch.exp(total)[..., None] * (q @ h) + (decay * (q @ k.transpose(-1, -2))) @ v


def _scores_rounded(q, k, v, h, total, decay):
    scores = _bf16(decay * (q @ k.transpose(-1, -2)))
    return torch.exp(total)[..., None] * (q @ h) + scores @ v


def _decayed_queries(q, k, v, h, total, decay):
    read = _bf16(torch.exp(total)[..., None] * q)
    return read @ h + _bf16(decay * (q @ k.transpose(-1, -2))) @ v


def _pieces(q, k, v, h, total, decay):
    """Channels in two halves, tokens in pieces of 16, backwards."""
    middle = q.shape[-1] // 2
    out = q[..., middle:] @ h[..., middle:, :] + q[..., :middle] @ h[..., :middle, :]
    out = torch.exp(total)[..., None] * out
    for at in reversed(range(0, k.shape[-2], 16)):
        seen = slice(at, at + 16)
        scores = decay[..., seen] * (q @ k[..., seen, :].transpose(-1, -2))
        out = out + scores @ v[..., seen, :]
    return out


def _outputs(
    dtype=torch.float32,
    form=_exact,
    seen=_between,
    gates=lambda g: g,
    scale=lambda key_dim: key_dim**-0.5,
    heads=lambda head, query_heads: head // (len(head) // query_heads),
    change=None,
    finish=lambda given, out: out,
    applies=lambda shape: True,
):
    """The whole operator with parts replaced: `form` computes a chunk, `seen` the decays between
    its tokens from g, `gates` alters g [n, t, heads], `change` the inputs and `finish` out."""

    def compute(shape, **given):
        if not applies(shape):
            return None
        used = {**given, **change(given)} if change else given
        return {"out": finish(given, run(shape, **used))}

    def run(shape, q, k, v, h, g, cu_seqlens):
        starts, chunk = cu_seqlens.tolist(), shape["chunk"]
        rows, real = gated_delta.chunk_rows(starts[:-1], starts[1:], chunk, v.device)
        source = heads(torch.arange(v.shape[1], device=v.device), q.shape[1])
        out = torch.zeros_like(v)
        size = v.shape[1] * (h.shape[2] + 2 * chunk) * (h.shape[3] + chunk)
        step = max(1, _ELEMENTS // size)
        for part, there, state in zip(
            rows.split(step), real.split(step), h[: len(rows)].split(step)
        ):
            total = gates(g[part].to(dtype)).transpose(1, 2)
            got = form(
                q[part][:, :, source].to(dtype).transpose(1, 2),
                k[part][:, :, source].to(dtype).transpose(1, 2),
                v[part].to(dtype).transpose(1, 2),
                state.to(dtype),
                total,
                seen(total),
            )
            out[part[there]] = (got * scale(q.shape[2])).transpose(1, 2)[there].to(out.dtype)
        return out

    return compute


HONEST = {
    "float64": _outputs(torch.float64),
    "float32": _outputs(),
    "scores rounded": _outputs(form=_scores_rounded),
    "decayed queries rounded": _outputs(form=_decayed_queries),
    "in pieces": _outputs(form=_pieces),
}


def _all_seen(total):
    """No mask; between a token and a later one nothing decays."""
    return torch.exp((total[..., :, None] - total[..., None, :]).clamp(max=0))


def _own_hidden(total):
    return _between(total).tril(-1)


def _one_too_many(total):
    ones = torch.ones(total.shape[-1], total.shape[-1], device=total.device, dtype=total.dtype)
    return _all_seen(total) * ones.tril(1)


def _not_decayed(total):
    return (_between(total) >= 0).to(total.dtype).tril()


def _half_of_the_tokens(total):
    decay = _between(total).clone()
    decay[..., 1::2] = 0
    return decay


def _factors(q, k, v, h, total, decay):
    """exp(g_i) and exp(-g_j) apart, which overflows where a chunk forgets."""
    mask = (decay >= 0).to(q.dtype).tril()
    begun, back = torch.exp(total)[..., None], torch.exp(-total)[..., None]
    return (begun * q) @ h + (mask * ((begun * q) @ (back * k).transpose(-1, -2))) @ v


def _summed_in_bf16(q, k, v, h, total, decay):
    """Sums kept in bf16: over the channels of a state, then over the tokens, one at a time."""
    out = torch.zeros_like(v)
    for channel in range(q.shape[-1]):
        out = _bf16(out + q[..., channel, None] * h[..., channel, None, :])
    out = _bf16(torch.exp(total)[..., None] * out)
    scores = decay * (q @ k.transpose(-1, -2))
    for token in range(k.shape[-2]):
        out = _bf16(out + scores[..., token, None] * v[..., token, None, :])
    return out


def _last_tokens_missing(given, out):
    """The last of every sequence."""
    return zeroed(out, given["cu_seqlens"][1:].long() - 1)


def _grouped(shape):
    return 1 < shape["query_heads"] < shape["value_heads"]


def _ragged(shape):
    return any(length % shape["chunk"] for length in shape["lens"][:-1])


def _run_together(given):
    return {"cu_seqlens": given["cu_seqlens"][[0, -1]]}


def _several_chunks(shape):
    return shape["chunks"] > 1


def _long(shape):
    return max(shape["lens"]) >= 16


def _many(shape):
    return max(shape["lens"]) >= 64 and shape["chunk"] >= 64


WRONG = {
    "zeros": (_outputs(finish=lambda given, out: out * 0), _ALL),
    "a constant": (_outputs(finish=lambda given, out: torch.full_like(out, 0.05)), _ALL),
    "a copy of v": (_outputs(finish=lambda given, out: given["v"]), _ALL),
    "states left out": (_outputs(change=lambda given: {"h": given["h"] * 0}), _ALL),
    "tokens left out": (_outputs(change=lambda given: {"v": given["v"] * 0}), _ALL),
    "states of the chunk before": (
        _outputs(change=lambda given: {"h": given["h"].roll(1, 0)}, applies=_several_chunks),
        _ALL,
    ),
    "states of the first chunk for all": (
        _outputs(
            change=lambda given: {"h": given["h"][:1].expand_as(given["h"])},
            applies=_several_chunks,
        ),
        _ALL,
    ),
    "not causal": (_outputs(seen=_all_seen, applies=_long), _ALL),
    "own token hidden": (_outputs(seen=_own_hidden), _ALL),
    "one token too many": (_outputs(seen=_one_too_many, applies=_long), _ALL),
    "every other token": (_outputs(seen=_half_of_the_tokens, applies=_long), _ALL),
    "no decay between tokens": (
        _outputs(seen=_not_decayed, applies=_long),
        ("typical", "heavy_tail"),
    ),
    "no decay of the states": (
        _outputs(
            form=lambda q, k, v, h, total, decay: _exact(q, k, v, h, total * 0, decay),
            applies=_long,
        ),
        ("typical", "heavy_tail"),
    ),
    "gates dropped": (
        _outputs(gates=lambda g: g * 0, applies=_long),
        ("typical", "heavy_tail"),
    ),
    "gates summed twice": (
        _outputs(gates=lambda g: g.cumsum(1), applies=_long),
        ("typical", "heavy_tail"),
    ),
    "gates are of one token": (
        _outputs(gates=lambda g: torch.cat([g[:, :1], g.diff(dim=1)], 1), applies=_long),
        ("typical", "heavy_tail"),
    ),
    "decays apart": (_outputs(form=_factors, applies=_many), ("heavy_tail",)),
    "no scale": (_outputs(scale=lambda key_dim: 1.0), _ALL),
    "scale of another head size": (_outputs(scale=lambda key_dim: (2 * key_dim) ** -0.5), _ALL),
    "q and k swapped": (
        _outputs(change=lambda given: {"q": given["k"], "k": given["q"]}),
        _ALL,
    ),
    "heads dealt in turn": (
        _outputs(heads=lambda head, query_heads: head % query_heads, applies=_grouped),
        _ALL,
    ),
    "first query head for all": (
        _outputs(heads=lambda head, query_heads: head * 0, applies=_grouped),
        _ALL,
    ),
    "half of the channels": (
        _outputs(
            change=lambda given: {
                "q": zeroed(given["q"], ..., slice(given["q"].shape[-1] // 2, None))
            }
        ),
        _ALL,
    ),
    "sequences run together": (_outputs(change=_run_together, applies=_ragged), _ALL),
    "last tokens missing": (_outputs(finish=_last_tokens_missing), _ALL),
    "last channels missing": (
        _outputs(finish=lambda given, out: zeroed(out, ..., slice(-8, None))),
        _ALL,
    ),
    "summed in bf16": (_outputs(form=_summed_in_bf16, applies=_many), ("offset",)),
}
