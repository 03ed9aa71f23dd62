# SPDX-License-Identifier: Apache-2.0
"""Paged causal attention in NumPy, by another route than the reference."""

import math

import numpy
import torch
import torch.nn.functional as F

from arrays import wide


def compute(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
    """Query by query, head by head, key by key through the page table."""
    q, key_cache, value_cache = wide(q), wide(key_cache), wide(value_cache)
    table, starts, lens = block_table.tolist(), cu_seqlens_q.tolist(), seqused_k.tolist()
    group = shape["query_heads"] // shape["kv_heads"]
    out = numpy.zeros_like(q)
    for s, kv_len in enumerate(lens):
        places = [
            (table[s][j // shape["page_size"]], j % shape["page_size"]) for j in range(kv_len)
        ]
        k = numpy.stack([key_cache[place] for place in places])
        v = numpy.stack([value_cache[place] for place in places])
        for row in range(starts[s], starts[s + 1]):
            seen = kv_len - (starts[s + 1] - 1 - row)
            for head in range(shape["query_heads"]):
                scores = k[:seen, head // group] @ q[row, head] / math.sqrt(shape["head_size"])
                weights = numpy.exp(scores - scores.max())
                out[row, head] = weights @ v[:seen, head // group] / weights.sum()
    return {"out": out}


def torch_own(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
    if not hasattr(F, "scaled_dot_product_attention"):
        return None
    out = torch.empty_like(q)
    starts = cu_seqlens_q.tolist()
    group = shape["query_heads"] // shape["kv_heads"]
    for s, kv_len in enumerate(seqused_k.tolist()):
        rows = slice(starts[s], starts[s + 1])
        k, v = (
            cache[block_table[s].long()].flatten(0, 1)[:kv_len].float().transpose(0, 1)
            for cache in (key_cache, value_cache)
        )
        q_len = starts[s + 1] - starts[s]
        seen = torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len)
        k, v = k.repeat_interleave(group, dim=0), v.repeat_interleave(group, dim=0)
        got = F.scaled_dot_product_attention(q[rows].float().transpose(0, 1), k, v, seen)
        out[rows] = got.transpose(0, 1).to(torch.bfloat16)
    return {"out": out}
