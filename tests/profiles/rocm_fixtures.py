# SPDX-License-Identifier: Apache-2.0
"""rocpd 3 and 4, rocmProfileData, and rocprofv3's JSON and CSV."""

import json

from one_run import *


def rocpd_run(db, suffix, version, shift):
    strings = Strings()
    events, dispatches, copies, regions = [], [], [], []

    def event(stack):
        events.append((len(events) + 1, stack, 0, 0))
        return len(events)

    for i, (name, start, end, device, stream, correlation) in enumerate(KERNELS):
        e = event(correlation)
        where = (4 + device, stream) if version == 3 else (1 + i,)
        dispatches.append(
            (i + 1,) + where + (list(ROCM_NAMES).index(name) + 1, start + shift, end + shift, e)
        )
    copies.append(
        (
            1,
            COPY[0] + shift,
            COPY[1] + shift,
            strings("MEMORY_COPY_HOST_TO_DEVICE"),
            4,
            1,
            event(14),
        )
    )
    rows = [(HIP_CALL[n], s, e, c) for n, s, e, c in CALLS]
    rows += [(name, s, e, 1000 + i) for i, (name, s, e, _) in enumerate(RANGES[:1])]
    rows.append(("hsa_queue_create", 1_000_100, 1_000_200, 2000))
    for i, (name, start, end, correlation) in enumerate(rows):
        where = 6 if version == 3 else 9
        regions.append(
            (i + 1, where, start + shift, end + shift, strings(name), event(correlation))
        )
    table(
        db,
        "rocpd_metadata" + suffix,
        "id INTEGER PRIMARY KEY, tag TEXT, value TEXT",
        [(1, "schema_version", f"{version}.0.0")],
    )
    table(
        db,
        "rocpd_string" + suffix,
        "id INTEGER PRIMARY KEY, guid TEXT, string TEXT",
        [(i, "g", t) for t, i in strings.ids.items()],
    )
    table(
        db,
        "rocpd_info_agent" + suffix,
        "id INTEGER PRIMARY KEY, type TEXT, type_index INTEGER, name TEXT, product_name TEXT",
        [
            (1, "CPU", 0, "cpu", "Example CPU"),
            (4, "GPU", 0, "gfx942", "Example Instinct"),
            (5, "GPU", 1, "gfx942", "Example Instinct"),
        ],
    )
    table(
        db,
        "rocpd_info_kernel_symbol" + suffix,
        "id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT",
        [
            (i + 1, n + ".kd", "" if k == "gemm" else n)
            for i, (k, n) in enumerate(ROCM_NAMES.items())
        ],
    )
    table(
        db,
        "rocpd_event" + suffix,
        "id INTEGER PRIMARY KEY, stack_id INTEGER, parent_stack_id INTEGER, category_id INTEGER",
        events,
    )
    if version == 3:
        table(
            db,
            "rocpd_kernel_dispatch" + suffix,
            "id INTEGER PRIMARY KEY, agent_id INTEGER, stream_id INTEGER, kernel_id INTEGER, "
            "start BIGINT, end BIGINT, event_id INTEGER",
            dispatches,
        )
        table(
            db,
            "rocpd_region" + suffix,
            "id INTEGER PRIMARY KEY, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, "
            "event_id INTEGER",
            regions,
        )
    else:
        table(
            db,
            "rocpd_track" + suffix,
            "id INTEGER PRIMARY KEY, agent_id INTEGER, stream_id INTEGER, tid INTEGER",
            [(1 + i, 4 + k[3], k[4], None) for i, k in enumerate(KERNELS)] + [(9, None, None, 6)],
        )
        stamps = []

        def stamp(value):
            stamps.append((len(stamps) + 1, value))
            return len(stamps)

        table(
            db,
            "rocpd_kernel_dispatch" + suffix,
            "id INTEGER PRIMARY KEY, track_id INTEGER, kernel_id INTEGER, start_id INTEGER, "
            "end_id INTEGER, event_id INTEGER",
            [(i, t, k, stamp(s), stamp(e), v) for i, t, k, s, e, v in dispatches],
        )
        table(
            db,
            "rocpd_region" + suffix,
            "id INTEGER PRIMARY KEY, track_id INTEGER, start BIGINT, end BIGINT, name_id INTEGER, "
            "event_id INTEGER",
            regions,
        )
        table(db, "rocpd_timestamp" + suffix, "id INTEGER PRIMARY KEY, value BIGINT", stamps)
    table(
        db,
        "rocpd_memory_copy" + suffix,
        "id INTEGER PRIMARY KEY, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, "
        "src_agent_id INTEGER, event_id INTEGER",
        copies,
    )


