# SPDX-License-Identifier: Apache-2.0
"""Regimes beside the three that every operator has. Subnormal inputs: every operator that is judged
on them has finite references, and honest programs stay within the tolerance, also on a processor
that takes every subnormal for zero, as fast-math kernels do. Masked rows, where an operator has a
mask: honest programs pass.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/regimes_test.py [OPERATOR ...]
"""

import os
import sys
import unittest

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from card import OPERATORS, ROOT, Operator, load_module  # noqa: E402
from roofmark_ref import regimes  # noqa: E402

torch.set_num_threads(1)  # flushing is a state of each thread

NAMES = [name for name in sys.argv[1:] if name in OPERATORS] or OPERATORS
_TINY = {torch.bfloat16: 2.0**-126, torch.float16: 2.0**-14, torch.float32: 2.0**-126}


def judged(operator):
    """As src/gate/correctness.cc: where all outputs are compared as numbers."""
    return all(bound["kind"] == "numeric" for bound in operator.card["tolerance"].values())


class Subnormals(unittest.TestCase):
    def test_some_elements_and_whole_rows_are_subnormal_and_none_is_zero(self):
        for dtype, tiny in _TINY.items():
            gen = torch.Generator().manual_seed(1)
            given = torch.ones((256, 128), dtype=dtype)
            out = regimes.with_subnormals(given, gen).to(torch.float64).abs()
            small = out < tiny
            with self.subTest(dtype=dtype):
                self.assertTrue(bool(small.all(dim=1).any()))
                self.assertLess(float(small.to(torch.float64).mean()), 0.1)
                self.assertTrue(bool((out > 0).all()))
                self.assertTrue(bool((given == 1).all()))

    def test_other_regimes_are_the_references_own(self):
        module = Operator("rms_norm").module
        shape = Operator("rms_norm").resolve("s-decode")
        got = regimes.draw(module, shape, 3, "offset", "cpu")
        want = module.inputs(shape, 3, "offset", "cpu")
        for name in want:
            self.assertTrue(torch.equal(got[name], want[name]))

    def test_honest_programs_pass_whether_subnormals_are_flushed_or_not(self):
        self.assertTrue(torch.set_flush_denormal(False))
        for name in NAMES:
            operator = Operator(name)
            if not judged(operator):
                continue
            path = os.path.join(ROOT, "operators", name, "variants.py")
            honest = load_module("variants_of_" + name, path).HONEST
            for shape_id in operator.tier("small"):
                shape = operator.resolve(shape_id)
                given = regimes.draw(operator.module, shape, 5, "denormals", "cpu")
                expected = operator.module.reference(shape, **given)
                for flush in (False, True):
                    for how, compute in honest.items():
                        torch.set_flush_denormal(flush)
                        try:
                            got = compute(shape, **given)
                        finally:
                            torch.set_flush_denormal(False)
                        if got is None:
                            continue
                        worst, error, _ = operator.compare(got, expected, shape)
                        with self.subTest(operator=name, shape=shape_id, how=how, flush=flush):
                            self.assertLessEqual(max(worst, error), 1.0)

    def test_a_mixed_draw_has_rows_of_several_kinds_and_the_rest_is_typical(self):
        module = Operator("silu_and_mul").module
        shape = {"rows": 512, "width": 64}
        for seed in range(6):
            typical = module.inputs(shape, seed, "typical", "cpu")["x"]
            mixed = regimes.draw(module, shape, seed, "mixed", "cpu")["x"]
            again = regimes.draw(module, shape, seed, "mixed", "cpu")["x"]
            changed = (mixed != typical).any(dim=1)
            with self.subTest(seed=seed):
                self.assertTrue(torch.equal(mixed, again))
                self.assertTrue(bool(changed.any()))
                self.assertFalse(bool(changed.all()))

    def test_who_looks_at_the_first_row_alone_fails_where_rows_are_mixed(self):
        operator = Operator("silu_and_mul")
        shape = operator.resolve("s-prefill")
        width = shape["width"]
        failed = 0
        for seed in range(8):
            given = regimes.draw(operator.module, shape, seed, "mixed", "cpu")
            expected = operator.module.reference(shape, **given)
            gate, value = (half.float() for half in given["x"].split(width, dim=1))
            limit = float("inf") if float(gate[0].abs().max()) > 12 else 13.0
            gate = torch.where(gate.abs() > limit, torch.zeros_like(gate), gate)
            got = {"out": (gate * torch.sigmoid(gate) * value).to(torch.bfloat16)}
            worst, error, _ = operator.compare(got, expected, shape)
            failed += max(worst, error) > 1.0
        self.assertGreaterEqual(failed, 4)

    def test_honest_programs_pass_where_rows_are_mixed(self):
        seen = 0
        for name in NAMES:
            operator = Operator(name)
            if "mixed" not in regimes.own(operator.module):
                continue
            path = os.path.join(ROOT, "operators", name, "variants.py")
            honest = load_module("variants_of_" + name, path).HONEST
            for shape_id in operator.tier("small"):
                shape = operator.resolve(shape_id)
                for seed in range(4):
                    given = regimes.draw(operator.module, shape, seed, "mixed", "cpu")
                    expected = operator.module.reference(shape, **given)
                    for how, compute in honest.items():
                        got = compute(shape, **given)
                        if got is None:
                            continue
                        worst, error, _ = operator.compare(got, expected, shape)
                        seen += 1
                        with self.subTest(operator=name, shape=shape_id, how=how, seed=seed):
                            self.assertLessEqual(max(worst, error), 0.8)
        self.assertTrue(seen > 0 or NAMES != OPERATORS)

    def test_honest_programs_pass_where_the_operator_masks_most_of_a_row(self):
        seen = 0
        for name in NAMES:
            operator = Operator(name)
            if "masked" not in getattr(operator.module, "_REGIMES", ()):
                continue
            path = os.path.join(ROOT, "operators", name, "variants.py")
            honest = load_module("variants_of_" + name, path).HONEST
            for shape_id in operator.tier("small"):
                shape = operator.resolve(shape_id)
                given = regimes.draw(operator.module, shape, 5, "masked", "cpu")
                expected = operator.module.reference(shape, **given)
                for how, compute in honest.items():
                    got = compute(shape, **given)
                    if got is None:
                        continue
                    worst, error, _ = operator.compare(got, expected, shape)
                    seen += 1
                    with self.subTest(operator=name, shape=shape_id, how=how):
                        self.assertLessEqual(max(worst, error), 1.0)
        self.assertTrue(seen > 0 or NAMES != OPERATORS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
