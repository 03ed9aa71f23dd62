#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mines a generated profile of gigabytes and prints the rate and the peak memory beside its bound:
for `./run bench mine`.

    tests/profiles/mine_large.py ROOFMARK PROFILE FOLDER [GIGABYTES]

PROFILE is replicated, so the total is known: as often the original as there are copies. Where
FOLDER lacks the room, it is skipped openly. Fails where the total or the memory is not right.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys


def mined(roofmark, profile):
    """What `mine --json` says of one profile, the processor time that it took, and its peak."""
    with subprocess.Popen([roofmark, "mine", "--json", str(profile)], stdout=subprocess.PIPE,
                          text=True) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{roofmark} mine {profile} failed")
    return json.loads(out.splitlines()[0]), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    roofmark, profile, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    gigabytes = float(sys.argv[4]) if len(sys.argv) > 4 else 1
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free / 1e9
    if free < gigabytes + 2:
        print(f"a file of {gigabytes:g} GB: skipped ({free:.0f} GB free in {folder})")
        return
    large = folder / "large.json"
    try:
        made = json.loads(subprocess.run(
            [roofmark, "generate", profile, "--size", f"{gigabytes:g}GB", "-o", str(large),
             "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            check=True).stdout)
        original, _, _ = mined(roofmark, profile)
        totals, seconds, peak = mined(roofmark, large)
    finally:
        large.unlink(missing_ok=True)
    same = totals["sum_kernel_ns"] == made["copies"] * original["sum_kernel_ns"]
    bound = 64e6 + 60 * totals["records"]
    print(f"{made['bytes'] / 1e9:.1f} GB, {totals['events']:,} events, {totals['records']:,} "
          f"records kept: {made['bytes'] / 1e6 / seconds:.0f} MB/s, at most {peak / 1e6:.0f} MB "
          f"(bound: {bound / 1e6:.0f}),\n{'the total is' if same else 'THE TOTAL IS NOT'} "
          f"{made['copies']} times the original's")
    if not same or peak > bound:
        sys.exit(1)


main()
