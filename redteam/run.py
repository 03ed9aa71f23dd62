# SPDX-License-Identifier: Apache-2.0
"""Judges the programs of the red team (*.toml beside this file) and holds each verdict against what
the table says it must be. README.md describes the tables.

    python3 redteam/run.py --device cpu [--lane LANE] [--gate GATE] [--only TEXT]
                           [--out FILE [--again]] [--group N] [--jobs N] [--check]

The binary is $ROOFMARK, or build/bin/roofmark. With --out, a program whose line is there already is
not judged again unless --again is given, so that a machine lent for minutes is enough. --check
reads the tables and judges nothing. --jobs are runs at a time of programs that nobody times;
those that are timed, and those that are after the machine itself, run by themselves.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
GATES = ("compile", "correctness", "performance")
CLASSES = set(
    "CLK STR THR LAZ RPL L2 STL MUT ORC DIV RACE PRC TOL FB DEC TMP LEAK OOB CRH MAN AGG".split()
)
# One small shape of each operator; a program may name others.
SHAPES = {
    "rms_norm": "s-prefill",
    "silu_and_mul": "s-prefill",
    "block_scaled_mm": "s-prefill",
    "unified_attention": "s-mixed",
    "reshape_and_cache": "s-decode",
    "moe_topk_gating_softmax": "s-prefill",
    "topk_filter": "s-rows",
}
DEVICES = {"cpp": ["cpu"], "torch": ["cpu", "cuda"]}  # of a lane; of the others, cuda alone
KEYS = {"path", "operator", "class", "does", "seen", "expect", "odd", "devices", "gate", "shapes",
        "timeout", "with", "args", "alone", "name", "open"}  # fmt: skip


class BadTable(Exception):
    pass


def _check(entry, honest, where):
    unknown = set(entry) - KEYS
    needed = {"path", "operator"}
    needed |= {"odd"} if honest else {"class", "does", "seen", "expect"}
    if unknown or needed - set(entry):
        raise BadTable(f"{where}: unknown {sorted(unknown)}, missing {sorted(needed - set(entry))}")
    if not (HERE / entry["path"]).exists():
        raise BadTable(f"{where}: the file does not exist")
    if entry.get("gate", "correctness") not in GATES:
        raise BadTable(f"{where}: gate is one of {', '.join(GATES)}")
    if "shapes" not in entry and entry["operator"] not in SHAPES:
        raise BadTable(f"{where}: name 'shapes'; {entry['operator']} has none in SHAPES of run.py")
    for unknown in set(entry.get("class", [])) - CLASSES:
        raise BadTable(f"{where}: class '{unknown}' is none of {', '.join(sorted(CLASSES))}")
    for pattern in entry.get("expect", {}).values():
        re.compile(pattern)


def read_programs():
    """All entries of all tables, with defaults filled in."""
    programs, paths = [], set()
    for table in sorted(HERE.glob("*.toml")):
        for kind, entries in tomllib.loads(table.read_text()).items():
            for entry in entries:
                where = f"{table.name}: {entry.get('path', '?')}"
                if kind not in ("dishonest", "honest"):
                    raise BadTable(f"{table.name}: [[{kind}]] is neither dishonest nor honest")
                honest = kind == "honest"
                _check(entry, honest, where)
                if entry["path"] in paths:
                    raise BadTable(f"{where}: is listed twice")
                paths.add(entry["path"])
                programs.append({
                    "honest": honest, "lane": table.stem, "timeout": 20, "args": [], "with": [],
                    "devices": DEVICES.get(table.stem, ["cuda"]),
                    "gate": "performance" if honest else "correctness",
                    "shapes": [SHAPES.get(entry["operator"])],
                    "alone": "input_error" in entry.get("expect", {}),
                    **entry,
                })  # fmt: skip
    listed = {pathlib.PurePath(path).parts[:3] for path in paths}
    for program in sorted(HERE.glob("*honest/*/*")):
        if program.relative_to(HERE).parts[:3] not in listed and program.name != "__pycache__":
            raise BadTable(f"{program.relative_to(HERE)} is in no table")
    return programs


def grouped(programs, size):
    """Lists of programs that one run of the judge can take."""
    groups = {}
    for program in programs:
        key = [program["operator"], program["gate"], program["timeout"], program["shapes"],
               program["args"], program["honest"]]  # fmt: skip
        if program["alone"]:
            key.append(program["path"])
        groups.setdefault(json.dumps(key), []).append(program)
    return [group[i : i + size] for group in groups.values() for i in range(0, len(group), size)]


def _stage(program, folder):
    """What the judge is given: the file itself, or a folder of it and what lies beside it."""
    source = HERE / program["path"]
    if not program["with"] and "name" not in program:
        return source
    made = folder / program["path"].replace("/", "__")
    made.mkdir()
    if "name" in program and not program["with"]:
        shutil.copy(source, made / program["name"])
        return made / program["name"]
    shutil.copy(source, made / source.name)
    for other in program["with"]:
        shutil.copy(HERE / other, made / pathlib.PurePath(other).name)
    files = [source.name] + [pathlib.PurePath(other).name for other in program["with"]]
    (made / "candidate.toml").write_text(
        f"name = {json.dumps(source.name)}\nsources = {json.dumps(files)}\n"
        f"entry = {json.dumps(source.name + '::run')}\n"
    )
    return made


def judge(group, device, store, staging):
    """The verdicts of a group by program, or the judge's error of all of them."""
    first = group[0]
    candidates = [_stage(program, staging) for program in group]
    command = [os.environ.get("ROOFMARK") or str(HERE.parent / "build/bin/roofmark"), "judge",
               *map(str, candidates), "--operator", first["operator"], "--device", device,
               "--tier", "all", "--shape", *first["shapes"], "--gate", first["gate"], "--quick",
               "--timeout", str(first["timeout"]), "--store", str(store), "--json",
               *first["args"]]  # fmt: skip
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=540)  # fmt: skip
    spent = time.monotonic() - begin
    verdicts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    results = []
    for i, program in enumerate(group):
        # Verdicts come by shape, then in the order of the candidates.
        complete = len(verdicts) == len(group) * len(first["shapes"])
        mine = verdicts[i :: len(group)] if complete else []
        error = "" if mine else f"exit code {done.returncode}: {done.stderr.strip()[-1500:]}"
        results.append((program, mine, error, spent / len(group), done.returncode))
    return results


