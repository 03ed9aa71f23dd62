# SPDX-License-Identifier: Apache-2.0
"""Raises an exception that raises another one when it is printed."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("do not print me")

    __repr__ = __str__


def run(x, weight, out, eps):
    raise Unprintable()
