# SPDX-License-Identifier: Apache-2.0
"""Abuse of the judge: mutated candidates, kills at random moments, a full disk.

    ROOFMARK=build/bin/roofmark python3 tests/abuse/abuse.py \\
        --mutations 1000 --kills 200 --full-disk

Every mutant must get an answer: verdicts, or an error of its input. What passes must pass again
under other seeds; an honest control among the mutants must always pass; the judge itself must live
on. After each kill the store must be whole, hold every verdict that was printed, and no process may
be left. A full disk must be an error that says so, with nothing lost of what was there. Everything
stops at the correctness gate, so that nothing depends on a time. Random numbers come from --seed: a
failure repeats. --seconds ends each part early; the report says how much was done.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("ROOFMARK", str(ROOT / "build/bin/roofmark"))
SHAPES = {"rms_norm": "s-decode", "silu_and_mul": "s-decode"}
SEEDS = [
    ("rms_norm", "rms_norm.cc"),
    ("rms_norm", "rms_norm_naive.cc"),
    ("silu_and_mul", "silu_and_mul.cc"),
]
MANIFEST = 'name = "mutant"\nlane = "cpp"\nsources = ["%s"]\nentry = "run"\noptions = ["-O2"]\n'
CONTROL_EVERY = 25
ANSWER_TIMEOUT_S = 600


class Failure(Exception):
    pass


def mutate(data, rng):
    """One to three small changes of a text."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.randint(1, 40)]
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 20)))
        elif kind == 3:
            data[at:at] = data[at : at + rng.randint(1, 200)]
        elif kind == 4:
            del data[at:]
        else:
            lines = bytes(data).split(b"\n")
            one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
            if kind == 5:
                lines[one], lines[two] = lines[two], lines[one]
            elif kind == 6:
                del lines[one]
            else:
                digits = [i for i, c in enumerate(data) if chr(c).isdigit() or chr(c) in "<>+-*/&|"]
                if digits:
                    data[rng.choice(digits)] = rng.choice(b"0123456789<>+-*/&|")
                continue
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def processes_of(marker):
    """Processes that name `marker` in their command line or environment, beside this one."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in text:
            found.append(int(entry.name))
    return found


def none_left(marker, patience_s=60):
    deadline = time.monotonic() + patience_s
    while processes_of(marker):
        if time.monotonic() > deadline:
            raise Failure("processes left: %s" % processes_of(marker))
        time.sleep(0.05)


class Listener:
    """judge --listen, with a limit on how long an answer may take."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [BINARY, "judge", "--listen", "--gate", "correctness", "--timeout", "10",
             "--store", str(folder / "run.db")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=dict(os.environ, TMPDIR=str(folder / "tmp")))
        self.buffer = b""

    def ask(self, job):
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        answers = []
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while True:
            while b"\n" not in self.buffer:
                left_s = max(0, deadline - time.monotonic())
                ready, _, _ = select.select([self.process.stdout], [], [], left_s)
                if not ready:
                    raise Failure("no answer to %s after %d s" % (job["id"], ANSWER_TIMEOUT_S))
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                if not piece:
                    code = self.process.wait()
                    raise Failure("the judge ended (code %s) in %s" % (code, job["id"]))
                self.buffer += piece
            line, self.buffer = self.buffer.split(b"\n", 1)
            answers.append(json.loads(line))
            if answers[-1].get("id") != job["id"]:
                raise Failure("an answer to somebody else: %s" % line)
            if "done" in answers[-1] or "error" in answers[-1]:
                return answers

    def close(self):
        self.process.stdin.close()
        if self.process.wait(60) != 0:
            raise Failure("the judge ended with code %s" % self.process.returncode)


def outcome_of(answers):
    if "error" in answers[-1]:
        if answers[-1]["error"]["kind"] not in ("input", "not_found"):
            raise Failure("blamed on the machine: %s" % answers[-1])
        return "error: input"
    return answers[0]["outcome"]


