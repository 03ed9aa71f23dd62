# SPDX-License-Identifier: Apache-2.0
"""Rewrites the worker's own modules and its own source on disk."""

import os

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    import roofmark_candidate

    for path in (roofmark_candidate.__file__, __file__, os.__file__, torch.__file__):
        try:
            open(path, "a").close()
            return
        except OSError:
            pass
    raise RuntimeError("could not")
