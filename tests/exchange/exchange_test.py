# SPDX-License-Identifier: Apache-2.0
"""`roofmark suite import` from the outside: small problems of four benchmarks come over, their
honest candidates are right, their wrong ones are not, and what cannot come over is said."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent / "data"
# Debian keeps PyTorch's headers in libtorch-dev; extensions cannot be built without.
HAS_HEADERS = pathlib.Path("/usr/include/torch/extension.h").exists()


def write_safetensors(path):
    """A table of 40 rows of 64 bf16 numbers and 12 row numbers."""
    table = b"".join(struct.pack("<H", 0x3F80 + (7919 * at) % 251) for at in range(40 * 64))
    rows = struct.pack("<12i", *((17 * at + 3) % 40 for at in range(12)))
    header = {
        "table": {"dtype": "BF16", "shape": [40, 64], "data_offsets": [0, len(table)]},
        "indices": {"dtype": "I32", "shape": [12],
                    "data_offsets": [len(table), len(table) + len(rows)]},
    }
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + table + rows)


class Exchange(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.out = cls.folder / "out"
        cls.data = cls.folder / "data"
        shutil.copytree(DATA, cls.data)
        write_safetensors(cls.data / "flashinfer/blob/workloads/gather.safetensors")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def roofmark(self, *words):
        done = subprocess.run([os.environ["ROOFMARK"], *map(str, words)], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.said = done.stderr.decode()
        return done.returncode, done.stdout.decode()

    def bring(self, source):
        """{item: {fate: [what]}} of an import that brings something."""
        code, text = self.roofmark("suite", "import", self.data / source, "-o", self.out, "--json")
        self.assertEqual(code, 0, self.said)
        items = {}
        for line in text.splitlines():
            note = json.loads(line)
            items.setdefault(note["item"], {}).setdefault(note["fate"], []).append(note["what"])
        return items

    def outcomes(self, operator, *candidates):
        """{candidate: {shape: outcome}}, up to the correctness gate."""
        _, text = self.roofmark("judge", *candidates, "--operators", self.out, "--operator",
                                operator, "--gate", "correctness", "--json", "--store",
                                self.folder / "store.db")
        found = {}
        for line in text.splitlines():
            verdict = json.loads(line)
            found.setdefault(verdict["candidate"], {})[verdict["shape"]] = verdict["outcome"]
        self.assertTrue(found, self.said)
        return found

    def test_kernelbench(self):
        items = self.bring("kernelbench/level1")
        self.assertIn("carried", items["1_Linear_Scale.py"])
        self.assertIn("seed 42", " ".join(items["1_Linear_Scale.py"]["changed"]))
        self.assertIn("traffic alone", " ".join(items["1_Linear_Scale.py"]["not_carried"]))
        for name, why in (("2_Dropout.py", "equal inputs"), ("3_Constant.py", "a constant passes"),
                          ("5_Mask.py", "dtype bool")):
            self.assertNotIn("carried", items[name])
            self.assertIn(why, items[name]["not_carried"][0])
        mine = self.data / "kernelbench/candidates"
        name = "level1_1_Linear_Scale"
        found = self.outcomes(name, mine / "honest.py", mine / "wrong.py",
                              self.out / "candidates" / name / "reference")
        self.assertEqual(found, {"honest": {"0": "passed"}, "wrong": {"0": "wrong_output"},
                                 "reference": {"0": "passed"}})
        name = "level1_4_Hinge_Loss"  # an output without dimensions
        found = self.outcomes(name, self.out / "candidates" / name / "reference")
        self.assertEqual(found, {"reference": {"0": "passed"}})

    @unittest.skipUnless(HAS_HEADERS, "PyTorch's headers are not installed")
    def test_load_inline(self):
        self.bring("kernelbench/level1/1_Linear_Scale.py")
        inline = self.data / "kernelbench/candidates/inline.py"
        found = self.outcomes("level1_1_Linear_Scale", inline)
        self.assertEqual(found, {"inline": {"0": "passed"}})

    def test_atrex(self):
        items = self.bring("atrex")
        self.assertIn("ValueError: columns", items["row_scale shape 4"]["not_carried"][0])
        found = self.outcomes("row_scale", *sorted((self.data / "atrex-candidates").glob("*.py")),
                              self.out / "candidates/row_scale/reference")
        right = {"0": "passed", "3": "passed"}
        self.assertEqual(found, {"honest": right, "reference": right,
                                 "wrong": {"0": "wrong_output", "3": "wrong_output"}})
        code, text = self.roofmark("roofline", "--operators", self.out, "--operator", "row_scale",
                                   "--device", "H200", "--published", "--json")
        self.assertEqual((code, len(text.splitlines())), (0, 2), self.said)

    def test_flashinfer_bench(self):
        items = self.bring("flashinfer")
        self.assertIn("called M_", items["gather_norm_h64"]["changed"][0])
        lost = items["gather_norm_h64 workload lost-blob"]["not_carried"][0]
        self.assertIn("is not in this folder", lost)
        recorded = items["gather_norm_h64 workload all-recorded"]["changed"][0]
        self.assertIn("reordered for each call", recorded)
        self.assertIn("tvm-ffi", items["solutions/norm/tvm.json"]["not_carried"][0])
        folder = self.out / "candidates/gather_norm_h64"
        names = ["returning", "destination_passing", "wrong", "reference"]
        names += ["extension"] if HAS_HEADERS else []
        found = self.outcomes("gather_norm_h64", *(folder / name for name in names))
        for name in names:
            outcome = "wrong_output" if name == "wrong" else "passed"
            self.assertEqual(found[name], {"6120f144-random-table": outcome,
                                           "all-recorded": outcome})

    def test_sol_execbench(self):
        items = self.bring("sol")
        self.assertIn("writes its inputs", items["grouped_sum"]["changed"][0])
        folder = self.out / "candidates/grouped_sum"
        found = self.outcomes("grouped_sum", *sorted(folder.iterdir()))
        right = {"uuid1": "passed", "uuid2": "passed"}
        self.assertEqual(found, {"grouped_sum_honest": right, "reference": right,
                                 "grouped_sum_wrong": {key: "wrong_output" for key in right}})

    def test_a_lone_solution_needs_its_definition(self):
        alone = self.folder / "alone"
        code, text = self.roofmark("suite", "import",
                                   self.data / "sol/grouped_sum/grouped_sum_honest.json",
                                   "-o", alone)
        self.assertEqual(code, 1)
        self.assertIn("its definition 'grouped_sum' was not imported", text)

    def test_an_empty_folder_is_refused_with_what_is_known(self):
        empty = self.folder / "empty"
        empty.mkdir()
        code, _ = self.roofmark("suite", "import", empty, "-o", self.folder / "none")
        self.assertEqual(code, 3)
        self.assertIn("KernelBench problem files", self.said)


if __name__ == "__main__":
    unittest.main()
