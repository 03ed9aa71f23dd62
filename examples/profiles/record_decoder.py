# SPDX-License-Identifier: Apache-2.0
"""A decoder with random weights and real layer sizes, and the batches that a server would give it.

The layers are those of a served model: paged cache, fused norms, fp8 output projection, and either
a dense SwiGLU block or a mixture of experts. Few layers are enough, since a profile repeats them.
"""

from dataclasses import dataclass, fields

import torch

import record_operators  # registers torch.ops.roofmark.*
from record_operators import GROUP

ops = torch.ops.roofmark


@dataclass(frozen=True)
class Config:
    """Sizes of a decoder; `experts` 0 means a dense block of width `intermediate`."""

    name: str
    hidden: int
    query_heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    layers: int
    experts: int = 0
    top_k: int = 0
    eps: float = 1e-6
    page: int = 16
    max_context: int = 8448
    max_sequences: int = 32


# Sizes: Llama 3 8B and Qwen3-30B-A3B, as their published configurations state them.
DENSE = Config("dense-gqa-8b", 4096, 32, 8, 128, 14336, 128256, layers=4)
MOE = Config("moe-30b-a3b", 2048, 32, 4, 128, 768, 151936, layers=4, experts=128, top_k=8)


@dataclass
class Batch:
    """What one step reads. Integers are on the CPU until `to` moves them."""

    input_ids: torch.Tensor  # [T] i64
    positions: torch.Tensor  # [T] i64
    slot_mapping: torch.Tensor  # [T] i64, -1 where a row is padding
    cu_seqlens_q: torch.Tensor  # [S + 1] i32
    seqused_k: torch.Tensor  # [S] i32
    block_table: torch.Tensor  # [S, max_pages] i32
    last_rows: torch.Tensor  # [S] i64, the row whose logits are sampled
    max_seqlen_q: int
    max_seqlen_k: int
    q_lens: list
    kv_lens: list

    def tensors(self):
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if isinstance(value, torch.Tensor)}

    def to(self, device):
        moved = {name: value.to(device, non_blocking=True)
                 for name, value in self.tensors().items()}
        return Batch(**{**self.__dict__, **moved})


