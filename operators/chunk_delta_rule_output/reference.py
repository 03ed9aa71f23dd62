# SPDX-License-Identifier: Apache-2.0
"""Outputs of a chunked gated delta rule over packed sequences: what a correct kernel computes, and
inputs that show a wrong one.

Each sequence is cut into chunks on its own; row n of h is the state before the n-th chunk of all.
With q and k of head h // (value_heads // query_heads), token i of a chunk gets
    key_dim^-0.5 (exp(g_i) q_i h + sum over j <= i of (q_i . k_j) exp(g_i - g_j) v_j)
in float64, rounded once to bfloat16.
"""

import torch

from roofmark_ref import gated_delta

_REGIMES = ("typical", "heavy_tail", "offset")
_BOUND = ("g",)  # it never grows within a chunk; a kernel may count on exp(g_i - g_j) <= 1
_ELEMENTS = 1 << 24  # of the chunks that are worked on at a time: 128 MiB in float64


def inputs(shape, seed, regime, device):
    """q, k, v, h, g, cu_seqlens as on the card; q and k have norm 1, as the layer in front gives.

    typical     gates from e^-0.003 to e^-1 a token by head; states and chunks give like shares
    heavy_tail  outlier channels in q and k, loud tokens in v and h, tokens that wipe the state: g
                down to hundreds below 0, where exp(-g) overflows
    offset      queries and keys around a common direction, values and states around a mean, states
                that hardly decay: long sums of one sign
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    value_heads, key_dim = int(shape["value_heads"]), int(shape["key_dim"])
    starts = [0]
    for length in shape["lens"]:
        starts.append(starts[-1] + int(length))
    k, v, _, gate = gated_delta.draw_tokens(shape, "query_heads", regime, gen, device)
    q = torch.randn(k.shape, generator=gen, device=device)
    if regime == "offset":
        q += 2.0 * key_dim**0.5 * k[:1].float()
    q = q * torch.rsqrt(q.pow(2).sum(-1, keepdim=True))
    rows, real = gated_delta.chunk_rows(starts[:-1], starts[1:], int(shape["chunk"]), device)
    h = torch.empty(
        (len(rows), value_heads, key_dim, int(shape["value_dim"])),
        dtype=torch.bfloat16,
        device=device,
    )
    # Each head's states have a size of their own, and so has each chunk's.
    heads = gated_delta.spread(value_heads, 0.5, 2.0, gen, device)
    size = heads * torch.exp(
        0.5 * torch.randn(len(rows), value_heads, generator=gen, device=device)
    )
    step = max(1, _ELEMENTS // h[0].numel())
    for part, scale in zip(h.split(step), size.split(step)):
        drawn = torch.randn(part.shape, generator=gen, device=device)
        if regime == "offset":
            drawn += 0.5
        part.copy_(drawn * scale[..., None, None])
    return {
        "q": q.to(torch.bfloat16),
        "k": k,
        "v": v,
        "h": h,
        "g": gated_delta.sum_in_chunks(gate, rows, real),
        "cu_seqlens": torch.tensor(starts, dtype=torch.int32, device=device),
    }


def reference(shape, q, k, v, h, g, cu_seqlens):
    key_dim, value_dim, value_heads = q.shape[2], v.shape[2], v.shape[1]
    group, chunk, starts = value_heads // q.shape[1], int(shape["chunk"]), cu_seqlens.tolist()
    rows, real = gated_delta.chunk_rows(starts[:-1], starts[1:], chunk, v.device)
    out = torch.empty_like(v)
    size = value_heads * (key_dim * value_dim + chunk * (2 * key_dim + 2 * value_dim + 2 * chunk))
    step = max(1, _ELEMENTS // size)
    for part, there, state in zip(rows.split(step), real.split(step), h.split(step)):
        queries, keys = (
            x[part].to(torch.float64).repeat_interleave(group, dim=2).transpose(1, 2)
            for x in (q, k)
        )
        # Rows that are no tokens come last in their chunk: no token sees them.
        total = g[part].to(torch.float64).transpose(1, 2)
        scores = gated_delta.decay_between(total) * (queries @ keys.transpose(-1, -2))
        got = scores @ v[part].to(torch.float64).transpose(1, 2)
        got += torch.exp(total)[..., None] * (queries @ state.to(torch.float64))
        out[part[there]] = (got * key_dim**-0.5).transpose(1, 2)[there].to(out.dtype)
    return {"out": out}
