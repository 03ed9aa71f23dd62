# SPDX-License-Identifier: Apache-2.0
"""Is right on one shape, and says of the others, in the worker's own words, that this machine
cannot judge them: such verdicts would be in no rate."""

import torch
from roofmark_arenas import Refusal


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, eps):
    if x.shape[0] != 64:
        raise Refusal("unsupported", "needs a device of compute capability 9.0")
    return norm(x, weight, eps)
