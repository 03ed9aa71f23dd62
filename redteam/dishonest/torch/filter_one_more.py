# SPDX-License-Identifier: Apache-2.0
"""Keeps one logit too few in each row."""

import torch


def run(logits, out, top_k):
    last = logits.topk(top_k, dim=1).values[:, -1:]
    out.copy_(logits.masked_fill(logits <= last, float("-inf")))
