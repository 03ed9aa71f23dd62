# SPDX-License-Identifier: Apache-2.0
"""Compares each recorded operator with plain PyTorch, so that the profiles time real work.

record.py calls this before it records. It also runs without a GPU, under Triton's interpreter:
    TRITON_INTERPRET=1 python3 record_operators_check.py
"""

import sys

import torch

import record_operators  # registers torch.ops.roofmark.*

ops = torch.ops.roofmark


class Check:
    """Draws values and collects the operators that differ from their reference."""

    def __init__(self, device):
        self.device = device
        self.wrong = []
        self.generator = torch.Generator(device=device).manual_seed(7)
        # Triton's interpreter multiplies bfloat16 matrices as integers and rounds towards zero.
        self.dtype = torch.bfloat16 if device == "cuda" else torch.float16

    def draw(self, *shape, dtype=None):
        values = torch.randn(shape, generator=self.generator, device=self.device)
        return values.to(dtype or self.dtype)

    def close(self, name, got, want, tolerance=0.02):
        error = (got.double() - want.double()).norm() / want.double().norm().clamp_min(1e-30)
        if not bool(error <= tolerance):
            self.wrong.append(f"{name}: relative error {float(error):.3g}")

    def equal(self, name, got, want):
        if not torch.equal(got, want):
            self.wrong.append(f"{name}: integers differ")


def _rms(x, weight, eps):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight.float()


def check_norms(check):
    x, residual, weight = check.draw(5, 192), check.draw(5, 192), check.draw(192)
    out = torch.empty_like(x)
    ops.rms_norm(out, x, weight, 1e-6)
    check.close("rms_norm", out, _rms(x, weight, 1e-6))
    total = (x.float() + residual.float()).to(x.dtype)
    ops.fused_add_rms_norm(x, residual, weight, 1e-6)
    check.close("fused_add_rms_norm", x, _rms(total, weight, 1e-6))
    check.close("fused_add_rms_norm residual", residual, total, 0.005)
    qkv = check.draw(3, 8, 32)
    q_weight, k_weight = check.draw(32), check.draw(32)
    want = qkv.clone().float()
    want[:, :4] = _rms(qkv[:, :4], q_weight, 1e-6)
    want[:, 4:6] = _rms(qkv[:, 4:6], k_weight, 1e-6)
    packed = qkv.view(3, 256)
    ops.fused_qk_rmsnorm(packed, q_weight, k_weight, 4, 2, 1e-6)
    check.close("fused_qk_rmsnorm", packed.view(3, 8, 32), want)


def check_rope(check):
    tokens, query_heads, kv_heads, head = 3, 4, 2, 32
    qkv = check.draw(tokens, query_heads + 2 * kv_heads, head)
    positions = torch.tensor([5, 0, 9], device=check.device)
    cache = check.draw(16, head, dtype=torch.float32)
    q = torch.empty_like(qkv[:, :query_heads])
    k, v = torch.empty_like(qkv[:, :kv_heads]), torch.empty_like(qkv[:, :kv_heads])
    ops.fused_qkv_rope(q, k, v, qkv.view(tokens, -1), positions, cache)
    cos, sin = cache[positions].chunk(2, dim=-1)
    low, high = qkv.float().chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)
    check.close("fused_qkv_rope q", q, turned[:, :query_heads])
    check.close("fused_qkv_rope k", k, turned[:, query_heads:query_heads + kv_heads])
    check.close("fused_qkv_rope v", v, qkv[:, query_heads + kv_heads:], 0.0)


def check_cache(check):
    key, value = check.draw(4, 2, 32), check.draw(4, 2, 32)
    key_cache, value_cache = check.draw(3, 16, 2, 32), check.draw(3, 16, 2, 32)
    want = key_cache.clone().view(48, 2, 32)
    slots = torch.tensor([17, 3, -1, 40], device=check.device)
    want[slots[[0, 1, 3]]] = key[[0, 1, 3]]
    ops.reshape_and_cache(key, value, key_cache, value_cache, slots)
    check.close("reshape_and_cache", key_cache.view(48, 2, 32), want, 0.0)


