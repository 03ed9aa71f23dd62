#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mines a generated profile of many gigabytes and prints the rate and the peak memory: for
`./run bench mine`.

    tests/profiles/mine_large.py ROOFMARK PROFILE FOLDER [GIGABYTES]

PROFILE is replicated, so the total is known: as often the original as there are copies. Where
FOLDER lacks the room, it is skipped openly.
"""
import json
import pathlib
import resource
import shutil
import subprocess
import sys


def mined(roofmark, profile):
    """What `mine --json` says of one profile, and the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([roofmark, "mine", "--json", str(profile)], capture_output=True,
                          text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[0]), seconds


def main():
    roofmark, profile, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    gigabytes = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free / 1e9
    if free < gigabytes + 2:
        print(f"a file of {gigabytes} GB: skipped ({free:.0f} GB free in {folder})")
        return
    large = folder / "large.json"
    try:
        made = json.loads(subprocess.run(
            [roofmark, "generate", profile, "--size", f"{gigabytes}GB", "-o", str(large), "--json"],
            capture_output=True, text=True, check=True).stdout)
        original, _ = mined(roofmark, profile)
        totals, seconds = mined(roofmark, large)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    finally:
        large.unlink(missing_ok=True)
    same = totals["sum_kernel_ns"] == made["copies"] * original["sum_kernel_ns"]
    print(f"{made['bytes'] / 1e9:.1f} GB, {totals['events']} events, {totals['kernels']} kernels: "
          f"{made['bytes'] / 1e6 / seconds:.0f} MB/s, at most {peak:.0f} MB, "
          f"{'the total is' if same else 'THE TOTAL IS NOT'} {made['copies']} times the original's")
    if not same:
        sys.exit(1)


main()
