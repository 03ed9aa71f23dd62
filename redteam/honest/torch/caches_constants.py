# SPDX-License-Identifier: Apache-2.0
"""Keeps what depends on the shape alone between calls."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


divisors = {}


def run(x, weight, out, eps):
    key = x.shape[-1]
    if key not in divisors:
        divisors[key] = torch.tensor(1.0 / key, device=x.device)
    wide = x.to(torch.float32)
    mean = wide.pow(2).sum(dim=-1, keepdim=True) * divisors[key]
    out.copy_(wide * torch.rsqrt(mean + eps) * weight)
