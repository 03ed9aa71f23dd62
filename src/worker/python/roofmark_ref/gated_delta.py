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


class Chunks:
    """The n-th chunks of several packed sequences, from the longest to the shortest, without asking
    the host for each. `starts` as cu_seqlens, in a list; `seqs` numbers of sequences in order."""

    def __init__(self, starts, seqs, size, device):
        self._lens = [starts[s + 1] - starts[s] for s in seqs]
        self._size = size
        self._first = torch.tensor([starts[s] for s in seqs], device=device)
        self._last = torch.tensor([starts[s + 1] - 1 for s in seqs], device=device)[:, None]
        self._steps = torch.arange(size, device=device)

    def __len__(self):
        return -(-self._lens[0] // self._size)

    def at(self, number):
        """How many sequences have such a chunk; its rows [live, size], where those past the end
        repeat the last token; and which of them are tokens: None where all are."""
        begin = number * self._size
        live = sum(length > begin for length in self._lens)
        rows = (self._first[:live, None] + begin) + self._steps
        if self._lens[live - 1] >= begin + self._size:
            return live, rows, None
        last = self._last[:live]
        return live, torch.minimum(rows, last), rows <= last


def put(out, rows, real, values):
    """out[rows] = values [live, size, ...], of those that are tokens."""
    if real is None:
        out[rows] = values.to(out.dtype)
    else:
        out[rows[real]] = values[real].to(out.dtype)


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


def draw_tokens(shape, heads, regime, gen, device):
    """k [total, shape[heads], key_dim] of norm 1 and v [total, value_heads, value_dim] (bf16); beta
    and the gates' logarithms [total, value_heads] (f32)."""
    total, value_heads = int(shape["total"]), int(shape["value_heads"])
    key_heads, key_dim = int(shape[heads]), int(shape["key_dim"])

    def normal(*size):
        return torch.randn(size, generator=gen, device=device, dtype=torch.float32)

    def chosen(share, *size):
        return torch.rand(size, generator=gen, device=device) < share

    k, v = normal(total, key_heads, key_dim), normal(total, value_heads, int(shape["value_dim"]))
    usual = spread(value_heads, 0.003, 1.0, gen, device)
    if regime == "heavy_tail":
        channels = torch.randperm(key_dim, generator=gen, device=device)[:2]
        k[..., channels] *= 2.0
        v = torch.where(chosen(1.0 / 16, total, value_heads, 1), v * 3.0, v)
    elif regime == "offset":
        k, v = k + normal(key_heads, key_dim), v + 1.0
        usual = usual * 0.02
    gate = -usual * torch.exp(0.7 * normal(total, value_heads))
    if regime == "heavy_tail":
        gate = torch.where(chosen(1.0 / 64, total, value_heads), gate - 150.0, gate)
    k = k * torch.rsqrt(k.pow(2).sum(-1, keepdim=True))
    beta = torch.sigmoid(1.5 * normal(total, value_heads))
    if regime == "offset":
        beta = beta * 0.025  # what was written long ago is still there: errors of a state add up
    return k.to(torch.bfloat16), v.to(torch.bfloat16), beta, gate


def sum_in_chunks(gate, rows, real):
    """G [total, heads]: the sum of the gates from the first token of each chunk on."""
    total = torch.empty_like(gate)
    total[rows[real]] = gate[rows].cumsum(1)[real]
    return total


def corrections(k, v, beta, g, rows, real, most=1 << 24):
    """w [total, value_heads, key_dim] and u [total, value_heads, value_dim] (bf16): with L as
    above, (I + L) w = beta e^G k and (I + L) u = beta v."""
    group, value_heads = v.shape[1] // k.shape[1], v.shape[1]
    w = torch.empty((v.shape[0], value_heads, k.shape[2]), dtype=torch.bfloat16, device=k.device)
    u = torch.empty_like(v)
    step = max(1, most // (value_heads * rows.shape[1] * (rows.shape[1] + v.shape[2] + w.shape[2])))
    for part, there in zip(rows.split(step), real.split(step)):
        keys = k[part].float().repeat_interleave(group, dim=2).transpose(1, 2)
        total = g[part].transpose(1, 2)
        strength = (beta[part] * there[..., None]).transpose(1, 2)
        right = torch.cat(
            [torch.exp(total)[..., None] * keys, v[part].float().transpose(1, 2)], dim=-1
        )
        solved = solve_chunk(keys, strength, decay_between(total), strength[..., None] * right)
        solved = solved.transpose(1, 2)[there].to(torch.bfloat16)
        w[part[there]], u[part[there]] = solved[..., : k.shape[2]], solved[..., k.shape[2] :]
    return w, u
