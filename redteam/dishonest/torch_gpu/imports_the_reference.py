# SPDX-License-Identifier: Apache-2.0
"""LEAK, FB: Imports the judge's own reference code and calls it."""

import torch


from roofmark_ref import attention, rows


def run(x, weight, eps):
    return rows.rms_norm(x, weight, eps)
