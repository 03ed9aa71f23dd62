# SPDX-License-Identifier: Apache-2.0
"""Paged decode attention in NumPy: sequence by sequence, key by key through the page table."""

import numpy


def compute(shape, q, key_cache, value_cache, block_table, seq_lens):
    q, keys, values = (t.double().numpy() for t in (q, key_cache, value_cache))
    table, page_size = block_table.tolist(), shape["page_size"]
    group = shape["query_heads"] // shape["kv_heads"]
    out = numpy.zeros_like(q)
    for s, length in enumerate(seq_lens.tolist()):
        for head in range(shape["query_heads"]):
            places = [(table[s][j // page_size], j % page_size) for j in range(length)]
            k = numpy.stack([keys[page, head // group, :, slot].ravel() for page, slot in places])
            v = numpy.stack([values[page, head // group, :, slot] for page, slot in places])
            scores = k @ q[s, head] / numpy.sqrt(shape["head_size"])
            weights = numpy.exp(scores - scores.max())
            out[s, head] = weights @ v / weights.sum()
    return {"out": out}
