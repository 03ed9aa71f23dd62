# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation of each query and key head of a packed projection, in either 16-bit type.

A row of hidden_states holds `heads` query heads, `kv_heads` key heads and `kv_heads` value heads of
head_size. Query and key heads: x * rsqrt(mean(x^2) + eps) * weight, in float32, rounded once to the
type of the input. Value heads are copied.
"""

import torch

from roofmark_ref import rows


def inputs(shape, seed, regime, device, dtype):
    """hidden_states [tokens, (heads + 2*kv_heads)*head_size], q_weight and k_weight [head_size].

    Query and key heads are rows of rows.stream: sizes differ between the heads of a token, so that
    one rms for all of them fails. Values have size one under every regime.
    """
    gen = rows.generator(seed, regime, device)
    tokens, heads, kv_heads, head_size = (
        int(shape[axis]) for axis in ("tokens", "heads", "kv_heads", "head_size")
    )
    q_weight = 1.0 + 0.2 * rows.normal((head_size,), gen)
    k_weight = 0.8 + 0.3 * rows.normal((head_size,), gen)
    normed, width = heads + kv_heads, (heads + 2 * kv_heads) * head_size

    def draw(count, _):
        x = rows.stream(count * normed, head_size, regime, gen).view(count, normed * head_size)
        return torch.cat([x, rows.normal((count, kv_heads * head_size), gen)], dim=1)

    packed = torch.empty((tokens, width), dtype=dtype, device=device)
    return {
        "hidden_states": rows.fill(packed, draw, gen),
        "q_weight": q_weight.to(dtype),
        "k_weight": k_weight.to(dtype),
    }


def reference(shape, hidden_states, q_weight, k_weight):
    heads, kv_heads, head_size = (int(shape[a]) for a in ("heads", "kv_heads", "head_size"))
    weight = torch.cat(
        [q_weight.expand(heads, head_size), k_weight.expand(kv_heads, head_size)]
    ).to(torch.float32)
    out = hidden_states.clone()
    normed = heads + kv_heads
    for piece in rows.pieces(*hidden_states.shape):
        x = hidden_states[piece, : normed * head_size].to(torch.float32)
        x = x.reshape(-1, normed, head_size)
        inverse_rms = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
        out[piece, : normed * head_size] = (x * inverse_rms * weight).flatten(1).to(out.dtype)
    return {"out": out}
