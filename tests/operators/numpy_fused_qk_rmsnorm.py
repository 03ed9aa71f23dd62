# SPDX-License-Identifier: Apache-2.0
"""The norm of query and key heads in NumPy, float64, head by head."""

import math

import numpy


def compute(shape, hidden_states, q_weight, k_weight):
    packed = hidden_states.double().numpy()
    size, heads, kv_heads = shape["head_size"], shape["heads"], shape["kv_heads"]
    weights = [q_weight.double().numpy()] * heads + [k_weight.double().numpy()] * kv_heads
    out = packed.copy()
    for token in range(shape["tokens"]):
        for head, weight in enumerate(weights):
            at = slice(head * size, (head + 1) * size)
            x = packed[token, at]
            out[token, at] = weight * x / math.sqrt(numpy.dot(x, x) / size + shape["eps"])
    return {"out": out}
