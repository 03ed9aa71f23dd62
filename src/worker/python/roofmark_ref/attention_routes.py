# SPDX-License-Identifier: Apache-2.0
"""Ways from masked scores and values to attention's output: the honest and the wrong programs of
attention operators are built of these.

Each takes scores [..., i, j] in float32 (-inf where a key is hidden), values [..., j, e] in float32
and the operator's 16-bit type; it returns [..., i, e], or None where it does not apply.
"""

import torch

from roofmark_ref import fp8

_STEPS = 64  # pieces of keys at most, so that a long context costs no thousands of launches


def exact(scores, v, half):
    return torch.softmax(scores.double(), -1) @ v.double()


def probabilities_rounded(scores, v, half):
    # As matrix units take them: relative to the row's maximum, in 16 bits; the sum stays in
    # float32.
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return p.to(half).float() @ v / p.sum(-1, keepdim=True)


def normalised_then_rounded(scores, v, half):
    return torch.softmax(scores, -1).to(half).float() @ v


def online(scores, v, half):
    keys = max(16, -(-scores.shape[-1] // _STEPS))
    largest = scores.new_full(scores.shape[:-1] + (1,), float("-inf"))
    total = torch.zeros_like(largest)
    out = scores.new_zeros(scores.shape[:-1] + (v.shape[-1],))
    for s, part in zip(scores.split(keys, -1), v.split(keys, -2)):
        new = torch.maximum(largest, s.amax(-1, keepdim=True))
        base = torch.where(new == float("-inf"), torch.zeros_like(new), new)
        p, shrink = torch.exp(s - base), torch.exp(largest - base)
        total = total * shrink + p.sum(-1, keepdim=True)
        out = out * shrink + p.to(half).float() @ part
        largest = new
    return out / total


def split_keys(scores, v, half):
    size = max(1, scores.shape[-1] // 3)
    parts, lse = [], []
    for s, part in zip(scores.split(size, -1), v.split(size, -2)):
        lse.append(torch.logsumexp(s, -1, keepdim=True))
        parts.append(torch.nan_to_num(torch.softmax(s, -1)) @ part)
    weight = torch.softmax(torch.stack(lse), 0)
    return (weight * torch.stack(parts)).sum(0)


HONEST = {
    "float64": exact,
    "probabilities rounded": probabilities_rounded,
    "normalised, then rounded": normalised_then_rounded,
    "online, a piece of keys at a time": online,
    "keys split in three": split_keys,
}


def scores_in_bf16(scores, v, half):
    return torch.softmax(scores.to(torch.bfloat16).float(), -1) @ v


def no_maximum(scores, v, half):
    p = torch.exp(scores)
    return p @ v / p.sum(-1, keepdim=True)


def uniform(scores, v, half):
    seen = torch.isfinite(scores).to(v.dtype)
    return seen / seen.sum(-1, keepdim=True) @ v


def sharpest_key(scores, v, half):
    return (scores == scores.amax(-1, keepdim=True)).to(v.dtype) @ v


def not_normalised(scores, v, half):
    return torch.exp(scores - scores.amax(-1, keepdim=True)) @ v


def probabilities_in_fp8(scores, v, half):
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return fp8.decode(fp8.encode(p)) @ v / p.sum(-1, keepdim=True)


def output_in_bf16(scores, v, half):
    """The running output kept in bf16, 16 keys at a time: shows in long contexts only."""
    if not 2000 <= scores.shape[-1] <= 8192:
        return None
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    out = torch.zeros(scores.shape[:-1] + (v.shape[-1],), dtype=torch.bfloat16, device=v.device)
    for s, part in zip(p.split(16, -1), v.split(16, -2)):
        out = (out.float() + s @ part).to(torch.bfloat16)
    return out.float() / p.sum(-1, keepdim=True)
