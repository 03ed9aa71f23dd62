# SPDX-License-Identifier: Apache-2.0
"""Rotation by three position axes computed in ways that a checker must accept, and in ways that it
must refuse."""

import torch

from roofmark_ref import fp8, rotation

EXTRA_SHAPES = ({"tokens": 90, "query_heads": 2, "kv_heads": 2, "head_size": 128},)
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 25  # elements handled at a time


def _axes(shape, order=(0, 1, 2)):
    """The axis of each frequency."""
    sections = [int(shape[name]) for name in ("section_t", "section_h", "section_w")]
    return sum(([axis] * n for axis, n in zip(order, sections)), [])


def _interleaved(shape):
    """Axes in turn, t h w t h w ..., as later models have them."""
    axes = [0] * int(shape["half"])
    for axis, name in ((1, "section_h"), (2, "section_w")):
        mine = range(axis, min(3 * int(shape[name]), len(axes)), 3)
        for frequency in mine:
            axes[frequency] = axis
    return axes


def _by_rotated_halves(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([-second, first], -1)
    return x * torch.cat([cos, cos], -1) + turned * torch.cat([sin, sin], -1)


def _table_rounded(x, cos, sin):
    return rotation.halves(x, cos.to(torch.bfloat16).float(), sin.to(torch.bfloat16).float())


def _products_rounded(x, cos, sin):
    return rotation.halves(*(t.to(torch.bfloat16) for t in (x, cos, sin))).float()


def _table_in_fp8(x, cos, sin):
    return rotation.halves(x, *(fp8.decode(fp8.encode(table)) for table in (cos, sin)))


def _mrope(
    rotate=rotation.halves,
    axes=_axes,
    wide=torch.float32,
    turn=("q", "k"),
    tables=lambda cos, sin: (cos, sin),
    spoil=None,
):
    """The operator with parts replaced."""

    def compute(shape, q, k, cos, sin):
        pick = torch.tensor(axes(shape), device=q.device)
        frequency = torch.arange(int(shape["half"]), device=q.device)
        tables_ = tables(cos, sin)
        if tables_ is None:
            return None
        c, s = (table[pick, :, frequency].t()[:, None].to(wide) for table in tables_)
        out = {}
        for name, x in (("q", q), ("k", k)):
            out[name + "_out"] = x.clone()
            if name not in turn:
                continue
            step = max(1, _CHUNK // x[0].numel())
            for at in range(0, len(x), step):
                rows = slice(at, at + step)
                part = x[rows, :, : 2 * int(shape["half"])].to(wide)
                got = rotate(part, c[rows], s[rows]).to(x.dtype)
                out[name + "_out"][rows, :, : 2 * int(shape["half"])] = got
        if spoil:
            spoil(out, shape, {"q_out": q, "k_out": k})
        return out

    return compute


HONEST = {
    "float64": _mrope(wide=torch.float64),
    "complex numbers": _mrope(rotation.complex_numbers),
    "halves turned": _mrope(_by_rotated_halves),
    "table rounded": _mrope(_table_rounded),
    "products rounded": _mrope(_products_rounded),
}


def _filled(value):
    return lambda shape, q, k, **_: {
        "q_out": torch.full_like(q, value),
        "k_out": torch.full_like(k, value),
    }


def _set(name, index):
    def spoil(out, shape, given):
        out[name][index] = 0

    return spoil


def _copied(name, index):
    def spoil(out, shape, given):
        out[name][index] = given[name][index]

    return spoil


def _in_fp8(out, shape, given):
    for tensor in out.values():
        size = tensor.float().abs().amax() / 448.0
        tensor.copy_(fp8.decode(fp8.encode(tensor.float() / size)) * size)


def _past_the_rotation(out, shape, given):
    for tensor in out.values():
        tensor[..., 2 * int(shape["half"]) :] = 0


def _with_tail(compute):
    """Only where some channels are not rotated."""
    return lambda shape, **given: (
        compute(shape, **given) if shape["head_size"] > 2 * int(shape["half"]) else None
    )


def _first_token(cos, sin):
    if cos.shape[1] == 1:
        return None
    return cos[:, :1].expand_as(cos), sin[:, :1].expand_as(sin)


def _one_token_off(cos, sin):
    return None if cos.shape[1] == 1 else (cos.roll(1, 1), sin.roll(1, 1))


WRONG = {
    "zeros": (_filled(0.0), _ALL),
    "a constant": (_filled(0.01), _ALL),
    "the inputs themselves": (lambda shape, q, k, **_: {"q_out": q, "k_out": k}, _ALL),
    "copies": (_mrope(turn=()), _ALL),
    "queries only": (_mrope(turn=("q",)), _ALL),
    "keys only": (_mrope(turn=("k",)), _ALL),
    "time for all": (_mrope(axes=lambda shape: _axes(shape, (0, 0, 0))), _ALL),
    "height for all": (_mrope(axes=lambda shape: _axes(shape, (1, 1, 1))), _ALL),
    "width for all": (_mrope(axes=lambda shape: _axes(shape, (2, 2, 2))), _ALL),
    "height and width exchanged": (_mrope(axes=lambda shape: _axes(shape, (0, 2, 1))), _ALL),
    "sections reversed": (_mrope(axes=lambda shape: _axes(shape)[::-1]), _ALL),
    "axes in turn": (_mrope(axes=_interleaved), _ALL),
    "sections one off": (_mrope(axes=lambda shape: [0] + _axes(shape)[:-1]), _ALL),
    "neighbouring channels": (_mrope(rotation.neighbours), _ALL),
    "backwards": (_mrope(lambda x, cos, sin: rotation.halves(x, cos, -sin)), _ALL),
    "no sine": (_mrope(lambda x, cos, sin: rotation.halves(x, cos, sin * 0)), _ALL),
    "cosine and sine exchanged": (_mrope(lambda x, cos, sin: rotation.halves(x, sin, cos)), _ALL),
    "both signs plus": (_mrope(rotation.same_sign), _ALL),
    "first halves only": (_mrope(rotation.first_half_only), _ALL),
    "first token's table for all": (_mrope(tables=_first_token), _ALL),
    "tables one token off": (_mrope(tables=_one_token_off), _ALL),
    "tables in fp8": (_mrope(_table_in_fp8), ("typical", "offset")),
    "rounded to fp8": (_mrope(spoil=_in_fp8), _ALL),
    "past the rotation missing": (_with_tail(_mrope(spoil=_past_the_rotation)), _ALL),
    "last query head copied": (_mrope(spoil=_copied("q_out", (slice(None), -1))), _ALL),
    "last key head copied": (_mrope(spoil=_copied("k_out", (slice(None), -1))), _ALL),
    "last token copied": (_mrope(spoil=_copied("q_out", -1)), _ALL),
    "last token missing": (_mrope(spoil=_set("k_out", -1)), _ALL),
    "last channels missing": (_mrope(spoil=_set("q_out", (Ellipsis, slice(-8, None)))), _ALL),
}
