# SPDX-License-Identifier: Apache-2.0
"""The fp8 mixture-of-experts layer in NumPy: token by token, choice by choice, group by group."""

import numpy

from arrays import FP8_VALUES, wide


def _product(matrix, scales, x, group):
    """Rows of a block-scaled matrix times x, one group of columns after the other."""
    total = numpy.zeros(len(matrix))
    band = numpy.arange(len(matrix)) // group
    for g in range(scales.shape[1]):
        columns = slice(g * group, (g + 1) * group)
        total += matrix[:, columns] @ x[columns] * scales[band, g]
    return total


def layer(
    dtype, shape, hidden_states, w1, w2, topk_weights, topk_ids, a_scale, fc1_scale, fc2_scale
):
    table, group = FP8_VALUES[dtype], shape["group"]
    weights, a_scale, fc1_scale, fc2_scale = (
        wide(t) for t in (topk_weights, a_scale, fc1_scale, fc2_scale)
    )
    w1, w2 = table[w1.numpy()], table[w2.numpy()]
    out = numpy.zeros((shape["tokens"], shape["hidden"]))
    for token, experts in enumerate(topk_ids.tolist()):
        x = table[hidden_states[token].numpy()] * numpy.repeat(a_scale[token], group)
        for choice, expert in enumerate(experts):
            both = _product(w1[expert], fc1_scale[expert], x, group)
            gate, up = numpy.split(both, 2)
            act = gate / (1.0 + numpy.exp(-gate)) * up
            down = _product(w2[expert], fc2_scale[expert], act, group)
            out[token] += weights[token, choice] * down
    return {"out": out}


def compute(shape, **tensors):
    return layer("f8_e4m3fnuz", shape, **tensors)
