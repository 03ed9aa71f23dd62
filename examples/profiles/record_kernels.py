# SPDX-License-Identifier: Apache-2.0
"""The Triton kernels of the recorded decoder, one per operator that a serving stack launches.

They are honest production-style kernels under the names that servers give them, so that the
recorded profiles look like served ones; record_operators.py states the contracts and launches them.
"""

import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(out_ptr, x_ptr, weight_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    mask = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / hidden + eps)
    tl.store(out_ptr + row + cols, (x * scale * weight).to(tl.bfloat16), mask=mask)


@triton.jit
def fused_add_rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, hidden, eps, BLOCK: tl.constexpr):
    """residual := bf16(x + residual), x := rms_norm(residual) * weight; both in place."""
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    mask = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row + cols, mask=mask, other=0.0).to(tl.float32)
    rounded = (x + residual).to(tl.bfloat16)
    tl.store(residual_ptr + row + cols, rounded, mask=mask)
    x = rounded.to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / hidden + eps)
    tl.store(x_ptr + row + cols, (x * scale * weight).to(tl.bfloat16), mask=mask)


@triton.jit
def _silu_and_mul_kernel(out_ptr, x_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < width
    gate = tl.load(x_ptr + row * 2 * width + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * width + width + cols, mask=mask, other=0.0).to(tl.float32)
    silu = (gate * tl.sigmoid(gate)).to(tl.bfloat16).to(tl.float32)
    tl.store(out_ptr + row * width + cols, (silu * up).to(tl.bfloat16), mask=mask)


@triton.jit
def fused_qk_rmsnorm_kernel(qkv_ptr, q_weight_ptr, k_weight_ptr, eps, Q_HEADS: tl.constexpr,
                            KV_HEADS: tl.constexpr, HEAD: tl.constexpr, HEADS_BLOCK: tl.constexpr):
    """RMS norm of every query and key head of the packed projection, in place; values stay."""
    token = tl.program_id(0).to(tl.int64) * (Q_HEADS + 2 * KV_HEADS) * HEAD
    head = tl.arange(0, HEADS_BLOCK)
    dim = tl.arange(0, HEAD)
    at = token + head[:, None] * HEAD + dim[None, :]
    mask = (head < Q_HEADS + KV_HEADS)[:, None]
    x = tl.load(qkv_ptr + at, mask=mask, other=0.0).to(tl.float32)
    q_weight = tl.load(q_weight_ptr + dim).to(tl.float32)
    k_weight = tl.load(k_weight_ptr + dim).to(tl.float32)
    weight = tl.where((head < Q_HEADS)[:, None], q_weight[None, :], k_weight[None, :])
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / HEAD + eps)
    tl.store(qkv_ptr + at, (x * scale[:, None] * weight).to(tl.bfloat16), mask=mask)


@triton.jit
def fused_qkv_rotary_kernel(q_ptr, k_ptr, v_ptr, qkv_ptr, positions_ptr, cos_sin_ptr,
                            Q_HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr,
                            HEADS_BLOCK: tl.constexpr):
    """Splits the packed projection into q, k, v and rotates q and k (NeoX halves)."""
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions_ptr + token)
    HALF: tl.constexpr = HEAD // 2
    head = tl.arange(0, HEADS_BLOCK)[:, None]
    dim = tl.arange(0, HALF)[None, :]
    is_q = head < Q_HEADS
    is_k = (head >= Q_HEADS) & (head < Q_HEADS + KV_HEADS)
    is_v = (head >= Q_HEADS + KV_HEADS) & (head < Q_HEADS + 2 * KV_HEADS)
    source = qkv_ptr + token * (Q_HEADS + 2 * KV_HEADS) * HEAD + head * HEAD + dim
    low = tl.load(source, mask=is_q | is_k | is_v, other=0.0)
    high = tl.load(source + HALF, mask=is_q | is_k | is_v, other=0.0)
    cos = tl.load(cos_sin_ptr + position * HEAD + dim)
    sin = tl.load(cos_sin_ptr + position * HEAD + HALF + dim)
    low_f, high_f = low.to(tl.float32), high.to(tl.float32)
    turned_low = (low_f * cos - high_f * sin).to(tl.bfloat16)
    turned_high = (high_f * cos + low_f * sin).to(tl.bfloat16)
    q_out = q_ptr + token * Q_HEADS * HEAD + head * HEAD + dim
    k_out = k_ptr + token * KV_HEADS * HEAD + (head - Q_HEADS) * HEAD + dim
    v_out = v_ptr + token * KV_HEADS * HEAD + (head - Q_HEADS - KV_HEADS) * HEAD + dim
    tl.store(q_out, turned_low, mask=is_q)
    tl.store(q_out + HALF, turned_high, mask=is_q)
    tl.store(k_out, turned_low, mask=is_k)
    tl.store(k_out + HALF, turned_high, mask=is_k)
    tl.store(v_out, low, mask=is_v)
    tl.store(v_out + HALF, high, mask=is_v)


