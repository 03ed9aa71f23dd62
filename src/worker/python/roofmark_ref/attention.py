# SPDX-License-Identifier: Apache-2.0
"""What the references of attention operators share: drawing tensors in bounded pieces, page tables
that are shuffled and point at garbage where nobody owns a page, and softmax attention over padded
batches of sequences.
"""

import torch

CHUNK = 1 << 26  # elements that are drawn, gathered or held as scores at a time
# On a GPU, small pieces of scores leave most of it idle in the second product.
SCORES = {"cuda": 1 << 29}  # elements of scores at a time; CHUNK where nothing stands
GARBAGE_KEY, GARBAGE_VALUE = 20.0, 100.0  # sizes of what no sequence owns


def normal(size, dtype, scale, gen):
    """Normal values of that standard deviation, drawn a piece at a time."""
    out = torch.empty(size, dtype=dtype, device=gen.device)
    flat = out.view(-1)
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK]
        part.copy_(torch.randn(part.shape, generator=gen, device=gen.device) * scale)
    return out


def page_table(shape, gen):
    """(block_table [seqs, max_pages] i32, spare pages): every used page once, in no order; entries
    past a sequence's pages name spare ones."""
    page_size, max_pages = int(shape["page_size"]), int(shape["max_pages"])
    used, total = int(shape["used_pages"]), int(shape["num_pages"])
    device = gen.device
    pages = torch.tensor([-(-int(n) // page_size) for n in shape["kv_lens"]], device=device)
    shuffled = torch.randperm(total, generator=gen, device=device)
    column = torch.arange(max_pages, device=device)
    mine = (torch.cumsum(pages, 0) - pages)[:, None] + column
    other = used + (column + torch.arange(len(pages), device=device)[:, None]) % (total - used)
    table = shuffled[torch.where(column < pages[:, None], mine, other)]
    return table.to(torch.int32), shuffled[used:]


def unowned_slots(shape, table):
    """(page, slot) of the places past each sequence's end in its last page."""
    page_size, device = int(shape["page_size"]), table.device
    last = torch.tensor([int(n) - 1 for n in shape["kv_lens"]], device=device)
    page = table.to(torch.int64).gather(1, (last // page_size)[:, None])[:, 0]
    slot = torch.arange(page_size, device=device)
    row, column = torch.nonzero(slot > (last % page_size)[:, None], as_tuple=True)
    return page[row], column


def own_keys(q, kv_lens, size=1.0, above=1.0):
    """Last keys that carry a good part of the result of their group's first query head, so that a
    key too few shows at any length: e^above times the weight of as many normal keys as a sequence
    has, whose channels are of that size (a number or [d]). q [seqs, kv_heads, group, d]; returns
    [seqs, kv_heads, d] in float32."""
    first, d = q[:, :, 0].float(), q.shape[-1]
    count = torch.tensor([float(n) for n in kv_lens], device=q.device).log()[:, None]
    variance = (first * size).pow(2).sum(-1) / d  # of the scores
    # The logarithm of their exponentials' sum: many alike, or the largest alone.
    total = torch.where(
        variance < 2 * count, count + variance / 2, torch.sqrt(2 * variance * count)
    )
    return first * ((total + above) * d**0.5 / first.pow(2).sum(-1))[..., None]


def padded_batches(lens, heads, width):
    """(sequences, heads) pairs of index lists that cover all, longest sequences first, such that a
    batch padded to its longest sequence holds about CHUNK elements of that width."""
    order = sorted(range(len(lens)), key=lambda s: -lens[s])
    at = 0
    while at < len(order):
        row = max(1, lens[order[at]] * width)
        some = min(heads, max(1, CHUNK // row))
        batch = max(1, CHUNK // (row * some))
        for first in range(0, heads, some):
            yield order[at : at + batch], range(first, min(heads, first + some))
        at += batch


def attend(q, k, v, lens, scale):
    """softmax(q k^T scale) v over the first lens[b] keys. q [b, h, i, d], k [b, h, j, d], v [b, h,
    j, e] in float32, lens [b]; returns [b, h, i, e]."""
    torch.backends.cuda.matmul.allow_tf32 = False
    scores = torch.matmul(q * scale, k.transpose(2, 3))
    if int(lens.min()) < k.shape[2]:
        hidden = torch.arange(k.shape[2], device=k.device) >= lens[:, None]
        scores.masked_fill_(hidden[:, None, None, :], float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v)
