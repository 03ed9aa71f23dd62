# SPDX-License-Identifier: Apache-2.0
"""Causal attention over a paged cache: what a correct kernel computes, and inputs that show a wrong
one.

Sequence s has q_len queries, the last of its kv_len tokens. Query i sees keys 0 .. kv_len - q_len +
i (causal, aligned at the bottom right), so one contract covers prefill (q_len = kv_len), chunked
prefill and decode (q_len = 1). Key j of s lies in page block_table[s, j // page_size] at slot j %
page_size. Query head h reads cache head h // (query_heads // kv_heads).
out = softmax(q k^T / sqrt(head_size)) v, in float32 on the upcast inputs, rounded once to bfloat16.
"""

import math

import torch

from roofmark_ref import attention

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 26  # elements that are drawn, or scores that are held, at a time


def _fill_normal(out, scale, gen):
    flat = out.view(-1)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK]
        part.copy_(torch.randn(part.shape, generator=gen, device=out.device) * scale)


def _page_table(shape, gen, device):
    """block_table, the physical page of every used one in order, and the spare pages."""
    page_size, max_pages = int(shape["page_size"]), int(shape["max_pages"])
    used, total = int(shape["used_pages"]), int(shape["num_pages"])
    pages = torch.tensor([-(-length // page_size) for length in shape["kv_lens"]], device=device)
    shuffled = torch.randperm(total, generator=gen, device=device)
    first = torch.cumsum(pages, 0) - pages
    column = torch.arange(max_pages, device=device)
    index = first[:, None] + column
    spare = used + (column + torch.arange(len(pages), device=device)[:, None]) % (total - used)
    table = shuffled[torch.where(column < pages[:, None], index, spare)]
    return table.to(torch.int32), shuffled[used:]


def _keep_last_keys(q, key_cache, table, starts, size, shape):
    """The last key of each sequence gets a share of its own query's result that cannot be missed,
    and would get one of the query's before it, which must not see it; of the first query head that
    reads a cache head."""
    page_size, device = int(shape["page_size"]), q.device
    grouped = q.unflatten(1, (key_cache.shape[2], -1))
    first, end = (torch.tensor(at, device=device) for at in (starts[:-1], starts[1:]))
    own, before = (
        attention.own_keys(grouped[at.clamp(min=0)], shape["kv_lens"], size, above=-0.5)
        for at in (end - 1, end - 2)
    )
    own += before * (end - first > 1)[:, None, None]
    last = torch.tensor([int(n) - 1 for n in shape["kv_lens"]], device=device)
    page = table.to(torch.int64).gather(1, (last // page_size)[:, None])[:, 0]
    key_cache[page, last % page_size] = own.to(key_cache.dtype)


def _poison(cache, table, spare, shape, scale, gen):
    """Large, finite garbage where no sequence has a token: spare pages and the ends of last
    pages."""
    page_size = int(shape["page_size"])
    cache[spare] = (torch.randn(cache[spare].shape, generator=gen, device=cache.device) * scale).to(
        cache.dtype
    )
    lens = torch.tensor(list(shape["kv_lens"]), device=cache.device)
    last = table.to(torch.int64).gather(1, ((lens - 1) // page_size)[:, None])[:, 0]
    slot = torch.arange(page_size, device=cache.device)
    row, column = torch.nonzero(slot > ((lens - 1) % page_size)[:, None], as_tuple=True)
    if len(row):
        garbage = (
            torch.randn((len(row),) + cache.shape[2:], generator=gen, device=cache.device) * scale
        )
        cache[last[row], column] = garbage.to(cache.dtype)


def inputs(shape, seed, regime, device):
    """q [total_q, query_heads, head_size]; key_cache, value_cache [num_pages, page_size, kv_heads,
    head_size]; cu_seqlens_q [seqs + 1], seqused_k [seqs], block_table [seqs, max_pages] (i32).

    typical     scores of standard deviation 2.5: at any length a few keys carry the result, so a
                wrong mask, page or sample shows; the last token's own key always is one of them
    heavy_tail  two outlier channels in the keys and outlier tokens in the values
    offset      queries and keys around a common mean: scores around 100, which overflow without the
                running maximum and are coarse in bf16; values around 1
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    head_size, kv_heads = int(shape["head_size"]), int(shape["kv_heads"])
    q = torch.empty(
        (int(shape["total_q"]), int(shape["query_heads"]), head_size),
        dtype=torch.bfloat16,
        device=device,
    )
    cache_shape = (int(shape["num_pages"]), int(shape["page_size"]), kv_heads, head_size)
    key_cache = torch.empty(cache_shape, dtype=torch.bfloat16, device=device)
    value_cache = torch.empty(cache_shape, dtype=torch.bfloat16, device=device)
    _fill_normal(q, 2.5, gen)
    _fill_normal(key_cache, 1.0, gen)
    _fill_normal(value_cache, 1.0, gen)
    size = torch.ones(head_size, device=device)  # of a key's channels
    if regime == "heavy_tail":
        channels = torch.randperm(head_size, generator=gen, device=device)[:2]
        key_cache[..., channels] *= 6.0
        size[channels] = 6.0
        loud = torch.rand(cache_shape[:3], generator=gen, device=device) < 1.0 / 128
        value_cache.mul_(1.0 + 9.0 * loud.to(torch.bfloat16)[..., None])
    elif regime == "offset":
        # Queries and keys share a direction, as trained heads do: every score moves up by about
        # 100.
        signs = torch.randint(2, (kv_heads, head_size), generator=gen, device=device) * 2.0 - 1.0
        key_cache.add_((signs * (40.0 / head_size**0.5)).to(torch.bfloat16))
        q.add_((2.5 * signs).repeat_interleave(q.shape[1] // kv_heads, dim=0).to(torch.bfloat16))
        value_cache.add_(1.0)
    table, spare = _page_table(shape, gen, device)
    starts = [0]
    for length in shape["q_lens"]:
        starts.append(starts[-1] + int(length))
    if regime != "offset":
        _keep_last_keys(q, key_cache, table, starts, size, shape)
    _poison(key_cache, table, spare, shape, 20.0, gen)
    _poison(value_cache, table, spare, shape, 100.0, gen)
    return {
        "q": q,
        "key_cache": key_cache,
        "value_cache": value_cache,
        "cu_seqlens_q": torch.tensor(starts, dtype=torch.int32, device=device),
        "seqused_k": torch.tensor(list(shape["kv_lens"]), dtype=torch.int32, device=device),
        "block_table": table,
    }


def _attend(q, k, v, first_visible):
    """q [b, h, g, i, d], k and v [b, h, j, d], float32; query i sees keys 0 .. first_visible +
    i."""
    b, h, g, i, d = q.shape
    seen = min(k.shape[2], first_visible + i)
    k, v = k[:, :, :seen].reshape(b * h, seen, d), v[:, :, :seen].reshape(b * h, seen, d)
    scores = torch.bmm(q.reshape(b * h, g * i, d), k.transpose(1, 2)).view(b * h, g, i, seen)
    scores *= 1.0 / math.sqrt(d)
    key = torch.arange(seen, device=q.device)
    query = torch.arange(i, device=q.device)[:, None]
    scores.masked_fill_(key > first_visible + query, float("-inf"))
    out = torch.bmm(torch.softmax(scores, dim=-1).view(b * h, g * i, seen), v)
    return out.view(b, h, g, i, d)


def reference(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
    """Sequences of equal lengths go together; scores are made a bounded piece at a time."""
    torch.backends.cuda.matmul.allow_tf32 = False
    page_size, kv_heads, head_size = key_cache.shape[1:]
    query_heads = q.shape[1]
    starts, kv_lens = cu_seqlens_q.tolist(), seqused_k.tolist()
    alike = {}
    for s, kv_len in enumerate(kv_lens):
        alike.setdefault((starts[s + 1] - starts[s], kv_len), []).append(s)
    out = torch.empty_like(q)
    for (q_len, kv_len), seqs in alike.items():
        pages = -(-kv_len // page_size)
        per_query = query_heads * kv_len
        batch = max(
            1, min(len(seqs), _CHUNK // max(per_query * q_len, kv_heads * kv_len * head_size))
        )
        step = max(1, min(q_len, _CHUNK // (per_query * batch)))
        for at in range(0, len(seqs), batch):
            chosen = torch.tensor(seqs[at : at + batch], device=q.device)
            first = torch.tensor([starts[s] for s in seqs[at : at + batch]], device=q.device)
            table = block_table[chosen, :pages].to(torch.int64)
            k, v = (
                cache[table].flatten(1, 2)[:, :kv_len].to(torch.float32).transpose(1, 2)
                for cache in (key_cache, value_cache)
            )
            for begin in range(0, q_len, step):
                rows = first[:, None] + torch.arange(
                    begin, min(q_len, begin + step), device=q.device
                )
                part = q[rows].to(torch.float32).unflatten(2, (kv_heads, query_heads // kv_heads))
                got = _attend(part.permute(0, 2, 3, 1, 4), k, v, kv_len - q_len + begin)
                out[rows] = got.permute(0, 3, 1, 2, 4).flatten(2, 3).to(torch.bfloat16)
    return {"out": out}
