# SPDX-License-Identifier: Apache-2.0
"""Leaves the causal mask out."""

import torch


def run(q, key_cache, value_cache, block_table, out, q_lens, kv_lens, page_size):
    start = 0
    for s, (q_len, kv_len) in enumerate(zip(q_lens, kv_lens)):
        pages = block_table[s, : -(-kv_len // page_size)].long()
        group = q.shape[1] // key_cache.shape[2]
        k, v = (
            cache[pages].flatten(0, 1)[:kv_len].float().repeat_interleave(group, 1).transpose(0, 1)
            for cache in (key_cache, value_cache)
        )
        rows = q[start : start + q_len].float().transpose(0, 1)
        scores = rows @ k.transpose(1, 2) * q.shape[2] ** -0.5
        key = torch.arange(kv_len, device=q.device)
        query = torch.arange(q_len, device=q.device)[:, None] + kv_len - q_len
        scores = scores.masked_fill(key > query + kv_len, float("-inf"))
        got = torch.softmax(scores, dim=-1) @ v
        out[start : start + q_len] = got.transpose(0, 1).to(out.dtype)
        start += q_len
