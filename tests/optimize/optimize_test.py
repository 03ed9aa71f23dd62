# SPDX-License-Identifier: Apache-2.0
"""`roofmark optimize` from the outside: it improves the naive kernel, a kill costs nothing that was
recorded, and a kernel that is wrong is refused instead of improved."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAIVE = ROOT / "candidates" / "rms_norm" / "rms_norm_naive.cc"


def command(kernel, folder, budget):
    return [os.environ["ROOFMARK"], "optimize", str(kernel), "--operator", "rms_norm", "--shape",
            "s-prefill", "--budget", str(budget), "-o", str(folder), "--json"]


def run(kernel, folder, budget):
    done = subprocess.run(command(kernel, folder, budget), stdout=subprocess.PIPE, timeout=300)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def events(folder):
    journal = folder / "journal.jsonl"
    if not journal.exists():
        return []
    lines = journal.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


class Optimize(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name) / "campaign"

    def tearDown(self):
        self.scratch.cleanup()

    def kill_after(self, count):
        """Runs until the journal has `count` events, then kills."""
        process = subprocess.Popen(command(NAIVE, self.folder, 25), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while len(events(self.folder)) < count and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "ended before it could be killed")
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def test_improves_the_naive_kernel_and_survives_kills(self):
        for count in (2, 4):
            self.kill_after(count)
        before = events(self.folder)
        code, steps = run(NAIVE, self.folder, 25)
        self.assertEqual(code, 0)
        after = events(self.folder)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(sum(event["event"] == "baseline" for event in after), 1)
        decisions = [step["decision"] for step in steps]
        self.assertIn("promoted", decisions)
        self.assertEqual(decisions[-2:], ["upheld", "stopped"])
        promoted = next(step for step in steps if step["decision"] == "promoted")
        self.assertLessEqual(promoted["p"], promoted["share"])
        self.assertGreater(promoted["wins"], promoted["losses"])
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        self.assertTrue(report["improved"])
        self.assertLess(report["ratio"]["high"], 1)
        self.assertIn("roofmark-parameters", (self.folder / "promoted.cc").read_text())

    def test_refuses_an_incumbent_that_is_wrong(self):
        wrong = pathlib.Path(self.scratch.name) / "wrong.cc"
        text = NAIVE.read_text(encoding="utf-8")
        self.assertIn("args->eps", text)
        wrong.write_text(text.replace("value * factor", "value * 1.1f * factor"), encoding="utf-8")
        code, steps = run(wrong, self.folder, 30)
        self.assertEqual(code, 1)
        self.assertEqual([step["decision"] for step in steps], ["baseline", "stopped"])
        self.assertEqual(steps[0]["outcome"], "wrong_output")
        self.assertEqual(steps[1]["reason"], "incumbent_refused")
        self.assertFalse((self.folder / "promoted.cc").exists())


if __name__ == "__main__":
    unittest.main()
