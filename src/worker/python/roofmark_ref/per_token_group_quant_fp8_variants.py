# SPDX-License-Identifier: Apache-2.0
"""Quantisation of groups in ways that a checker must accept, and in ways that it must refuse."""

from roofmark_ref import fp8, mistakes, quant, quant_variants, rows

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _on_groups(compute):
    def run(shape, x):
        got = compute(x.float().reshape(-1, shape["group"]), shape)
        if got is None:
            return None
        return {
            "quantized": got[0].reshape(x.shape),
            "scales": got[1].reshape(x.shape[0], -1).contiguous(),
        }

    return rows.by_rows(run, "x")


def _scaled_by(change):
    """Codes and scales from the right scales [tokens, groups] after a change."""

    def run(shape, x):
        groups = x.float().unflatten(1, (-1, shape["group"]))
        scales = (groups.abs().amax(2) / shape["fp8_max"]).clamp(min=shape["min_scale"])
        scales = change(scales)
        if scales is None:
            return None
        codes = quant.codes_of(groups, scales[..., None], shape)
        return {"quantized": codes.flatten(1), "scales": scales.contiguous()}

    return rows.by_rows(run, "x")


def _stated(change):
    """The right codes beside scales after a change."""

    def compute(shape, x):
        got = _exact(shape, x=x)
        got["scales"] = change(got["scales"]).contiguous()
        return got

    return compute


def _encoded_as_they_are(shape, x):
    codes = fp8.encode(x, quant.format_of(shape))
    ones = x.float()[:, :: shape["group"]] * 0 + 1
    return {"quantized": codes, "scales": ones}


def _column_major(scales):
    """The layout that some matrix products want: the same numbers in another order."""
    return scales.t().reshape(scales.shape) if len(scales) > 1 else scales.roll(1, 1)


def _largest_of_half(x, shape):
    if len(x) < 8:
        return None
    scale = quant.scales_of(x[:, : x.shape[1] // 2], shape["fp8_max"], shape["min_scale"])
    return quant.codes_of(x, scale, shape), scale


_exact = _on_groups(quant_variants.exact)
HONEST = {name: _on_groups(compute) for name, compute in quant_variants.HONEST.items()}
WRONG = {
    **mistakes.common(_exact),
    **{name: (_on_groups(how), regimes) for name, (how, regimes) in quant_variants.WRONG.items()},
    "encoded without a scale": (rows.by_rows(_encoded_as_they_are, "x"), _ALL),
    "one scale a row": (_scaled_by(lambda s: s.amax(1, keepdim=True).expand_as(s)), _ALL),
    "scales one group off": (_scaled_by(lambda s: s.roll(1, 1)), _ALL),
    "stated scales one group off": (_stated(lambda s: s.roll(1, 1)), _ALL),
    "stated scales column-major": (_stated(_column_major), _ALL),
    "stated scales of the first group": (_stated(lambda s: s[:, :1].expand_as(s)), _ALL),
    "scales rounded up to powers of two": (_scaled_by(lambda s: 2.0 ** s.log2().ceil()), _ALL),
    "largest of half a group": (_on_groups(_largest_of_half), ("typical", "offset")),
}