class Budget:
    """Numbers up to `count`, as long as the time lasts; `done` is how many were begun."""

    def __init__(self, count, seconds):
        self.count, self.done = count, 0
        self.until = time.monotonic() + seconds if seconds else float("inf")

    def __iter__(self):
        while self.done < self.count and (self.done == 0 or time.monotonic() < self.until):
            self.done += 1
            yield self.done - 1

    def text(self):
        return "%d of %d" % (self.done, self.count) if self.done < self.count else str(self.done)


def mutations(budget, rng, folder):
    (folder / "tmp").mkdir()
    listener = Listener(folder)
    tally = collections.Counter()
    for number in budget:
        op, name = rng.choice(SEEDS)
        source = (ROOT / "candidates" / op / name).read_bytes()
        manifest = (MANIFEST % name).encode()
        of_manifest = rng.random() < 0.25
        place = folder / "mutant"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / name).write_bytes(source if of_manifest else mutate(source, rng))
        (place / "candidate.toml").write_bytes(mutate(manifest, rng) if of_manifest else manifest)
        job = {"id": "m%d" % number, "operator": op, "path": str(place), "shapes": [SHAPES[op]]}
        outcome = outcome_of(listener.ask(job))
        tally[outcome] += 1
        if outcome == "passed" and outcome_of(listener.ask(dict(job, id="again"))) != "passed":
            raise Failure("mutant %d passed once and not again" % number)
        if number % CONTROL_EVERY == 0:
            control = {"id": "control", "operator": "rms_norm", "shapes": ["s-decode"],
                       "path": str(ROOT / "candidates/rms_norm/rms_norm.cc")}
            answers = listener.ask(control)
            if outcome_of(answers) != "passed":
                raise Failure("the honest control did not pass after mutant %d: %s"
                              % (number, answers))
    listener.close()
    none_left(str(folder))
    left = list((folder / "tmp").iterdir())
    if left:
        raise Failure("temporary files left: %s" % left[:5])
    print("mutations: %s mutants, each answered; every passing one passed again; %d controls passed"
          % (budget.text(), (budget.done + CONTROL_EVERY - 1) // CONTROL_EVERY))
    for outcome, times in tally.most_common():
        print("  %5d  %s" % (times, outcome))


def printed(text):
    """Whole verdict lines of a run's output."""
    return [json.loads(line) for line in text.split(b"\n")[:-1] if b'"outcome"' in line]


def stored(store):
    """(hash, shape) of each verdict of honest candidates, after a check of the whole file."""
    if not store.exists():
        return collections.Counter()
    db = sqlite3.connect(str(store), timeout=30)
    try:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise Failure("the store is corrupt")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'verdicts'").fetchone():
            return collections.Counter()
        wrong = db.execute("SELECT candidate, json FROM verdicts WHERE outcome <> 'passed'")
        if row := wrong.fetchone():
            raise Failure("an honest candidate was refused: %s %s" % row)
        return collections.Counter(db.execute("SELECT candidate_hash, shape FROM verdicts"))
    finally:
        db.close()


def kills(budget, rng, folder):
    candidates = folder / "all" / "rms_norm"
    candidates.mkdir(parents=True)
    honest = (ROOT / "candidates/rms_norm/rms_norm.cc").read_text()
    for number in range(4):
        (candidates / ("c%d.cc" % number)).write_text(honest + "// %d\n" % number)
    (folder / "tmp").mkdir()
    store = folder / "run.db"
    finished = 0
    longest_s = 0.0
    for number in budget:
        command = [BINARY, "judge", "--all", str(folder / "all"), "--gate", "correctness", "--json",
                   "--shape", "s-decode", "s-odd", "--store", str(store)]
        begin = time.monotonic()
        said = open(folder / "stderr.txt", "wb")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said,
                                   env=dict(os.environ, TMPDIR=str(folder / "tmp")))
        said.close()
        # The first one says how long a run is, so that the others are killed anywhere in theirs.
        limit_s = rng.random() * 1.1 * longest_s if longest_s else None
        try:
            out, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
        none_left(str(folder))
        in_store = stored(store)
        for verdict in printed(out):
            if in_store[(verdict["candidate_hash"], verdict["shape"])] == 0:
                raise Failure("kill %d: a printed verdict is lost: %s" % (number, verdict))
        if any(times > 1 for times in in_store.values()):
            raise Failure("kill %d: judged again what was known" % number)
        if process.returncode == 0:
            finished += 1
            longest_s = max(longest_s, time.monotonic() - begin)
            if len(in_store) != 8:
                raise Failure("a run ended well with %d of 8 verdicts" % len(in_store))
            for file in folder.glob("run.db*"):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        elif process.returncode != -signal.SIGKILL:
            raise Failure("kill %d: ended with code %d: %s" % (
                number, process.returncode, (folder / "stderr.txt").read_text()[-2000:]))
        shutil.rmtree(folder / "tmp")
        (folder / "tmp").mkdir()
    print("kills: %s runs, %d killed, %d came to their end; the store was whole each time, no "
          "printed verdict lost, none judged twice, no process left"
          % (budget.text(), budget.done - finished, finished))


FULL_DISK = r"""
set -u
mount -t tmpfs -o size=400k none "$1"
for i in $(seq 200); do
  "$ROOFMARK" judge "$2" --operator rms_norm --gate correctness --shape s-decode \
    --store "$1/run.db" > "$3/out" 2> "$3/err"
  code=$?
  if [ $code -ne 0 ]; then break; fi
  # Others fill a disk, too: from here there is room for a few pages.
  left=$(df -k --output=avail "$1" | tail -n 1)
  if [ "$i" -eq 2 ] && [ "$left" -gt 72 ]; then
    head -c "$((left - 72))k" /dev/zero > "$1/filler"
  fi
done
cat "$3/err"
echo "exit code $code after $((i - 1)) runs"
cp "$1"/run.db* "$3"/ 2>/dev/null
exit 0
"""


def full_disk(folder):
    if os.geteuid() != 0:
        print("full disk: skipped, mounting a small disk needs root")
        return
    small, kept = folder / "small", folder / "kept"
    small.mkdir()
    kept.mkdir()
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", FULL_DISK, "abuse", str(small),
         str(ROOT / "candidates/rms_norm/rms_norm.cc"), str(kept)],
        capture_output=True, text=True, env=dict(os.environ, ROOFMARK=BINARY), timeout=3600)
    if "propagation" in done.stderr and not done.stdout.strip():
        print("full disk: skipped, mounts cannot be kept apart in a chroot")
        return
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    if "exit code 3 " not in last:
        raise Failure("a full disk ends with: %s %s" % (done.stdout, done.stderr))
    if not any(word in done.stdout for word in ("full", "No space left")):
        raise Failure("the message does not say that the disk is full: %s" % done.stdout)
    before = int(last.split()[-2])
    verdicts = sum(stored(kept / "run.db").values())
    if verdicts < before:
        raise Failure("%d runs ended well and %d verdicts are kept" % (before, verdicts))
    print("full disk: an error that says so after %d runs, and all %d verdicts are kept"
          % (before, verdicts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--seconds", type=float, help="for each of the first two parts")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failures = 0
    for wanted, run in (
        (args.mutations, lambda f: mutations(Budget(args.mutations, args.seconds),
                                             random.Random(args.seed), f)),
        (args.kills, lambda f: kills(Budget(args.kills, args.seconds),
                                     random.Random(args.seed + 1), f)),
        (args.full_disk, full_disk),
    ):
        if not wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="abuse") as folder:
            try:
                run(pathlib.Path(folder))
            except Failure as failure:
                failures += 1
                print("FAILED: %s" % failure)
            sys.stdout.flush()
            for pid in processes_of(folder):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
