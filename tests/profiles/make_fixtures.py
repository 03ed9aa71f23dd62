#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small profiles of foreign formats that the tests of src/trace read.

    tests/profiles/make_fixtures.py [FOLDER]      (default: src/trace/testdata)

The values are ours, the layouts are those of the exporters: Nsight Systems' schemas 3.25 and 2.9.1,
rocpd 3 and 4, rocmProfileData, rocprofv3's JSON and CSV, PyTorch's execution trace. All formats but
the graph one tell of the same run: a prefill step of a product, a norm and an activation on device
0, one copy, and a kernel on device 1 whose call was not recorded. Nothing is random: running it
again gives the same bytes.
"""

import json
import pathlib
import sys

from nsys_fixtures import nsys_graph, nsys_new, nsys_old
from one_run import ROCM_NAMES
from rocm_fixtures import rocpd, rocprof_csv, rocprof_json, rpd


def execution_trace(folder):
    """A Kineto profile without shapes and the execution trace that has them, in both schemas."""
    ops = [
        (
            "aten::mm",
            1,
            31,
            [[300, 1024], [1024, 512]],
            ["Tensor(c10::BFloat16)"] * 2,
            [[5, 6], [7, 8]],
        ),
        (
            "_C::rms_norm",
            2,
            32,
            [[300, 1024], [300, 1024], [1024], []],
            ["Tensor(c10::BFloat16)"] * 3 + ["Double"],
            [[1, 2], [3, 4], [5, 6], 1e-05],
        ),
    ]
    events = []
    for i, (name, _, rf, _, _, _) in enumerate(ops):
        at = 1000 + 10 * i
        events.append(
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": at,
                "dur": 8,
                "args": {"External id": 70 + i, "Record function id": rf},
            }
        )
        events.append(
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 1,
                "tid": 1,
                "ts": at + 2,
                "dur": 1,
                "args": {"correlation": 5 + i},
            }
        )
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": list(ROCM_NAMES.values())[i],
                "pid": 0,
                "tid": 7,
                "ts": at + 100,
                "dur": 4 + i,
                "args": {"device": 0, "stream": 7, "correlation": 5 + i, "External id": 70 + i},
            }
        )
    (folder / "shapeless.json").write_text(
        json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1)
    )
    new = {
        "schema": "1.1.1-chakra.0.0.4",
        "pid": 1,
        "time": "2026-01-01 00:00:00",
        "start_ts": 1,
        "nodes": [
            {
                "id": i + 2,
                "name": name,
                "ctrl_deps": 1,
                "inputs": {"values": values, "shapes": shapes, "types": types, "strides": []},
                "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
                "attrs": [
                    {"name": "rf_id", "type": "uint64", "value": rf},
                    {"name": "tid", "type": "uint64", "value": 1},
                ],
            }
            for i, (name, _, rf, shapes, types, values) in enumerate(ops)
        ],
    }
    (folder / "shapeless_et.json").write_text(json.dumps(new))
    old = {
        "schema": "1.0.1",
        "pid": 1,
        "nodes": [
            {
                "name": name,
                "id": i + 2,
                "rf_id": rf,
                "parent": 1,
                "tid": 1,
                "inputs": values,
                "input_shapes": shapes,
                "input_types": types,
                "outputs": [],
            }
            for i, (name, _, rf, shapes, types, values) in enumerate(ops)
        ],
    }
    (folder / "old_et.json").write_text(json.dumps(old))


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "src/trace/testdata"
    nsys_new(folder / "nsys_3_25.sqlite")
    nsys_old(folder / "nsys_2_9.sqlite")
    nsys_graph(folder / "nsys_graph.sqlite")
    rocpd(folder / "rocpd_3.db", 3, 2)
    rocpd(folder / "rocpd_4.db", 4, 1)
    rpd(folder / "run.rpd")
    rocprof_json(folder / "run_results.json")
    rocprof_csv(folder)
    execution_trace(folder)


main()
