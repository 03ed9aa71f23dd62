# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor scaled(torch::Tensor y, torch::Tensor scale) {
  auto out = torch::empty_like(y);
  const float* from = y.data_ptr<float>();
  const float* by = scale.data_ptr<float>();
  float* to = out.data_ptr<float>();
  const int64_t columns = y.size(1);
  for (int64_t row = 0; row < y.size(0); ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const float value = from[row * columns + column];
      to[row * columns + column] = (value > 0 ? value : 0) * by[column];
    }
  }
  return out;
}
"""
extension = load_inline(name="scaled", cpp_sources=SOURCE, functions=["scaled"])


class ModelNew(nn.Module):
    def __init__(self, features, scale_shape):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.scale = nn.Parameter(torch.rand(scale_shape) + 0.5)

    def forward(self, x, power):
        return extension.scaled(self.linear(x), self.scale**power)
