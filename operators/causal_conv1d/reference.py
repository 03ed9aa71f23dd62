# SPDX-License-Identifier: Apache-2.0
"""The depthwise causal convolution of packed sequences with a cache of last inputs: what a correct
kernel computes, and inputs that show a wrong one.

With p the width - 1 columns before sequence s (its slot of conv_states, or zeros where
has_initial_state is 0) and x its tokens,
    out[:, t] = silu(bias + sum over j of weight[:, j] (p | x)[:, t + j])
and the slot holds the last width - 1 columns of (p | x) afterwards. In float32, rounded once to
bfloat16.
"""

import torch

from roofmark_ref import gated_delta

_REGIMES = ("typical", "heavy_tail", "offset")
_PIECE = 1 << 26  # elements that are worked on at a time: 256 MiB in float32


def inputs(shape, seed, regime, device):
    """x [dim, total], weight [dim, width], bias [dim], conv_states [slots, dim, width - 1] (bf16),
    query_start_loc [seqs + 1], cache_indices [seqs] (i32), has_initial_state [seqs] (u8).

    typical     sums of some units around zero, where silu bends; each channel has a size of its
                own; columns of other requests in every slot, also where a sequence starts anew
    heavy_tail  outlier channels and outlier tokens: sums up to some hundreds
    offset      channels around means of 14 or -14 and weights that nearly cancel: sums in bf16
                fail
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    dim, width, total = int(shape["dim"]), int(shape["width"]), int(shape["total"])
    slots, seqs = int(shape["slots"]), int(shape["seqs"])

    def normal(*size):
        return torch.randn(size, generator=gen, device=device, dtype=torch.float32)

    size = gated_delta.spread(dim, 0.5, 2.0, gen, device)
    mean = torch.zeros(dim, device=device)
    weight, bias = 0.8 * normal(dim, width), 0.7 * normal(dim)
    if regime == "heavy_tail":
        size = torch.where(torch.rand(dim, generator=gen, device=device) < 1.0 / 32, size * 8, size)
    elif regime == "offset":
        mean = 14.0 * torch.sign(normal(dim))
        weight -= weight.mean(-1, keepdim=True)
    x = torch.empty((dim, total), dtype=torch.bfloat16, device=device)
    step = max(1, _PIECE // max(1, total))
    for at in range(0, dim, step):
        rows = slice(at, min(dim, at + step))
        part = normal(rows.stop - at, total) * size[rows, None] + mean[rows, None]
        if regime == "heavy_tail":
            loud = torch.rand(part.shape, generator=gen, device=device) < 1.0 / 64
            part = torch.where(loud, part * 6.0, part)
        x[rows] = part.to(torch.bfloat16)
    states = normal(slots, dim, width - 1) * size[:, None] + mean[:, None]
    starts = [0]
    for length in shape["lens"]:
        starts.append(starts[-1] + int(length))
    return {
        "x": x,
        "weight": weight.to(torch.bfloat16),
        "bias": bias.to(torch.bfloat16),
        "conv_states": states.to(torch.bfloat16),
        "query_start_loc": torch.tensor(starts, dtype=torch.int32, device=device),
        "cache_indices": gated_delta.slots_of(seqs, slots, gen, device),
        "has_initial_state": torch.tensor(
            [int(flag) for flag in shape["initial"]], dtype=torch.uint8, device=device
        ),
    }


def reference(
    shape, x, weight, bias, conv_states, query_start_loc, cache_indices, has_initial_state
):
    """Every sequence gets its columns before it in one packed row, `before` columns longer each."""
    (dim, total), before = x.shape, weight.shape[1] - 1
    starts, slot = query_start_loc.to(torch.int64), cache_indices.to(torch.int64)
    seqs = slot.numel()
    ahead = torch.where(has_initial_state[:, None, None] != 0, conv_states[slot], 0.0)
    sequence = torch.repeat_interleave(torch.arange(seqs, device=x.device), starts.diff())
    token = torch.arange(total, device=x.device) + before * (sequence + 1)
    column = starts[:-1, None] + before * torch.arange(seqs, device=x.device)[:, None]
    column = column + torch.arange(before, device=x.device)
    out = torch.empty_like(x)
    step = max(1, _PIECE // (total + before * seqs))
    last = starts[1:, None] + before * torch.arange(seqs, device=x.device)[:, None]
    last = last + torch.arange(before, device=x.device)
    after = conv_states.clone()
    for at in range(0, dim, step):
        rows = slice(at, min(dim, at + step))
        packed = torch.empty(
            (rows.stop - at, total + before * seqs), dtype=x.dtype, device=x.device
        )
        packed[:, token] = x[rows]
        packed[:, column.flatten()] = ahead[:, rows].transpose(0, 1).flatten(1)
        sums = bias[rows, None].to(torch.float32).expand(-1, total).clone()
        for tap in range(before + 1):
            part = packed[:, token - before + tap].to(torch.float32)
            sums.addcmul_(part, weight[rows, tap, None].to(torch.float32))
        out[rows] = (sums * torch.sigmoid(sums)).to(torch.bfloat16)
        kept = packed[:, last.flatten()].unflatten(1, (seqs, before))
        after[slot, rows] = kept.transpose(0, 1)
    return {"out": out, "conv_states": after}