def rocpd(path, version, runs):
    db = fresh(path)
    for run in range(runs):
        rocpd_run(db, f"_0000ddb5_{run}", version, run * 10_000_000)
    for view in ["rocpd_kernel_dispatch"]:
        parts = " UNION ALL ".join(f'SELECT * FROM "{view}_0000ddb5_{r}"' for r in range(runs))
        db.execute(f'CREATE VIEW "{view}" AS {parts}')
    close(db)


def rpd(path):
    db, strings = fresh(path), Strings()
    ops, apis, ties = [], [], []
    for i, (name, start, end, device, stream, correlation) in enumerate(KERNELS):
        ops.append(
            (
                i + 1,
                device,
                stream,
                0,
                start,
                end,
                strings(ROCM_NAMES[name]),
                strings("KernelExecution"),
            )
        )
        if correlation != 99:
            ties.append((len(ties) + 1, correlation, i + 1))
    ops.append((5, COPY[2], COPY[3], 0, COPY[0], COPY[1], strings(""), strings("CopyHostToDevice")))
    ties.append((len(ties) + 1, 14, 5))
    ops.append((6, 0, 7, 0, 1_062_000, 1_063_000, strings(""), strings("Barrier")))
    for name, start, end, correlation in CALLS:
        apis.append((correlation, PID, TID, start, end, strings(HIP_CALL[name]), strings("")))
    apis.append((40, PID, TID, RANGES[0][1], RANGES[0][2], strings("UserMarker"), strings(LABEL)))
    table(
        db,
        "rocpd_string",
        "id INTEGER NOT NULL PRIMARY KEY, string VARCHAR(4096)",
        [(i, t) for t, i in strings.ids.items()],
    )
    table(
        db,
        "rocpd_op",
        "id INTEGER NOT NULL PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, "
        "start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER",
        ops,
    )
    table(
        db,
        "rocpd_api",
        "id INTEGER NOT NULL PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, "
        "apiName_id INTEGER, args_id INTEGER",
        apis,
    )
    table(
        db, "rocpd_api_ops", "id INTEGER NOT NULL PRIMARY KEY, api_id INTEGER, op_id INTEGER", ties
    )
    close(db)


