# SPDX-License-Identifier: Apache-2.0
"""Compares the medians of two runs, by operator, shape and candidate."""
import json
import sys


def read(path):
    rows = [json.loads(line) for line in open(path)]
    return {(r["operator"], r["shape"], r["candidate"]): r["time_ns"]["median"]
            for r in rows if r["time_ns"]}


first, second = read(sys.argv[1]), read(sys.argv[2])
compared, bad = 0, 0
for key in sorted(first.keys() & second.keys()):
    a, b = first[key], second[key]
    if min(a, b) < 10_000:
        continue
    compared += 1
    difference = abs(a - b) / min(a, b)
    bad += difference > 0.02
    print(f"{'ok ' if difference <= 0.02 else 'BAD'} {'/'.join(key):60} {a / 1e3:10.2f} us "
          f"{b / 1e3:10.2f} us {100 * difference:6.2f} %")
print(f"{compared} compared, {bad} differ by more than 2 %")
sys.exit(1 if bad or not compared else 0)
