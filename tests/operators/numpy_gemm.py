# SPDX-License-Identifier: Apache-2.0
"""The dense product in NumPy, float64, an outer product a channel at a time."""

import numpy
import torch
import torch.nn.functional as F


def compute(shape, x, w):
    x, w = x.double().numpy(), w.double().numpy()
    out = numpy.zeros((shape["m"], shape["n"]))
    for channel in range(shape["k"]):
        out += numpy.outer(x[:, channel], w[:, channel])
    return {"out": out}


def torch_own(shape, x, w):
    return {"out": F.linear(x.float(), w.float()).to(torch.bfloat16)}
