# SPDX-License-Identifier: Apache-2.0
"""A linear layer's sigmoid times another tensor, computed in ways that a checker must accept, and
in ways that it must refuse."""

import torch

from roofmark_ref import fp8, mistakes, rows

# Long enough in k for a sum in bf16 to go wrong.
EXTRA_SHAPES = ({"tokens": 3, "hidden": 2048, "out_features": 64},)
_ALL = rows.REGIMES


def _product(x, weight, bias):
    return x.float() @ weight.float().t() + bias.float()


def _in_float64(x, weight, bias):
    return x.double() @ weight.double().t() + bias.double()


def _gated(product=_in_float64, gate=torch.sigmoid, change=lambda *tensors: tensors):
    """The operator with its product, its gate or its operands replaced."""

    def compute(shape, hidden_states, weight, bias, post_mul_mat):
        x, w, b, post = change(hidden_states, weight, bias, post_mul_mat)
        z = product(x, w, b)
        return None if z is None else {"out": (gate(z) * post.to(z.dtype)).to(torch.bfloat16)}

    return rows.by_rows(compute, "hidden_states", "post_mul_mat")


def _in_three(x, weight, bias):
    step = -(-x.shape[1] // 3)
    parts = zip(x.float().split(step, 1), weight.float().split(step, 1))
    return sum(a @ b.t() for a, b in parts) + bias.float()


def _by_tanh(z):
    return torch.addcmul(torch.full_like(z, 0.5), torch.tanh(0.5 * z), torch.full_like(z, 0.5))


def _rounded(x, weight, bias):
    return _product(x, weight, bias).to(torch.bfloat16).float()


def _bias_after_rounding(x, weight, bias):
    product = (x.float() @ weight.float().t()).to(torch.bfloat16)
    return (product.float() + bias.float()).to(torch.bfloat16).float()


_exact = _gated()
HONEST = {
    "float64": _exact,
    "float32": _gated(_product),
    "k split in three": _gated(_in_three),
    "by tanh": _gated(_product, _by_tanh),
    "product rounded": _gated(_rounded),
    "product and gate rounded": _gated(
        _rounded, lambda z: torch.sigmoid(z).to(torch.bfloat16).float()
    ),
    "bias added to a rounded product": _gated(_bias_after_rounding),
}


def _summed_in_bf16(x, weight, bias):
    """The running sum in bf16, 16 of k (one matrix instruction) at a time; long k only."""
    if x.shape[1] < 1024:
        return None
    total = torch.zeros((x.shape[0], weight.shape[0]), dtype=torch.bfloat16, device=x.device)
    for a, b in zip(x.float().split(16, 1), weight.float().split(16, 1)):
        total = (total.float() + a @ b.t()).to(torch.bfloat16)
    return total.float() + bias.float()


def _in_fp8(tensor):
    top = tensor.float().abs().amax()
    return fp8.decode(fp8.encode(tensor.float() * (448.0 / top))) * (top / 448.0)


def _first_half(x, weight, bias):
    half = x.shape[1] // 2
    return _product(x[:, :half], weight[:, :half], bias)


def _without_tail(x, weight, bias):
    kept = x.shape[1] - (x.shape[1] % 16 or 16)
    return _product(x[:, :kept], weight[:, :kept], bias)


def _transposed(x, weight, bias):
    if weight.shape[0] != weight.shape[1]:
        return None
    return _product(x, weight.t(), bias)


WRONG = {
    **mistakes.common(_exact),
    "a copy of post": (
        lambda shape, post_mul_mat, **_: {"out": post_mul_mat.clone()},
        _ALL,
    ),
    "post halved": (lambda shape, post_mul_mat, **_: {"out": post_mul_mat * 0.5}, _ALL),
    "gate of the bias alone": (
        _gated(lambda x, w, b: b.float().expand(x.shape[0], -1)),
        _ALL,
    ),
    "bias dropped": (_gated(change=lambda x, w, b, p: (x, w, b * 0, p)), _ALL),
    "bias one column off": (_gated(change=lambda x, w, b, p: (x, w, b.roll(1), p)), _ALL),
    "weight one row off": (_gated(change=lambda x, w, b, p: (x, w.roll(1, 0), b, p)), _ALL),
    "post dropped": (_gated(change=lambda x, w, b, p: (x, w, b, torch.ones_like(p))), _ALL),
    "post one column off": (_gated(change=lambda x, w, b, p: (x, w, b, p.roll(1, 1))), _ALL),
    "no sigmoid": (_gated(gate=lambda z: z), _ALL),
    "silu": (_gated(gate=lambda z: z * torch.sigmoid(z)), _ALL),
    "tanh": (_gated(gate=torch.tanh), _ALL),
    "hard sigmoid": (_gated(gate=lambda z: (z / 6 + 0.5).clamp(0, 1)), _ALL),
    "first half of k": (_gated(_first_half), ("typical", "offset")),
    "tail of k missing": (_gated(_without_tail), ("typical", "offset")),
    "weight transposed": (_gated(_transposed), _ALL),
    "weight in fp8": (_gated(change=lambda x, w, b, p: (x, _in_fp8(w), b, p)), ("typical",)),
    "summed in bf16": (_gated(_summed_in_bf16), ("offset",)),
}
