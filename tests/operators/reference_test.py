# SPDX-License-Identifier: Apache-2.0
"""The operators' references against independent NumPy in float64, and against what their cards
promise.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/reference_test.py
"""

import math
import os
import sys
import unittest

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from card import OPERATORS, REGIMES, Operator, evaluate  # noqa: E402
from roofmark_ref import fp8  # noqa: E402

torch.set_num_threads(1)  # the tensors are small; threads that wait on shared cores cost more

DTYPES = {
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "i32": torch.int32,
    "f8_e4m3fn": torch.uint8,
}
# Peaks of the released hardware files and the engines they charge: what the released SOL times were
# made of.
RELEASED = {
    "H20": {"bf16": 148e12, "fp8_e4m3": 296e12, "hbm": 4.0e12},
    "XPU-A": {"bf16": 232.65e12, "fp8_e4m3": 465.3e12, "hbm": 5.3e12},
}


def wide(tensor):
    return tensor.double().numpy() if tensor.dtype != torch.uint8 else tensor.numpy()


def e4m3fn(code):
    """The value of an OCP e4m3fn code, from the format's definition."""
    sign, exponent, mantissa = -1.0 if code & 0x80 else 1.0, code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (
        mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    )


def numpy_rms_norm(shape, x, weight):
    x, weight = wide(x), wide(weight)
    rows = [row / math.sqrt(numpy.mean(row * row) + shape["eps"]) * weight for row in x]
    return {"out": numpy.stack(rows)}


def numpy_silu_and_mul(shape, x):
    gate, value = wide(x)[:, : shape["width"]], wide(x)[:, shape["width"] :]
    return {"out": gate / (1 + numpy.exp(-gate)) * value}


def numpy_block_scaled_mm(shape, a, b, a_scales, b_scales):
    table = numpy.array([e4m3fn(code) for code in range(256)])
    a, b, group = table[wide(a)], table[wide(b)], shape["group"]
    scale_a = numpy.repeat(wide(a_scales), group, axis=1)[:, : shape["k"]]
    scale_b = numpy.repeat(numpy.repeat(wide(b_scales), group, axis=0), group, axis=1)
    return {"c": (a * scale_a) @ (b * scale_b[: shape["n"], : shape["k"]]).T}


