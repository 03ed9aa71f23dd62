# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation in NumPy, float64, row by row."""

import math

import numpy
import torch
import torch.nn.functional as F


def compute(shape, x, weight, bias):
    weight, bias, rows = weight.double().numpy(), bias.double().numpy(), []
    for row in x.double().numpy():
        variance = (row @ row) / row.size - row.mean() ** 2
        rows.append((row - row.mean()) / math.sqrt(variance + shape["eps"]) * weight + bias)
    return {"out": numpy.stack(rows)}


def torch_own(shape, x, weight, bias):
    out = F.layer_norm(
        x.float(), (shape["hidden"],), weight.float(), bias.float(), eps=shape["eps"]
    )
    return {"out": out.to(torch.bfloat16)}
