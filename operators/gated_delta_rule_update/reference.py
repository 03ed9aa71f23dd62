# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule on packed sequences with a pool of states: what a correct kernel computes,
and inputs that show a wrong one.

Sequence s has tokens cu_seqlens[s] .. cu_seqlens[s + 1] and slot state_indices[s] of the pool. For
each value head, with q and k of head h // (value_heads // query_heads) divided by their L2 norms:
    S <- S exp(-exp(A_log) softplus(a + dt_bias))
    S <- S + k (sigmoid(b) (v - k^T S))^T
    out = q^T S / sqrt(key_dim)
It is computed a chunk of tokens at a time (roofmark_ref/gated_delta.py) in float64, so that 8192
tokens need 128 steps; out is rounded once to bfloat16, the state once to float32.
"""

import torch

from roofmark_ref import gated_delta

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 64  # tokens of a step
_ELEMENTS = 1 << 24  # of a batch's states and chunks: 128 MiB in float64, in a few copies


def _gates(shape, regime, gen, device):
    """A_log, a, dt_bias and b: heads that forget within a token and heads that remember
    hundreds."""
    total, heads = int(shape["total"]), int(shape["value_heads"])
    dt_bias = (4.5 * torch.rand(heads, generator=gen, device=device) - 3.0).to(torch.bfloat16)
    usual = gated_delta.spread(heads, 0.003, 3.0, gen, device)
    A_log = torch.log(usual / torch.nn.functional.softplus(dt_bias.float()))
    a = torch.randn((total, heads), generator=gen, device=device)
    b = 1.5 * torch.randn((total, heads), generator=gen, device=device)
    if regime == "heavy_tail":
        # One token in sixteen wipes the state, or nearly: exponents down to about -100.
        wipe = torch.rand((total, heads), generator=gen, device=device) < 1.0 / 16
        a = torch.where(wipe, a + 30.0, a)
    return A_log, a.to(torch.bfloat16), dt_bias, b.to(torch.bfloat16)


def inputs(shape, seed, regime, device):
    """A_log, a, dt_bias, q, k, v, b, state, state_indices, cu_seqlens as on the card.

    typical     norms of q and k from 0.1 to 10, gates from e^-0.003 to e^-3 by head, states of
                other requests in the slots that no sequence owns
    heavy_tail  two outlier channels in q and k, loud tokens in v, tokens that wipe the state
    offset      keys and queries around a common direction, so that each key's prediction is most of
                the value; values and states around a mean
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    total, seqs = int(shape["total"]), int(shape["seqs"])
    query_heads, value_heads = int(shape["query_heads"]), int(shape["value_heads"])
    key_dim, value_dim = int(shape["key_dim"]), int(shape["value_dim"])

    def normal(*size):
        return torch.randn(size, generator=gen, device=device, dtype=torch.float32)

    A_log, a, dt_bias, b = _gates(shape, regime, gen, device)
    q, k = normal(total, query_heads, key_dim), normal(total, query_heads, key_dim)
    v = normal(total, value_heads, value_dim)
    if regime == "heavy_tail":
        channels = torch.randperm(key_dim, generator=gen, device=device)[:2]
        q[..., channels] *= 3.0
        k[..., channels] *= 3.0
        loud = torch.rand((total, value_heads, 1), generator=gen, device=device) < 1.0 / 16
        v = torch.where(loud, v * 3.0, v)
    elif regime == "offset":
        common = 1.5 * normal(query_heads, key_dim)
        q, k, v = q + common, k + common, v + 1.0
    for x in (q, k):
        size = torch.rand((total, query_heads, 1), generator=gen, device=device)
        x.mul_(10.0 ** (2.0 * size - 1.0) / key_dim**0.5)
    state = torch.empty(
        (int(shape["slots"]), value_heads, key_dim, value_dim), dtype=torch.float32, device=device
    ).normal_(0.0, 1.0, generator=gen)
    if regime == "offset":
        state.add_(0.5)
    state.mul_(gated_delta.spread(value_heads, 0.1, 0.6, gen, device)[:, None, None])
    starts = [0]
    for length in shape["lens"]:
        starts.append(starts[-1] + int(length))
    return {
        "A_log": A_log,
        "a": a,
        "dt_bias": dt_bias,
        "q": q.to(torch.bfloat16),
        "k": k.to(torch.bfloat16),
        "v": v.to(torch.bfloat16),
        "b": b,
        "state": state,
        "state_indices": gated_delta.slots_of(seqs, int(shape["slots"]), gen, device),
        "cu_seqlens": torch.tensor(starts, dtype=torch.int32, device=device),
    }


def _unit(x, eps):
    """float64 rows over their L2 norms."""
    wide = x.to(torch.float64)
    return wide * torch.rsqrt(wide.pow(2).sum(-1, keepdim=True) + eps)


def _heads_first(x, group):
    return x.repeat_interleave(group, dim=2).transpose(1, 2)


def _step(state, q, k, v, beta, g):
    """One chunk. state [n, h, K, V]; q, k [n, h, t, K]; v [n, h, t, V]; beta, g [n, h, t]. Returns
    what the tokens read, unscaled, and the state after them."""
    total = g.cumsum(-1)
    decay = gated_delta.decay_between(total)
    from_start = torch.exp(total)[..., None]
    u = gated_delta.solve_chunk(k, beta, decay, beta[..., None] * (v - from_start * (k @ state)))
    out = from_start * (q @ state) + (decay * (q @ k.transpose(-1, -2))) @ u
    to_end = torch.exp(total[..., -1:] - total)[..., None]
    return out, from_start[..., -1:, :] * state + (k * to_end).transpose(-1, -2) @ u


def reference(shape, A_log, a, dt_bias, q, k, v, b, state, state_indices, cu_seqlens):
    key_dim, value_dim, value_heads = q.shape[2], v.shape[2], v.shape[1]
    group, eps = value_heads // q.shape[1], float(shape["eps"])
    starts = cu_seqlens.tolist()
    lens = [end - start for start, end in zip(starts, starts[1:])]
    rate, bias = torch.exp(A_log.to(torch.float64)), dt_bias.to(torch.float64)
    chunk = min(_CHUNK, max(lens))
    size = value_heads * (key_dim * value_dim + chunk * (key_dim + value_dim + chunk))
    out, after = torch.empty_like(v), state.clone()
    for seqs in gated_delta.batches(lens, max(1, _ELEMENTS // size)):
        slot = state_indices[torch.tensor(seqs, device=v.device)].to(torch.int64)
        now = state[slot].to(torch.float64)
        chunks = gated_delta.Chunks(starts, seqs, chunk, v.device)
        for n in range(len(chunks)):
            live, rows, real = chunks.at(n)
            beta = torch.sigmoid(b[rows].to(torch.float64)).transpose(1, 2)
            dt = a[rows].to(torch.float64) + bias
            g = (-rate * torch.logaddexp(dt, torch.zeros_like(dt))).transpose(1, 2)
            if real is not None:
                # Rows that are no tokens have no strength and no decay: they change nothing.
                there = real[:, None, :].to(torch.float64)
                beta, g = beta * there, g * there
            got, now[:live] = _step(
                now[:live],
                _heads_first(_unit(q[rows], eps), group),
                _heads_first(_unit(k[rows], eps), group),
                _heads_first(v[rows].to(torch.float64), 1),
                beta,
                g,
            )
            gated_delta.put(out, rows, real, (got * key_dim**-0.5).transpose(1, 2))
        after[slot] = now.to(torch.float32)
    return {"out": out, "state": after}
