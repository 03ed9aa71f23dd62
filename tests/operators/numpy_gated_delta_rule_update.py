# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule in NumPy, token by token as it is defined."""

import math

import numpy

from arrays import wide


def compute(shape, A_log, a, dt_bias, q, k, v, b, state, state_indices, cu_seqlens):
    A_log, a, dt_bias, q, k, v, b = (wide(x) for x in (A_log, a, dt_bias, q, k, v, b))
    after, starts = wide(state).copy(), cu_seqlens.tolist()
    group = shape["value_heads"] // shape["query_heads"]
    out = numpy.zeros_like(v)
    for s, slot in enumerate(state_indices.tolist()):
        for t in range(starts[s], starts[s + 1]):
            for h in range(shape["value_heads"]):
                query, key = q[t, h // group], k[t, h // group]
                query = query / math.sqrt(query @ query + shape["eps"])
                key = key / math.sqrt(key @ key + shape["eps"])
                softplus = math.log1p(math.exp(a[t, h] + dt_bias[h]))
                memory = after[slot, h] * math.exp(-math.exp(A_log[h]) * softplus)
                strength = 1 / (1 + math.exp(-b[t, h]))
                memory = memory + numpy.outer(key, strength * (v[t, h] - key @ memory))
                out[t, h] = query @ memory / math.sqrt(shape["key_dim"])
                after[slot, h] = memory
    return {"out": out, "state": after}
