# SPDX-License-Identifier: Apache-2.0
"""Attention without a mask in NumPy, query by query and head by head."""

import numpy


def compute(shape, q, k, v, cu_seqlens_q, cu_seqlens_k):
    q, k, v = (tensor.double().numpy() for tensor in (q, k, v))
    at_q, at_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    out = numpy.zeros_like(q)
    for s in range(shape["seqs"]):
        keys, values = k[at_k[s] : at_k[s + 1]], v[at_k[s] : at_k[s + 1]]
        for row in range(at_q[s], at_q[s + 1]):
            for head in range(shape["heads"]):
                scores = keys[:, head] @ q[row, head] / numpy.sqrt(shape["head_size"])
                weights = numpy.exp(scores - scores.max())
                out[row, head] = weights @ values[:, head] / weights.sum()
    return {"out": out}


def torch_own(shape, q, k, v, cu_seqlens_q, cu_seqlens_k):
    import torch
    import torch.nn.functional as F

    if not hasattr(F, "scaled_dot_product_attention"):
        return None
    out = []
    parts = [t.float().split(shape[lens]) for t, lens in ((q, "q_lens"), (k, "kv_lens"))]
    for query, key, value in zip(*parts, v.float().split(shape["kv_lens"])):
        heads = (t.transpose(0, 1)[None] for t in (query, key, value))
        out.append(F.scaled_dot_product_attention(*heads)[0].transpose(0, 1))
    return {"out": torch.cat(out)}
