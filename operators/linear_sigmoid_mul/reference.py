# SPDX-License-Identifier: Apache-2.0
"""A linear layer, its sigmoid, and the product with another tensor: what a correct kernel computes,
and inputs that show a wrong one.

out = sigmoid(hidden_states weight^T + bias) * post_mul_mat, in float32 (no TF32), rounded once to
bfloat16.
"""

import torch

from roofmark_ref import rows


def inputs(shape, seed, regime, device):
    """hidden_states [tokens, hidden], weight [out_features, hidden], bias [out_features] and
    post_mul_mat [tokens, out_features], bf16.

    typical     products of size two around biases of size one: gates from shut to open, so that
                neither the product nor the bias can be left out
    heavy_tail  two outlier channels carry half of the product; one post element in 64 is 20 times
                larger
    offset      hidden states around one and weights of opposite mean in both halves: the running
                sum grows to 40 and comes back, which a sum in few bits does not survive
    """
    gen = rows.generator(seed, regime, device)
    tokens, hidden, features = (int(shape[a]) for a in ("tokens", "hidden", "out_features"))
    bf16 = {"dtype": torch.bfloat16, "device": device}
    loud = torch.randint(hidden, (2,), generator=gen, device=device)
    lean = torch.where(torch.arange(hidden, device=device) < hidden // 2, 1.0, -1.0)
    if hidden % 2:
        lean[-1] = 0.0

    def draw_hidden(count, columns):
        x = rows.normal((count, columns), gen)
        if regime == "heavy_tail":
            x[:, loud] *= (float(columns) / 2.0) ** 0.5
        return 0.3 * x + 1.0 if regime == "offset" else x

    def draw_weight(count, columns):
        w = rows.normal((count, columns), gen) * (2.0 / float(columns) ** 0.5)
        return w + lean * (80.0 / columns) if regime == "offset" else w

    def draw_post(count, columns):
        post = rows.normal((count, columns), gen)
        if regime == "heavy_tail":
            post = torch.where(rows.uniform((count, columns), gen) < 1.0 / 64, post * 20.0, post)
        return post

    return {
        "hidden_states": rows.fill(torch.empty((tokens, hidden), **bf16), draw_hidden, gen),
        "weight": rows.fill(torch.empty((features, hidden), **bf16), draw_weight, gen),
        "bias": rows.normal((features,), gen).to(torch.bfloat16),
        "post_mul_mat": rows.fill(torch.empty((tokens, features), **bf16), draw_post, gen),
    }


def reference(shape, hidden_states, weight, bias, post_mul_mat):
    torch.backends.cuda.matmul.allow_tf32 = False
    wide_weight, wide_bias = weight.to(torch.float32).t(), bias.to(torch.float32)
    out = torch.empty_like(post_mul_mat)
    for piece in rows.pieces(hidden_states.shape[0], max(weight.shape)):
        gate = torch.addmm(wide_bias, hidden_states[piece].to(torch.float32), wide_weight)
        out[piece] = torch.sigmoid(gate) * post_mul_mat[piece].to(torch.float32)
    return {"out": out}
