# SPDX-License-Identifier: Apache-2.0
"""Leaves a child behind that outlives the worker, and hangs."""

import os
import signal
import time

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)
    time.sleep(3600)
