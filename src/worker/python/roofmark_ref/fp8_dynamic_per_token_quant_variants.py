# SPDX-License-Identifier: Apache-2.0
"""Quantisation of rows in ways that a checker must accept, and in ways that it must refuse."""

from roofmark_ref import fp8, mistakes, quant, quant_variants, rows

EXTRA_SHAPES = ()


def _on_rows(compute):
    def run(shape, x):
        got = compute(x.float(), shape)
        return None if got is None else {"q": got[0], "scale": got[1]}

    return rows.by_rows(run, "x")


def _encoded_as_they_are(shape, x):
    codes = fp8.encode(x, quant.format_of(shape))
    return {"q": codes, "scale": x[:, :1].float() * 0 + 1}


def _largest_of(columns):
    def compute(x, shape):
        if len(x) < 5:  # the largest of one row may lie among them
            return None
        scale = quant.scales_of(columns(x), shape["fp8_max"], shape["min_scale"])
        return quant.codes_of(x, scale, shape), scale

    return _on_rows(compute)


_exact = _on_rows(quant_variants.exact)
HONEST = {name: _on_rows(compute) for name, compute in quant_variants.HONEST.items()}
WRONG = {
    **mistakes.common(_exact),
    **{name: (_on_rows(how), regimes) for name, (how, regimes) in quant_variants.WRONG.items()},
    "encoded without a scale": (rows.by_rows(_encoded_as_they_are, "x"), rows.REGIMES),
    "largest of the first half": (
        _largest_of(lambda x: x[:, : x.shape[1] // 2]),
        ("typical", "offset"),
    ),
    "largest of every fourth": (_largest_of(lambda x: x[:, ::4]), ("typical", "offset")),
}
