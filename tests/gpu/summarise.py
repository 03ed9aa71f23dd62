# SPDX-License-Identifier: Apache-2.0
"""One line for each candidate of a file of verdicts (judge --json): how many shapes passed, the
outcomes, the median attainment, and the first refusal's reason. Usage: summarise.py FILE.jsonl"""
import collections
import json
import statistics
import sys


def verdicts(path):
    with open(path) as lines:
        for line in lines:
            try:
                one = json.loads(line)
            except ValueError:
                continue  # the judge was stopped in the middle of a line
            if "outcome" in one and "shape" in one:
                yield one


def attainment(verdict):
    value = verdict.get("attainment")
    return value.get("median") if isinstance(value, dict) else value


def main():
    by_candidate = collections.defaultdict(list)
    for one in verdicts(sys.argv[1]):
        by_candidate[one["operator"], one["candidate"]].append(one)
    for (operator, candidate), some in sorted(by_candidate.items()):
        counts = collections.Counter(one["outcome"] for one in some)
        reached = [s for s in map(attainment, some) if s is not None]
        print("%-32s %-24s %3d of %3d passed  S %s  %s" % (
            operator, candidate, counts["passed"], len(some),
            "%.3f" % statistics.median(reached) if reached else "  -  ",
            ", ".join("%s %d" % item for item in sorted(counts.items()) if item[0] != "passed")))
        refused = next((one for one in some if one["outcome"] != "passed"), None)
        if refused:
            reason = (refused.get("reason") or "").splitlines()
            print("    %s: %s" % (refused["shape"], reason[0][:160] if reason else ""))
    print("%d candidates" % len(by_candidate))


if __name__ == "__main__":
    main()
