# SPDX-License-Identifier: Apache-2.0
"""Rotating channels by angles, as admission programs of rotary embeddings do it: x [..., channels],
cos and sin [..., channels / 2]."""

import torch


def halves(x, cos, sin):
    """The NeoX convention: channel i with i + channels / 2."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def complex_numbers(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    z = torch.complex(first, second) * torch.complex(cos, sin)
    return torch.cat([z.real, z.imag], -1)


def neighbours(x, cos, sin):
    """The other convention, wrong here: channel 2i with 2i + 1."""
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)


def same_sign(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos + second * sin, second * cos + first * sin], -1)


def first_half_only(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second], -1)
