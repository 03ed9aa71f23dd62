# SPDX-License-Identifier: Apache-2.0
"""Attention without a mask over packed sequences: what a correct kernel computes, and inputs that
show a wrong one.

Sequence s has queries cu_seqlens_q[s] .. cu_seqlens_q[s + 1] - 1 and keys cu_seqlens_k[s] ..
cu_seqlens_k[s + 1] - 1; each query sees all of its sequence's keys. out = softmax(q k^T /
sqrt(head_size)) v, in float32 on the upcast inputs, rounded once to bfloat16.
"""

import torch

from roofmark_ref import attention
from roofmark_ref.rows import generator


def _starts(lens, device):
    starts = [0]
    for length in lens:
        starts.append(starts[-1] + int(length))
    return torch.tensor(starts, dtype=torch.int32, device=device)


def inputs(shape, seed, regime, device):
    """q [total_q, heads, head_size]; k, v [total_kv, heads, head_size]; cu_seqlens_q, cu_seqlens_k
    [seqs + 1] (i32).

    typical     scores of standard deviation 2.5: at any length a few keys carry the result, so a
                mask, a sample or another sequence's key shows
    heavy_tail  two outlier channels in the keys and outlier tokens in the values
    offset      queries and keys around a common mean: scores around 100, which overflow without the
                running maximum and are coarse in bf16; values around 1
    """
    gen = generator(seed, regime, device)
    heads, head_size = int(shape["heads"]), int(shape["head_size"])
    keys = (int(shape["total_kv"]), heads, head_size)
    q = attention.normal((int(shape["total_q"]), heads, head_size), torch.bfloat16, 2.5, gen)
    k = attention.normal(keys, torch.bfloat16, 1.0, gen)
    v = attention.normal(keys, torch.bfloat16, 1.0, gen)
    if regime == "heavy_tail":
        channels = torch.randperm(head_size, generator=gen, device=device)[:2]
        k[..., channels] *= 6.0
        loud = torch.rand(keys[:2] + (1,), generator=gen, device=device) < 1.0 / 128
        v.mul_(1.0 + 9.0 * loud.to(torch.bfloat16))
    elif regime == "offset":
        signs = torch.randint(2, (heads, head_size), generator=gen, device=device) * 2.0 - 1.0
        k.add_((signs * (40.0 / head_size**0.5)).to(torch.bfloat16))
        q.add_((2.5 * signs).to(torch.bfloat16))
        v.add_(1.0)
    return {
        "q": q,
        "k": k,
        "v": v,
        "cu_seqlens_q": _starts(shape["q_lens"], device),
        "cu_seqlens_k": _starts(shape["kv_lens"], device),
    }


def _alike(q, k, v, out, begin_q, begin_k, q_len, kv_len):
    """Sequences of the same lengths, which begin at those rows; a piece of queries at a time."""
    rows = begin_k[:, None] + torch.arange(kv_len, device=q.device)
    keys, values = (tensor[rows].float().transpose(1, 2).contiguous() for tensor in (k, v))
    lens = torch.full((len(begin_k),), kv_len, device=q.device)
    size = attention.SCORES.get(q.device.type, attention.CHUNK)
    step = max(1, size // (len(begin_k) * q.shape[1] * kv_len))
    for piece in torch.arange(q_len, device=q.device).split(step):
        rows = begin_q[:, None] + piece
        queries = q[rows].float().transpose(1, 2)
        got = attention.attend(queries, keys, values, lens, q.shape[2] ** -0.5)
        out[rows] = got.transpose(1, 2).to(q.dtype)


def reference(shape, q, k, v, cu_seqlens_q, cu_seqlens_k):
    """Sequences of equal lengths go together; keys and scores are made a bounded piece at a
    time."""
    at_q, at_k = cu_seqlens_q.to(torch.int64), cu_seqlens_k.to(torch.int64)
    heads, head_size = q.shape[1:]
    alike = {}
    for s, lens in enumerate(zip((at_q[1:] - at_q[:-1]).tolist(), (at_k[1:] - at_k[:-1]).tolist())):
        alike.setdefault(lens, []).append(s)
    out = torch.empty_like(q)
    for (q_len, kv_len), seqs in alike.items():
        some = min(heads, max(1, attention.CHUNK // (kv_len * head_size)))
        batch = max(1, attention.CHUNK // (max(q_len, head_size) * kv_len * some))
        for at in range(0, len(seqs), batch):
            chosen = torch.tensor(seqs[at : at + batch], device=q.device)
            for head in range(0, heads, some):
                parts = (tensor[:, head : head + some] for tensor in (q, k, v, out))
                _alike(*parts, at_q[chosen], at_k[chosen], q_len, kv_len)
    return {"out": out}
