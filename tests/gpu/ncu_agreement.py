# SPDX-License-Identifier: Apache-2.0
"""Compares the judge's times with ncu's durations: ncu_agreement.py OUT.jsonl VERDICTS.jsonl...

Both leave the clocks alone and let each kernel find the L2 full of clean lines of others. Calls of
one kernel must agree within 2 % plus 1 us; for calls of several, whose gaps ncu does not see, both
figures are kept without a judgement. The duration after ncu's own flush, which leaves the L2 empty,
is kept too (ncu_empty_l2_ns). Where ncu may not read counters, that is said, and nothing fails.
"""

import csv
import io
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RELATIVE, ABSOLUTE_NS = 0.02, 1000.0
UNITS = {"nsecond": 1.0, "ns": 1.0, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6}


def read_verdicts(paths):
    """{operator: {shape: time_ns}} of the candidates that passed."""
    times = {}
    for path in paths:
        with open(path) as file:
            for row in map(json.loads, file):
                if row.get("lane") == "cuda" and row.get("time_ns") and row["outcome"] == "passed":
                    shapes = times.setdefault(row["operator"], {})
                    shapes[row["shape"]] = row["time_ns"]["median"]
    return times


def profile(operator, shapes, cache_control):
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none"]
    command += ["--cache-control", cache_control]
    command += ["--metrics", "gpu__time_duration.sum", "--profile-from-start", "off"]
    command += [sys.executable, os.path.join(HERE, "ncu_driver.py"), operator, *shapes]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def durations(text):
    """[(kernel, ns)] in the order of the launches."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.reader(io.StringIO("\n".join(lines[start:]))))
    header, units, values = rows[0], rows[1], rows[2:]
    name, time = header.index("Kernel Name"), header.index("gpu__time_duration.sum")
    scale = UNITS[units[time]]
    return [(row[name], float(row[time].replace(",", "")) * scale) for row in values]


def calls_of(kernels):
    """One list of calls a shape, each a list of durations, in ncu_driver.py's order."""
    parts, current = [], None
    for name, ns in kernels:
        if "spin_kernel" in name:
            if current is not None:
                parts.append(current)
            current = []
        elif current is not None:
            current.append(ns)
    shapes, shape = [], []
    for part in parts:
        if part:
            shape.append(part)
        elif shape:
            shapes.append(shape[1::2])
            shape = []
    return shapes


def measure(operator, shapes, cache_control):
    """{shape: (kernels a call, ns)}, or None where ncu gave no durations."""
    ran = profile(operator, shapes, cache_control)
    measured = calls_of(durations(ran.stdout))
    if len(measured) != len(shapes):
        words = (ran.stdout + ran.stderr).strip().splitlines()[-3:]
        print("ncu gave %d of %d shapes of %s: %s" % (len(measured), len(shapes), operator, words))
        return None
    return {
        shape: (max(map(len, calls)), statistics.median(map(sum, calls)))
        for shape, calls in zip(shapes, measured)
    }


def compare(operator, times, out):
    shapes = sorted(times)
    clean = measure(operator, shapes, "none")
    empty = clean and measure(operator, shapes, "all")
    if not empty:
        return None
    bad = 0
    for shape in shapes:
        kernels, ncu_ns = clean[shape]
        difference = times[shape] - ncu_ns
        agrees = abs(difference) <= RELATIVE * ncu_ns + ABSOLUTE_NS
        judged = kernels == 1
        bad += judged and not agrees
        row = {"operator": operator, "shape": shape, "time_ns": times[shape], "ncu_ns": ncu_ns}
        row.update({"ncu_empty_l2_ns": empty[shape][1], "kernels": kernels})
        row["agrees"] = agrees if judged else None
        out.write(json.dumps(row) + "\n")
        mark = "ok" if agrees else ("BAD" if judged else "-")
        figures = (times[shape] / 1e3, ncu_ns / 1e3, difference / 1e3, empty[shape][1] / 1e3)
        print("%-3s %-18s %-28s" % (mark, operator, shape), end=" ")
        print("judge %10.2f us  ncu %10.2f us  %+7.2f us" % figures[:3], end=" ")
        print("(empty L2 %10.2f us), %d kernels" % (figures[3], kernels))
    return bad


def main():
    times = read_verdicts(sys.argv[2:])
    if not times:
        sys.exit("no verdict of a cuda candidate that passed in %s" % ", ".join(sys.argv[2:]))
    bad = 0
    with open(sys.argv[1], "w") as out:
        for operator in sorted(times):
            found = compare(operator, times[operator], out)
            if found is None:
                print("ncu may not profile here, so its durations are not compared")
                return 0
            bad += found
    print("%d differ by more than 2 %% plus 1 us" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
