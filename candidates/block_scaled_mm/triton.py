# SPDX-License-Identifier: Apache-2.0
"""An honest Triton fp8 product with block scales: one scale group of k a step, scaled as it is
added.

Few rows give few tiles; k is then split over programs and a second kernel adds the parts in order.
The parts are allocated in init, so that run allocates nothing.
"""

import torch
import triton
import triton.language as tl

_GROUP = 128
_parts = {}


@triton.jit
def _multiply(
    a,
    b,
    a_scales,
    b_scales,
    c,
    m,
    n,
    k,
    k_groups,
    groups_per_split,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN_K: tl.constexpr,
    BAND: tl.constexpr,
):
    # Programs that run together share a band of rows of tiles, so that both operands stay in L2.
    tiles_m = tl.cdiv(m, TILE_M)
    tiles_n = tl.cdiv(n, TILE_N)
    program = tl.program_id(0)
    split = tl.program_id(1)
    band = program // (BAND * tiles_n)
    height = min(tiles_m - band * BAND, BAND)
    within = program % (BAND * tiles_n)
    tile_m = band * BAND + within % height
    tile_n = within // height

    rows = tile_m * TILE_M + tl.arange(0, TILE_M)
    columns = tile_n * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, GROUP)
    # Rows past the end repeat the first ones; they are computed and never stored.
    safe_rows = (rows % m).to(tl.int64)
    safe_columns = (columns % n).to(tl.int64)
    first = split * groups_per_split
    last = min(first + groups_per_split, k_groups)
    a_at = a + safe_rows[:, None] * k + first * GROUP + depth[None, :]
    b_at = b + safe_columns[None, :] * k + first * GROUP + depth[:, None]
    a_scale_at = a_scales + safe_rows * k_groups
    b_scale_at = (
        b_scales + (tile_n * TILE_N // GROUP) * k_groups
    )  # a tile lies within one block of b
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for group in range(first, last):
        if EVEN_K:
            a_codes = tl.load(a_at)
            b_codes = tl.load(b_at)
        else:
            left = k - group * GROUP
            a_codes = tl.load(a_at, mask=depth[None, :] < left, other=0)
            b_codes = tl.load(b_at, mask=depth[:, None] < left, other=0)
        scale = tl.load(a_scale_at + group) * tl.load(b_scale_at + group)
        part = tl.dot(
            a_codes.to(tl.float8e4nv, bitcast=True), b_codes.to(tl.float8e4nv, bitcast=True)
        )
        total += part * scale[:, None]
        a_at += GROUP
        b_at += GROUP
    place = c + split.to(tl.int64) * m * n + rows.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(place, total, mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def _add_parts(parts, c, size, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for split in range(SPLITS):
        total += tl.load(parts + split * size + at, mask=at < size, other=0.0)
    tl.store(c + at, total, mask=at < size)


def _plan(m, n, k):
    tile_m = 16 if m <= 16 else 32 if m <= 32 else 64 if m <= 64 else 128
    if tile_m == 128 and triton.cdiv(m, 128) * triton.cdiv(n, 128) < 132:
        tile_m = 64
    tile_n = 64 if tile_m <= 32 else 128
    tiles = triton.cdiv(m, tile_m) * triton.cdiv(n, tile_n)
    groups = triton.cdiv(k, _GROUP)
    splits = max(1, min(264 // tiles, groups // 4)) if tiles < 132 else 1
    per_split = triton.cdiv(groups, splits)
    return tile_m, tile_n, per_split, triton.cdiv(groups, per_split)


def init(shape):
    m, n, k = shape["m"], shape["n"], shape["k"]
    splits = _plan(m, n, k)[3]
    if splits > 1:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        _parts[(m, n, k)] = torch.empty((splits, m, n), dtype=torch.float32, device=device)


def run(a, b, a_scales, b_scales, c, m, n, k, group):
    if group != _GROUP:
        raise ValueError("this kernel is for groups of 128, not %d" % group)
    a, b = a.view(torch.uint8), b.view(torch.uint8)
    tile_m, tile_n, per_split, splits = _plan(m, n, k)
    grid = (triton.cdiv(m, tile_m) * triton.cdiv(n, tile_n), splits)
    out = _parts[(m, n, k)] if splits > 1 else c
    _multiply[grid](
        a,
        b,
        a_scales,
        b_scales,
        out,
        m,
        n,
        k,
        triton.cdiv(k, _GROUP),
        per_split,
        TILE_M=tile_m,
        TILE_N=tile_n,
        GROUP=_GROUP,
        EVEN_K=k % _GROUP == 0,
        BAND=8,
        num_warps=8 if tile_m == 128 else 4,
        num_stages=4,
    )
    if splits > 1:
        _add_parts[(triton.cdiv(m * n, 1024),)](out, c, m * n, SPLITS=splits, BLOCK=1024)
