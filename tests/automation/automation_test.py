# SPDX-License-Identifier: Apache-2.0
"""judge --listen, judge --all and python/roofmark.py, with the program as people run it.

Everything stops at the correctness gate: nothing here depends on a time.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
import roofmark  # noqa: E402

BINARY = os.environ["ROOFMARK"]
HONEST = ROOT / "candidates" / "rms_norm" / "rms_norm.cc"
WRONG = "#include <roofmark/rms_norm.h>\nextern \"C\" int run(const void*) { return 0; }\n"


class Automation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.store = self.path / "run.db"

    def run_judge(self, *words, text=None):
        return subprocess.run(
            [BINARY, "judge", "--store", str(self.store), "--gate", "correctness", *words],
            input=text, capture_output=True, text=True, timeout=300,
        )

    def listen(self, *lines):
        done = self.run_judge("--listen", text="".join(line + "\n" for line in lines))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def job(self, **keys):
        return json.dumps(dict({"operator": "rms_norm", "shapes": ["s-decode"]}, **keys))

    def test_jobs_are_answered_in_order_and_errors_do_not_end_it(self):
        answers = self.listen(
            "{nonsense",
            self.job(id="gone", path="/nonexistent.cc"),
            self.job(id="op", path=str(HONEST), operator="no_such_operator"),
            self.job(id="shape", path=str(HONEST), shapes=["no-such-shape"]),
            self.job(id="bad", source=WRONG, lane="cpp"),
            self.job(id="good", path=str(HONEST)),
        )
        self.assertEqual(answers[0]["line"], 1)
        self.assertIsNone(answers[0]["id"])
        self.assertEqual([a["id"] for a in answers[1:]],
                         ["gone", "op", "shape", "bad", "bad", "good", "good"])
        for answer in answers[1:4]:
            self.assertEqual(answer["error"]["kind"], "not_found")
        self.assertNotEqual(answers[4]["outcome"], "passed")
        self.assertEqual(answers[6]["outcome"], "passed")
        self.assertEqual(
            answers[7],
            {"id": "good", "done": True, "verdicts": 1, "passed": 1, "skipped": 0})

    def test_what_the_store_knows_is_left_unless_asked_again(self):
        first = self.listen(self.job(id="1", path=str(HONEST), again=False))
        self.assertEqual(first[-1]["verdicts"], 1)
        second = self.listen(self.job(id="2", path=str(HONEST), again=False),
                             self.job(id="3", path=str(HONEST)))
        self.assertEqual(
            second[0], {"id": "2", "done": True, "verdicts": 0, "passed": 0, "skipped": 1})
        self.assertEqual(second[-1]["verdicts"], 1)

    def test_who_calls_itself_a_baseline_is_in_no_count_and_a_text_never_is_one(self):
        eager = HONEST.with_name("torch_eager.py")
        by_path, done, by_text, counted = self.listen(
            self.job(id="path", path=str(eager)),
            self.job(id="text", source=eager.read_text(), lane="torch"))
        self.assertEqual((by_path["role"], by_path["outcome"]), ("baseline", "passed"))
        self.assertEqual(done, {"id": "path", "done": True, "verdicts": 0, "passed": 0,
                                "skipped": 0, "baselines": {"verdicts": 1, "passed": 1}})
        self.assertEqual((by_text["role"], by_text["outcome"]), ("candidate", "passed"))
        self.assertEqual((counted["verdicts"], counted["passed"]), (1, 1))
        self.assertNotIn("baselines", counted)

    def test_a_baseline_that_is_held_to_adoption_is_a_candidate(self):
        eager = HONEST.with_name("torch_eager.py")
        done = self.run_judge(str(eager), "--shape", "s-decode", "--json",
                              "--require-adoption", "0.9")
        self.assertEqual(json.loads(done.stdout.splitlines()[0])["role"], "candidate")

    def test_a_baseline_is_judged_along_and_the_job_ends_with_a_total(self):
        refused = self.listen(self.job(id="1", path=str(HONEST), against=str(HONEST)))
        self.assertIn("needs the gate performance", refused[0]["error"]["message"])
        answers = self.listen(self.job(id="2", path=str(HONEST), against=str(HONEST), quick=True,
                                       gate="performance"))
        self.assertEqual(sorted("against" in answer for answer in answers), [False, True, True])
        done = answers[-1]
        self.assertEqual((done["verdicts"], done["against"]["workloads"]), (1, 1))
        # Whether a busy machine can compare them is another matter; different they are not.
        self.assertIn(done["against"]["comparison"], ("same", "undecided", "none"))
        with_less = self.run_judge("--listen", "--require", "ready", "--against", str(HONEST))
        self.assertIn("--listen", with_less.stderr)

    def test_the_python_module_yields_verdicts_and_raises_errors(self):
        with roofmark.Judge(store=self.store, binary=BINARY,
                            arguments=["--gate", "correctness"]) as judge:
            verdicts = judge.judge_all("rms_norm", path=HONEST, shapes=["s-decode"])
            self.assertEqual([v["outcome"] for v in verdicts], ["passed"])
            with self.assertRaises(roofmark.Error) as raised:
                judge.judge_all("no_such_operator", path=HONEST)
            self.assertEqual(raised.exception.kind, "not_found")
            again = judge.judge_all("rms_norm", source=WRONG, lane="cpp", shapes=["s-decode"])
            self.assertNotEqual(again[0]["outcome"], "passed")

    def submissions(self):
        folder = self.path / "all" / "rms_norm"
        folder.mkdir(parents=True)
        shutil.copy(HONEST, folder / "honest.cc")
        (folder / "wrong.cc").write_text(WRONG)
        named = self.path / "all" / "elsewhere"
        named.mkdir()
        shutil.copy(HONEST, named / "mine.cc")
        (named / "candidate.toml").write_text(
            'name = "mine"\noperator = "rms_norm"\nsources = ["mine.cc"]\n')
        (self.path / "all" / "notes.py").write_text("# no candidate\n")
        return str(self.path / "all")

    def test_a_folder_is_judged_and_a_second_run_has_nothing_left(self):
        words = ("--all", self.submissions(), "--shape", "s-decode")
        first = self.run_judge(*words)
        self.assertEqual(first.returncode, 1, first.stderr)
        self.assertIn(
            "3 candidates, 3 verdicts, 1 not passed, 0 known already, 0 errors, 1 left out",
            first.stdout)
        self.assertIn("left out: ", first.stderr)
        second = self.run_judge(*words)
        self.assertIn("0 verdicts, 0 not passed, 3 known already", second.stdout)

    def test_a_killed_run_leaves_no_process_and_a_store_that_goes_on(self):
        words = ("--all", self.submissions(), "--shape", "s-decode")
        process = subprocess.Popen(
            [BINARY, "judge", "--store", str(self.store), "--gate", "correctness", *words],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()  # the first verdict
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 60
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.running(), [])
        done = self.run_judge(*words)
        self.assertRegex(done.stdout, r"3 candidates, [012] verdicts, .* 0 errors")

    def running(self):
        """Processes whose command line names this test's store."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.store).encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass
        return found

    def test_wrong_uses_say_the_way_out(self):
        both = self.run_judge(str(HONEST), "--all", self.submissions())
        self.assertIn("leave the other", both.stderr)
        self.assertIn("GPUs", self.run_judge("--listen", "--device", "cuda:99", text="").stderr)
        self.assertIn("candidates", self.run_judge().stderr)


if __name__ == "__main__":
    unittest.main()
