# SPDX-License-Identifier: Apache-2.0
"""The causal convolution in NumPy, sequence by sequence and channel by channel; and PyTorch's own
convolution."""

import numpy
import torch
import torch.nn.functional as F

from arrays import wide


def compute(shape, x, weight, bias, conv_states, query_start_loc, cache_indices, has_initial_state):
    x, weight, bias, states = wide(x), wide(weight), wide(bias), wide(conv_states).copy()
    starts = query_start_loc.tolist()
    out = numpy.zeros_like(x)
    for s, slot in enumerate(cache_indices.tolist()):
        known = states[slot] if has_initial_state[s] else numpy.zeros_like(states[slot])
        row = numpy.concatenate([known, x[:, starts[s] : starts[s + 1]]], axis=1)
        for d in range(shape["dim"]):
            sums = bias[d] + numpy.correlate(row[d], weight[d], mode="valid")
            out[d, starts[s] : starts[s + 1]] = sums / (1 + numpy.exp(-sums))
        states[slot] = row[:, row.shape[1] - (shape["width"] - 1) :]
    return {"out": out, "conv_states": states}


def torch_own(
    shape, x, weight, bias, conv_states, query_start_loc, cache_indices, has_initial_state
):
    out, starts = torch.empty_like(x), query_start_loc.tolist()
    for s, slot in enumerate(cache_indices.tolist()):
        known = conv_states[slot] * int(has_initial_state[s])
        row = torch.cat([known, x[:, starts[s] : starts[s + 1]]], dim=1).float()
        sums = F.conv1d(row[None], weight[:, None].float(), bias.float(), groups=shape["dim"])
        out[:, starts[s] : starts[s + 1]] = F.silu(sums[0]).to(torch.bfloat16)
    return {"out": out}
