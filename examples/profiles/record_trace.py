# SPDX-License-Identifier: Apache-2.0
"""Cleans a recorded Kineto file of everything private and checks what it holds. Needs no PyTorch.

The text is edited, never re-written through a JSON library, so that the committed files keep the
layout that the profiler itself writes and a reader of real profiles has to cope with.
"""

import json
import re
import socket

LAUNCH = re.compile(r"Launch(Cooperative)?Kernel|^(cuda|cu)Memcpy|^(cuda|cu)Memset")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cuda_runtime", "cuda_driver")
_PATH = re.compile(r'"[^"]*/(?:home|root|tmp|opt|usr|var|mnt|work|proc|lib)/[^"]*"')


def scrub(text, name):
    """The profile under its new name, without paths, process names and identifiers of the run."""
    text = re.sub(r'"traceName": "[^"]*"', f'"traceName": "{name}"', text)
    text = re.sub(r'\n\s*"trace_id": "[^"]*",?', "", text)
    text = re.sub(r'("name": "process_name"[^{}]*\{[^{}]*"name": )"[^"]*"', r'\1"python3"', text)
    return re.sub(r'("name": "process_labels"[^{}]*\{[^{}]*"labels": )"(?!GPU|CPU)[^"]*"',
                  r'\1"CPU"', text)


def private_parts(text):
    """What must not be published: paths, this machine's name."""
    found = sorted(set(_PATH.findall(text)))
    host = socket.gethostname()
    if len(host) > 3 and re.search(rf"\b{re.escape(host)}\b", text):
        found.append(f"host name {host}")
    return found


def events(text):
    return [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]


def operator_counts(rows):
    """How often each roofmark op was called."""
    counts = {}
    for row in rows:
        if row.get("cat") == "cpu_op" and row["name"].startswith("roofmark::"):
            name = row["name"].split("::", 1)[1]
            counts[name] = counts.get(name, 0) + 1
    return counts


def operators_without_dims(rows):
    return sorted({row["name"] for row in rows
                   if row.get("cat") == "cpu_op" and row["name"].startswith("roofmark::")
                   and not any(row.get("args", {}).get("Input Dims", []))})


def captured_launches(rows):
    """The names of launch calls between begin and end of capture, in order.

    A driver call inside a runtime call (some libraries launch that way) is one launch.
    """
    host = sorted((row for row in rows if row.get("cat") in HOST), key=lambda row: row["ts"])
    begin = [row for row in host if "StreamBeginCapture" in row["name"]]
    end = [row for row in host if "StreamEndCapture" in row["name"]]
    if not begin or not end:
        return []
    names, covered_until = [], float("-inf")
    for row in host:
        inside = begin[0]["ts"] < row["ts"] < end[-1]["ts"] and row["tid"] == begin[0]["tid"]
        if inside and LAUNCH.search(row["name"]) and row["ts"] >= covered_until:
            names.append(row["name"])
            covered_until = row["ts"] + row.get("dur", 0)
    return names


def replays(rows):
    """For each graph launch, the names of what it ran on the device, in time order."""
    launches = [row["args"]["correlation"] for row in rows
                if row.get("cat") in HOST and "GraphLaunch" in row["name"]]
    ran = {correlation: [] for correlation in launches}
    for row in sorted((row for row in rows if row.get("cat") in DEVICE),
                      key=lambda row: row["ts"]):
        correlation = row.get("args", {}).get("correlation")
        if correlation in ran:
            ran[correlation].append(row["name"])
    return [ran[correlation] for correlation in launches]


def kernel_summary(rows):
    kernels = [row for row in rows if row.get("cat") == "kernel"]
    return len(kernels), sum(row.get("dur", 0) for row in kernels)


def check_profile(text, wanted_operators):
    """Sentences about what is wrong with an eager or capture profile."""
    rows = events(text)
    counts = operator_counts(rows)
    problems = [f"operator {name} does not appear" for name in wanted_operators
                if name not in counts]
    problems += [f"{name} has no Input Dims" for name in operators_without_dims(rows)]
    problems += [f"holds {part}" for part in private_parts(text)]
    return problems


def check_replays(graph_text, capture_text):
    """Sentences about replays that do not match what was captured."""
    captured = captured_launches(events(capture_text))
    problems = [] if captured else ["the capture profile holds no captured launch"]
    ran = replays(events(graph_text))
    problems += [] if ran else ["the replay profile holds no graph launch"]
    for index, names in enumerate(ran):
        if len(names) != len(captured):
            problems.append(f"replay {index} ran {len(names)} device activities, "
                            f"the capture launched {len(captured)}")
    if any(names != ran[0] for names in ran[1:]):
        problems.append("the replays of one graph do not run the same kernels")
    return problems
