# SPDX-License-Identifier: Apache-2.0
"""Decode of multi-head latent attention: what a correct kernel computes, and inputs that show a
wrong one.

Sequence s has one query a head and the rows kv_offsets[s] .. kv_offsets[s + 1] - 1 of kv. Each row
is the key of all heads and, in its first `latent` channels, the value. out = softmax(q kv^T /
sqrt(latent + rope)) kv[:, :latent], in float32 on the upcast inputs, rounded once to bfloat16.
"""

import torch

from roofmark_ref import attention
from roofmark_ref.rows import generator

_BEFORE, _AFTER = 5, 11  # rows of garbage around the sequences
_GARBAGE_SCORE = 300.0  # at least: three times what a common mean gives


def _poison(rows, query, gen):
    """Large, finite garbage that the query next to it would look at before anything else."""
    query = query.float()
    garbage = torch.randn(rows.shape, generator=gen, device=rows.device)
    garbage *= torch.where(garbage @ query < 0, -1.0, 1.0)[:, None] * attention.GARBAGE_VALUE
    rows.copy_(garbage + query * (_GARBAGE_SCORE * len(query) ** 0.5 / query.pow(2).sum()))


def inputs(shape, seed, regime, device):
    """q [seqs, query_heads, latent + rope]; kv [total_kv + 16, latent + rope], whose first 5 and
    last 11 rows belong to nobody; kv_offsets [seqs + 1] (i32).

    typical     scores of standard deviation 2.5: at any length a few keys carry the result, so a
                wrong row, length or sample shows; the own key always is one of them
    heavy_tail  two outlier channels, one of them rotary, and outlier tokens in the values
    offset      queries and keys around a common mean: scores around 100, which overflow without the
                running maximum and are coarse in bf16
    """
    gen = generator(seed, regime, device)
    latent, width = int(shape["latent"]), int(shape["latent"]) + int(shape["rope"])
    rows = int(shape["kv_rows"])
    size = (int(shape["seqs"]), int(shape["query_heads"]), width)
    q = attention.normal(size, torch.bfloat16, 2.5, gen)
    kv = attention.normal((rows, width), torch.bfloat16, 1.0, gen)
    offsets = [_BEFORE]
    for length in shape["kv_lens"]:
        offsets.append(offsets[-1] + int(length))
    offsets = torch.tensor(offsets, device=device)
    if regime == "offset":
        signs = torch.randint(2, (width,), generator=gen, device=device) * 2.0 - 1.0
        kv.add_((signs * (40.0 / width**0.5)).to(torch.bfloat16))
        q.add_((2.5 * signs).to(torch.bfloat16))
    else:
        sizes = torch.ones(width, device=device)  # of a row's channels
        if regime == "heavy_tail":
            channel = torch.randint(latent, (1,), generator=gen, device=device)
            loud_channels = torch.cat([channel, channel * 0 + width - 1])
            kv[:, loud_channels] *= 6.0
            sizes[loud_channels] = 6.0
            loud = torch.rand((rows, 1), generator=gen, device=device) < 1.0 / 256
            q_keeps = torch.ones(width, dtype=torch.bfloat16, device=device)
            q_keeps[: latent // 2] = 0.0  # channels of values that no score reads may be large
            q.mul_(q_keeps)
            kv[:, : latent // 2].mul_(1.0 + 9.0 * loud.to(torch.bfloat16))
        own = attention.own_keys(q[:, None], shape["kv_lens"], sizes)
        kv[offsets[1:] - 1] = own[:, 0].to(q.dtype)
    _poison(kv[:_BEFORE], q[0, 0], gen)
    _poison(kv[rows - _AFTER :], q[-1, 0], gen)
    return {"q": q, "kv": kv, "kv_offsets": offsets.to(torch.int32)}


def reference(shape, q, kv, kv_offsets):
    """Sequences go in batches padded to the longest, which is bounded in size."""
    latent, width = int(shape["latent"]), q.shape[2]
    offsets = kv_offsets.to(torch.int64)
    lens = (offsets[1:] - offsets[:-1]).tolist()
    out = torch.empty(q.shape[:2] + (latent,), dtype=q.dtype, device=q.device)
    # Scores are as wide as the heads.
    for seqs, _ in attention.padded_batches(lens, 1, max(width, q.shape[1])):
        chosen = torch.tensor(seqs, device=q.device)
        key = torch.arange(lens[seqs[0]], device=q.device)
        rows = (offsets[chosen][:, None] + key).clamp_(max=len(kv) - 1)
        keys = kv[rows].float()[:, None]
        length = torch.tensor([lens[s] for s in seqs], device=q.device)
        got = attention.attend(
            q[chosen].float()[:, None], keys, keys[..., :latent], length, width**-0.5
        )
        out[chosen] = got[:, 0].to(q.dtype)
    return {"out": out}