class Scheduler:
    """Gives sequences their shuffled pages and builds the batch of a step. Page 0 is never used."""

    def __init__(self, config, lengths, seed):
        generator = torch.Generator().manual_seed(seed)
        self.config = config
        self.generator = generator
        self.max_pages = -(-config.max_context // config.page)
        needed = [-(-length // config.page) for length in lengths]
        self.pages = sum(needed) + 1
        order = torch.randperm(self.pages - 1, generator=generator) + 1
        self.table = torch.zeros((len(lengths), self.max_pages), dtype=torch.int32)
        start = 0
        for row, count in enumerate(needed):
            self.table[row, :count] = order[start : start + count].to(torch.int32)
            start += count

    def batch(self, requests, padded=0):
        """A step over (sequence, q_len, kv_len): appends q_len tokens and ends at kv_len.

        `padded` adds idle rows, as a server does that has captured larger batches only.
        """
        page = self.config.page
        sequences, q_lens, kv_lens = (list(values) for values in zip(*requests))
        positions, slots, last = [], [], -1
        last_rows = []
        for row, q_len, kv_len in requests:
            at = torch.arange(kv_len - q_len, kv_len)
            positions.append(at)
            slots.append(self.table[row, at // page].to(torch.int64) * page + at % page)
            last += q_len
            last_rows.append(last)
        positions.append(torch.zeros(padded, dtype=torch.int64))
        slots.append(torch.full((padded,), -1, dtype=torch.int64))
        last_rows += list(range(last + 1, last + 1 + padded))
        lengths = torch.tensor([0] + q_lens + [1] * padded)
        table = torch.zeros((len(q_lens) + padded, self.max_pages), dtype=torch.int32)
        table[: len(q_lens)] = self.table[sequences]
        tokens = int(lengths.sum())
        return Batch(
            input_ids=torch.randint(self.config.vocabulary, (tokens,), generator=self.generator),
            positions=torch.cat(positions),
            slot_mapping=torch.cat(slots),
            cu_seqlens_q=lengths.cumsum(0).to(torch.int32),
            seqused_k=torch.tensor(kv_lens + [1] * padded, dtype=torch.int32),
            block_table=table,
            last_rows=torch.tensor(last_rows),
            max_seqlen_q=max(q_lens),
            max_seqlen_k=max(kv_lens),
            q_lens=q_lens,
            kv_lens=kv_lens,
        )


def step_label(batch):
    """vLLM's detailed step label: per phase the sums of q, k, q*q and q*k over its sequences."""

    def part(rows):
        sums = (sum(q for q, _ in rows), sum(k for _, k in rows),
                sum(q * q for q, _ in rows), sum(q * k for q, k in rows))
        return "{}(sq{}sk{}sqsq{}sqsk{})".format(len(rows), *sums)

    rows = list(zip(batch.q_lens, batch.kv_lens))
    context = [row for row in rows if row[0] > 1]
    generation = [row for row in rows if row[0] == 1]
    tokens = sum(batch.q_lens)
    return f"execute_{tokens}_context_{part(context)}_generation_{part(generation)}"


def plain_label(batch):
    """vLLM's short step label: sequences and tokens of each phase."""
    context = [q for q in batch.q_lens if q > 1]
    generation = [q for q in batch.q_lens if q == 1]
    return (f"execute_context_{len(context)}({sum(context)})"
            f"_generation_{len(generation)}({sum(generation)})")


class Decoder:
    """Weights, caches and the forward pass. Call `forward` under torch.inference_mode."""

    def __init__(self, config, pages, device, seed):
        self.config = config
        self.device = device
        self.generator = torch.Generator(device=device).manual_seed(seed)
        c = config
        self.heads = c.query_heads + 2 * c.kv_heads
        self.embedding = self._draw(c.vocabulary, c.hidden)
        self.head = self._draw(c.vocabulary, c.hidden, scale=c.hidden**-0.5).t()
        self.final_norm = self._norm(c.hidden)
        self.layers = [self._layer(pages) for _ in range(c.layers)]
        angles = torch.arange(c.max_context).float()[:, None] * (
            5e5 ** (-torch.arange(0, c.head_size, 2).float() / c.head_size))[None]
        self.cos_sin = torch.cat((angles.cos(), angles.sin()), dim=1).to(device)

    def _draw(self, *shape, scale=1.0):
        values = torch.empty(shape, dtype=torch.bfloat16, device=self.device)
        return values.normal_(0.0, scale, generator=self.generator)

    def _norm(self, width):
        return self._draw(width, scale=0.02) + 1

    def _fp8(self, rows, columns):
        """A weight as e4m3fn codes with one scale a 128 x 128 block."""
        weight = self._draw(rows, columns, scale=columns**-0.5).float()
        blocks = weight.view(rows // GROUP, GROUP, columns // GROUP, GROUP)
        scales = blocks.abs().amax((1, 3)) / 448.0
        codes = (blocks / scales[:, None, :, None]).to(torch.float8_e4m3fn)
        return codes.view(rows, columns), scales

    def _layer(self, pages):
        c = self.config
        attention_width = c.query_heads * c.head_size
        layer = {
            "input_norm": self._norm(c.hidden),
            "post_norm": self._norm(c.hidden),
            "qkv": self._draw(self.heads * c.head_size, c.hidden, scale=c.hidden**-0.5).t(),
            "out": self._fp8(c.hidden, attention_width),
            "keys": self._draw(pages, c.page, c.kv_heads, c.head_size),
            "values": self._draw(pages, c.page, c.kv_heads, c.head_size),
        }
        if c.experts:
            layer["q_norm"], layer["k_norm"] = self._norm(c.head_size), self._norm(c.head_size)
            layer["router"] = self._draw(c.experts, c.hidden, scale=c.hidden**-0.5).t()
            layer["w1"] = self._draw(c.experts, 2 * c.intermediate, c.hidden,
                                     scale=c.hidden**-0.5)
            layer["w2"] = self._draw(c.experts, c.hidden, c.intermediate,
                                     scale=c.intermediate**-0.5)
        else:
            layer["gate_up"] = self._draw(2 * c.intermediate, c.hidden, scale=c.hidden**-0.5).t()
            layer["down"] = self._draw(c.hidden, c.intermediate, scale=c.intermediate**-0.5).t()
        return layer

    def _attention(self, layer, x, batch):
        c = self.config
        tokens = x.shape[0]
        qkv = torch.mm(x, layer["qkv"])
        if c.experts:
            ops.fused_qk_rmsnorm(qkv, layer["q_norm"], layer["k_norm"], c.query_heads, c.kv_heads,
                                 c.eps)
        q = x.new_empty((tokens, c.query_heads, c.head_size))
        k = x.new_empty((tokens, c.kv_heads, c.head_size))
        v = torch.empty_like(k)
        ops.fused_qkv_rope(q, k, v, qkv, batch.positions, self.cos_sin)
        ops.reshape_and_cache(k, v, layer["keys"], layer["values"], batch.slot_mapping)
        out = torch.empty_like(q)
        ops.unified_attention(out, q, layer["keys"], layer["values"], batch.cu_seqlens_q,
                              batch.seqused_k, batch.block_table, batch.max_seqlen_q,
                              batch.max_seqlen_k, c.head_size**-0.5)
        return self._fp8_mm(out.view(tokens, -1), *layer["out"])

    def _fp8_mm(self, x, weight, weight_scales):
        tokens, k = x.shape
        codes = torch.empty((tokens, k), dtype=torch.float8_e4m3fn, device=x.device)
        scales = torch.empty((tokens, k // GROUP), dtype=torch.float32, device=x.device)
        ops.per_token_group_quant_fp8(codes, scales, x, GROUP)
        out = x.new_empty((tokens, weight.shape[0]))
        ops.block_scaled_mm(out, codes, weight, scales, weight_scales)
        return out

    def _dense(self, layer, x):
        gate_up = torch.mm(x, layer["gate_up"])
        activated = x.new_empty((x.shape[0], self.config.intermediate))
        ops.silu_and_mul(activated, gate_up)
        return torch.mm(activated, layer["down"])

    def _experts(self, layer, x):
        tokens, top_k = x.shape[0], self.config.top_k
        logits = torch.mm(x, layer["router"]).float()
        weights = logits.new_empty((tokens, top_k))
        ids = torch.empty((tokens, top_k), dtype=torch.int32, device=x.device)
        ops.moe_topk_gating_softmax(weights, ids, logits)
        out = torch.empty_like(x)
        ops.fused_moe(out, x, layer["w1"], layer["w2"], weights, ids)
        return out

    def forward(self, batch):
        """The next token of every sequence, [S] i64."""
        eps = self.config.eps
        residual = torch.nn.functional.embedding(batch.input_ids, self.embedding)
        x = torch.empty_like(residual)
        ops.rms_norm(x, residual, self.layers[0]["input_norm"], eps)
        for index, layer in enumerate(self.layers):
            if index:
                ops.fused_add_rms_norm(x, residual, layer["input_norm"], eps)
            x = self._attention(layer, x, batch)
            ops.fused_add_rms_norm(x, residual, layer["post_norm"], eps)
            x = self._experts(layer, x) if self.config.experts else self._dense(layer, x)
        ops.fused_add_rms_norm(x, residual, self.final_norm, eps)
        return torch.mm(x.index_select(0, batch.last_rows), self.head).argmax(dim=-1)
