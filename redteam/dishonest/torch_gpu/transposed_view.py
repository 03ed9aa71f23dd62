# SPDX-License-Identifier: Apache-2.0
"""ORC: Returns a view with the right number of elements and another shape."""

import torch


def run(x, weight):
    return x.t()
