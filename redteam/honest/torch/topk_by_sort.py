# SPDX-License-Identifier: Apache-2.0
"""Sorts whole rows where the k largest would do."""

import torch


class Model:
    def __init__(self, top_k):
        self.top_k = top_k

    def __call__(self, gating_output):
        weights, ids = torch.softmax(gating_output, dim=1).sort(dim=1, descending=True)
        return weights[:, : self.top_k].contiguous(), ids[:, : self.top_k].to(torch.int32)
