# SPDX-License-Identifier: Apache-2.0
"""Judges candidates from Python: a thin layer over `roofmark judge --listen`.

    import roofmark

    with roofmark.Judge(device="cpu", store="rewards.db") as judge:
        for verdict in judge.judge(source=text, lane="cpp", operator="rms_norm"):
            print(verdict["shape"], verdict["outcome"], verdict.get("time_ns"))

The standard library is all that it needs. The judge's process keeps references warm between calls,
so that one Judge should serve a whole loop. Not safe to share between threads.
"""
import json
import os
import shutil
import subprocess


class Error(Exception):
    """What kept the judge from a verdict: `kind` is input, not_found, io, device, timeout or usage.
    A bad candidate is no error; it gets verdicts."""

    def __init__(self, kind, message):
        super().__init__("%s: %s" % (kind, message))
        self.kind = kind
        self.message = message


class Judge:
    """A judge of one device. `binary` is the roofmark program (default: $ROOFMARK, or on PATH);
    `arguments` are further options of `roofmark judge`, as a list."""

    def __init__(self, device="cpu", store="roofmark.db", binary=None, arguments=()):
        binary = binary or os.environ.get("ROOFMARK") or shutil.which("roofmark")
        if binary is None:
            raise Error("not_found", "no roofmark on PATH; give binary= or set ROOFMARK")
        command = [binary, "judge", "--listen", "--device", device, "--store", str(store)]
        self._process = subprocess.Popen(
            command + list(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self.skipped = 0  # shapes of the last job that were known already

    def judge(self, operator, source=None, lane=None, path=None, **choices):
        """Yields a verdict (a dict, as `judge --json` writes it) for each shape as it is known.
        `choices`: name, shapes, quick, gate, against, again. Raises Error when there is none."""
        self._number += 1
        job = {"id": str(self._number), "operator": operator}
        job.update(choices)
        job.update({k: v for k, v in (("source", source), ("lane", lane)) if v is not None})
        for key in ("path", "against"):
            value = path if key == "path" else choices.get("against")
            if value is not None:
                job[key] = os.path.abspath(value)
        self._send(job)
        return self._answers(job["id"])

    def judge_all(self, operator, **arguments):
        """The same as a list."""
        return list(self.judge(operator, **arguments))

    def close(self):
        """Ends the judge after what it was asked; call it, or use the judge in a with block."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, job):
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._gone() from None

    def _answers(self, wanted):
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise self._gone()
            answer = json.loads(line)
            if answer.get("id") != wanted:
                continue  # of a job whose verdicts nobody read to their end
            if "error" in answer:
                raise Error(answer["error"]["kind"], answer["error"]["message"])
            if answer.get("done"):
                self.skipped = answer["skipped"]
                return
            yield answer

    def _gone(self):
        return Error("io", "the judge ended with code %s; see its stderr" % self._process.wait())
