# SPDX-License-Identifier: Apache-2.0
"""Calls itself a baseline, of which nobody asks whose code runs, and leaves all to PyTorch."""

import torch

ROLE = "baseline"


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    out.copy_(norm(x, weight, eps))
