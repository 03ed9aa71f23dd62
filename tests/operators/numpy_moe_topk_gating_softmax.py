# SPDX-License-Identifier: Apache-2.0
"""Softmax routing in NumPy, row by row."""

import numpy
import torch

from arrays import wide


def compute(shape, gating_output):
    weights, ids = [], []
    for row in wide(gating_output):
        chosen = sorted(range(len(row)), key=lambda expert: -row[expert])[: shape["top_k"]]
        power = numpy.exp(row - row.max())
        ids.append(chosen)
        weights.append([power[expert] / power.sum() for expert in chosen])
    return {"topk_weights": numpy.array(weights), "topk_ids": numpy.array(ids)}


def torch_own(shape, gating_output):
    weights, ids = torch.softmax(gating_output, dim=-1).topk(shape["top_k"], dim=-1)
    return {"topk_weights": weights, "topk_ids": ids}
