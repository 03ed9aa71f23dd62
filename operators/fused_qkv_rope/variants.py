# SPDX-License-Identifier: Apache-2.0
"""Splitting and rotating q, k, v in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import fp8, rotation

EXTRA_SHAPES = (
    {"tokens": 300, "query_heads": 2, "kv_heads": 1, "head_size": 64, "half_type": 0},
)
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 25  # elements handled at a time


def _angles_exact(positions, head_size, base):
    channel = torch.arange(0, head_size, 2, dtype=torch.float64, device=positions.device)
    return positions.double()[:, None] * base ** (-channel / head_size)


def _angles(positions, head_size, base):
    channel = torch.arange(0, head_size, 2, dtype=torch.float32, device=positions.device)
    return positions.float()[:, None] * (1.0 / base ** (channel / head_size))


def _angles_by_exp(positions, head_size, base):
    step = torch.arange(head_size // 2, dtype=torch.float32, device=positions.device)
    log = torch.log2(torch.tensor(base, dtype=torch.float32, device=positions.device))
    return positions.float()[:, None] * torch.exp2(step * (-2.0 / head_size * log))


def _backwards(x, cos, sin):
    return rotation.halves(x, cos, -sin)


def _no_sine(x, cos, sin):
    return rotation.halves(x, cos, sin * 0)


def _half_of_the_head(x, cos, sin):
    """A rotary size of half the head."""
    size = x.shape[-1] // 4
    turned, left = x[..., : 2 * size], x[..., 2 * size :]
    pick = slice(None, 2 * size, 2)
    return torch.cat([rotation.halves(turned, cos[..., pick], sin[..., pick]), left], -1)


def _products_rounded(x, cos, sin, half):
    """Every product rounded to the 16-bit type, as kernels that compute in that type do."""
    first, second = x.to(half).chunk(2, dim=-1)
    cos, sin = cos.to(half), sin.to(half)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).float()


def _in_fp8(x, cos, sin):
    return fp8.decode(fp8.encode(rotation.halves(x, cos, sin)))


def _rope(
    rotate=rotation.halves,
    angles=_angles,
    positions=lambda shape, positions: positions,
    base=None,
    wide=torch.float32,
    table=None,
    split=lambda shape: (shape["query_heads"], shape["kv_heads"], shape["kv_heads"]),
    turn=("q", "k"),
    spoil=None,
):
    """The operator with parts replaced. `table` is the type that cosines and sines are rounded to;
    "half" there stands for the operator's own, and `rotate` may want it too."""

    def compute(shape, **given):
        qkv, half = given["qkv"], given["qkv"].dtype
        where = positions(shape, given["positions"])
        if where is None:
            return None
        angle = angles(where, shape["head_size"], base or float(shape["base"]))
        cos, sin = angle.cos().to(wide)[:, None], angle.sin().to(wide)[:, None]
        if table:
            kind = half if table == "half" else table
            cos, sin = cos.to(kind).to(wide), sin.to(kind).to(wide)
        extra = (half,) if rotate is _products_rounded else ()
        heads = qkv.view(len(qkv), -1, shape["head_size"]).split(split(shape), dim=1)
        out = {}
        for name, x in zip(("q", "k", "v"), heads):
            out[name] = x.clone(memory_format=torch.contiguous_format)
            if name not in turn:
                continue
            step = max(1, _CHUNK // x[0].numel())
            for at in range(0, len(x), step):
                rows = slice(at, at + step)
                got = rotate(x[rows].to(wide), cos[rows], sin[rows], *extra)
                out[name][rows] = got.to(half)
        if spoil:
            spoil(out)
        return out

    return compute


HONEST = {
    "float64": _rope(angles=_angles_exact, wide=torch.float64),
    "float32 angles": _rope(),
    "frequencies by exp2": _rope(angles=_angles_by_exp),
    "complex numbers": _rope(rotation.complex_numbers),
    "table rounded": _rope(table="half"),
    "products rounded": _rope(_products_rounded),
}


def _split_views(shape, qkv, positions):
    """Views of the packed tensor, as they are."""
    sizes = (shape["query_heads"], shape["kv_heads"], shape["kv_heads"])
    heads = qkv.view(len(qkv), -1, shape["head_size"]).split(sizes, dim=1)
    return dict(zip(("q", "k", "v"), heads))


def _filled(value):
    def compute(shape, **given):
        return {
            name: torch.full_like(tensor, value, memory_format=torch.contiguous_format)
            for name, tensor in _split_views(shape, **given).items()
        }

    return compute


def _first_position_for_all(shape, positions):
    return None if len(positions) == 1 else positions[:1].expand(len(positions))


def _set(name, index):
    def spoil(out):
        out[name][index] = 0

    return spoil


def _not_rotated(name, index):
    """A correct answer but for heads that are only copied."""

    def compute(shape, **given):
        out = _rope()(shape, **given)
        out[name][index] = _split_views(shape, **given)[name][index]
        return out

    return compute


def _values_in_fp8(out):
    out["v"].copy_(fp8.decode(fp8.encode(out["v"].float())))


def _kv_first(shape, qkv, positions):
    """As if keys and values came before the queries."""
    k, v, q = qkv.view(len(qkv), -1, shape["head_size"]).split(
        (shape["kv_heads"], shape["kv_heads"], shape["query_heads"]), dim=1
    )
    packed = torch.cat([q, k, v], 1).flatten(1)
    return _rope()(shape, qkv=packed, positions=positions)


def _keys_and_values_exchanged(shape, qkv, positions):
    q, k, v = _split_views(shape, qkv, positions).values()
    return _rope()(shape, qkv=torch.cat([q, v, k], 1).flatten(1), positions=positions)


def _rows(shape, positions):
    return torch.arange(len(positions), device=positions.device)


WRONG = {
    "zeros": (_filled(0.0), _ALL),
    "a constant": (_filled(0.5), _ALL),
    "views of the packed tensor": (_split_views, _ALL),
    "split only": (_rope(turn=()), _ALL),
    "queries only": (_rope(turn=("q",)), _ALL),
    "keys only": (_rope(turn=("k",)), _ALL),
    "values too": (_rope(turn=("q", "k", "v")), _ALL),
    "rows for positions": (_rope(positions=_rows), _ALL),
    "positions one off": (_rope(positions=lambda shape, positions: positions + 1), _ALL),
    "first position for all": (_rope(positions=_first_position_for_all), _ALL),
    "positions in bf16": (
        _rope(positions=lambda shape, positions: positions.to(torch.bfloat16).float()),
        _ALL,
    ),
    "angles in bf16": (
        _rope(angles=lambda *given: _angles(*given).to(torch.bfloat16).float()),
        _ALL,
    ),
    "angles in f16": (
        _rope(angles=lambda *given: _angles(*given).to(torch.float16).float()),
        _ALL,
    ),
    "neighbouring channels": (_rope(rotation.neighbours), _ALL),
    "backwards": (_rope(_backwards), _ALL),
    "no sine": (_rope(_no_sine), _ALL),
    "both signs plus": (_rope(rotation.same_sign), _ALL),
    "first halves only": (_rope(rotation.first_half_only), _ALL),
    "half of the head": (_rope(_half_of_the_head), _ALL),
    "another base": (_rope(base=5e5), _ALL),
    "frequencies of half the head": (
        _rope(angles=lambda where, size, base: _angles(where, size, base * base)),
        _ALL,
    ),
    "keys and values first": (_kv_first, _ALL),
    "keys and values exchanged": (_keys_and_values_exchanged, _ALL),
    "rounded to fp8": (_rope(_in_fp8), _ALL),
    "values rounded to fp8": (_rope(spoil=_values_in_fp8), _ALL),
    "table in fp8": (
        _rope(
            lambda x, cos, sin: rotation.halves(
                x, *(fp8.decode(fp8.encode(table)) for table in (cos, sin))
            )
        ),
        ("typical", "offset"),
    ),
    "last query head copied": (_not_rotated("q", (slice(None), -1)), _ALL),
    "last key head copied": (_not_rotated("k", (slice(None), -1)), _ALL),
    "last token copied": (_not_rotated("q", -1), _ALL),
    "last value head missing": (_rope(spoil=_set("v", (slice(None), -1))), _ALL),
    "last token missing": (_rope(spoil=_set("k", -1)), _ALL),
}
