# SPDX-License-Identifier: Apache-2.0
"""Judges each program in candidates/dishonest that runs on a device kind, and holds the outcomes
against the `expect:` line of each. Usage: expect_refusal.py cpu|cuda OUT.jsonl [--shape ID]"""
import json
import os
import pathlib
import re
import subprocess
import sys

LANES = {"cpu": {".cc"}, "cuda": {".cu"}}


def header(path: pathlib.Path, key: str) -> str:
    found = re.search(rf"^(?://|#)\s*{key}:\s*(.+)$", path.read_text(), re.MULTILINE)
    return found.group(1).strip() if found else ""


def judge(path: pathlib.Path, device: str) -> list:
    command = [os.environ["ROOFMARK"], "judge", str(path), "--device", device, "--json", "--quick",
               "--tier", "small", "--timeout", "5",
                "--store", os.environ.get("STORE", "/tmp/dishonest.db")]
    operator = header(path, "operator") or "rms_norm"
    command += ["--operator", operator]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{path.name}: roofmark ended with {done.returncode}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main() -> int:
    device, out = sys.argv[1], pathlib.Path(sys.argv[2])
    folder = pathlib.Path(os.environ["ROOFMARK_DATA"]) / "candidates" / "dishonest"
    wrong = 0
    with out.open("w") as lines:
        for path in sorted(folder.iterdir()):
            kinds = header(path, "device").split(",") if header(path, "device") else []
            if path.suffix not in LANES[device] and device not in kinds:
                continue
            if path.suffix in LANES["cpu" if device == "cuda" else "cuda"]:
                continue
            expected = {word.strip() for word in header(path, "expect").split(",")}
            for verdict in judge(path, device):
                lines.write(json.dumps(verdict) + "\n")
                good = verdict["outcome"] in expected
                wrong += 0 if good else 1
                reason = verdict["reason"].splitlines()[0] if verdict["reason"] else ""
                print(f"{'ok  ' if good else 'BAD '} {path.name:24} {verdict['shape']:20} "
                      f"{verdict['outcome']:18} {reason[:140]}", flush=True)
    print(f"{wrong} outcomes other than expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
