# SPDX-License-Identifier: Apache-2.0
"""States and corrected values of a chunked gated delta rule over packed sequences with a pool of
states: what a correct kernel computes, and inputs that show a wrong one.

For each sequence (slot state_indices[s] of the pool holds S) and each chunk of its tokens, with k
of head h // (value_heads // key_heads):
    h[chunk] <- S;  v_new <- u - w S;  S <- exp(g_last) S + k^T (exp(g_last - g) v_new)
In float64; h and v_new are rounded once to bfloat16, the pool once to float32.
"""

import torch

from roofmark_ref import gated_delta

_REGIMES = ("typical", "heavy_tail", "offset")
# w and u are made of k and g; where one changed alone, the states would grow without bound.
_BOUND = ("k", "w", "u", "g")
_ELEMENTS = 1 << 24  # of a batch's states and chunks: 128 MiB in float64, in a few copies


def inputs(shape, seed, regime, device):
    """k, w, u, g, state, state_indices, cu_seqlens as on the card; w and u are those that keys and
    values of a gated delta rule give, so that states stay of the size they have in a model.

    typical     gates from e^-0.003 to e^-1 a token by head, states of other requests in the slots
                that no sequence owns
    heavy_tail  outlier channels in k, loud tokens in u, tokens that wipe the state: g down to
                hundreds below 0
    offset      keys around a common direction, values and states around a mean, states that hardly
                decay
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    lens, value_heads = [int(length) for length in shape["lens"]], int(shape["value_heads"])
    key_dim, value_dim = int(shape["key_dim"]), int(shape["value_dim"])
    starts = [0]
    for length in lens:
        starts.append(starts[-1] + length)
    k, v, beta, gate = gated_delta.draw_tokens(shape, "key_heads", regime, gen, device)
    rows, real = gated_delta.chunk_rows(starts[:-1], starts[1:], int(shape["chunk"]), device)
    g = gated_delta.sum_in_chunks(gate, rows, real)
    w, u = gated_delta.corrections(k, v, beta, g, rows, real)
    state = torch.empty(
        (int(shape["slots"]), value_heads, key_dim, value_dim), dtype=torch.float32, device=device
    ).normal_(0.0, 1.0, generator=gen)
    if regime == "offset":
        state.add_(0.5)
    state.mul_(gated_delta.spread(value_heads, 0.1, 0.6, gen, device)[:, None, None])
    return {
        "k": k,
        "w": w,
        "u": u,
        "g": g,
        "state": state,
        "state_indices": gated_delta.slots_of(len(lens), int(shape["slots"]), gen, device),
        "cu_seqlens": torch.tensor(starts, dtype=torch.int32, device=device),
    }


def reference(shape, k, w, u, g, state, state_indices, cu_seqlens):
    key_dim, value_dim, value_heads = k.shape[2], u.shape[2], u.shape[1]
    group, chunk = value_heads // k.shape[1], int(shape["chunk"])
    starts = cu_seqlens.tolist()
    lens = [end - start for start, end in zip(starts, starts[1:])]
    row_of_h = [0]
    for length in lens:
        row_of_h.append(row_of_h[-1] + -(-length // chunk))
    h = torch.empty(
        (row_of_h[-1], value_heads, key_dim, value_dim), dtype=torch.bfloat16, device=u.device
    )
    v_new, after = torch.empty_like(u), state.clone()
    size = value_heads * (key_dim * value_dim + 2 * chunk * (key_dim + value_dim))
    for seqs in gated_delta.batches(lens, max(1, _ELEMENTS // size)):
        slot = state_indices[torch.tensor(seqs, device=u.device)].to(torch.int64)
        now = state[slot].to(torch.float64)
        first_row = torch.tensor([row_of_h[s] for s in seqs], device=u.device)
        chunks = gated_delta.Chunks(starts, seqs, chunk, u.device)
        for n in range(len(chunks)):
            live, rows, real = chunks.at(n)
            before = now[:live]
            h[first_row[:live] + n] = before.to(h.dtype)
            wide_w = w[rows].to(torch.float64).transpose(1, 2)
            value = u[rows].to(torch.float64).transpose(1, 2) - wide_w @ before
            gated_delta.put(v_new, rows, real, value.transpose(1, 2))
            # Rows that are no tokens repeat the last one: its g is g_last, and they write nothing.
            total = g[rows].to(torch.float64).transpose(1, 2)
            decay = torch.exp(total[..., -1:] - total)
            if real is not None:
                decay = decay * real[:, None, :]
            keys = k[rows].to(torch.float64).repeat_interleave(group, dim=2).permute(0, 2, 3, 1)
            kept = torch.exp(total[..., -1])[..., None, None] * before
            now[:live] = kept + keys @ (value * decay[..., None])
        after[slot] = now.to(torch.float32)
    return {"h": h, "v_new": v_new, "state": after}
