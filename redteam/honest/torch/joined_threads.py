# SPDX-License-Identifier: Apache-2.0
"""Lets two Python threads do half of the rows each, and joins them."""

import threading

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    half = len(x) // 2
    threads = [
        threading.Thread(target=lambda rows=rows: out[rows].copy_(norm(x[rows], weight, eps)))
        for rows in (slice(0, half), slice(half, None))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
