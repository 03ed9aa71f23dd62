# SPDX-License-Identifier: Apache-2.0
"""What judging a kernel against itself many times shows: how often it was called faster, slower,
the same or neither, and how far its attainment spreads over the runs.

    aa_table.py aa.jsonl
"""
import collections
import json
import statistics
import sys

KINDS = ("faster", "slower", "same", "undecided", "none")


def _spread(times):
    """The furthest of these from their middle."""
    middle = statistics.median(times)
    return max(abs(time / middle - 1) for time in times)


def main(path):
    counts = collections.defaultdict(collections.Counter)
    ratios = collections.defaultdict(list)
    verdicts = collections.defaultdict(list)
    comparisons = set()  # of which copy, in which run
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                one = json.loads(line)
            except json.JSONDecodeError:
                continue  # the last line of a run that was killed
            if "comparison" in one:
                comparisons.add((one["run"], one["candidate"]))
                name = "total" if one["total"] else one["shape"]
                counts[name][one["comparison"]] += 1
                if one["ratio"]:
                    ratios[name].append(one["ratio"]["median"])
            elif "outcome" in one:
                verdicts[one["shape"]].append(one)
    print(f"a kernel against itself {len(comparisons)} times")
    print(f"{'shape':12}" + "".join(f"{kind:>10}" for kind in KINDS) + "   ratios")
    different = 0
    for name in sorted(counts, key=lambda name: (name == "total", name)):
        row = counts[name]
        different += row["faster"] + row["slower"]
        spread = f"{min(ratios[name]):.4f} .. {max(ratios[name]):.4f}" if ratios[name] else "-"
        print(f"{name:12}" + "".join(f"{row[kind]:10}" for kind in KINDS) + f"   {spread}")
    lines = sum(sum(row.values()) for row in counts.values())
    print(f"called different: {different} of {lines} lines")
    print()
    print(
        f"{'shape':12}{'judged':>8}{'passed':>8}{'time us':>10}{'within':>9}{'asked':>8}"
        f"{'max/min-1':>11}"
    )
    for shape in sorted(verdicts):
        passed = [one for one in verdicts[shape] if one["outcome"] == "passed"]
        others = collections.Counter(
            one["outcome"] for one in verdicts[shape] if one["outcome"] != "passed"
        )
        if not passed:
            print(f"{shape:12}{len(verdicts[shape]):8}{0:8}  {dict(others)}")
            continue
        # Attainment is a constant over the time, so both spread alike. Each machine for itself:
        # another card of the same name may be a little faster.
        machines = collections.defaultdict(list)
        for one in passed:
            machines[one.get("machine")].append(one["time_ns"]["median"])
        times = [time for one in machines.values() for time in one]
        middle = statistics.median(times)
        within = max(_spread(one) for one in machines.values())
        range_ = max(max(one) / min(one) - 1 for one in machines.values())
        asked = "1 %" if middle > 10_000 else "5 %" if middle >= 2_000 else "-"
        limit = {"1 %": 0.01, "5 %": 0.05, "-": 1}[asked]
        print(
            f"{shape:12}{len(verdicts[shape]):8}{len(passed):8}{middle / 1000:10.2f}"
            f"{100 * within:7.2f} %{asked:>8}{100 * range_:9.2f} %"
            f"  {'ok' if within <= limit else 'MORE'}"
            f"{'  ' + str(dict(others)) if others else ''}"
        )


if __name__ == "__main__":
    main(sys.argv[1])
