#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the same profiles with mine and with other tools, each in a process of its own, and prints
what each took and the kernel time that it found: for `./run bench mine`.

    tests/profiles/mine_peers.py ROOFMARK PROFILE...

HolisticTraceAnalysis is taken from PYTHONPATH; Perfetto's trace processor from
$ROOFMARK_TRACE_PROCESSOR or PATH. What is not there is said to be skipped.
"""
import decimal
import gzip
import importlib.util
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

HTA = """
import sys
from hta.common.trace import parse_trace_file
_, frame, symbols = parse_trace_file(sys.argv[1])
kernels = frame[frame["cat"] == symbols.get_sym_table().index("kernel")]
print("SUM", len(kernels), float(kernels["dur"].sum()))
"""
QUERY = "SELECT COUNT(*) AS n, SUM(dur) AS ns FROM slice WHERE category = 'kernel';"


def measured(command, environment=None):
    """Output, processor seconds and peak megabytes of a command; no output where it failed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, **(environment or {}))) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    good = process.returncode == 0
    return out if good else None, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def by_roofmark(roofmark, profile):
    out, seconds, peak = measured([roofmark, "mine", "--json", profile])
    totals = json.loads(out.splitlines()[0]) if out else {}
    return totals.get("kernels"), totals.get("sum_kernel_ns"), seconds, peak


def by_hta(profile, rounding):
    environment = {} if rounding else {"HTA_DISABLE_NS_ROUNDING": "1"}
    out, seconds, peak = measured([sys.executable, "-c", HTA, profile], environment)
    line = next((line for line in (out or "").splitlines() if line.startswith("SUM")), None)
    if line is None:
        return None, None, seconds, peak
    _, count, total = line.split()
    return int(count), round(float(total) * 1000), seconds, peak


def by_perfetto(processor, profile):
    out, seconds, peak = measured([processor, "-Q", QUERY, profile])
    numbers = (out or "").strip().splitlines()[-1:]
    count, total = numbers[0].split(",") if numbers and "," in numbers[0] else (None, None)
    return count and int(count), total and int(total), seconds, peak


def rounded_sum(profile):
    """Kernel time in ns where each start is rounded up and each end down to whole microseconds."""
    opened = gzip.open(profile) if profile.endswith(".gz") else open(profile, "rb")
    with opened as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    kernels = (event for event in events if event.get("cat") == "kernel" and event["ph"] == "X")
    return 1000 * sum(math.floor(event["ts"] + decimal.Decimal(event["dur"])) -
                      math.ceil(event["ts"]) for event in kernels)


def main():
    if sys.argv[1] == "--rounded":
        print(rounded_sum(sys.argv[2]))
        return
    roofmark, *profiles = sys.argv[1:]
    processor = os.environ.get("ROOFMARK_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    has_hta = importlib.util.find_spec("hta") is not None
    if not processor:
        print("Perfetto's trace processor: skipped. Its package on PyPI holds no binary but fetches"
              "\none from elsewhere at its first use; put trace_processor_shell on PATH or name it "
              "in\nROOFMARK_TRACE_PROCESSOR.")
    if not has_hta:
        print("HolisticTraceAnalysis: skipped (not installed)")
    print(f"{'':34} {'seconds':>8} {'MB/s':>8} {'peak MB':>8} {'kernels':>8} {'kernel ns':>15}")
    for profile in profiles:
        opened = gzip.open(profile) if profile.endswith(".gz") else open(profile, "rb")
        with opened as file:
            megabytes = sum(len(block) for block in iter(lambda: file.read(1 << 20), b"")) / 1e6
        print(f"{pathlib.Path(profile).name}, {megabytes:.1f} MB of JSON")
        tools = [("roofmark mine", lambda: by_roofmark(roofmark, profile))]
        if processor:
            tools.append(("Perfetto's trace processor", lambda: by_perfetto(processor, profile)))
        if has_hta:
            tools.append(("HolisticTraceAnalysis", lambda: by_hta(profile, True)))
            tools.append(("  without its rounding of times", lambda: by_hta(profile, False)))
        sums = {}
        for name, tool in tools:
            count, total, seconds, peak = tool()
            if count is None:
                print(f"  {name:32} skipped (it failed on this profile)")
                continue
            sums[name] = total
            print(f"  {name:32} {seconds:8.3f} {megabytes / seconds:8.1f} {peak:8.1f} {count:8} "
                  f"{total:15,}")
        ours, theirs = sums.get("roofmark mine"), sums.get("HolisticTraceAnalysis")
        if theirs is not None and theirs != ours:
            # In a process of its own: this one's memory would count as that of its children.
            rounded = int(subprocess.run([sys.executable, __file__, "--rounded", profile],
                                         stdout=subprocess.PIPE, check=True).stdout)
            same = theirs == rounded
            print(f"  HolisticTraceAnalysis has {ours - theirs:,} ns less: it rounds each start up "
                  f"and each end down to whole\n  microseconds, which "
                  f"{'gives its sum exactly' if same else 'DOES NOT EXPLAIN its sum'}")


main()
