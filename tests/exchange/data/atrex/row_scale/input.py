# SPDX-License-Identifier: Apache-2.0
import torch


def _make_inputs(num_tokens: int, hidden_size: int, dtype: str = "bfloat16"):
    return {
        "x": torch.randn(num_tokens, hidden_size, dtype=getattr(torch, dtype), device="cuda"),
        "lengths": torch.randint(1, hidden_size, (num_tokens,), device="cuda", dtype=torch.int32),
    }
