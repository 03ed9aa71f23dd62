# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts feed-forward layer: what a correct kernel computes, and inputs that show a
wrong one.

out[t] = sum over choices j of topk_weights[t, j] * w2[e] (silu(gate) * up), where e = topk_ids[t,
j], gate is the first half of w1[e] x_t and up the second. float32 on the upcast inputs throughout,
rounded once to bfloat16.
"""

import torch

from roofmark_ref import moe

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 25  # elements that are drawn, or activations that are held, at a time


def _fill(out, scale, mean, gen):
    """Draws a tensor [experts, rows, columns] as normal values around the mean of each row."""
    rows, means = out.view(-1, out.shape[-1]), mean.reshape(-1, 1)
    step = max(1, _CHUNK // rows.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        z = torch.randn(part.shape, generator=gen, device=out.device, dtype=torch.float32)
        part.copy_(z * scale + means[start : start + step])


def inputs(shape, seed, regime, device):
    """hidden_states [tokens, hidden], w1 [experts, 2 * inter, hidden], w2 [experts, hidden, inter]
    (bf16), topk_weights (f32) and topk_ids (i32) [tokens, top_k].

    Exactly shape["active"] experts have a token; the weights of all others are garbage. Experts are
    drawn apart, so a token sent to the wrong one shows, and gate and up have rows of their own
    sizes.

    typical     rows of different size; expert outputs of order one
    heavy_tail  two loud channels that carry a quarter of each product, one choice that outweighs
                the others, and more skewed routing
    offset      hidden states around a mean and matrices whose rows have one: sums grow along the
                products, so accumulation in few bits shows; router weights above 1
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    tokens, hidden, inter, experts, top_k = (
        int(shape[axis]) for axis in ("tokens", "hidden", "inter", "experts", "top_k")
    )
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    skew = int(shape["skew"]) / 100.0 + (0.5 if regime == "heavy_tail" else 0.0)
    ids = moe.draw_ids(tokens, experts, top_k, int(shape["active"]), skew, gen, device)
    weights = moe.draw_weights(tokens, top_k, regime, gen, device)

    def uniform(*size):
        return torch.rand(size, generator=gen, device=device, dtype=torch.float32)

    x = torch.empty((tokens, hidden), dtype=torch.bfloat16, device=device)
    w1 = torch.empty((experts, 2 * inter, hidden), dtype=torch.bfloat16, device=device)
    w2 = torch.empty((experts, hidden, inter), dtype=torch.bfloat16, device=device)
    offset = 1.0 if regime == "offset" else 0.0
    _fill(x, 1.0, torch.full((tokens,), offset, device=device), gen)
    # Means of a row of 1.5 to 3 in the product, up to a sign for up, so that sums grow with hidden.
    lift = (1.5 + 1.5 * uniform(experts, 2 * inter)) * (offset / hidden)
    sign = torch.where(uniform(experts, 2 * inter) < 0.8, 1.0, -1.0)
    _fill(w1, 1.5 * hidden**-0.5, lift * sign, gen)
    _fill(w2, inter**-0.5, uniform(experts, hidden) * (offset / inter), gen)
    if regime == "heavy_tail":
        loud = torch.randperm(hidden, generator=gen, device=device)[:2]
        z = (0.8 + 0.4 * uniform(tokens, 2)) * torch.where(uniform(tokens, 2) < 0.5, 1.0, -1.0)
        x[:, loud] = (z * (0.4 * hidden**0.5)).to(torch.bfloat16)
    x *= (0.6 + 0.8 * uniform(tokens, 1)).to(torch.bfloat16)
    idle = torch.ones(experts, dtype=torch.bool, device=device)
    idle[ids.reshape(-1).to(torch.int64)] = False
    for weight in (w1, w2):
        weight.mul_(torch.where(idle, 30.0, 1.0).to(torch.bfloat16)[:, None, None])
    return {
        "hidden_states": x,
        "w1": w1,
        "w2": w2,
        "topk_weights": weights,
        "topk_ids": ids,
    }


def reference(shape, hidden_states, w1, w2, topk_weights, topk_ids):
    """Expert by expert, each on all of its tokens, a bounded number at a time."""
    torch.backends.cuda.matmul.allow_tf32 = False
    top_k, inter = topk_ids.shape[1], w2.shape[2]
    weights = topk_weights.reshape(-1, 1)
    out = torch.zeros(hidden_states.shape, dtype=torch.float32, device=hidden_states.device)
    rows = max(1, _CHUNK // max(2 * inter, hidden_states.shape[1]))
    for expert, slots in moe.pieces(topk_ids, w1.shape[0], rows):
        tokens = slots // top_k
        both = hidden_states[tokens].to(torch.float32) @ w1[expert].to(torch.float32).t()
        gate, up = both[:, :inter], both[:, inter:]
        part = (torch.nn.functional.silu(gate) * up) @ w2[expert].to(torch.float32).t()
        # A token has an expert once, so no two rows of a piece meet.
        out.index_add_(0, tokens, part * weights[slots])
    return {"out": out.to(torch.bfloat16)}
