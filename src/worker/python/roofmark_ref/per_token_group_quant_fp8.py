# SPDX-License-Identifier: Apache-2.0
"""Dynamic fp8 quantisation of groups within each row, in either fp8 format: what a correct kernel
computes, and inputs that show a wrong one.

scale = max(largest |x| of the group / fp8_max, min_scale) in float32; quantized = nearest code of
x / scale. A group is `group` consecutive elements of a row; hidden is a multiple of it.
"""

import torch

from roofmark_ref import quant, rows


def inputs(shape, seed, regime, device):
    """x [tokens, hidden], bf16: each group a row of rows.stream, whose largest element
    quant.decisive moves, so that neighbouring groups differ by up to two orders of magnitude.

    heavy_tail groups use only the bottom of the code range beside their outlier (subnormal codes
    show); offset groups are small. No group is all zero.
    """
    gen = rows.generator(seed, regime, device)
    group = int(shape["group"])
    size = (int(shape["tokens"]), int(shape["hidden"]))
    x = torch.empty(size, dtype=torch.bfloat16, device=device)

    def draw(count, columns):
        groups = count * columns // group
        stream = rows.stream(groups, group, regime, gen)
        if regime == "offset":
            stream *= rows.sizes(groups, gen)
        elif regime == "heavy_tail":
            stream *= 0.1 ** (3.0 * rows.uniform((groups, group), gen))
            at = torch.randint(group, (groups, 1), generator=gen, device=device)
            stream.scatter_(1, at, -3.0 * stream.abs().amax(dim=1, keepdim=True))
        return quant.decisive(stream.to(torch.bfloat16)).view(count, columns)

    return {"x": rows.fill(x, draw, gen)}


def reference(shape, x):
    codes, scales = quant.quantise(x.view(-1, int(shape["group"])), shape)
    return {"quantized": codes.view(x.shape), "scales": scales.view(x.shape[0], -1)}
