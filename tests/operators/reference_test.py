# SPDX-License-Identifier: Apache-2.0
"""The operators' references against independent NumPy in float64, and against what their cards
promise.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/reference_test.py [OPERATOR ...]
"""

import importlib
import math
import os
import sys
import unittest

import numpy
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from arrays import FP8_VALUES, wide  # noqa: E402
from card import DTYPES, OPERATORS, REGIMES, Operator, evaluate  # noqa: E402

torch.set_num_threads(1)  # the tensors are small; threads that wait on shared cores cost more

NAMES = [name for name in sys.argv[1:] if name in OPERATORS] or OPERATORS
# Peaks of the released hardware files and the engines they charge: what the released SOL times were
# made of.
RELEASED = {
    "H20": {
        "bf16": 148e12,
        "fp16": 148e12,
        "fp8_e4m3": 296e12,
        "fp32": 44e12,
        "hbm": 4.0e12,
    },
    "XPU-A": {
        "bf16": 232.65e12,
        "fp16": 232.65e12,
        "fp8_e4m3": 465.3e12,
        "fp32": 29.1e12,
        "hbm": 5.3e12,
    },
}
PUBLISHED_SHAPES = 440
# One rounding to the output's type, half a unit of its last place.
UNITS = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-20}


class Reference(unittest.TestCase):
    def each(self):
        """(operator, shape, regime, inputs, independent module) of the small tier."""
        for name in NAMES:
            operator, independent = Operator(name), importlib.import_module("numpy_" + name)
            for shape_id in operator.tier("small"):
                shape = operator.resolve(shape_id)
                for regime in REGIMES:
                    given = operator.module.inputs(shape, 5, regime, "cpu")
                    with self.subTest(operator=name, shape=shape_id, regime=regime):
                        yield operator, shape, given, independent

    def check(self, operator, shape, output, got, want):
        bound = operator.card["tolerance"][output["name"]]
        if bound["kind"] == "codes":
            # The independent value is the number before it becomes a code: the reference's code
            # must be one of its neighbours, and nearly always the nearest.
            values = FP8_VALUES[operator.dtype(output, shape)][got.numpy()]
            step = numpy.maximum(numpy.abs(want) / 8, 2.0**-9)
            self.assertTrue(bool((numpy.abs(values - want) <= 0.51 * step).all()))
        elif bound["kind"] == "numeric":
            size = math.sqrt(float((want**2).mean()))
            unit = UNITS[got.dtype]
            difference = numpy.abs(wide(got) - want)
            allowed = 1.01 * unit * numpy.abs(want) + (2e-4 if unit > 2.0**-12 else 1e-5) * size
            self.assertTrue(
                bool((difference <= allowed).all()),
                "%s: %g of the bound"
                % (output["name"], float((difference / (allowed + 1e-300)).max())),
            )
        else:
            self.assertTrue(numpy.array_equal(wide(got), want), output["name"])

    def test_references_agree_with_numpy(self):
        for operator, shape, given, independent in self.each():
            got = operator.module.reference(shape, **given)
            with numpy.errstate(over="ignore"):
                want = independent.compute(shape, **given)
            for output in operator.card["outputs"]:
                self.check(operator, shape, output, got[output["name"]], want[output["name"]])

    def test_references_agree_with_operators_that_pytorch_has(self):
        for operator, shape, given, independent in self.each():
            own = getattr(independent, "torch_own", None)
            want = own(shape, **given) if own else None
            if want is None:
                continue
            got = operator.module.reference(shape, **given)
            got = {name: got[name] for name in want}
            for name in want:
                torch.testing.assert_close(
                    got[name].float(), want[name].float(), rtol=2.0**-6, atol=1e-3, equal_nan=False
                )


class Inputs(unittest.TestCase):
    def each_small(self):
        for name in NAMES:
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
                        found = tensors[tensor["name"]]
                        with self.subTest(
                            operator=operator.name, shape=shape_id, tensor=tensor["name"]
                        ):
                            self.assertEqual(list(found.shape), operator.sizes(tensor, shape))
                            self.assertEqual(found.dtype, DTYPES[operator.dtype(tensor, shape)])
                            self.assertTrue(found.is_contiguous())
                            self.assertFalse(
                                found.is_floating_point() and bool(torch.isnan(found).any())
                            )

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


class Pages(unittest.TestCase):
    @unittest.skipUnless("unified_attention" in NAMES, "other operators were asked for")
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


class Cards(unittest.TestCase):
    def released(self, operator, names, key, shape, otherwise):
        """The card's formula for a released figure, or that figure where it was a draw."""
        published = operator.card["published"]
        if published.get("released_" + key) == "draw":
            return shape[{"work": "w_flops", "read": "q_read", "write": "q_write"}[key]]
        formula = published.get(key, otherwise)
        if isinstance(formula, dict):
            return {dtype: evaluate(text, names) for dtype, text in formula.items()}
        return evaluate(formula, names)

    def test_released_work_traffic_and_times_are_reproduced(self):
        counted = 0
        for name in NAMES:
            operator = Operator(name)
            traffic = operator.card["traffic"]
            for shape_id in operator.tier("published"):
                names, shape = operator.resolve(shape_id), operator.shapes[shape_id]["published"]
                work = self.released(operator, names, "work", shape, {})
                read = self.released(operator, names, "read", shape, traffic["read"])
                write = self.released(operator, names, "write", shape, traffic["write"])
                with self.subTest(operator=name, shape=shape_id):
                    self.assertEqual(work, shape["w_flops"])
                    self.assertEqual((read, write), (shape["q_read"], shape["q_write"]))
                    for device, peaks in RELEASED.items():
                        compute = sum(ops / peaks[dtype] for dtype, ops in work.items())
                        sol_us = max(compute, (read + write) / peaks["hbm"]) * 1e6
                        self.assertAlmostEqual(sol_us, shape["sol_us"][device], places=5)
                counted += 1
        if NAMES is OPERATORS:
            self.assertEqual(counted, PUBLISHED_SHAPES)

    def test_work_is_a_whole_number_everywhere(self):
        for name in NAMES:
            operator = Operator(name)
            for shape_id in operator.shapes:
                names = operator.resolve(shape_id)
                total = 0
                for work in operator.card.get("work", []):
                    ops = evaluate(work["ops"], names)
                    self.assertEqual(ops, int(ops), (name, shape_id, work["engine"]))
                    self.assertGreaterEqual(ops, 0)
                    total += ops
                self.assertEqual(total > 0, bool(operator.card.get("work")), (name, shape_id))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
