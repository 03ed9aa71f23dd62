# SPDX-License-Identifier: Apache-2.0
"""Sets the number of threads itself and restores it."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    out.copy_(norm(x, weight, eps))
    torch.set_num_threads(before)
