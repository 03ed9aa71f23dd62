# SPDX-License-Identifier: Apache-2.0
"""The static check of Python candidates (src/worker/python/roofmark_static.py): what it finds good,
what it refuses and why. It parses and never runs, so this needs no compiler of any lane."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "src/worker/python"))

import roofmark_static  # noqa: E402
from roofmark_arenas import Refusal  # noqa: E402

CONTRACT = {
    "inputs": ["x"],
    "outputs": ["out"],
    "axes": ["rows", "width"],
    "lists": ["lens"],
    "attributes": [],
}
GLUON = "from triton.experimental import gluon\n"
KERNEL = GLUON + "@gluon.jit\ndef gate(x, out):\n    pass\n"


def check(lane, text, entry="run", more=()):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "candidate.py")
        for name, source in [("candidate.py", text)] + list(more):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(source)
        return roofmark_static.check(
            {"path": path, "lane": lane, "entry": entry, "contract": CONTRACT}
        )


class Static(unittest.TestCase):
    def refused(self, outcome, words, *arguments, **more):
        with self.assertRaises(Refusal) as caught:
            check(*arguments, **more)
        self.assertEqual(caught.exception.outcome, outcome)
        self.assertIn(words, caught.exception.reason)

    def test_finds_the_kernels_of_each_language_under_any_name_of_its_mark(self):
        run = "def run(x, out, rows=1):\n    pass\n"
        for lane, text in {
            "triton": "import triton as t\n@t.jit\ndef k(x): pass\n",
            "gluon": GLUON + "@gluon.jit(debug=True)\ndef k(x): pass\n",
            "cutedsl": "from cutlass import cute\nclass K:\n  @cute.kernel\n  def k(self): pass\n",
            "tilelang": "import tilelang.language as T\n"
            "def f():\n  @T.prim_func\n  def k(): pass\n",
            "flydsl": "import flydsl.compiler as flyc\n@flyc.kernel\ndef k(): pass\n",
        }.items():
            found = check(lane, text + run)
            self.assertEqual(found["kernels"], ["k"], lane)
            self.assertIn("run(x, out) takes the contract's names", found["text"])

    def test_lets_an_axis_that_is_a_list_be_a_parameter(self):
        found = check("gluon", KERNEL + "def run(x, out, lens): pass\n")
        self.assertIn("run(x, out, lens) takes the contract's names", found["text"])

    def test_counts_kernels_made_by_a_call_and_kernels_of_other_files(self):
        made = check("gluon", GLUON + "k = gluon.jit(print)\ndef run(x, out): pass\n")
        self.assertEqual(made["kernels"], ["(by call)"])
        text = "from k import gate\ndef run(x, out): pass\n"
        other = check("gluon", text, more=[("k.py", KERNEL)])
        self.assertEqual(other["kernels"], ["gate"])

    def test_refuses_text_that_is_no_python(self):
        self.refused("compile_error", "candidate.py:2", "gluon", "x = 1\ndef run(:\n")
        self.refused("compile_error", "candidate.py", "gluon", "(" * 100000)

    def test_refuses_an_entry_that_is_missing_or_asks_for_unknown_names(self):
        self.refused("bad_interface", "none of run", "gluon", KERNEL)
        self.refused("bad_interface", "none of go", "gluon", KERNEL, entry="go")
        text = KERNEL + "def run(x, y):\n    pass\n"
        self.refused("bad_interface", "parameter 'y'", "gluon", text)

    def test_refuses_a_file_without_a_kernel_and_one_with_another_library_s(self):
        text = GLUON + "def run(x, out):\n    pass\n"
        self.refused("bad_interface", "no kernel of Gluon", "gluon", text)
        text = "import flashinfer\n" + KERNEL + "def run(x, out):\n    pass\n"
        self.refused("bad_interface", "flashinfer", "gluon", text)

    def test_leaves_alone_what_text_does_not_tell(self):
        found = check("gluon", KERNEL + "class Model(B):\n  pass\n")
        self.assertIn("Model is there", found["text"])
        self.assertIn("not be told", check("gluon", KERNEL + "run = make()\n")["text"])
        self.assertIn("not be told", check("gluon", KERNEL + "from k import *\n")["text"])

    def test_runs_nothing(self):
        text = KERNEL + "raise SystemExit\ndef run(x, out):\n    pass\n"
        self.assertEqual(check("gluon", text)["kernels"], ["gate"])

    def test_a_missing_compiler_is_named_with_the_way_to_get_it(self):
        lane = roofmark_static.Lane("Nolang", "nolang.sub", "nolang", (), "nolang")
        self.assertEqual(roofmark_static.version_of(lane), "")
        self.assertIn("pip install nolang", roofmark_static.missing(lane))


if __name__ == "__main__":
    unittest.main()
