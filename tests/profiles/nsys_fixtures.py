# SPDX-License-Identifier: Apache-2.0
"""Exports of Nsight Systems: schema 3.25, schema 2.9.1, and one with graphs by their nodes."""

from one_run import *


def nsys_kernel_names():
    return {
        "gemm": GEMM,
        "norm": NORM.format("(int)", "(int)"),
        "act": ACT.format("(bool)"),
        "odd": ODD.format("<unnamed>", "(unsigned int)", "char *"),
    }


def nsys_ranges(strings, new):
    rows = []
    for i, (name, start, end, sizes) in enumerate(RANGES):
        text = name if not sizes else f"{name}, seq = {i}, op_id = {100 + i}, sizes = {sizes}"
        registered = strings(text) if i == 0 else None
        rows.append((start, end, 59, None if registered else text, registered, GLOBAL_TID))
    rows.append((1_020_000, None, 34, "a mark", None, GLOBAL_TID))
    rows.append((1_021_000, None, 59, "open at the end", None, GLOBAL_TID))
    return [row + (0,) for row in rows] if new else rows


def nsys_new(path):
    """Schema 3.25."""
    db, strings = fresh(path), Strings()
    names = nsys_kernel_names()
    table(
        db,
        "META_DATA_EXPORT",
        "name TEXT NOT NULL, value TEXT",
        [("EXPORT_SCHEMA_VERSION", "3.25.0")],
    )
    table(
        db,
        "TARGET_INFO_GPU",
        "vmId INTEGER, id INTEGER, name TEXT",
        [(1, 1, "Example GPU 1"), (1, 0, "Example GPU")],
    )
    table(db, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER", [(1767189312000000000,)])
    table(
        db,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, "
        "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
        "shortName INTEGER, gridX INTEGER, graphNodeId INTEGER, clusterX INTEGER",
        [
            (s, e, d, 1, None, q, c, GLOBAL_PID, strings(names[n]), strings(n), 8, None, 1)
            for n, s, e, d, q, c in KERNELS
        ],
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
        "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER",
        [(COPY[0], COPY[1], COPY[2], 1, COPY[3], COPY[4], GLOBAL_PID, 4096, 1)],
    )
    # Another process has a call with the id of the kernel whose call is missing.
    calls = [(s, e, 0, GLOBAL_TID, c, strings(f"cuda{n}_v7000"), 0) for n, s, e, c in CALLS]
    calls.append(
        (1_015_000, 1_016_000, 0, (PID + 1) << 24 | 1, 99, strings("cudaLaunchKernel_v7000"), 0)
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, "
        "nameId INTEGER, returnValue INTEGER",
        calls,
    )
    table(db, "NVTX_EVENTS", NVTX + ", domainId INTEGER", nsys_ranges(strings, True))
    table(
        db,
        "StringIds",
        "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
        [(i, t) for t, i in strings.ids.items()],
    )
    close(db)


def nsys_old(path):
    """Schema 2.9.1: fewer columns, the version under another name; ids that are no primary key."""
    db, strings = fresh(path), Strings()
    names = nsys_kernel_names()
    table(
        db,
        "EXPORT_META_DATA",
        "name TEXT NOT NULL, value TEXT",
        [("EXPORT_SCHEMA_VERSION", "2.9.1")],
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
        "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER",
        [
            (s, e, d, 1, q, c, GLOBAL_PID, strings(names[n]), strings(n))
            for n, s, e, d, q, c in KERNELS
        ],
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
        "globalPid INTEGER",
        [(COPY[0], COPY[1], COPY[2], COPY[3], COPY[4], GLOBAL_PID)],
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, "
        "nameId INTEGER",
        [(s, e, 0, GLOBAL_TID, c, strings(f"cuda{n}_v3020")) for n, s, e, c in CALLS],
    )
    table(db, "NVTX_EVENTS", NVTX, nsys_ranges(strings, False))
    table(
        db,
        "StringIds",
        "id INTEGER NOT NULL, value TEXT NOT NULL",
        [(i, t) for t, i in strings.ids.items()],
    )
    close(db)


def nsys_graph(path):
    """A graph captured inside operators and replayed twice, by its nodes; and one recorded as a
    whole. Clones of nodes name their originals."""
    db, strings = fresh(path), Strings()
    names = nsys_kernel_names()
    order = ["gemm", "norm", "act"]
    nodes, ranges, kernels, calls = [], [], [], []
    for i, (name, start, end, sizes) in enumerate(RANGES[1:]):
        text = f"{name}, op_id = {i}, sizes = {sizes}"
        ranges.append((start, end, 59, text, None, GLOBAL_TID))
        nodes.append(
            (
                start + 500,
                start + 600,
                0,
                GLOBAL_TID,
                strings("cudaLaunchKernel_v7000"),
                0x100 + i,
                None,
            )
        )
        nodes.append(
            (
                1_090_000 + i,
                1_090_001 + i,
                0,
                GLOBAL_TID,
                strings("cudaGraphInstantiateWithFlags_v11040"),
                0x200 + i,
                0x100 + i,
            )
        )
    for step, at in enumerate([2_000_000, 3_000_000]):
        calls.append(
            (at, at + 9_000, 0, GLOBAL_TID, 50 + step, strings("cudaGraphLaunch_v10000"), 0)
        )
        ranges.append(
            (
                at - 1_000,
                at + 10_000,
                59,
                "execute_context_0(0)_generation_300(300)",
                None,
                GLOBAL_TID,
            )
        )
        for i, kernel in enumerate(order):
            begin = at + 20_000 + 5_000 * i
            kernels.append(
                (
                    begin,
                    begin + 3_000 + i,
                    0,
                    7,
                    50 + step,
                    GLOBAL_PID,
                    strings(names[kernel]),
                    0x200 + i,
                )
            )
    calls.append((4_000_000, 4_001_000, 0, GLOBAL_TID, 60, strings("cudaGraphLaunch_v10000"), 0))
    table(
        db,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
        "globalPid INTEGER, demangledName INTEGER, graphNodeId INTEGER",
        kernels,
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
        "globalPid INTEGER, graphId INTEGER",
        [(4_002_000, 4_052_000, 0, 7, 60, GLOBAL_PID, 5)],
    )
    table(
        db,
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, "
        "nameId INTEGER, returnValue INTEGER",
        calls,
    )
    table(
        db,
        "CUDA_GRAPH_NODE_EVENTS",
        "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, "
        "graphNodeId INTEGER, originalGraphNodeId INTEGER",
        nodes,
    )
    table(db, "NVTX_EVENTS", NVTX, ranges)
    table(
        db,
        "StringIds",
        "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
        [(i, t) for t, i in strings.ids.items()],
    )
    close(db)
