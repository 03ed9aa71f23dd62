# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule as eager PyTorch spells it: chunks of 64 tokens (the WY form of arXiv
2412.06464) in float32, sequences of one length together, states updated in place."""

import torch

ROLE = "baseline"
CHUNK = 64


def _chunk(state, q, k, v, beta, g):
    """state [n, h, K, V]; q, k [n, h, t, K]; v [n, h, t, V]; beta, g [n, h, t]. Returns what the
    tokens read and the state after them."""
    # Differences of sums of exponents lose what float32 has; decays do not.
    total = g.double().cumsum(-1)
    steps = total[..., :, None] - total[..., None, :]
    later = torch.ones_like(steps, dtype=torch.bool).triu(1)
    decay = steps.masked_fill(later, float("-inf")).exp().float()
    from_start = total.exp().float()[..., None]
    to_end = (total[..., -1:] - total).exp().float()[..., None]
    # (I + strictly lower part) u = what each token finds missing at the start of the chunk
    mixing = (beta[..., None] * decay * (k @ k.transpose(-1, -2))).tril(-1)
    missing = beta[..., None] * (v - from_start * (k @ state))
    u = torch.linalg.solve_triangular(
        mixing + torch.eye(g.shape[-1], device=g.device), missing, upper=False, unitriangular=True
    )
    out = from_start * (q @ state) + (decay * (q @ k.transpose(-1, -2))) @ u
    return out, from_start[..., -1:, :] * state + (k * to_end).transpose(-1, -2) @ u


class Model(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def _unit(self, x, group):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + self.eps)
        return wide.repeat_interleave(group, dim=-2)

    def forward(self, A_log, a, dt_bias, q, k, v, b, state, state_indices, cu_seqlens):
        group = v.shape[1] // q.shape[1]
        q, k = self._unit(q, group) * q.shape[-1] ** -0.5, self._unit(k, group)
        g = -A_log.exp() * torch.nn.functional.softplus(a.float() + dt_bias.float())
        packed = (q, k, v.float(), b.float().sigmoid(), g)
        out = torch.empty_like(v)
        starts, slots = cu_seqlens.tolist(), state_indices.long()
        by_length = {}
        for i, (start, end) in enumerate(zip(starts, starts[1:])):
            by_length.setdefault(end - start, []).append(i)
        for length, seqs in by_length.items():
            slot = slots[seqs]
            first = torch.tensor([starts[i] for i in seqs], device=v.device)[:, None]
            now = state[slot]
            for at in range(0, length, CHUNK):
                tokens = torch.arange(at, min(at + CHUNK, length), device=v.device)
                rows = first + tokens
                # heads before tokens
                given = [part[rows].transpose(1, 2) for part in packed]
                got, now = _chunk(now, *given)
                out[rows] = got.transpose(1, 2).to(out.dtype)
            state[slot] = now
        return out
