# SPDX-License-Identifier: Apache-2.0
"""Rotation by three position axes: what a correct kernel computes, and inputs that show a wrong
one.

cos and sin [3, tokens, half] hold one table for each of time, height and width; of frequency i
axis 0 counts for i < section_t, axis 1 for the next section_h, axis 2 for the last section_w. With
x1, x2 the channels i and i + half of a head:
    x1' = x1 cos - x2 sin,  x2' = x2 cos + x1 sin
in float32, rounded once to bfloat16. Channels past 2 half are copied.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 26  # elements handled at a time
_BASE = 1e6
_MAX_POSITION = 1 << 15
_SIDE = 40  # columns of an image's grid, after the merging of patches


def _positions(tokens, gen):
    """[3, tokens]: three runs of image tokens, whose time stands still while height and width count
    a grid, and text between them, whose axes are one. The first tokens are an image's."""
    device = gen.device
    token = torch.arange(tokens, device=device)
    latest = max(200, _MAX_POSITION - tokens // 2)
    start = torch.randint(100, latest, (1,), generator=gen, device=device)
    length = max(4, -(-tokens // 6))  # of a run
    image, inside = token // length % 2 == 0, token % length
    base = start + token // length * (length // 2 + 1)
    # As if the image began in the middle of a grid, so that a single token shows its axes too.
    height = base + 17 + inside // _SIDE
    width = base + 5 + inside % _SIDE
    text = base + inside
    return torch.stack(
        [torch.where(image, axis, text) for axis in (base.expand(tokens), height, width)]
    )


def inputs(shape, seed, regime, device):
    """q [tokens, query_heads, head_size], k [tokens, kv_heads, head_size], cos and sin [3, tokens,
    half] of base 1e6.

    typical     normal values of the size that the release has, 0.02
    heavy_tail  two outlier channels in each half of a head, as trained keys have
    offset      channels around a mean of their own
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    tokens, head_size, half = int(shape["tokens"]), int(shape["head_size"]), int(shape["half"])
    mean = torch.zeros(head_size, device=device)
    scale = torch.full((head_size,), 0.02 if regime == "typical" else 1.0, device=device)
    if regime == "heavy_tail":
        channels = torch.randperm(half, generator=gen, device=device)[:4]
        scale[channels + half * (torch.arange(4, device=device) % 2)] = 10.0
    elif regime == "offset":
        mean = 3.0 * torch.randn(head_size, generator=gen, device=device)
    drawn = {}
    for name, heads in (("q", int(shape["query_heads"])), ("k", int(shape["kv_heads"]))):
        drawn[name] = torch.empty((tokens, heads, head_size), dtype=torch.bfloat16, device=device)
        for part in drawn[name].split(max(1, _CHUNK // (heads * head_size))):
            part.copy_(torch.randn(part.shape, generator=gen, device=device) * scale + mean)
    frequency = _BASE ** (-torch.arange(half, dtype=torch.float64, device=device) / half)
    angle = _positions(tokens, gen).double()[..., None] * frequency
    return {**drawn, "cos": angle.cos().float(), "sin": angle.sin().float()}


def _pick(table, shape):
    """[tokens, half]: each frequency from its own axis."""
    sections = [int(shape[s]) for s in ("section_t", "section_h", "section_w")]
    parts = table.split(sections, dim=-1)
    return torch.cat([part[axis] for axis, part in enumerate(parts)], dim=-1)


def _rotate(x, cos, sin):
    half = cos.shape[-1]
    out = x.clone()
    step = max(1, _CHUNK // (x.shape[1] * x.shape[2]))
    for row in range(0, len(x), step):
        rows = slice(row, row + step)
        first, second = x[rows, :, :half].float(), x[rows, :, half : 2 * half].float()
        c, s = cos[rows, None], sin[rows, None]
        out[rows, :, :half] = (first * c - second * s).to(x.dtype)
        out[rows, :, half : 2 * half] = (second * c + first * s).to(x.dtype)
    return out


def reference(shape, q, k, cos, sin):
    c, s = _pick(cos, shape), _pick(sin, shape)
    return {"q_out": _rotate(q, c, s), "k_out": _rotate(k, c, s)}
