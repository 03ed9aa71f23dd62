# SPDX-License-Identifier: Apache-2.0
"""Compares what the program prints with approved text.

Each case is cases/NAME.sh (run by bash in a fresh folder, with $ROOFMARK and $DATA set) and
cases/NAME.txt: stdout and stderr as they came, then the exit code. ROOFMARK_APPROVE=1 rewrites the
approved text; review the difference. Cases print nothing that is measured: what varies is left out
by the case itself (jq is not needed: python3 is there).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(case: pathlib.Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ,
            ROOFMARK=os.environ["ROOFMARK"],
            DATA=str(ROOT),
            ROOFMARK_DATA=str(ROOT),
            TMPDIR=folder,
        )
        done = subprocess.run(
            ["bash", str(case)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        text = done.stdout.decode("utf-8", "replace")
        text = text.replace(folder, "TMP").replace(str(ROOT), "ROOT")
        return text + f"exit code {done.returncode}\n"


class Golden(unittest.TestCase):
    maxDiff = None


def add(case: pathlib.Path) -> None:
    approved = case.with_suffix(".txt")

    def test(self: Golden) -> None:
        got = run(case)
        if os.environ.get("ROOFMARK_APPROVE") == "1":
            approved.write_text(got, encoding="utf-8")
        want = approved.read_text(encoding="utf-8") if approved.exists() else ""
        self.assertEqual(want, got, f"{case.name} prints something else than {approved.name}")

    setattr(Golden, "test_" + case.stem.replace("-", "_"), test)


CASES = sorted((HERE / "cases").glob("*.sh"))
for path in CASES:
    add(path)

if __name__ == "__main__":
    if not CASES:
        sys.exit("no cases found")
    unittest.main()
