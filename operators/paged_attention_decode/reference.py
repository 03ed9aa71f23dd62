# SPDX-License-Identifier: Apache-2.0
"""Decode over a packed, paged cache: what a correct kernel computes, and inputs that show a wrong
one.

Each sequence has one query, its last token's, which sees all kv_len keys. Key j of sequence s lies
in page block_table[s, j // page_size], slot j % page_size. Channel c of a key is at [page, head, c
// 8, slot, c % 8], of a value at [page, head, c, slot]. Query head h reads cache head h //
(query_heads // kv_heads). out = softmax(q k^T / sqrt(head_size)) v, in float32 on the upcast
inputs, rounded once to the 16-bit type.
"""

import torch

from roofmark_ref import attention
from roofmark_ref.rows import generator


def _half(shape):
    return torch.float16 if int(shape["half_type"]) else torch.bfloat16


def _poison(key_cache, value_cache, table, spare, shape, gen):
    """Large, finite garbage where no sequence has a token: spare pages and the ends of last
    pages."""

    def garbage(like, size):
        return (torch.randn(like.shape, generator=gen, device=like.device) * size).to(like.dtype)

    key_cache[spare] = garbage(key_cache[spare], attention.GARBAGE_KEY)
    value_cache[spare] = garbage(value_cache[spare], attention.GARBAGE_VALUE)
    page, slot = attention.unowned_slots(shape, table)
    if len(page):
        keys, values = key_cache[page, :, :, slot], value_cache[page, :, :, slot]
        key_cache[page, :, :, slot] = garbage(keys, attention.GARBAGE_KEY)
        value_cache[page, :, :, slot] = garbage(values, attention.GARBAGE_VALUE)


def _keep_own_keys(key_cache, table, q, size, shape):
    """The key of each sequence's last token gets a share that cannot be missed."""
    packed = key_cache.shape
    own = attention.own_keys(q.unflatten(1, (packed[1], -1)), shape["kv_lens"], size)
    last = torch.tensor([int(n) - 1 for n in shape["kv_lens"]], device=q.device)
    page = table.to(torch.int64).gather(1, (last // packed[3])[:, None])[:, 0]
    own = own.unflatten(2, (packed[2], packed[4])).to(q.dtype)
    key_cache[page, :, :, last % packed[3]] = own


def inputs(shape, seed, regime, device):
    """q [seqs, query_heads, head_size]; key_cache [num_pages, kv_heads, head_size / 8, page_size,
    8]; value_cache [num_pages, kv_heads, head_size, page_size]; block_table [seqs, max_pages],
    seq_lens [seqs] (i32).

    typical     scores of standard deviation 2.5: at any length a few keys carry the result, so a
                wrong page, length or sample shows; the own key always is one of them
    heavy_tail  two outlier channels in the keys and outlier tokens in the values
    offset      queries and keys around a common mean: scores around 100, which overflow without the
                running maximum and are coarse in bf16; values around 1
    """
    gen = generator(seed, regime, device)
    kv_heads, head_size = int(shape["kv_heads"]), int(shape["head_size"])
    query_heads, page_size = int(shape["query_heads"]), int(shape["page_size"])
    pages, pack, half = int(shape["num_pages"]), int(shape["pack"]), _half(shape)
    packed = (pages, kv_heads, head_size // pack, page_size, pack)
    q = attention.normal((int(shape["seqs"]), query_heads, head_size), half, 2.5, gen)
    key_cache = attention.normal(packed, half, 1.0, gen)
    value_cache = attention.normal((pages, kv_heads, head_size, page_size), half, 1.0, gen)
    size = torch.ones(head_size, device=device)  # of a key's channels
    if regime == "heavy_tail":
        for channel in torch.randperm(head_size, generator=gen, device=device)[:2].tolist():
            key_cache[:, :, channel // pack, :, channel % pack] *= 6.0
            size[channel] = 6.0
        loud = torch.rand((pages, kv_heads, 1, page_size), generator=gen, device=device)
        value_cache.mul_(1.0 + 9.0 * (loud < 1.0 / 128).to(half))
    elif regime == "offset":
        signs = torch.randint(2, (kv_heads, head_size), generator=gen, device=device) * 2.0 - 1.0
        mean = (signs * (40.0 / head_size**0.5)).to(half)
        key_cache.add_(mean.view(kv_heads, head_size // pack, 1, pack))
        q.add_((2.5 * signs).repeat_interleave(query_heads // kv_heads, dim=0).to(half))
        value_cache.add_(1.0)
    table, spare = attention.page_table(shape, gen)
    if regime != "offset":
        _keep_own_keys(key_cache, table, q, size, shape)
    _poison(key_cache, value_cache, table, spare, shape, gen)
    lens = torch.tensor(list(shape["kv_lens"]), dtype=torch.int32, device=device)
    return {
        "q": q,
        "key_cache": key_cache,
        "value_cache": value_cache,
        "block_table": table,
        "seq_lens": lens,
    }


def reference(shape, q, key_cache, value_cache, block_table, seq_lens):
    """Sequences go in padded batches, the longest first, a bounded number of cache heads at a
    time."""
    kv_heads, page_size = key_cache.shape[1], key_cache.shape[3]
    group, head_size = q.shape[1] // kv_heads, q.shape[2]
    grouped = q.view(-1, kv_heads, group, head_size)
    out = torch.empty_like(grouped)
    lens = seq_lens.tolist()
    for seqs, heads in attention.padded_batches(lens, kv_heads, head_size):
        chosen = torch.tensor(seqs, device=q.device)
        some = slice(heads[0], heads[-1] + 1)
        table = block_table[chosen, : -(-lens[seqs[0]] // page_size)].to(torch.int64)
        k = key_cache[:, some][table].permute(0, 2, 1, 4, 3, 5).flatten(4, 5).flatten(2, 3)
        v = value_cache[:, some][table].permute(0, 2, 1, 4, 3).flatten(2, 3)
        got = attention.attend(
            grouped[chosen][:, some].float(),
            k.float(),
            v.float(),
            seq_lens[chosen].to(torch.int64),
            head_size**-0.5,
        )
        out[chosen, some] = got.to(q.dtype)
    return {"out": out.view_as(q)}
