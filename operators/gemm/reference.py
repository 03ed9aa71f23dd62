# SPDX-License-Identifier: Apache-2.0
"""The dense product of a linear layer: what a correct kernel computes, and inputs that show a wrong
one.

out = x w^T in float32 (no TF32), rounded once to bfloat16.
"""

import torch

from roofmark_ref import rows

_SWINGS = 32


def inputs(shape, seed, regime, device):
    """x [m, k] and w [n, k], bf16.

    typical     rows of x and of w of different sizes, so that misplaced rows show
    heavy_tail  two loud channels of x, a row of w in 32 four times larger
    offset      x around one and w of a mean that changes sign 32 times along k: the running sum
                swings between zero and four times the result, which one in few bits does not
                survive; parts of a split k hold whole swings and do
    """
    gen = rows.generator(seed, regime, device)
    m, n, k = (int(shape[axis]) for axis in ("m", "n", "k"))
    loud = torch.randint(k, (2,), generator=gen, device=device)
    swing = torch.arange(k, device=device) * _SWINGS // k % 2
    lean = 1.0 - 2.0 * swing.to(torch.float32)
    lean = (lean - lean.mean()) * (4.0 * _SWINGS / k)

    def draw_x(count, columns):
        x = rows.normal((count, columns), gen)
        if regime == "offset":
            return 0.2 * x + 1.0
        if regime == "heavy_tail":
            x[:, loud] *= (float(columns) / 8.0) ** 0.5
        return x * torch.exp(0.25 * rows.normal((count, 1), gen))

    def draw_w(count, columns):
        w = rows.normal((count, columns), gen) / float(columns) ** 0.5
        if regime == "offset":
            return w + lean
        if regime == "heavy_tail":
            w *= torch.where(rows.uniform((count, 1), gen) < 1.0 / 32, 4.0, 1.0)
        return w * torch.exp(0.25 * rows.normal((count, 1), gen))

    x = torch.empty((m, k), dtype=torch.bfloat16, device=device)
    w = torch.empty((n, k), dtype=torch.bfloat16, device=device)
    return {"x": rows.fill(x, draw_x, gen), "w": rows.fill(w, draw_w, gen)}


def reference(shape, x, w):
    """A block of rows of x and of w at a time, so that no operand is held whole in float32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    out = torch.empty((x.shape[0], w.shape[0]), dtype=torch.bfloat16, device=x.device)
    blocks = rows.pieces(*w.shape, piece=1 << 26)
    for part in rows.pieces(x.shape[0], max(blocks[0].stop, x.shape[1]), piece=1 << 26):
        wide = x[part].to(torch.float32)
        for block in blocks:
            out[part, block] = (wide @ w[block].to(torch.float32).t()).to(torch.bfloat16)
    return {"out": out}
