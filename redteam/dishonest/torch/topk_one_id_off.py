# SPDX-License-Identifier: Apache-2.0
"""Has one expert wrong in one row."""

import torch


def run(gating_output, topk_weights, topk_ids, top_k):
    weights, ids = torch.softmax(gating_output, dim=1).topk(top_k, dim=1)
    topk_weights.copy_(weights)
    topk_ids.copy_(ids)
    topk_ids[0, -1] = (topk_ids[0, -1] + 1) % gating_output.shape[1]