def right(program, verdicts, error, code):
    """Why the verdicts are not what they must be; empty when they are."""
    if "input_error" in program.get("expect", {}):
        if code == 3 and re.search(program["expect"]["input_error"], error):
            return ""
        return "was not refused as bad input"
    if error:
        return "no verdicts"
    if program["honest"]:
        refused = [v for v in verdicts if v["outcome"] != "passed"]
        return f"honest, and {refused[0]['outcome']}" if refused else ""
    refused = [v for v in verdicts if v["outcome"] != "passed"]
    if not refused:
        return "SLIPPED THROUGH"
    for verdict in refused:
        if verdict["outcome"] not in program["expect"]:
            return f"{verdict['outcome']} is not the right outcome"
        if not re.search(program["expect"][verdict["outcome"]], verdict["reason"]):
            return f"{verdict['outcome']} for another reason"
    return ""


def record(program, verdicts, error, wrong, spent):
    """A line of --out, without paths of this machine."""
    first = verdicts[0] if verdicts else None
    told = next((v for v in verdicts if v["outcome"] != "passed"), first)
    reason = (told["reason"] if told else error).split("\n")[0]
    return {
        "program": program["path"],
        "kind": "honest" if program["honest"] else "dishonest",
        "lane": program["lane"],
        "operator": program["operator"],
        "shapes": program["shapes"],
        "class": program.get("class", []),
        "what": program.get("does") or program.get("odd"),
        "seen": program.get("seen", ""),
        "gate": told["gate"] if told else "",
        "expected": sorted(program["expect"]) if not program["honest"] else ["passed"],
        "outcome": told["outcome"] if told else "input_error",
        "reason": reason[:400],
        "right": not wrong,
        **({"wrong": wrong} if wrong else {}),
        **({"open": program["open"]} if wrong and "open" in program else {}),
        "seconds": round(spent, 1),
    }


def only(outcomes, program, verdicts):
    return program["honest"] and bool(verdicts) and all(
        v["outcome"] in outcomes for v in verdicts
    )  # fmt: skip


# What noise on a shared machine may make of an honest program's time.
NOISE = ("passed", "unstable", "clocks_disagree")


