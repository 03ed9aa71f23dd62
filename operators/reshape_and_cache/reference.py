# SPDX-License-Identifier: Apache-2.0
"""Writing a step's keys and values into a paged cache: what a correct kernel leaves there, and
inputs that show a wrong one.

Token t's key and value go to page slot_mapping[t] // page_size, place slot_mapping[t] % page_size.
All else in the caches stays as it was. Nothing is computed, so the result is exact.
"""

import torch

from roofmark_ref import attention
from roofmark_ref.rows import generator

_SCATTERED = 256  # tokens of a decode step, each of a sequence of its own
_CHUNKS = 3  # sequences of a prefill step


def _slots(shape, gen):
    """A decode step's slots are anywhere; a prefill step's sequences run on from a place within a
    page over pages in no order."""
    tokens, page_size = int(shape["tokens"]), int(shape["page_size"])
    pages, device = int(shape["num_pages"]), gen.device
    if tokens <= _SCATTERED:
        return torch.randperm(pages * page_size, generator=gen, device=device)[:tokens]
    starts = torch.randint(tokens, (_CHUNKS - 1,), generator=gen, device=device)
    first = torch.zeros(tokens, dtype=torch.int64, device=device)
    first[starts] = 1
    first[0] = 1
    # Each sequence starts a fresh page, at a place of its own: two pages a sequence at most are
    # left unfilled, and num_pages has room for them.
    sequence = torch.cumsum(first, 0) - 1
    place = torch.randint(page_size, (_CHUNKS,), generator=gen, device=device)
    begin = torch.nonzero(first)[:, 0]
    length = torch.diff(begin, append=torch.tensor([tokens], device=device))
    place = place[: len(begin)]
    taken = (place + length + page_size - 1) // page_size
    page = torch.cumsum(taken, 0) - taken
    at = (page * page_size + place - begin)[sequence] + torch.arange(tokens, device=device)
    shuffled = torch.randperm(pages, generator=gen, device=device)
    return shuffled[at // page_size] * page_size + at % page_size


def inputs(shape, seed, regime, device):
    """key, value [tokens, kv_heads, head_size]; key_cache, value_cache [num_pages, page_size,
    kv_heads, head_size], full of older tokens; slot_mapping [tokens] (i64), in no order.

    typical     normal values
    heavy_tail  two outlier channels in the keys and outlier tokens in the values
    offset      values around a mean of 4
    """
    gen = generator(seed, regime, device)
    tokens, page_size = int(shape["tokens"]), int(shape["page_size"])
    heads, head_size = int(shape["kv_heads"]), int(shape["head_size"])
    drawn = {}
    for name, size in (
        ("key", (tokens, heads, head_size)),
        ("value", (tokens, heads, head_size)),
        ("key_cache", (int(shape["num_pages"]), page_size, heads, head_size)),
        ("value_cache", (int(shape["num_pages"]), page_size, heads, head_size)),
    ):
        drawn[name] = attention.normal(size, torch.bfloat16, 1.0, gen)
    if regime == "heavy_tail":
        channels = torch.randperm(head_size, generator=gen, device=device)[:2]
        drawn["key"][..., channels] *= 30.0
        loud = torch.rand((tokens, heads, 1), generator=gen, device=device) < 1.0 / 16
        drawn["value"].mul_(1.0 + 99.0 * loud.to(torch.bfloat16))
    elif regime == "offset":
        for tensor in drawn.values():
            tensor.add_(4.0)
    drawn["slot_mapping"] = _slots(shape, gen)
    return drawn


def reference(shape, key, value, key_cache, value_cache, slot_mapping):
    after = {}
    for name, rows, cache in (("key_cache", key, key_cache), ("value_cache", value, value_cache)):
        after[name] = cache.clone()
        after[name].flatten(0, 1).index_copy_(0, slot_mapping, rows)
    return after