@triton.jit
def reshape_and_cache_flash_kernel(key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_ptr,
                                   WIDTH: tl.constexpr):
    """Scatters each token's key and value row to its slot; slot -1 is padding and is skipped."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_ptr + token)
    cols = tl.arange(0, WIDTH)
    if slot >= 0:
        key = tl.load(key_ptr + token * WIDTH + cols)
        value = tl.load(value_ptr + token * WIDTH + cols)
        tl.store(key_cache_ptr + slot * WIDTH + cols, key)
        tl.store(value_cache_ptr + slot * WIDTH + cols, value)


@triton.jit
def _per_token_group_quant_fp8(codes_ptr, scales_ptr, x_ptr, width, groups, GROUP: tl.constexpr,
                               GROUPS_BLOCK: tl.constexpr):
    """scale = max(absmax, tiny) / 448 per group of a row, code = e4m3fn(x / scale)."""
    row = tl.program_id(0).to(tl.int64)
    group = tl.arange(0, GROUPS_BLOCK)
    at = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = (group < groups)[:, None]
    x = tl.load(x_ptr + row * width + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-10) / 448.0
    codes = tl.minimum(tl.maximum(x / scale[:, None], -448.0), 448.0).to(tl.float8e4nv)
    tl.store(codes_ptr + row * width + at, codes, mask=mask)
    tl.store(scales_ptr + row * groups + group, scale, mask=group < groups)


@triton.jit
def _w8a8_triton_block_scaled_mm(c_ptr, a_ptr, b_ptr, a_scales_ptr, b_scales_ptr, m, n, k,
                                 GROUP: tl.constexpr, BLOCK_M: tl.constexpr,
                                 BLOCK_N: tl.constexpr, SWIZZLE: tl.constexpr):
    """c[m, n] = sum over groups of k of (a_g b_g^T) * a_scale * b_scale, accumulated in float32."""
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    band = tl.program_id(0) // (SWIZZLE * tiles_n)
    band_rows = tl.minimum(tiles_m - band * SWIZZLE, SWIZZLE)
    in_band = tl.program_id(0) % (SWIZZLE * tiles_n)
    rows = (band * SWIZZLE + in_band % band_rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (in_band // band_rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows < m
    col_ok = cols < n
    depth = tl.arange(0, GROUP)
    k_groups = k // GROUP
    a_at = a_ptr + rows[:, None].to(tl.int64) * k + depth[None, :]
    b_at = b_ptr + cols[None, :].to(tl.int64) * k + depth[:, None]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for group in range(0, k_groups):
        a = tl.load(a_at + group * GROUP, mask=row_ok[:, None], other=0.0)
        b = tl.load(b_at + group * GROUP, mask=col_ok[None, :], other=0.0)
        a_scale = tl.load(a_scales_ptr + rows * k_groups + group, mask=row_ok, other=0.0)
        b_scale = tl.load(b_scales_ptr + (cols // GROUP) * k_groups + group, mask=col_ok, other=0.0)
        acc += tl.dot(a, b) * (a_scale[:, None] * b_scale[None, :])
    c_at = c_ptr + rows[:, None].to(tl.int64) * n + cols[None, :]
    tl.store(c_at, acc.to(tl.bfloat16), mask=row_ok[:, None] & col_ok[None, :])
