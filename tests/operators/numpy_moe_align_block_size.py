# SPDX-License-Identifier: Apache-2.0
"""Slots grouped in padded blocks, with lists."""

import numpy


def compute(shape, topk_ids):
    flat, size = topk_ids.flatten().tolist(), shape["block_size"]
    sorted_ids, labels = [], []
    for expert in range(shape["experts"]):
        mine = [slot for slot, chosen in enumerate(flat) if chosen == expert]
        while len(mine) % size:
            mine.append(len(flat))
        sorted_ids += mine
        labels += [expert] * (len(mine) // size)
    total = len(sorted_ids)
    sorted_ids += [len(flat)] * (shape["max_padded"] - total)
    labels += [-1] * (shape["max_blocks"] - len(labels))
    return {
        "sorted_token_ids": numpy.array(sorted_ids),
        "expert_ids": numpy.array(labels),
        "num_tokens_post_pad": numpy.array([total]),
    }
