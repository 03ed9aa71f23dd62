# SPDX-License-Identifier: Apache-2.0
"""The operators of the recorded decoder as dispatcher ops `roofmark::<operator>`.

Each op appears in a profile as a CPU op with its `Input Dims` around the kernels that it launches,
also while a CUDA graph is captured. All are destination-passing: `!` marks what is written. T is
the number of tokens of the step, S of its sequences, Hq / Hk query and cache heads, D head size,
k experts a token, E experts, I the width of one expert.

op                         arguments, in recorded order
rms_norm                   out! [T,H], x [T,H], weight [H], eps
fused_add_rms_norm         x! [T,H], residual! [T,H], weight [H], eps            (both in place)
fused_qk_rmsnorm           qkv! [T,(Hq+2Hk)*D], q_weight [D], k_weight [D], Hq, Hk, eps  (in place)
fused_qkv_rope             q! [T,Hq,D], k! [T,Hk,D], v! [T,Hk,D], qkv [T,(Hq+2Hk)*D],
                           positions [T] i64, cos_sin_cache [P,D] f32            (cos | sin halves)
reshape_and_cache          key [T,Hk,D], value [T,Hk,D], key_cache! [pages,page,Hk,D],
                           value_cache! [pages,page,Hk,D], slot_mapping [T] i64  (-1: padding)
unified_attention          out! [T,Hq,D], q [T,Hq,D], key_cache [pages,page,Hk,D], value_cache,
                           cu_seqlens_q [S+1] i32, seqused_k [S] i32, block_table [S,max_pages] i32,
                           max_seqlen_q, max_seqlen_k, scale
per_token_group_quant_fp8  q! [T,N] e4m3fn, scales! [T,N/g] f32, x [T,N], g
block_scaled_mm            out! [m,n] bf16, a [m,k] e4m3fn, b [n,k] e4m3fn, a_scales [m,k/128] f32,
                           b_scales [n/128,k/128] f32
silu_and_mul               out! [T,d], x [T,2d]                           (silu of the first half)
moe_topk_gating_softmax    topk_weights! [T,k] f32, topk_ids! [T,k] i32, gating_output [T,E] f32
fused_moe                  out! [T,H], hidden [T,H], w1 [E,2I,H], w2 [E,H,I],
                           topk_weights [T,k] f32, topk_ids [T,k] i32;
                           inside it, and recorded as ops of their own:
  moe_align_block_size     sorted_ids! [padded] i32, expert_ids! [blocks] i32, total! [1] i32,
                           topk_ids [T,k] i32, E, block_size
  silu_and_mul             out! [T*k,I], x [T*k,2I]
  moe_sum_reduce           out! [T,H], x [T,k,H]

Everything else is a plain PyTorch op: aten::embedding, aten::mm (qkv, gate_up and down projections,
router, LM head; the output projection is the fp8 one), aten::index_select, aten::argmax.
"""

import torch
import triton

import record_attention_kernels as attention
import record_kernels as kernels
import record_moe_kernels as moe

GROUP = 128  # columns that share one fp8 scale
SEGMENTS = 16  # parts that a decode context is split into
DECODE_TILE = 32
_LIBRARY = torch.library.Library("roofmark", "DEF")


def _operator(schema):
    """Registers a function as the dispatcher op of that schema, for every device."""

    def register(function):
        _LIBRARY.define(schema)
        name = schema.split("(", 1)[0]
        _LIBRARY.impl(name, function, "CompositeExplicitAutograd")
        return function

    return register


