# SPDX-License-Identifier: Apache-2.0
"""States of a chunked gated delta rule in NumPy: head by head, token by token within a chunk."""

import numpy

from arrays import wide


def compute(shape, k, w, u, g, state, state_indices, cu_seqlens):
    k, w, u, g, after = wide(k), wide(w), wide(u), wide(g), wide(state).copy()
    starts, size = cu_seqlens.tolist(), shape["chunk"]
    group = shape["value_heads"] // shape["key_heads"]
    h = numpy.zeros((shape["chunks"],) + after.shape[1:])
    v_new, row = numpy.zeros_like(u), 0
    for s, slot in enumerate(state_indices.tolist()):
        for first in range(starts[s], starts[s + 1], size):
            last = min(first + size, starts[s + 1]) - 1
            h[row] = after[slot]
            for head in range(shape["value_heads"]):
                memory = after[slot, head].copy()
                after[slot, head] = memory * numpy.exp(g[last, head])
                for t in range(first, last + 1):
                    v_new[t, head] = u[t, head] - w[t, head] @ memory
                    left = numpy.exp(g[last, head] - g[t, head])
                    after[slot, head] += numpy.outer(k[t, head // group], left * v_new[t, head])
            row += 1
    return {"h": h, "v_new": v_new, "state": after}
