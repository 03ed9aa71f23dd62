#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads one profile with mine and with other tools, each in a process of its own, and prints what
each took: for `./run bench mine`.

    tests/profiles/mine_peers.py ROOFMARK PROFILE

HolisticTraceAnalysis is taken from PYTHONPATH; Perfetto's trace processor from
$ROOFMARK_TRACE_PROCESSOR or PATH. What is not there is said to be skipped.
"""
import gzip
import importlib.util
import os
import resource
import shutil
import subprocess
import sys

HTA = (
    "import sys; from hta.common.trace import parse_trace_file; "
    "r = parse_trace_file(sys.argv[1]); "
    "f = next(x for x in r if hasattr(x, 'columns')); print(len(f))"
)


def measured(command):
    """Processor seconds and peak megabytes of a command, and whether it succeeded."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1024, done.returncode == 0


def main():
    roofmark, profile = sys.argv[1:]
    opened = gzip.open(profile) if profile.endswith(".gz") else open(profile, "rb")
    with opened as file:
        megabytes = sum(len(block) for block in iter(lambda: file.read(1 << 20), b"")) / 1e6
    peers = [("roofmark mine", [roofmark, "mine", profile])]
    processor = os.environ.get("ROOFMARK_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if processor:
        query = "SELECT COUNT(*), SUM(dur) FROM slice;"
        peers.append(("Perfetto trace processor", [processor, "-Q", query, profile]))
    else:
        print("Perfetto trace processor: skipped (no trace_processor_shell on PATH)")
    if importlib.util.find_spec("hta"):
        peers.append(("HolisticTraceAnalysis", [sys.executable, "-c", HTA, profile]))
    else:
        print("HolisticTraceAnalysis: skipped (not installed)")
    # The peak is that of the largest child so far, so the smallest goes first.
    for name, command in peers:
        seconds, peak, worked = measured(command)
        if not worked:
            print(f"{name}: skipped (it failed on this profile)")
            continue
        print(f"{name:26} {seconds:8.3f} s of processor time, {megabytes / seconds:8.1f} MB/s of "
              f"JSON, at most {peak:.0f} MB")


main()
