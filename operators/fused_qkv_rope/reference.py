# SPDX-License-Identifier: Apache-2.0
"""Splitting packed q, k, v and rotating q and k: what a correct kernel computes, and inputs that
show a wrong one.

With angle = position * base^(-2i / head_size), exact (float64, then float32 cosines and sines), and
x1, x2 the channels i and i + head_size / 2 of a head:
    x1' = x1 cos - x2 sin,  x2' = x2 cos + x1 sin
in float32, rounded once to the 16-bit type. v is copied.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 26  # elements handled at a time
_MAX_POSITION = 1 << 15  # models with base 1e4 go no further
_SCATTERED, _RUNS = 256, 4  # tokens of a decode step; sequences of a prefill step


def _half(shape):
    return torch.float16 if int(shape["half_type"]) else torch.bfloat16


def _positions(tokens, gen):
    """A decode step's tokens are anywhere, a prefill step's in runs; none is at 0 or where its row
    says, and a decode step's are odd and above 256, which bf16 cannot hold."""
    device = gen.device
    if tokens <= _SCATTERED:
        draw = torch.randint(150, _MAX_POSITION // 2, (tokens,), generator=gen, device=device)
        return 2 * draw + 1
    length = -(-tokens // _RUNS)
    start = torch.randint(1, max(2, _MAX_POSITION - length), (_RUNS,), generator=gen, device=device)
    row = torch.arange(tokens, device=device)
    return start[row // length] + row % length


def inputs(shape, seed, regime, device):
    """qkv [tokens, (query_heads + 2 kv_heads) * head_size], positions [tokens] (i32).

    typical     normal values
    heavy_tail  two outlier channels in each half of a head, as trained keys have
    offset      channels around a mean of their own
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    tokens, head_size, heads = (int(shape[a]) for a in ("tokens", "head_size", "packed_heads"))
    qkv = torch.empty((tokens, heads, head_size), dtype=_half(shape), device=device)
    mean = torch.zeros(head_size, device=device)
    scale = torch.ones(head_size, device=device)
    if regime == "heavy_tail":
        half = head_size // 2
        channels = torch.randperm(half, generator=gen, device=device)[:4]
        scale[channels + half * (torch.arange(len(channels), device=device) % 2)] = 10.0
    elif regime == "offset":
        mean = 3.0 * torch.randn(head_size, generator=gen, device=device)
    for part in qkv.split(max(1, _CHUNK // (heads * head_size))):
        part.copy_(torch.randn(part.shape, generator=gen, device=device) * scale + mean)
    return {"qkv": qkv.flatten(1), "positions": _positions(tokens, gen).to(torch.int32)}


def _rotate(x, cos, sin, out):
    """x, out [tokens, heads, head_size]; cos, sin [tokens, head_size / 2] in float32."""
    half = x.shape[2] // 2
    for row in range(0, len(x), max(1, _CHUNK // (x.shape[1] * x.shape[2]))):
        rows = slice(row, row + max(1, _CHUNK // (x.shape[1] * x.shape[2])))
        first, second = x[rows, :, :half].float(), x[rows, :, half:].float()
        c, s = cos[rows, None], sin[rows, None]
        out[rows, :, :half] = (first * c - second * s).to(out.dtype)
        out[rows, :, half:] = (second * c + first * s).to(out.dtype)
    return out


def reference(shape, qkv, positions):
    query_heads, kv_heads = int(shape["query_heads"]), int(shape["kv_heads"])
    head_size = int(shape["head_size"])
    channel = torch.arange(0, head_size, 2, dtype=torch.float64, device=qkv.device)
    frequency = float(shape["base"]) ** (-channel / head_size)
    angle = positions.double()[:, None] * frequency
    cos, sin = angle.cos().float(), angle.sin().float()
    x = qkv.view(len(qkv), -1, head_size)
    q, k, v = x.split([query_heads, kv_heads, kv_heads], dim=1)
    return {
        "q": _rotate(q, cos, sin, torch.empty(q.shape, dtype=q.dtype, device=q.device)),
        "k": _rotate(k, cos, sin, torch.empty(k.shape, dtype=k.dtype, device=k.device)),
        "v": v.clone(memory_format=torch.contiguous_format),
    }