def numpy_unified_attention(shape, q, key_cache, value_cache, cu_seqlens_q, seqused_k, block_table):
    """Query by query, head by head, key by key through the page table."""
    q, key_cache, value_cache = wide(q), wide(key_cache), wide(value_cache)
    table, starts, lens = block_table.tolist(), cu_seqlens_q.tolist(), seqused_k.tolist()
    group = shape["query_heads"] // shape["kv_heads"]
    out = numpy.zeros_like(q)
    for s, kv_len in enumerate(lens):
        places = [
            (table[s][j // shape["page_size"]], j % shape["page_size"]) for j in range(kv_len)
        ]
        k = numpy.stack([key_cache[place] for place in places])
        v = numpy.stack([value_cache[place] for place in places])
        for row in range(starts[s], starts[s + 1]):
            seen = kv_len - (starts[s + 1] - 1 - row)
            for head in range(shape["query_heads"]):
                scores = k[:seen, head // group] @ q[row, head] / math.sqrt(shape["head_size"])
                weights = numpy.exp(scores - scores.max())
                out[row, head] = weights @ v[:seen, head // group] / weights.sum()
    return {"out": out}


class Reference(unittest.TestCase):
    def check_against_numpy(self, name, compute):
        operator = Operator(name)
        for shape_id in operator.tier("small"):
            shape = operator.resolve(shape_id)
            for regime in REGIMES:
                given = operator.module.inputs(shape, 5, regime, "cpu")
                got = operator.module.reference(shape, **given)
                with numpy.errstate(over="ignore"):
                    want = compute(shape, **given)
                for output, tensor in got.items():
                    # One rounding to the output's type, and float32 sums before it.
                    unit = 2.0**-8 if tensor.dtype == torch.bfloat16 else 2.0**-20
                    size = math.sqrt(float((want[output] ** 2).mean()))
                    difference = numpy.abs(tensor.double().numpy() - want[output])
                    bound = (
                        1.01 * unit * numpy.abs(want[output])
                        + 2e-4 * size * (unit > 2.0**-10)
                        + 1e-5 * size
                    )
                    with self.subTest(operator=name, shape=shape_id, regime=regime):
                        self.assertTrue(
                            bool((difference <= bound).all()), float((difference / bound).max())
                        )

    def test_rms_norm_agrees_with_numpy(self):
        self.check_against_numpy("rms_norm", numpy_rms_norm)

    def test_silu_and_mul_agrees_with_numpy(self):
        self.check_against_numpy("silu_and_mul", numpy_silu_and_mul)

    def test_block_scaled_mm_agrees_with_numpy(self):
        self.check_against_numpy("block_scaled_mm", numpy_block_scaled_mm)

    def test_unified_attention_agrees_with_numpy(self):
        self.check_against_numpy("unified_attention", numpy_unified_attention)

    def test_silu_and_mul_agrees_with_torch(self):
        operator = Operator("silu_and_mul")
        shape = operator.resolve("s-prefill")
        x = operator.module.inputs(shape, 5, "typical", "cpu")["x"]
        gate, value = x.float().chunk(2, dim=-1)
        got = operator.module.reference(shape, x)["out"]
        torch.testing.assert_close(
            got, (F.silu(gate) * value).to(torch.bfloat16), rtol=2.0**-7, atol=1e-6
        )

    @unittest.skipUnless(hasattr(F, "rms_norm"), "this PyTorch has no rms_norm")
    def test_rms_norm_agrees_with_torch(self):
        operator = Operator("rms_norm")
        shape = operator.resolve("s-prefill")
        given = operator.module.inputs(shape, 5, "typical", "cpu")
        want = F.rms_norm(
            given["x"].float(), (shape["hidden"],), given["weight"].float(), shape["eps"]
        )
        got = operator.module.reference(shape, **given)["out"]
        torch.testing.assert_close(got, want.to(torch.bfloat16), rtol=2.0**-7, atol=1e-6)

    @unittest.skipUnless(
        hasattr(F, "scaled_dot_product_attention"), "this PyTorch has no attention"
    )
    def test_unified_attention_agrees_with_torch(self):
        operator = Operator("unified_attention")
        shape = operator.resolve("s-prefill")
        given = operator.module.inputs(shape, 5, "typical", "cpu")
        pages = given["block_table"][0].long()
        k, v = (
            given[c][pages].flatten(0, 1)[: shape["max_kv"]].float().transpose(0, 1)
            for c in ("key_cache", "value_cache")
        )
        want = F.scaled_dot_product_attention(
            given["q"].float().transpose(0, 1), k, v, is_causal=True
        )
        got = operator.module.reference(shape, **given)["out"]
        torch.testing.assert_close(got.float(), want.transpose(0, 1), rtol=2.0**-7, atol=1e-4)


class Inputs(unittest.TestCase):
    def each_small(self):
        for name in OPERATORS:
            operator = Operator(name)
            for shape_id in operator.tier("small"):
                yield operator, operator.resolve(shape_id), shape_id

    def test_tensors_are_what_the_card_says(self):
        for operator, shape, shape_id in self.each_small():
            for regime in REGIMES:
                given = operator.module.inputs(shape, 1, regime, "cpu")
                got = operator.module.reference(shape, **given)
                for tensors, card in (
                    (given, operator.card["inputs"]),
                    (got, operator.card["outputs"]),
                ):
                    self.assertEqual(list(tensors), [tensor["name"] for tensor in card])
                    for tensor in card:
                        with self.subTest(
                            operator=operator.name, shape=shape_id, tensor=tensor["name"]
                        ):
                            self.assertEqual(
                                list(tensors[tensor["name"]].shape), operator.sizes(tensor, shape)
                            )
                            self.assertEqual(tensors[tensor["name"]].dtype, DTYPES[tensor["dtype"]])
                            self.assertTrue(tensors[tensor["name"]].is_contiguous())

    def test_a_seed_and_a_regime_decide_everything(self):
        for operator, shape, shape_id in self.each_small():
            with self.subTest(operator=operator.name, shape=shape_id):
                first = operator.module.inputs(shape, 77, "typical", "cpu")
                torch.rand(5)  # whoever else draws numbers changes nothing
                again = operator.module.inputs(shape, 77, "typical", "cpu")
                for tensor in first:
                    self.assertTrue(torch.equal(first[tensor], again[tensor]))
                for other in (
                    operator.module.inputs(shape, 78, "typical", "cpu"),
                    operator.module.inputs(shape, 77, "offset", "cpu"),
                ):
                    self.assertFalse(
                        all(torch.equal(first[tensor], other[tensor]) for tensor in first)
                    )

    def test_large_seeds_are_taken(self):
        for operator, shape, _ in self.each_small():
            operator.module.inputs(shape, (1 << 61) + 12345, "heavy_tail", "cpu")

    def test_an_unknown_regime_is_refused_by_name(self):
        for operator, shape, _ in self.each_small():
            with self.assertRaisesRegex(ValueError, "unknown regime 'usual'; have typical"):
                operator.module.inputs(shape, 1, "usual", "cpu")

    def test_the_reference_leaves_its_inputs_alone(self):
        for operator, shape, shape_id in self.each_small():
            given = operator.module.inputs(shape, 9, "typical", "cpu")
            kept = {name: tensor.clone() for name, tensor in given.items()}
            operator.module.reference(shape, **given)
            for name, tensor in given.items():
                self.assertTrue(torch.equal(tensor, kept[name]), (operator.name, shape_id, name))

    def test_pages_are_shuffled_each_used_once_and_unused_entries_point_at_garbage(self):
        operator = Operator("unified_attention")
        for shape_id in operator.tier("small"):
            shape = operator.resolve(shape_id)
            given = operator.module.inputs(shape, 3, "typical", "cpu")
            table = given["block_table"]
            used, unused = [], []
            for row, length in zip(table.tolist(), shape["kv_lens"]):
                pages = -(-length // shape["page_size"])
                used += row[:pages]
                unused += row[pages:]
            self.assertEqual(len(used), shape["used_pages"])
            self.assertEqual(len(set(used)), len(used))
            self.assertFalse(set(used) & set(unused))
            self.assertTrue(all(0 <= page < shape["num_pages"] for page in used + unused))
            self.assertTrue(
                all(bool(torch.isfinite(given[c]).all()) for c in ("key_cache", "value_cache"))
            )
            self.assertGreater(float(given["value_cache"][unused[0]].float().abs().max()), 50.0)
            again = operator.module.inputs(shape, 4, "typical", "cpu")["block_table"]
            self.assertFalse(torch.equal(table, again))


class Fp8(unittest.TestCase):
    def test_decoding_follows_the_format(self):
        got = fp8.decode(torch.arange(256, dtype=torch.uint8))
        for code in range(256):
            want = e4m3fn(code)
            self.assertTrue(
                float(got[code]) == want or math.isnan(want) and math.isnan(float(got[code])), code
            )
        self.assertEqual(
            float(fp8.decode(torch.tensor([0x7F], dtype=torch.uint8), "f8_e4m3fnuz")), 240.0
        )
        self.assertTrue(
            math.isnan(float(fp8.decode(torch.tensor([0x80], dtype=torch.uint8), "f8_e4m3fnuz")))
        )

    def test_every_code_survives_a_round_trip(self):
        codes = torch.arange(256, dtype=torch.uint8)
        for dtype in ("f8_e4m3fn", "f8_e4m3fnuz"):
            values = fp8.decode(codes, dtype)
            finite = torch.isfinite(values)
            self.assertTrue(torch.equal(fp8.encode(values, dtype)[finite], codes[finite]))
            self.assertEqual(int((~finite).sum()), 2 if dtype == "f8_e4m3fn" else 1)

    def test_encoding_rounds_to_the_nearest_code_and_ties_to_even(self):
        generator = torch.Generator().manual_seed(1)
        for dtype, largest in fp8.MAX_VALUE.items():
            grid = fp8.decode(torch.arange(128, dtype=torch.uint8), dtype)
            grid = grid[torch.isfinite(grid)].double()
            values = torch.rand(20000, generator=generator).double() ** 6 * largest
            values = torch.cat([values, (grid[1:] + grid[:-1]) / 2])  # ties are exact in float32
            got = fp8.encode(values.float(), dtype)
            distance = (values.float().double()[:, None] - grid).abs()
            nearest = distance.amin(1)
            self.assertTrue(
                torch.equal(
                    (fp8.decode(got, dtype).double() - values.float().double()).abs(), nearest
                )
            )
            ties = (distance == nearest[:, None]).sum(1) > 1
            self.assertGreaterEqual(int(ties.sum()), len(grid) - 1)
            self.assertTrue(bool((got[ties] % 2 == 0).all()))

    def test_encoding_saturates_and_keeps_signs_and_nan(self):
        values = torch.tensor([1e9, -1e9, float("inf"), 0.0, -0.0, float("nan")])
        self.assertEqual(fp8.encode(values).tolist(), [0x7E, 0xFE, 0x7E, 0x00, 0x80, 0x7F])
        self.assertEqual(
            fp8.encode(values, "f8_e4m3fnuz").tolist(), [0x7F, 0xFF, 0x7F, 0x00, 0x00, 0x80]
        )

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "this PyTorch has no fp8")
    def test_decoding_agrees_with_torch(self):
        codes = torch.arange(256, dtype=torch.uint8)
        want = codes.view(torch.float8_e4m3fn).float()
        self.assertTrue(torch.equal(torch.nan_to_num(fp8.decode(codes)), torch.nan_to_num(want)))


class Cards(unittest.TestCase):
    def test_released_work_traffic_and_times_are_reproduced(self):
        counted = 0
        for name in OPERATORS:
            operator = Operator(name)
            for shape_id in operator.tier("published"):
                names, released = operator.resolve(shape_id), operator.shapes[shape_id]["published"]
                work = {
                    dtype: evaluate(text, names)
                    for dtype, text in operator.card["published"]["work"].items()
                }
                read = evaluate(operator.card["traffic"]["read"], names)
                write = evaluate(operator.card["traffic"]["write"], names)
                with self.subTest(operator=name, shape=shape_id):
                    self.assertEqual(work, released["w_flops"])
                    self.assertEqual((read, write), (released["q_read"], released["q_write"]))
                    for device, peaks in RELEASED.items():
                        compute = sum(ops / peaks[dtype] for dtype, ops in work.items())
                        sol_us = max(compute, (read + write) / peaks["hbm"]) * 1e6
                        self.assertAlmostEqual(sol_us, released["sol_us"][device], places=5)
                counted += 1
        self.assertEqual(counted, 56 + 37 + 24 + 25)

    def test_work_is_a_whole_number_everywhere(self):
        for name in OPERATORS:
            operator = Operator(name)
            for shape_id in operator.shapes:
                names = operator.resolve(shape_id)
                for work in operator.card["work"]:
                    ops = evaluate(work["ops"], names)
                    self.assertEqual(ops, int(ops), (name, shape_id, work["engine"]))
                    self.assertGreater(ops, 0)


if __name__ == "__main__":
    unittest.main()
