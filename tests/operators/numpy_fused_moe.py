# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts layer in NumPy: token by token, choice by choice."""

import numpy

from arrays import wide


def compute(shape, hidden_states, w1, w2, topk_weights, topk_ids):
    x, w1, w2, weights = (wide(t) for t in (hidden_states, w1, w2, topk_weights))
    out = numpy.zeros_like(x)
    for token, experts in enumerate(topk_ids.tolist()):
        for choice, expert in enumerate(experts):
            gate, up = numpy.split(w1[expert] @ x[token], 2)
            act = gate / (1.0 + numpy.exp(-gate)) * up
            out[token] += weights[token, choice] * (w2[expert] @ act)
    return {"out": out}
