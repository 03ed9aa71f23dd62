# SPDX-License-Identifier: Apache-2.0
"""The recorder's own checks: nothing private stays in a profile, replays match captures."""

import json
import pathlib
import sys
import unittest

PROFILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "profiles"
sys.path.insert(0, str(PROFILES))
import record_trace


def row(cat, name, ts, dur=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}


def text(*rows):
    return json.dumps({"traceEvents": list(rows)})


CAPTURE = (
    row("cuda_runtime", "cudaLaunchKernel", 1, correlation=1),  # warm-up, before the capture
    row("cuda_runtime", "cudaStreamBeginCapture_v10000", 10),
    row("cuda_driver", "cuLaunchKernelEx", 20, correlation=2),
    row("cuda_runtime", "cudaLaunchKernelExC", 30, dur=5, correlation=3),
    row("cuda_driver", "cuLaunchKernelEx", 31, dur=2, correlation=4),  # inside the call above
    row("cuda_runtime", "cudaMemsetAsync", 40, correlation=5),
    row("cuda_runtime", "cudaLaunchKernel", 45, tid=2, correlation=6),  # another thread
    row("cuda_runtime", "cudaStreamEndCapture", 50),
)


def replay(*names):
    rows = [row("cuda_runtime", "cudaGraphLaunch", 1, correlation=9)]
    return text(*rows, *(row("kernel", name, 10 + at, correlation=9)
                         for at, name in enumerate(names)))


class Replays(unittest.TestCase):
    def test_counts_captured_launches_once(self):
        self.assertEqual(record_trace.captured_launches(list(CAPTURE)),
                         ["cuLaunchKernelEx", "cudaLaunchKernelExC", "cudaMemsetAsync"])

    def test_accepts_a_replay_of_what_was_captured(self):
        self.assertEqual(record_trace.check_replays(replay("a", "b", "c"), text(*CAPTURE)), [])

    def test_rejects_a_replay_that_ran_something_else(self):
        problems = record_trace.check_replays(replay("a", "b"), text(*CAPTURE))
        self.assertEqual(problems, ["replay 0 ran 2 device activities, the capture launched 3"])

    def test_rejects_profiles_without_graph_or_capture(self):
        problems = record_trace.check_replays(text(), text())
        self.assertEqual(len(problems), 2)


class Privacy(unittest.TestCase):
    NATIVE = ('{\n  "schemaVersion": 1,\n  "trace_id": "ABC",\n  "traceEvents": [\n'
              '  {\n    "name": "process_name", "ph": "M", "ts": 1.5, "pid": 7, "tid": 0,\n'
              '    "args": {\n      "name": "/home/me/bin/python"\n    }\n  }\n  ],\n'
              '  "traceName": "/tmp/me/profile.json"\n}\n')

    def test_finds_paths(self):
        self.assertEqual(len(record_trace.private_parts(self.NATIVE)), 2)

    def test_scrubs_paths_and_identifiers_and_keeps_the_layout(self):
        clean = record_trace.scrub(self.NATIVE, "x.json")
        self.assertEqual(record_trace.private_parts(clean), [])
        self.assertNotIn("trace_id", clean)
        self.assertIn('\n  {\n    "name": "process_name", "ph": "M"', clean)
        self.assertEqual(json.loads(clean)["traceName"], "x.json")


class Operators(unittest.TestCase):
    def test_names_operators_that_are_missing_or_without_shapes(self):
        profile = text(row("cpu_op", "roofmark::rms_norm", 1, **{"Input Dims": [[], []]}))
        self.assertEqual(record_trace.check_profile(profile, ["rms_norm", "fused_moe"]),
                         ["operator fused_moe does not appear",
                          "roofmark::rms_norm has no Input Dims"])

    def test_every_recorder_source_compiles(self):
        for path in PROFILES.glob("*.py"):
            compile(path.read_text(), str(path), "exec")


if __name__ == "__main__":
    unittest.main()
