# SPDX-License-Identifier: Apache-2.0
"""Paged attention through torch.compile: the gather and scaled_dot_product_attention of each group
of sequences with equal lengths. One compilation with dynamic sizes serves every shape of a
process."""

import torch
import torch.nn.functional as F

try:
    from torch.nn.attention.bias import causal_lower_right
except ImportError:
    causal_lower_right = None

ROLE = "baseline"
_plans = {}


def _by_formula(q, k, v, hidden):
    """For a PyTorch without its own attention: q [b, h, i, d] sees keys 0 .. hidden + i."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1).to(torch.float32) for t in (k, v))
    scores = q.to(torch.float32) @ k.transpose(2, 3) * q.shape[3] ** -0.5
    key = torch.arange(k.shape[2], device=q.device)
    query = torch.arange(q.shape[2], device=q.device)[:, None]
    scores = scores.masked_fill(key > hidden + query, float("-inf"))
    return (torch.softmax(scores, dim=-1) @ v).to(q.dtype)


def attend(q, key_cache, value_cache, table, kv_len):
    """q [b, i, query_heads, d] of sequences with the same lengths; table [b, pages]. Returns q's
    shape."""
    q = q.transpose(1, 2)
    k = key_cache[table].flatten(1, 2)[:, :kv_len].transpose(1, 2)
    v = value_cache[table].flatten(1, 2)[:, :kv_len].transpose(1, 2)
    q_len = q.shape[2]
    if not hasattr(F, "scaled_dot_product_attention"):
        out = _by_formula(q, k, v, kv_len - q_len)
    elif q_len == 1:
        out = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    elif q_len == kv_len:
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    else:
        mask = causal_lower_right(q_len, kv_len)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return out.transpose(1, 2)


def _plan(q_lens, kv_lens, page_size, device):
    """Sequences of equal lengths together: which, their rows of q, and their number of pages."""
    key = (tuple(q_lens), tuple(kv_lens), page_size, str(device))
    if key not in _plans:
        alike, start = {}, 0
        for s, lengths in enumerate(zip(q_lens, kv_lens)):
            alike.setdefault(lengths, []).append((s, start))
            start += lengths[0]
        _plans.clear()
        _plans[key] = [
            (
                q_len,
                kv_len,
                -(-kv_len // page_size),
                torch.tensor([s for s, _ in members], device=device),
                torch.tensor([row + i for _, row in members for i in range(q_len)], device=device),
            )
            for (q_len, kv_len), members in alike.items()
        ]
    return _plans[key]


compiled = torch.compile(attend, dynamic=True) if hasattr(torch, "compile") else attend


def run(q, key_cache, value_cache, block_table, out, q_lens, kv_lens, page_size):
    for q_len, kv_len, pages, seqs, rows in _plan(q_lens, kv_lens, page_size, q.device):
        everything = len(seqs) == len(q_lens)
        table = (block_table if everything else block_table[seqs])[:, :pages].to(torch.int64)
        queries = (q if everything else q[rows]).view(len(seqs), q_len, *q.shape[1:])
        got = compiled(queries, key_cache, value_cache, table, kv_len).reshape(-1, *q.shape[1:])
        if everything:
            out.copy_(got)
        else:
            out.index_copy_(0, rows, got)
