# SPDX-License-Identifier: Apache-2.0
"""SiLU-and-multiply through torch.compile: one compilation with dynamic sizes serves every shape of
a process."""

import torch
import torch.nn.functional as F

ROLE = "baseline"


def gate_and_multiply(x):
    gate, value = x.chunk(2, dim=-1)
    return F.silu(gate) * value


compiled = (
    torch.compile(gate_and_multiply, dynamic=True)
    if hasattr(torch, "compile")
    else gate_and_multiply
)


class Model(torch.nn.Module):
    def forward(self, x):
        return compiled(x)