def rocprof_json(path):
    operations = ["hipApiName", "hipLaunchKernel", "hipMemcpyAsync", "hipGetDevice"]
    dispatches = [
        {
            "size": 184,
            "kind": 11,
            "operation": 2,
            "thread_id": TID,
            "correlation_id": {"internal": c, "external": 0},
            "start_timestamp": s,
            "end_timestamp": e,
            "dispatch_info": {
                "size": 72,
                "agent_id": {"handle": 4 + d},
                "queue_id": {"handle": q},
                "kernel_id": list(ROCM_NAMES).index(n) + 1,
                "dispatch_id": i + 1,
                "grid_size": {"x": 512, "y": 1, "z": 1},
            },
            "stream_id": {"handle": 0},
        }
        for i, (n, s, e, d, q, c) in enumerate(KERNELS)
    ]
    calls = [
        {
            "kind": 5,
            "operation": operations.index(HIP_CALL[n]),
            "thread_id": TID,
            "correlation_id": {"internal": c, "external": 0},
            "start_timestamp": s,
            "end_timestamp": e,
        }
        for n, s, e, c in CALLS
    ]
    copy = {
        "kind": 10,
        "operation": 1,
        "thread_id": TID,
        "correlation_id": {"internal": 14, "external": 0},
        "start_timestamp": COPY[0],
        "end_timestamp": COPY[1],
        "dst_agent_id": {"handle": 4},
        "src_agent_id": {"handle": 1},
    }
    marker = {
        "kind": 7,
        "operation": 0,
        "thread_id": TID,
        "correlation_id": {"internal": 1000, "external": 0},
        "start_timestamp": RANGES[0][1],
        "end_timestamp": RANGES[0][2],
    }
    kinds = [{"kind": "NONE", "operations": []} for _ in range(12)]
    kinds[5] = {"kind": "HIP_RUNTIME_API", "operations": operations}
    kinds[7] = {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]}
    kinds[10] = {
        "kind": "MEMORY_COPY",
        "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"],
    }
    tool = {
        "metadata": {"pid": PID},
        "agents": [
            {"id": {"handle": 1}, "type": 1, "product_name": "Example CPU"},
            {
                "id": {"handle": 4},
                "type": 2,
                "product_name": "Example Instinct",
                "logical_node_type_id": 0,
            },
            {
                "id": {"handle": 5},
                "type": 2,
                "product_name": "Example Instinct",
                "logical_node_type_id": 1,
            },
        ],
        "strings": {"buffer_records": kinds, "marker_api": [{"key": 1000, "value": LABEL}]},
        "buffer_records": {
            "kernel_dispatch": dispatches,
            "hip_api": calls,
            "hsa_api": [],
            "marker_api": [marker],
            "memory_copy": [copy],
        },
        # Behind the records that name them: order must not matter.
        "kernel_symbols": [
            {
                "kernel_id": i + 1,
                "kernel_name": n + ".kd",
                "formatted_kernel_name": "" if k == "gemm" else n,
            }
            for i, (k, n) in enumerate(ROCM_NAMES.items())
        ],
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))


def quoted(values):
    return (
        ",".join(str(v) if isinstance(v, int) else '"' + v.replace('"', '""') + '"' for v in values)
        + "\n"
    )


def rocprof_csv(folder):
    text = quoted(
        [
            "Kind",
            "Agent_Id",
            "Queue_Id",
            "Stream_Id",
            "Thread_Id",
            "Dispatch_Id",
            "Kernel_Id",
            "Kernel_Name",
            "Correlation_Id",
            "Start_Timestamp",
            "End_Timestamp",
            "Grid_Size_X",
        ]
    )
    for i, (n, s, e, d, q, c) in enumerate(KERNELS):
        text += quoted(
            [
                "KERNEL_DISPATCH",
                f"Agent {4 + d}",
                q,
                q,
                TID,
                i + 1,
                i + 1,
                ROCM_NAMES[n],
                c,
                s,
                e,
                512,
            ]
        )
    (folder / "run_kernel_trace.csv").write_text(text)
    header = [
        "Domain",
        "Function",
        "Process_Id",
        "Thread_Id",
        "Correlation_Id",
        "Start_Timestamp",
        "End_Timestamp",
    ]
    text = quoted(header)
    for n, s, e, c in CALLS:
        text += quoted(["HIP_RUNTIME_API", HIP_CALL[n], PID, TID, c, s, e])
    (folder / "run_hip_api_trace.csv").write_text(text)
    text = quoted(header) + quoted(
        ["MARKER_CORE_API", LABEL, PID, TID, 1000, RANGES[0][1], RANGES[0][2]]
    )
    (folder / "run_marker_api_trace.csv").write_text(text)
    text = quoted(
        [
            "Kind",
            "Direction",
            "Stream_Id",
            "Source_Agent_Id",
            "Destination_Agent_Id",
            "Correlation_Id",
            "Start_Timestamp",
            "End_Timestamp",
        ]
    )
    text += quoted(
        [
            "MEMORY_COPY",
            "MEMORY_COPY_HOST_TO_DEVICE",
            COPY[3],
            "Agent 0",
            "Agent 4",
            14,
            COPY[0],
            COPY[1],
        ]
    )
    (folder / "run_memory_copy_trace.csv").write_text(text)
