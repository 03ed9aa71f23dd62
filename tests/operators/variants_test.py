# SPDX-License-Identifier: Apache-2.0
"""Each operator's tolerance stands between two families: every honest way of computing it passes,
every wrong one fails.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/variants_test.py [OPERATOR ...]
"""

import math
import os
import sys
import unittest

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from card import OPERATORS, REGIMES, ROOT, Operator, load_module  # noqa: E402

torch.set_num_threads(1)  # the tensors are small; threads that wait on shared cores cost more

NAMES = [name for name in sys.argv[1:] if name in OPERATORS] or OPERATORS
# In units of the bound. Between them lies the gap that keeps a tolerance from being tuned to its
# tests.
HONEST_AT_MOST = 0.8
WRONG_AT_LEAST = 1.5
SEEDS = (1, 2)


def cases(operator, extra_shapes):
    """(label, shape, regime, inputs, expected) of the small tier and the variants' own shapes."""
    shapes = [(shape_id, operator.resolve(shape_id)) for shape_id in operator.tier("small")]
    shapes += [(str(axes), operator.resolve(axes)) for axes in extra_shapes]
    for label, shape in shapes:
        for regime in REGIMES:
            for seed in SEEDS:
                given = operator.module.inputs(shape, seed, regime, "cpu")
                expected = operator.module.reference(shape, **given)
                yield "%s %s seed %d" % (label, regime, seed), shape, regime, given, expected


# Programs that compute nothing, or not enough, and yet passed the released shapes and tolerances.
TRIVIAL_PASSES = (
    ("fused_qkv_rope", "views of the packed tensor"),
    ("reshape_and_cache", "slots and old cache ignored"),
    ("causal_conv1d", "silu of the bias"),
    ("linear_sigmoid_mul", "post halved"),
    ("l2_norm", "over the root of hidden"),
    ("rms_norm", "rms of one"),
    ("fused_add_rms_norm", "rms of one"),
    ("chunk_delta_rule_output", "zeros"),
    ("gated_delta_rule_update", "out is zeros"),
    ("gated_delta_rule_update", "state only decayed"),
    ("fused_moe", "zeros"),
    ("fp8_dynamic_per_token_quant_fn", "a constant in place of the scale"),
    ("fused_rmsnorm_quant_fn", "a constant in place of the scale"),
    ("per_token_group_quant_fp8", "a constant in place of the scale"),
    ("mrope", "the inputs themselves"),
    ("paged_attention_decode", "page table ignored"),
    ("unified_attention", "page table ignored"),
    ("gated_delta_rule_update", "state indices ignored"),
    ("attention_forward", "all in one sequence"),
)
_SIZES = {"f32": 4, "i32": 4, "i64": 8, "bf16": 2, "f16": 2}
_AFFORDABLE = 48 << 20  # bytes of inputs that a CPU works through in a moment


def affordable_shapes(operator):
    """Corrected shapes, least inputs first; small ones behind those that take long."""

    def size(shape_id):
        names = operator.resolve(shape_id)
        return sum(
            math.prod(operator.sizes(tensor, names))
            * _SIZES.get(operator.dtype(tensor, names), 1)
            for tensor in operator.card["inputs"]
        )

    corrected = sorted(operator.tier("corrected"), key=size)
    return [s for s in corrected if size(s) <= _AFFORDABLE] + operator.tier("small")[::-1]


class Factories:
    """While entered, notes calls that make a tensor without naming its device."""

    NAMES = ("arange", "empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm")
    NAMES += ("linspace", "eye", "tensor", "tril_indices", "triu_indices", "scalar_tensor")

    def __enter__(self):
        self.without_device, self.now = [], "inputs and reference"
        self._kept = {name: getattr(torch, name) for name in self.NAMES}
        for name, function in self._kept.items():
            setattr(torch, name, self._watched(name, function))
        return self

    def _watched(self, name, function):
        def call(*args, **kwargs):
            if kwargs.get("device") is None:
                self.without_device.append("%s: torch.%s" % (self.now, name))
            return function(*args, **kwargs)

        return call

    def __exit__(self, *_):
        for name, function in self._kept.items():
            setattr(torch, name, function)


