# SPDX-License-Identifier: Apache-2.0
"""fp8 matrix product with block scales: what a correct kernel computes, and inputs that show a
wrong one.

a [m, k] has one scale a row and group of k, b [n, k] one a group of n and group of k.
c[i, j] = sum over groups g of (sum over k in g of a[i, k] b[j, k]) * a_scales[i, g] * b_scales[j //
group, g], float32 throughout and in the output. fp8 travels as uint8 codes.
"""

import torch

from roofmark_ref import fp8

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 26  # elements that are worked on at a time: 256 MiB in float32


def _groups(size, group):
    return -(-size // group)


def _values(rows, columns, regime, gen, device):
    z = torch.randn((rows, columns), generator=gen, device=device, dtype=torch.float32)
    if regime == "heavy_tail":
        # A few outliers set the scale of their group, so most codes are small.
        chosen = torch.rand((rows, columns), generator=gen, device=device) < 1.0 / 256
        z = torch.where(chosen, z * 16.0, z)
    elif regime == "offset":
        z += 1.5
    return z


def _quantise(z, row_group, group, faint, gen):
    """Codes of z and scales that use the whole range of fp8, times a spread of magnitudes.

    With `faint`, the first group of k and a quarter of the others use the bottom of the range
    instead.
    """
    rows, columns = z.shape
    tall, wide = _groups(rows, row_group), _groups(columns, group)
    z = torch.nn.functional.pad(z, (0, wide * group - columns, 0, tall * row_group - rows))
    blocks = z.view(tall, row_group, wide, group)
    largest = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=(1, 3)).clamp(min=1e-6)
    top = torch.full_like(largest, fp8.MAX_VALUE["f8_e4m3fn"])
    if faint:
        chosen = torch.rand((tall, wide), generator=gen, device=z.device) < 0.25
        chosen[:, 0] = True
        top = torch.where(chosen, top * 2.0**-14, top)
    codes = fp8.encode(blocks * (top / largest)[:, None, :, None], finite=True)
    spread = torch.exp(0.7 * torch.randn((tall, wide), generator=gen, device=z.device))
    scales = largest / top * spread
    return codes.view(tall * row_group, wide * group)[:rows, :columns].contiguous(), scales


def inputs(shape, seed, regime, device):
    """a, b (uint8 codes of f8_e4m3fn) and their float32 scales, quantised as a serving engine does.

    typical     normal values; scales of neighbouring groups differ by half an order of magnitude,
                so that ignoring or transposing them shows
    heavy_tail  outliers set the scales, and some groups use only the bottom of the range: subnormal
                codes show
    offset      values around a mean, so sums grow with k: accumulation in few bits shows
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    m, n, k, group = (int(shape[axis]) for axis in ("m", "n", "k", "group"))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    a = torch.empty((m, k), dtype=torch.uint8, device=device)
    a_scales = torch.empty((m, _groups(k, group)), dtype=torch.float32, device=device)
    step = max(1, _CHUNK // k)
    for row in range(0, m, step):
        rows = slice(row, min(m, row + step))
        z = _values(rows.stop - rows.start, k, regime, gen, device)
        a[rows], a_scales[rows] = _quantise(z, 1, group, regime == "heavy_tail", gen)
    b = torch.empty((n, k), dtype=torch.uint8, device=device)
    b_scales = torch.empty(
        (_groups(n, group), _groups(k, group)), dtype=torch.float32, device=device
    )
    step = max(1, _CHUNK // k // group) * group
    for row in range(0, n, step):
        rows = slice(row, min(n, row + step))
        z = _values(rows.stop - rows.start, k, regime, gen, device)
        bands = slice(row // group, _groups(rows.stop, group))
        b[rows], b_scales[bands] = _quantise(z, group, group, regime == "heavy_tail", gen)
    return {"a": a, "b": b, "a_scales": a_scales, "b_scales": b_scales}


def reference(shape, a, b, a_scales, b_scales):
    """Dequantises to float32 and multiplies in float32 (no TF32), a chunk of rows at a time."""
    group = int(shape["group"])
    torch.backends.cuda.matmul.allow_tf32 = False
    (m, k), n = a.shape, b.shape[0]
    columns = torch.arange(k, device=a.device) // group
    bands = torch.arange(n, device=a.device) // group
    wide_b = (fp8.decode(b) * b_scales[:, columns][bands]).t()
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    step = max(1, _CHUNK // k)
    for row in range(0, m, step):
        rows = slice(row, row + step)
        torch.mm(fp8.decode(a[rows]) * a_scales[rows][:, columns], wide_b, out=c[rows])
    return {"c": c}
