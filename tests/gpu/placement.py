# SPDX-License-Identifier: Apache-2.0
"""How a kernel's time depends on where its operands begin: placement.py OUT.jsonl

Runs honest CUDA candidates of one kernel on published shapes of over 10 MB, without the judge, with
the largest input and output at multiples of 512 bytes behind a 2 MiB boundary. Each call finds the
L2 full of clean lines of others; times are CUPTI's, through torch.profiler. Source of the judge's
kLargeTensorAlignment (src/device/arena.h).
"""

import json
import os
import random
import statistics
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile

ROOT = os.environ.get("ROOFMARK_DATA") or os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "candidates"))

import selftest  # noqa: E402

KERNELS = (("silu_and_mul", "8"), ("rms_norm", "14"))
OFFSETS = (0, 512, 1024, 2048, 4096, 8192, 16384, 65536, 1 << 20)
RANDOM_PLACES, CALLS, ROUNDS, PAGE = 60, 3, 3, 2 << 20


class Movable:
    """An operand with a page of room behind it."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.bytes = tensor.numel() * tensor.element_size()
        self.room = torch.zeros(self.bytes + PAGE, dtype=torch.uint8, device="cuda")
        self.room[: self.bytes].copy_(tensor.view(torch.uint8).flatten())

    def at(self, offset):
        part = self.room[offset : offset + self.bytes]
        return part.view(self.tensor.dtype).view(self.tensor.shape)


def largest(tensors):
    return max(tensors, key=lambda name: tensors[name].numel() * tensors[name].element_size())


def bind_calls(native, operator, names, places):
    """One call a place. Values stay where they lie: these kernels' times do not depend on them."""
    given = operator.module.inputs(names, 20261130, "typical", "cuda")
    outputs = selftest.blank_outputs(operator, names, "cuda")
    x, y = largest(given), largest(outputs)
    source, target = Movable(given[x]), Movable(outputs[y])
    stream = torch.cuda.current_stream().cuda_stream
    calls = []
    for a, b in places:
        operands = {**given, **outputs, x: source.at(a), y: target.at(b)}
        calls.append(native.bind(names, operands, stream))
    return calls


def call_times(events):
    """Of each call, which lies between two spins, the sum of its kernels in us."""
    parts = [[]]
    for event in sorted(events, key=lambda event: event.time_range.start):
        if event.device_type != torch.autograd.DeviceType.CUDA:
            continue
        if "spin_kernel" in event.name:
            parts.append([])
        else:
            parts[-1].append(event.time_range.end - event.time_range.start)
    return [sum(part) for part in parts[1::2]]


def time_calls(calls, flush):
    """Medians in us, one a call."""
    seen = [[] for _ in calls]
    for _ in range(ROUNDS):
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            for call in calls:
                for _ in range(CALLS):
                    flush.max()
                    torch.cuda._sleep(1000)
                    call()
                    torch.cuda._sleep(1000)
            torch.cuda.synchronize()
        times = call_times(profiled.events())
        if len(times) != CALLS * len(calls):
            sys.exit("the profiler saw %d calls of %d" % (len(times), CALLS * len(calls)))
        for i in range(len(calls)):
            seen[i] += times[i * CALLS : (i + 1) * CALLS]
    return [statistics.median(times) for times in seen]


def show(name, shape, times, places):
    known = dict(zip(places, times))
    print("%s/%s, us; rows: the input begins at, columns: the output begins at" % (name, shape))
    print("%8s" % "" + "".join("%9d" % b for b in OFFSETS))
    for a in OFFSETS:
        print("%8d" % a + "".join("%9.1f" % known[a, b] for b in OFFSETS))
    drawn = sorted(times[-RANDOM_PLACES:])
    quarter = len(drawn) // 4
    figures = (drawn[0], drawn[quarter], statistics.median(drawn), drawn[-quarter - 1], drawn[-1])
    print("random multiples of 512: least %.1f, quartiles %.1f %.1f %.1f, most %.1f" % figures)


def main():
    draw = random.Random(20261130)
    places = [(a, b) for a in OFFSETS for b in OFFSETS]
    anywhere = range(0, PAGE, 512)
    places += [(draw.choice(anywhere), draw.choice(anywhere)) for _ in range(RANDOM_PLACES)]
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.zeros(2 * l2 // 4, dtype=torch.int32, device="cuda")
    with open(sys.argv[1], "w") as out, tempfile.TemporaryDirectory() as folder:
        for name, shape in KERNELS:
            operator = selftest.Operator(name)
            native = selftest.build(operator, folder)
            calls = bind_calls(native, operator, operator.resolve(shape), places)
            times = time_calls(calls, flush)
            for (a, b), time in zip(places, times):
                row = {"operator": name, "shape": shape, "input_at": a, "output_at": b}
                out.write(json.dumps({**row, "time_us": round(time, 2)}) + "\n")
            show(name, shape, times, places)


if __name__ == "__main__":
    main()
