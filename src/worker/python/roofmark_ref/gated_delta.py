# SPDX-License-Identifier: Apache-2.0
"""What the references of the gated delta rule share: sequences cut into chunks, decays that cannot
overflow, and the triangular system that a chunk's tokens form among themselves.

Per token with gate g <= 0 (the logarithm of its decay) and strength beta, a head's state S
[key_dim, value_dim] becomes
    S <- e^g S;  u = beta (v - k^T S);  S <- S + k u^T.
With G_i the sum of g up to token i of a chunk and S0 the state before it, the same in closed form:
    (I + L) U = beta (V - e^G K S0),  L[i, j] = beta_i e^(G_i - G_j) k_i.k_j  for j < i
    S after the chunk = e^(G_last) S0 + sum over j of e^(G_last - G_j) k_j u_j^T
(Yang et al., Gated Delta Networks, arXiv 2412.06464.) All exponents are <= 0.
"""

import torch


def chunk_rows(starts, ends, size, device):
    """rows [chunks, size] of packed tokens, and which of them are tokens of the chunk.

    Each sequence starts a chunk of its own; in the last one, rows past the end repeat its last
    token.
    """
    first = [at for start, end in zip(starts, ends) for at in range(start, end, size)]
    last = [end - 1 for start, end in zip(starts, ends) for _ in range(start, end, size)]
    rows = torch.tensor(first, device=device)[:, None] + torch.arange(size, device=device)
    last = torch.tensor(last, device=device)[:, None]
    return torch.minimum(rows, last), rows <= last


def decay_between(total):
    """e^(G_i - G_j) for j <= i and 0 above; total [..., tokens] holds G, which never grows."""
    tokens = total.shape[-1]
    seen = torch.ones(tokens, tokens, dtype=torch.bool, device=total.device).tril()
    steps = total[..., :, None] - total[..., None, :]
    return torch.exp(steps.masked_fill_(~seen, float("-inf")))


def solve_chunk(k, beta, decay, right):
    """U of (I + L) U = right; k [..., tokens, key_dim], beta [..., tokens], right [..., tokens,
    n]."""
    if k.shape[-2] == 1:
        return right
    lower = beta[..., None] * decay * (k @ k.transpose(-1, -2))
    return torch.linalg.solve_triangular(lower.tril(-1), right, upper=False, unitriangular=True)


def batches(lens, most):
    """Sequences from the longest to the shortest, at most `most` at a time; lists of their
    numbers."""
    order = sorted(range(len(lens)), key=lambda s: -lens[s])
    return [order[at : at + most] for at in range(0, len(order), most)]


def slots_of(seqs, slots, gen, device):
    """A slot for each sequence, in no order; no sequence has the slot of its own number."""
    cycle = torch.randperm(slots, generator=gen, device=device)
    owner = torch.empty_like(cycle)
    owner[cycle] = cycle.roll(-1)
    return owner[:seqs].to(torch.int32)


def spread(count, low, high, gen, device):
    """`count` numbers that cover low .. high evenly in their logarithm, shuffled."""
    place = (torch.randperm(count, generator=gen, device=device).float() + 0.5) / count
    return low * (high / low) ** place
