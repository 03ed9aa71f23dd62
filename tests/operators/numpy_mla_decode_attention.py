# SPDX-License-Identifier: Apache-2.0
"""Latent attention in NumPy, sequence by sequence and head by head."""

import numpy


def compute(shape, q, kv, kv_offsets):
    q, kv, at = q.double().numpy(), kv.double().numpy(), kv_offsets.tolist()
    out = numpy.zeros((shape["seqs"], shape["query_heads"], shape["latent"]))
    for s in range(shape["seqs"]):
        rows = kv[at[s] : at[s + 1]]
        for head in range(shape["query_heads"]):
            scores = rows @ q[s, head] / numpy.sqrt(shape["latent"] + shape["rope"])
            weights = numpy.exp(scores - scores.max())
            out[s, head] = weights @ rows[:, : shape["latent"]] / weights.sum()
    return {"out": out}


def torch_own(shape, q, kv, kv_offsets):
    import torch
    import torch.nn.functional as F

    if not hasattr(F, "scaled_dot_product_attention"):
        return None
    out = []
    for s, query in enumerate(q.float()):
        rows = kv[int(kv_offsets[s]) : int(kv_offsets[s + 1])].float()
        heads = F.scaled_dot_product_attention(
            query[None, None], rows[None, None], rows[None, None, :, : shape["latent"]]
        )
        out.append(heads[0, 0])
    return {"out": torch.stack(out)}
