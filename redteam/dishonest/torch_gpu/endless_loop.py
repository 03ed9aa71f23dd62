# SPDX-License-Identifier: Apache-2.0
"""CRH: Never returns from a call."""

import torch


def run(x, weight):
    while True:
        pass
