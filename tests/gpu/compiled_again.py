# SPDX-License-Identifier: Apache-2.0
"""Whether the compiler's own witness (docs/decisions/015) refutes what it must and nothing else, on
this GPU, and what it costs. A program of the red team that plants machine code in Triton's cache
must be refused by it; honest kernels of several families, in Triton and in Gluon, tuned and not,
must be compiled again and be the same. One line a verdict, then the times.

    ROOFMARK=build/bin/roofmark ROOFMARK_DATA=$PWD python3 tests/gpu/compiled_again.py
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("ROOFMARK_DATA") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "redteam"))
import run as redteam  # noqa: E402

# Of the red team, by what their paths contain: one that must be refused, and tuned or odd ones.
PROGRAMS = (
    "dishonest/triton/planted_in_the_cache",
    "honest/triton/tuned_in_the_first_call",
    "honest/triton/inline_assembly",
    "honest/triton/odd_launch_options",
    "honest/gluon/gluon_layouts",
)
# Row-wise, matrix, attention, scan, gather, selection, quantisation, and Gluon.
CANDIDATES = (
    "rms_norm/triton.py",
    "block_scaled_mm/triton.py",
    "unified_attention/triton.py",
    "causal_conv1d/triton.py",
    "fused_moe/triton.py",
    "topk_filter/triton.py",
    "per_token_group_quant_fp8/triton.py",
    "mla_decode_attention/triton.py",
    "silu_and_mul/gluon.py",
    "block_scaled_mm/gluon.py",
)
WITNESS = re.compile(r"compiled again[^;]*|its code was not compiled again[^;]*")
REFUTED = "is not what Triton's compiler makes of the intermediate code"
TIME_ALONE = ("passed", "unstable", "clocks_disagree")


def judge(candidates, more):
    command = [os.environ["ROOFMARK"], "judge", *map(str, candidates), "--device", "cuda",
               "--quick", "--timings", "--json", *more]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=300)  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    verdicts = [line for line in lines if "outcome" in line]
    if not verdicts:
        print(f"no verdicts, exit code {done.returncode}: {done.stderr.strip()[-1500:]}")
    timings = next((line["timings"] for line in lines if "timings" in line), {})
    return verdicts, timings


def show(verdict, dishonest):
    """Prints a verdict; whether it is what it must be."""
    witness = WITNESS.search(verdict["level"])
    agreed = witness is not None and witness.group().endswith("the same")
    refuted = REFUTED in verdict["reason"]
    if dishonest:
        right = verdict["outcome"] == "fallback" and refuted
    else:
        right = agreed and verdict["outcome"] in TIME_ALONE
    said = "refuted" if refuted else witness.group() if witness else "no word of the witness"
    print(f"{'ok ' if right else 'BAD'} {verdict['operator']:26} {verdict['candidate']:26} "
          f"{verdict['shape']:14} {verdict['outcome']:12} {said}")  # fmt: skip
    if not right or refuted:
        print(f"      {verdict['reason'].splitlines()[0][:400] if verdict['reason'] else '-'}")
    return right


def count_wrong(verdicts, dishonest):
    if not verdicts:
        return 1
    return [show(verdict, dishonest) for verdict in verdicts].count(False)


def costs(timings):
    spent = timings.get("parts", {}).get("recompile", 0)
    ahead = timings.get("ahead", {}).get("recompile", 0)
    whole = timings.get("wall_s", 0)
    return "%.1f s in all, %.2f s of them waiting for compilers, which worked %.1f s beside it" % (
        whole, spent, ahead)  # fmt: skip


def main():
    begin = time.monotonic()
    wrong = 0
    named = [p for p in redteam.read_programs() if any(n in p["path"] for n in PROGRAMS)]
    with tempfile.TemporaryDirectory(prefix="compiled-again-") as scratch:
        # One run for all of them: compilers start ahead of their candidates' turns.
        more = ["--tier", "small", "--store", scratch + "/honest.db"]
        verdicts, timings = judge([ROOT / "candidates" / name for name in CANDIDATES], more)
        wrong += count_wrong(verdicts, dishonest=False)
        print("candidates: " + costs(timings))
        for group in redteam.grouped(named, 12):
            staging = pathlib.Path(tempfile.mkdtemp(dir=scratch))
            first = group[0]
            more = ["--operator", first["operator"], "--tier", "all", "--shape", *first["shapes"],
                    "--store", str(staging) + ".db"]  # fmt: skip
            verdicts, timings = judge([redteam._stage(p, staging) for p in group], more)
            wrong += count_wrong(verdicts, dishonest=not first["honest"])
            print("red team: " + costs(timings))
    print(f"{wrong} wrong; {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
