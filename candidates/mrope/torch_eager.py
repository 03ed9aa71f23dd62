# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding with three position axes as eager PyTorch spells it."""

import torch

ROLE = "baseline"


class Model(torch.nn.Module):
    def __init__(self, section_t, section_h, section_w):
        super().__init__()
        self.sections = [int(section_t), int(section_h), int(section_w)]

    def _pick(self, table):
        parts = table.split(self.sections, dim=-1)
        return torch.cat([part[axis] for axis, part in enumerate(parts)], dim=-1)[:, None]

    def forward(self, q, k, cos, sin):
        half = sum(self.sections)
        c, s = self._pick(cos), self._pick(sin)

        def rotate(x):
            first, second = x[..., :half].float(), x[..., half : 2 * half].float()
            turned = torch.cat([first * c - second * s, second * c + first * s], dim=-1)
            return torch.cat([turned.to(x.dtype), x[..., 2 * half :]], dim=-1)

        return rotate(q), rotate(k)
