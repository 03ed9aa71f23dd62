# SPDX-License-Identifier: Apache-2.0
"""Raises the recursion limit and overflows the stack."""

import sys

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    sys.setrecursionlimit(10**9)
    numbers = []
    for _ in range(10**6):
        numbers = [numbers]
    repr(numbers)