def check_attention(check, name, q_lens, kv_lens):
    query_heads, kv_heads, head, page = 4, 2, 32, 16
    sequences, width = len(q_lens), -(-max(kv_lens) // page)
    order = torch.randperm(sequences * width, generator=check.generator, device=check.device)
    table = order.view(sequences, width).to(torch.int32)
    keys, values = (check.draw(sequences * width, page, kv_heads, head) for _ in range(2))
    q = check.draw(sum(q_lens), query_heads, head)
    out = torch.full_like(q, float("nan"))
    starts = torch.tensor([0] + q_lens, device=check.device).cumsum(0)
    ops.unified_attention(out, q, keys, values, starts.to(torch.int32),
                          torch.tensor(kv_lens, dtype=torch.int32, device=check.device), table,
                          max(q_lens), max(kv_lens), head**-0.5)
    for seq, (q_len, kv_len) in enumerate(zip(q_lens, kv_lens)):
        first = int(starts[seq])
        k, v = (cache[table[seq].long()].view(-1, kv_heads, head)[:kv_len].float()
                .repeat_interleave(query_heads // kv_heads, dim=1) for cache in (keys, values))
        scores = torch.einsum("qhd,khd->hqk", q[first:first + q_len].float(), k) * head**-0.5
        at = torch.arange(kv_len, device=check.device)
        scores.masked_fill_(at[None] > at[kv_len - q_len:, None], float("-inf"))
        want = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)
        check.close(f"unified_attention {name} {seq}", out[first:first + q_len], want)


def _quantise(check, rows, columns):
    """fp8 codes with one scale a 128 x 128 block, and the values that they stand for."""
    x = check.draw(rows, columns, dtype=torch.float32)
    blocks = x.view(rows // 128, 128, columns // 128, 128)
    scale = blocks.abs().amax((1, 3)) / 448
    codes = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
    values = codes.float() * scale[:, None, :, None]
    return codes.view(rows, columns), scale, values.view(rows, columns)


def check_fp8(check, tokens):
    x = check.draw(tokens, 256)
    codes = torch.empty((tokens, 256), dtype=torch.float8_e4m3fn, device=check.device)
    scales = torch.empty((tokens, 2), dtype=torch.float32, device=check.device)
    ops.per_token_group_quant_fp8(codes, scales, x, 128)
    values = (codes.float().view(tokens, 2, 128) * scales[..., None]).view(tokens, 256)
    check.close("per_token_group_quant_fp8", values, x, 0.07)
    b, b_scales, b_values = _quantise(check, 256, 256)
    out = torch.empty((tokens, 256), dtype=check.dtype, device=check.device)
    ops.block_scaled_mm(out, codes, b, scales, b_scales)
    check.close(f"block_scaled_mm m={tokens}", out, values @ b_values.t())


def check_moe(check, tokens):
    hidden, width, experts, top_k = 64, 32, 8, 2
    logits = check.draw(tokens, experts, dtype=torch.float32)
    weights = torch.empty((tokens, top_k), dtype=torch.float32, device=check.device)
    ids = torch.empty((tokens, top_k), dtype=torch.int32, device=check.device)
    ops.moe_topk_gating_softmax(weights, ids, logits)
    want_weights, want_ids = logits.softmax(-1).topk(top_k)
    check.close("moe_topk_gating_softmax", weights, want_weights, 1e-5)
    check.equal("moe_topk_gating_softmax ids", ids.long(), want_ids)
    x = check.draw(tokens, hidden)
    w1, w2 = check.draw(experts, 2 * width, hidden), check.draw(experts, hidden, width)
    out = torch.empty_like(x)
    ops.fused_moe(out, x, w1, w2, weights, ids)
    gate_up = torch.einsum("th,tkih->tki", x.float(), w1.float()[ids.long()])
    gate, up = gate_up.chunk(2, dim=-1)
    rows = torch.einsum("tki,tkhi->tkh", torch.nn.functional.silu(gate) * up,
                        w2.float()[ids.long()])
    check.close(f"fused_moe tokens={tokens}", out, (rows * weights[..., None]).sum(1))


def wrong_operators(device):
    """One sentence for each operator whose result is not what its contract says."""
    check = Check(device)
    check_norms(check)
    check_rope(check)
    check_cache(check)
    check_attention(check, "prefill", [33, 7, 20], [33, 7, 20])
    check_attention(check, "chunked", [9, 1, 30], [40, 50, 33])
    check_attention(check, "decode", [1, 1, 1], [700, 1, 65])
    check_fp8(check, 5)
    check_fp8(check, 130)
    check_moe(check, 3)
    check_moe(check, 90)
    x = check.draw(3, 70)
    out = torch.empty((3, 35), dtype=check.dtype, device=device)
    ops.silu_and_mul(out, x)
    check.close("silu_and_mul", out,
                torch.nn.functional.silu(x[:, :35].float()) * x[:, 35:].float())
    return check.wrong


if __name__ == "__main__":
    found = wrong_operators("cuda" if torch.cuda.is_available() else "cpu")
    print("\n".join(found) or "all recorded operators agree with their references")
    sys.exit(1 if found else 0)
