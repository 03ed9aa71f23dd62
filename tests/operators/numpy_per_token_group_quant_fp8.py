# SPDX-License-Identifier: Apache-2.0
"""Quantisation of groups in NumPy, float64, group by group: values before they become codes."""

import numpy


def compute(shape, x):
    x = x.double().numpy()
    values = numpy.empty_like(x)
    scales = numpy.empty((shape["tokens"], shape["hidden"] // shape["group"]))
    for token, index in numpy.ndindex(*scales.shape):
        at = slice(index * shape["group"], (index + 1) * shape["group"])
        part = x[token, at]
        scale = max(max(part.max(), -part.min()) / shape["fp8_max"], shape["min_scale"])
        scales[token, index] = scale
        values[token, at] = part / scale
    return {"quantized": values, "scales": scales}
