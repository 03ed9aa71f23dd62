# SPDX-License-Identifier: Apache-2.0
"""Routing of mixture-of-experts layers: draws of which token goes to which expert, and the slots of
each expert.

A slot is one (token, choice) pair: slot t * top_k + j is choice j of token t.
"""

import torch

_CHUNK = 1 << 24  # scores that are held at a time: 128 MiB in float64


def draw_ids(tokens, experts, top_k, active, skew, gen, device):
    """Expert ids [tokens, top_k], i32: distinct for each token, exactly `active` experts in all.

    Popularity falls as rank^-skew (0: all alike). Which experts are popular is a matter of chance,
    and so is the order of a token's choices. Needs top_k <= active <= min(experts, tokens * top_k).
    """
    experts_of_rank = torch.randperm(experts, generator=gen, device=device)[:active]
    rows = torch.randperm(tokens, generator=gen, device=device)
    rank = torch.arange(active, device=device)
    popularity = -skew * torch.log(1.0 + rank.to(torch.float64))
    ids = torch.empty((tokens, top_k), dtype=torch.int32, device=device)
    step = max(1, _CHUNK // active)
    for start in range(0, tokens, step):
        row = torch.arange(start, min(tokens, start + step), device=device)
        # Gumbel noise: the largest scores are a draw without replacement. In float64 it has no
        # ties.
        noise = torch.rand((len(row), active), generator=gen, device=device, dtype=torch.float64)
        score = popularity - torch.log(-torch.log(noise))
        # Each active expert is some token's certain choice: that is what makes their number exact.
        score += 1000.0 * (rank % tokens == row[:, None]).to(torch.float64)
        chosen = score.topk(top_k, dim=1).indices
        order = torch.rand(chosen.shape, generator=gen, device=device, dtype=torch.float64)
        chosen = chosen.gather(1, order.argsort(dim=1))
        ids[rows[row]] = experts_of_rank[chosen].to(torch.int32)
    return ids


def draw_for_sorting(shape, seed, regime, device, regimes):
    """topk_ids of the operators that only count and sort them.

    typical     every expert has a token, where there are enough tokens
    heavy_tail  half of the experts have none, and the others are popular to very different degree
    offset      nearly every token goes to the same few experts
    """
    if regime not in regimes:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(regimes)))
    tokens, experts, top_k = (int(shape[axis]) for axis in ("tokens", "experts", "top_k"))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + regimes.index(regime))
    active = min(experts, tokens * top_k)
    if regime == "heavy_tail":
        active = max(top_k, active // 2)
    skew = int(shape["skew"]) / 100.0 + {"typical": 0.0, "heavy_tail": 0.5, "offset": 2.5}[regime]
    return draw_ids(tokens, experts, top_k, active, skew, gen, device)


def draw_weights(tokens, top_k, regime, gen, device):
    """Router weights [tokens, top_k], f32, positive; a token's sum is never 1, so that dividing by
    it shows.

    typical     a softmax that was not divided by the sum of the chosen
    heavy_tail  the same, with one choice that outweighs the others
    offset      choices of similar weight, times a routing factor above 1
    """
    spread = {"typical": 1.0, "heavy_tail": 3.0, "offset": 0.5}[regime]
    z = torch.randn((tokens, top_k), generator=gen, device=device, dtype=torch.float32)
    total = 0.35 + 0.35 * torch.rand((tokens, 1), generator=gen, device=device)
    return torch.softmax(spread * z, dim=1) * (total * (4.0 if regime == "offset" else 1.0))


def slots_by_expert(topk_ids, experts):
    """(slots ordered by expert and within one by number, i64; slots of each expert, i64)."""
    flat = topk_ids.reshape(-1).to(torch.int64)
    counts = torch.zeros(experts, dtype=torch.int64, device=flat.device)
    counts.scatter_add_(0, flat, torch.ones_like(flat))
    return torch.sort(flat, stable=True).indices, counts


def pieces(topk_ids, experts, rows):
    """Yields (expert, slots): all slots of each expert that has any, at most `rows` at a time."""
    order, counts = slots_by_expert(topk_ids, experts)
    start = 0
    for expert, count in enumerate(counts.tolist()):
        for at in range(start, start + count, rows):
            yield expert, order[at : min(at + rows, start + count)]
        start += count
