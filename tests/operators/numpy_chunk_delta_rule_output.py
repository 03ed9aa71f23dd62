# SPDX-License-Identifier: Apache-2.0
"""Outputs of a chunked gated delta rule in NumPy: token by token, head by head."""

import math

import numpy

from arrays import wide


def compute(shape, q, k, v, h, g, cu_seqlens):
    q, k, v, h, g = (wide(x) for x in (q, k, v, h, g))
    starts, size = cu_seqlens.tolist(), shape["chunk"]
    group = shape["value_heads"] // shape["query_heads"]
    out, row = numpy.zeros_like(v), 0
    for s in range(len(starts) - 1):
        for first in range(starts[s], starts[s + 1], size):
            for t in range(first, min(first + size, starts[s + 1])):
                for head in range(shape["value_heads"]):
                    query, seen = q[t, head // group], slice(first, t + 1)
                    scores = k[seen, head // group] @ query
                    scores = scores * numpy.exp(g[t, head] - g[seen, head])
                    read = math.exp(g[t, head]) * (query @ h[row, head]) + scores @ v[seen, head]
                    out[t, head] = read / math.sqrt(shape["key_dim"])
            row += 1
    return {"out": out}