def variants_of(name):
    return load_module("variants_of_" + name, os.path.join(ROOT, "operators", name, "variants.py"))


class Variants(unittest.TestCase):
    def check(self, name):
        operator = Operator(name)
        variants = variants_of(name)
        refused = set()
        for label, shape, regime, given, expected in cases(operator, variants.EXTRA_SHAPES):
            for how, compute in variants.HONEST.items():
                got = compute(shape, **given)
                if got is None:
                    continue
                worst, error, _ = operator.compare(got, expected, shape)
                with self.subTest(honest=how, case=label):
                    self.assertLessEqual(max(worst, error), HONEST_AT_MOST)
            for how, (compute, regimes) in variants.WRONG.items():
                if regime not in regimes:
                    continue
                # A copy: a wrong variant may hand its input back.
                got = compute(shape, **{key: tensor.clone() for key, tensor in given.items()})
                if got is None:
                    continue
                refused.add(how)
                worst, error, _ = operator.compare(got, expected, shape)
                with self.subTest(wrong=how, case=label):
                    self.assertGreaterEqual(max(worst, error), WRONG_AT_LEAST)
        self.assertEqual(refused, set(variants.WRONG), "a wrong variant that no shape tries")

    def test_bounds_accept_the_honest_and_refuse_the_wrong(self):
        for name in NAMES:
            with self.subTest(operator=name):
                self.check(name)

    def test_programs_say_on_which_device_they_make_tensors(self):
        """A tensor made on the CPU by default would fail, or crawl, beside inputs on a GPU."""
        for name in NAMES:
            operator, variants = Operator(name), variants_of(name)
            shape = operator.resolve(operator.tier("small")[-1])
            with Factories() as factories:
                given = operator.module.inputs(shape, 1, "typical", "cpu")
                operator.module.reference(shape, **given)
                programs = {**variants.HONEST, **{k: v[0] for k, v in variants.WRONG.items()}}
                for how, compute in programs.items():
                    factories.now = "%s: %s" % (name, how)
                    compute(shape, **{key: tensor.clone() for key, tensor in given.items()})
            with self.subTest(operator=name):
                self.assertEqual(factories.without_device, [])

    def test_what_passed_in_the_released_benchmark_is_refused_on_corrected_shapes(self):
        for name, program in TRIVIAL_PASSES:
            if name not in NAMES:
                continue
            operator, (compute, regimes) = Operator(name), variants_of(name).WRONG[program]
            self.assertIn("typical", regimes, (name, program))
            for shape_id in affordable_shapes(operator):
                shape = operator.resolve(shape_id)
                given = operator.module.inputs(shape, 1, "typical", "cpu")
                got = compute(shape, **{key: tensor.clone() for key, tensor in given.items()})
                if got is not None:
                    break
            expected = operator.module.reference(shape, **given)
            with self.subTest(operator=name, program=program, shape=shape_id):
                self.assertIsNotNone(got)
                self.assertGreaterEqual(
                    max(operator.compare(got, expected, shape)[:2]), WRONG_AT_LEAST
                )

    def test_an_answer_to_other_inputs_is_refused(self):
        for name in NAMES:
            operator = Operator(name)
            for shape_id in operator.tier("small"):
                shape = operator.resolve(shape_id)
                for regime in REGIMES:
                    answers = [
                        operator.module.reference(
                            shape, **operator.module.inputs(shape, seed, regime, "cpu")
                        )
                        for seed in (11, 12)
                    ]
                    worst, error, _ = operator.compare(answers[0], answers[1], shape)
                    with self.subTest(operator=name, shape=shape_id, regime=regime):
                        self.assertGreaterEqual(max(worst, error), WRONG_AT_LEAST)

    def test_what_is_not_finite_is_refused(self):
        operator = Operator("rms_norm")
        shape = operator.resolve("s-decode")
        expected = operator.module.reference(
            shape, **operator.module.inputs(shape, 3, "typical", "cpu")
        )
        for value in (float("nan"), float("inf")):
            spoilt = {"out": expected["out"].clone()}
            spoilt["out"][0, 0] = value
            self.assertEqual(operator.compare(spoilt, expected)[0], float("inf"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