def _warps(block):
    return max(1, min(16, block // 512))


@_operator("rms_norm(Tensor(a!) out, Tensor x, Tensor weight, float eps) -> ()")
def rms_norm(out, x, weight, eps):
    tokens, hidden = x.shape
    block = triton.next_power_of_2(hidden)
    kernels.rms_norm_kernel[(tokens,)](out, x, weight, hidden, eps, BLOCK=block,
                                       num_warps=_warps(block))


@_operator("fused_add_rms_norm(Tensor(a!) x, Tensor(b!) residual, Tensor weight, float eps) -> ()")
def fused_add_rms_norm(x, residual, weight, eps):
    tokens, hidden = x.shape
    block = triton.next_power_of_2(hidden)
    kernels.fused_add_rms_norm_kernel[(tokens,)](x, residual, weight, hidden, eps, BLOCK=block,
                                                 num_warps=_warps(block))


@_operator("fused_qk_rmsnorm(Tensor(a!) qkv, Tensor q_weight, Tensor k_weight, int query_heads, "
           "int kv_heads, float eps) -> ()")
def fused_qk_rmsnorm(qkv, q_weight, k_weight, query_heads, kv_heads, eps):
    kernels.fused_qk_rmsnorm_kernel[(qkv.shape[0],)](
        qkv, q_weight, k_weight, eps, Q_HEADS=query_heads, KV_HEADS=kv_heads,
        HEAD=q_weight.shape[0], HEADS_BLOCK=triton.next_power_of_2(query_heads + kv_heads))


@_operator("fused_qkv_rope(Tensor(a!) q, Tensor(b!) k, Tensor(c!) v, Tensor qkv, Tensor positions, "
           "Tensor cos_sin_cache) -> ()")
def fused_qkv_rope(q, k, v, qkv, positions, cos_sin_cache):
    tokens, query_heads, head_size = q.shape
    kv_heads = k.shape[1]
    kernels.fused_qkv_rotary_kernel[(tokens,)](
        q, k, v, qkv, positions, cos_sin_cache, Q_HEADS=query_heads, KV_HEADS=kv_heads,
        HEAD=head_size, HEADS_BLOCK=triton.next_power_of_2(query_heads + 2 * kv_heads))


@_operator("reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, "
           "Tensor(b!) value_cache, Tensor slot_mapping) -> ()")
def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping):
    tokens, kv_heads, head_size = key.shape
    kernels.reshape_and_cache_flash_kernel[(tokens,)](
        key, value, key_cache, value_cache, slot_mapping, WIDTH=kv_heads * head_size)


@_operator("unified_attention(Tensor(a!) out, Tensor q, Tensor key_cache, Tensor value_cache, "
           "Tensor cu_seqlens_q, Tensor seqused_k, Tensor block_table, int max_seqlen_q, "
           "int max_seqlen_k, float scale) -> ()")
def unified_attention(out, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table,
                      max_seqlen_q, max_seqlen_k, scale):
    tokens, query_heads, head_size = q.shape
    page, kv_heads = key_cache.shape[1], key_cache.shape[2]
    sequences, table_stride = block_table.shape[0], block_table.stride(0)
    scale_log2 = scale * 1.4426950408889634  # log2(e): the kernels use exp2
    sizes = dict(Q_HEADS=query_heads, KV_HEADS=kv_heads, HEAD=head_size, PAGE=page)
    if max_seqlen_q > 1:
        block_q = max(1, 64 // (query_heads // kv_heads))
        grid = (triton.cdiv(max_seqlen_q, block_q), sequences * kv_heads)
        attention.kernel_unified_attention_2d[grid](
            out, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table, table_stride,
            scale_log2, **sizes, BLOCK_Q=block_q, TILE=64, num_warps=4, num_stages=2)
        return
    part = torch.empty((tokens, query_heads, SEGMENTS, head_size), dtype=torch.float32,
                       device=q.device)
    high = torch.empty((tokens, query_heads, SEGMENTS), dtype=torch.float32, device=q.device)
    total = torch.empty_like(high)
    attention.kernel_unified_attention_3d[(sequences, kv_heads, SEGMENTS)](
        part, high, total, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table,
        table_stride, scale_log2, **sizes, ROWS=max(16, query_heads // kv_heads),
        TILE=DECODE_TILE, SEGMENTS=SEGMENTS, num_warps=4, num_stages=2)
    attention.reduce_segments[(sequences, query_heads)](
        out, part, high, total, cu_seqlens_q, seqused_k, Q_HEADS=query_heads, HEAD=head_size,
        TILE=DECODE_TILE, SEGMENTS=SEGMENTS)


@_operator("per_token_group_quant_fp8(Tensor(a!) q, Tensor(b!) scales, Tensor x, int group) -> ()")
def per_token_group_quant_fp8(q, scales, x, group):
    tokens, width = x.shape
    groups = width // group
    kernels._per_token_group_quant_fp8[(tokens,)](
        q, scales, x, width, groups, GROUP=group, GROUPS_BLOCK=triton.next_power_of_2(groups))


@_operator("block_scaled_mm(Tensor(a!) out, Tensor a, Tensor b, Tensor a_scales, Tensor b_scales)"
           " -> ()")
def block_scaled_mm(out, a, b, a_scales, b_scales):
    m, k = a.shape
    n = b.shape[0]
    block_m, block_n = (64, 32) if m <= 64 else (128, 128)
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    kernels._w8a8_triton_block_scaled_mm[grid](
        out, a, b, a_scales, b_scales, m, n, k, GROUP=GROUP, BLOCK_M=block_m, BLOCK_N=block_n,
        SWIZZLE=8, num_warps=4 if block_m == 64 else 8, num_stages=3)


@_operator("silu_and_mul(Tensor(a!) out, Tensor x) -> ()")
def silu_and_mul(out, x):
    rows, width = out.shape
    block = min(1024, triton.next_power_of_2(width))
    kernels._silu_and_mul_kernel[(rows, triton.cdiv(width, block))](out, x, width, BLOCK=block)


@_operator("moe_topk_gating_softmax(Tensor(a!) topk_weights, Tensor(b!) topk_ids, "
           "Tensor gating_output) -> ()")
def moe_topk_gating_softmax(topk_weights, topk_ids, gating_output):
    tokens, experts = gating_output.shape
    moe.moe_topk_gating_softmax_kernel[(tokens,)](
        topk_weights, topk_ids, gating_output, EXPERTS=experts,
        EXPERTS_BLOCK=triton.next_power_of_2(experts), TOP_K=topk_ids.shape[1], num_warps=1)


@_operator("moe_align_block_size(Tensor(a!) sorted_ids, Tensor(b!) expert_ids, Tensor(c!) total, "
           "Tensor topk_ids, int experts, int block_size) -> ()")
def moe_align_block_size(sorted_ids, expert_ids, total, topk_ids, experts, block_size):
    routed = topk_ids.numel()
    counts = torch.empty((experts,), dtype=torch.int32, device=topk_ids.device)
    moe.moe_align_block_size_count_kernel[(experts,)](counts, topk_ids, routed, BLOCK=1024)
    moe.moe_align_block_size_scatter_kernel[(experts,)](
        sorted_ids, expert_ids, total, counts, topk_ids, routed, EXPERTS=experts,
        EXPERTS_BLOCK=triton.next_power_of_2(experts), BLOCK_SIZE=block_size, BLOCK=1024)


@_operator("moe_sum_reduce(Tensor(a!) out, Tensor x) -> ()")
def moe_sum_reduce(out, x):
    tokens, top_k, hidden = x.shape
    block = min(1024, triton.next_power_of_2(hidden))
    moe.moe_sum_reduce_kernel[(tokens, triton.cdiv(hidden, block))](
        out, x, hidden, TOP_K=top_k, BLOCK=block)


def _grouped_mm(out, a, b, weights, grouping, rows_per_token, scale_rows, block_m):
    sorted_ids, expert_ids, total = grouping
    n, k = b.shape[1], b.shape[2]
    block_n, block_k = (64, 128) if block_m == 16 else (128, 64)
    grid = (sorted_ids.numel() // block_m * triton.cdiv(n, block_n),)
    moe.fused_moe_kernel[grid](
        out, a, b, weights, sorted_ids, expert_ids, total, n, k, out.shape[0],
        ROWS_PER_TOKEN=rows_per_token, SCALE_ROWS=scale_rows, BLOCK_M=block_m, BLOCK_N=block_n,
        BLOCK_K=block_k, num_warps=4, num_stages=3)


@_operator("fused_moe(Tensor(a!) out, Tensor hidden, Tensor w1, Tensor w2, Tensor topk_weights, "
           "Tensor topk_ids) -> ()")
def fused_moe(out, hidden, w1, w2, topk_weights, topk_ids):
    tokens, top_k = topk_ids.shape
    experts, width = w1.shape[0], w2.shape[2]
    routed = tokens * top_k
    block_m = 16 if routed <= 16 * experts else 64
    # Every expert may need one partial block more than its rows fill.
    padded = triton.cdiv(routed + min(experts, routed) * (block_m - 1), block_m) * block_m
    ints = dict(dtype=torch.int32, device=hidden.device)
    grouping = (torch.empty((padded,), **ints), torch.empty((padded // block_m,), **ints),
                torch.empty((1,), **ints))
    torch.ops.roofmark.moe_align_block_size(*grouping, topk_ids, experts, block_m)
    gate_up = hidden.new_empty((routed, 2 * width))
    _grouped_mm(gate_up, hidden, w1, topk_weights, grouping, top_k, False, block_m)
    activated = hidden.new_empty((routed, width))
    torch.ops.roofmark.silu_and_mul(activated, gate_up)
    rows = hidden.new_empty((routed, hidden.shape[1]))
    _grouped_mm(rows, activated, w2, topk_weights, grouping, 1, True, block_m)
    torch.ops.roofmark.moe_sum_reduce(out, rows.view(tokens, top_k, hidden.shape[1]))
