# SPDX-License-Identifier: Apache-2.0
"""Ways to compute the factor and the products of a root-mean-square norm, for admission programs; x
[rows..., hidden] in the precision of the program."""

import torch


def inverse_rms(x, eps):
    return 1.0 / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def summed_in_pieces(size):
    """The same from partial sums over `size` columns each."""

    def inverse(x, eps):
        total = sum(part.pow(2).sum(-1, keepdim=True) for part in x.split(size, dim=-1))
        return torch.rsqrt(total / x.shape[-1] + eps)

    return inverse


def layer_norm(x, factor, weight):
    """In place of x * factor * weight: wrong where the mean is not 0."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * inverse_rms(centred, 1e-6) * weight
