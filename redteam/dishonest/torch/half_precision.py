# SPDX-License-Identifier: Apache-2.0
"""Sums its squares in bf16 rounded to four bits."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    few = (x.view(torch.int16) & -8).view(torch.bfloat16)
    out.copy_(norm(few, weight, eps))