def is_noise(program, verdicts):
    """Whether the machine may be at fault: where times vary too much, clocks tell nothing."""
    if program["honest"]:
        return only(NOISE, program, verdicts)
    return any(v["outcome"] == "unstable" or "was busy" in v["level"] for v in verdicts)


def settle(results, device, store, staging):
    """Lines of a group. A program whose time alone was at fault is judged again, twice at most:
    that is what a shared machine does; after that, unstable will do for an honest one."""
    lines = []
    for program, verdicts, error, spent, code in results:
        wrong = right(program, verdicts, error, code)
        for _ in range(2):
            if not wrong or not is_noise(program, verdicts):
                break
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            _, verdicts, error, again, code = judge([program], device, store, staging)[0]
            spent += again
            wrong = right(program, verdicts, error, code)
        if only(("passed", "unstable"), program, verdicts):
            wrong = ""
        lines.append(record(program, verdicts, error, wrong, spent))
    return lines


def run_group(group, device, scratch):
    staging = pathlib.Path(tempfile.mkdtemp(prefix="group-", dir=scratch))
    store = staging.with_suffix(".db")
    try:
        results = judge(group, device, store, staging)
        # One whose manifest is refused ends the run for all of its group.
        if len(group) > 1 and any(error for _, _, error, _, _ in results):
            return [line for program in group for line in run_group([program], device, scratch)]
        return settle(results, device, store, staging)
    except subprocess.TimeoutExpired:
        return [record(p, [], "the judge hung", "the judge hung", 540) for p in group]


def by_itself(group):
    """Whether a group's run must have the machine for itself."""
    is_input = "input_error" in group[0].get("expect", {})
    return group[0]["gate"] == "performance" or (group[0]["alone"] and not is_input)


def plain(text):
    """Without what a terminal would obey: reasons repeat the words of programs that cheat."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def show(line):
    mark = "ok  " if line["right"] else "OPEN" if "open" in line else "BAD "
    classes = ",".join(line["class"]) or "honest"
    reason = plain(line["reason"][:110])
    print(f"{mark} {line['program']:52} {classes:9} {line['outcome']:16} {reason}")
    if not line["right"]:
        print(f"     {line['wrong']}; expected {', '.join(line['expected'])}: {line['what']}")
    sys.stdout.flush()


def chosen(programs, arguments, done):
    return [
        p for p in programs
        if arguments.device in p["devices"]
        and (not arguments.lane or p["lane"] in arguments.lane)
        and (not arguments.gate or p["gate"] in arguments.gate)
        and (not arguments.only or any(text in p["path"] for text in arguments.only))
        and p["path"] not in done
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--lane", action="append")
    parser.add_argument("--gate", action="append", choices=GATES, help="programs judged so far")
    parser.add_argument("--only", action="append", help="programs whose path contains this text")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--group", type=int, default=12, help="programs in one run of the judge")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    try:
        programs = read_programs()
    except (BadTable, tomllib.TOMLDecodeError, re.error) as error:
        sys.exit(f"redteam: {error}")
    kept = {}
    if arguments.out and arguments.out.exists():
        lines = map(json.loads, arguments.out.read_text().splitlines())
        kept = {line["program"]: line for line in lines}
    # What deviated is always judged again.
    done = set() if arguments.again else {path for path, line in kept.items() if line["right"]}
    todo = chosen(programs, arguments, done)
    print(f"{len(programs)} programs, {len(todo)} to judge on {arguments.device}")
    if arguments.check:
        return 0
    wrong = known = 0
    groups = grouped(todo, arguments.group)
    shared = [group for group in groups if not by_itself(group)]
    single = [group for group in groups if by_itself(group)]
    with tempfile.TemporaryDirectory(prefix="redteam-") as scratch:
        for some, jobs in ((shared, arguments.jobs), (single, 1)):
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                runs = [pool.submit(run_group, g, arguments.device, scratch) for g in some]
                for run in concurrent.futures.as_completed(runs):
                    for line in run.result():
                        show(line)
                        wrong += not line["right"] and "open" not in line
                        known += not line["right"] and "open" in line
                        kept[line["program"]] = line
                    if arguments.out:
                        arguments.out.write_text(
                            "".join(json.dumps(kept[path]) + "\n" for path in sorted(kept))
                        )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(todo)} judged, {wrong} deviate, {known} open; "
          f"{used.ru_utime + used.ru_stime:.0f} s of processor time")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
