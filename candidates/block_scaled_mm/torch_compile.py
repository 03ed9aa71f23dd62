# SPDX-License-Identifier: Apache-2.0
"""The block-scaled fp8 product through torch.compile: the compiler fuses the dequantisation to
bf16, and the product is the library's. One compilation with dynamic sizes serves every shape of a
process."""

import torch

ROLE = "baseline"
GROUP = 128


def _value(code):
    if code & 0x7F == 0x7F:
        return float("nan")
    exponent, mantissa = (code >> 3) & 0xF, code & 7
    size = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -size if code & 0x80 else size


_DECODED = torch.tensor([_value(code) for code in range(256)], dtype=torch.float32)


def _widen(codes):
    """float32 values of e4m3fn codes, with or without an fp8 type."""
    if codes.dtype == torch.uint8:
        return _DECODED.to(codes.device)[codes.to(torch.int64)]
    return codes.to(torch.float32)


def by_dequantising(a, b, a_scales, b_scales):
    """Both operands to bf16 with their scales, then the library's bf16 product."""
    columns = torch.arange(a.shape[1], device=a.device) // GROUP
    bands = torch.arange(b.shape[0], device=a.device) // GROUP
    wide_a = (_widen(a) * a_scales[:, columns]).to(torch.bfloat16)
    wide_b = (_widen(b) * b_scales[bands][:, columns]).to(torch.bfloat16)
    return (wide_a @ wide_b.t()).to(torch.float32)


compiled = (
    torch.compile(by_dequantising, dynamic=True) if hasattr(torch, "compile") else by_dequantising
)


class Model(torch.nn.Module):
    def forward(self, a, b, a_scales, b_scales):
        return compiled(a, b, a_scales, b_scales)
