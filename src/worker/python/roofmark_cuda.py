# SPDX-License-Identifier: Apache-2.0
"""A GPU as a Python worker's device. Arenas, the stage of timed calls and the meter are the library
that the CUDA driver injects (meter/worker_api.h); this module binds it and makes tensors of arenas.
"""

import ctypes
import os
import time

import torch

from roofmark_cpu import DTYPES, with_fp8_type


def _open_library():
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if not path:
        raise RuntimeError("CUDA_INJECTION64_PATH is not set: this worker has no way to the arenas")
    library = ctypes.CDLL(path)
    library.roofmark_error.restype = ctypes.c_char_p
    library.roofmark_meter_drain.restype = ctypes.c_char_p
    library.roofmark_watch_stop.restype = ctypes.c_char_p
    u64 = ctypes.c_uint64
    library.roofmark_cuda_map.argtypes = [ctypes.c_int, u64, ctypes.c_int, ctypes.POINTER(u64)]
    library.roofmark_cuda_unmap.argtypes = [u64]
    library.roofmark_stage_open.argtypes = [ctypes.c_char_p, u64, u64]
    library.roofmark_stage_begin.argtypes = [ctypes.c_void_p, ctypes.c_int, u64]
    library.roofmark_stage_probe.argtypes = [u64, ctypes.POINTER(u64), u64]
    library.roofmark_stage_warm.argtypes = [u64, u64]
    library.roofmark_stage_disturb.argtypes = [ctypes.c_int, u64, u64]
    library.roofmark_stage_findings.restype = ctypes.c_char_p
    return library


class Mapping:
    def __init__(self, address, size):
        self.address = address
        self.size = size
        self.bytes = None  # the whole arena as a tensor


class _Memory:
    """What PyTorch needs to know to see foreign memory as a tensor of bytes."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class Device:
    name = "cuda"
    torch_device = torch.device("cuda", 0)

    def __init__(self):
        torch.cuda.init()
        torch.cuda.set_device(0)
        torch.zeros(1, device=self.torch_device)  # creates the context
        self._library = _open_library()
        self._check(self._library.roofmark_cuda_open())
        self._calls = 0
        self._finish = []
        self._graphs = {}  # what was captured, with what finishes it

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self._library.roofmark_error().decode("utf-8", "replace"))

    def versions(self):
        versions = {"cuda": str(torch.version.cuda), "gpu": torch.cuda.get_device_name(0)}
        try:
            import triton

            versions["triton"] = str(triton.__version__)
        except Exception:  # a broken installation of Triton is of no concern to other candidates
            pass
        return versions

    def map(self, fd, access, size):
        address = ctypes.c_uint64()
        self._check(
            self._library.roofmark_cuda_map(fd, size, int(access == "rw"), ctypes.byref(address))
        )
        mapping = Mapping(address.value, size)
        mapping.bytes = torch.as_tensor(_Memory(mapping.address, size), device=self.torch_device)
        return mapping

    def unmap(self, mapping):
        self._graphs.clear()  # they name addresses
        mapping.bytes = None
        torch.cuda.synchronize()
        self._check(self._library.roofmark_cuda_unmap(mapping.address))

    def tensor(self, mapping, offset, dtype, sizes, fp8_types):
        torch_dtype = DTYPES[dtype]
        count = 1
        for size in sizes:
            count *= size
        if count == 0:
            return torch.empty(sizes, dtype=torch_dtype, device=self.torch_device)
        end = offset + count * torch.empty(0, dtype=torch_dtype).element_size()
        tensor = mapping.bytes[offset:end].view(torch_dtype).view(sizes)
        return with_fp8_type(tensor, dtype) if fp8_types else tensor

    def synchronize(self):
        status = self._library.roofmark_cuda_synchronize()
        self._library.roofmark_meter_discard()  # an untimed call is over
        self._check(status)

    def release(self):
        """Gives memory that PyTorch keeps for later back to the machine."""
        torch.cuda.empty_cache()

    def batch(self, request, calls, call):
        """Four phases, as worker/cuda_worker_device.h describes them."""
        phase = request["phase"]
        if phase == "stage":
            cubin = bytes.fromhex(request["cubin"])
            flush_bytes = request["flush_bytes"]
            self._check(self._library.roofmark_stage_open(cubin, len(cubin), flush_bytes))
            self._library.roofmark_meter_start()  # and from here on it never stops
            return {}
        if phase == "queue":
            return self._queue(request, calls, call)
        if phase == "go":
            self._check(self._library.roofmark_stage_go())
            self._finish = []
            held = ctypes.c_int()
            self._times = (ctypes.c_double * max(self._calls, 1))()
            self._check(self._library.roofmark_stage_times(self._times, ctypes.byref(held)))
            return {"held": bool(held.value)}
        if phase == "read":
            findings = self._library.roofmark_stage_findings()
            self._check(int(findings is None))
            return {
                "event_ns": list(self._times[: self._calls]),
                "stage": _json(findings),
                "meter": _json(self._library.roofmark_meter_drain()),
            }
        if phase == "disturb":
            self._check(
                self._library.roofmark_stage_disturb(
                    request["percent"], request["seed"], request["limit_ns"]
                )
            )
            return {}
        raise RuntimeError("batch: no such phase: %s" % phase)

    def _before(self, call):
        """What comes before a call: its operands' probe and those that are to be warm."""
        library = self._library
        if "probe" in call:
            offsets = call["probe"]["offsets"]
            lines = (ctypes.c_uint64 * len(offsets))(*offsets)
            self._check(library.roofmark_stage_probe(call["probe"]["base"], lines, len(offsets)))
        for address, size in call.get("warm", []):
            self._check(library.roofmark_stage_warm(address, size))
        self._check(library.roofmark_stage_before())

    def _capture(self, key, call):
        """A graph of one call. PyTorch captures on a stream of its own, in the global mode, and
        keeps what is allocated meanwhile for the graph."""
        if key not in self._graphs:
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph):
                    finish = call()
            except Exception as error:
                raise RuntimeError(
                    "run cannot be captured in a CUDA graph: %s" % str(error).split("\n")[0]
                ) from None
            self._graphs[key] = (graph, finish)
        return self._graphs[key]

    def fit(self, request, call):
        """Phases as worker/worker_device.h describes them."""
        phase = request["phase"]
        if phase == "watch":
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            self._library.roofmark_watch_start()
            try:
                finish = call()
            finally:
                watched = _json(self._library.roofmark_watch_stop())
            temporary = torch.cuda.max_memory_allocated() - before
            if finish is not None:
                finish()
            self.synchronize()
            return {"watched": watched, "temporary_bytes": temporary}
        if phase == "capture":
            self._graphs.pop("fit", None)
            try:
                self._capture("fit", call)
            except RuntimeError as error:
                return {"captured": False, "why": str(error)}
            return {"captured": True, "why": ""}
        if phase != "replay" or "fit" not in self._graphs:
            raise RuntimeError("fit: nothing to do in phase %s" % phase)
        graph, finish = self._graphs["fit"]
        graph.replay()
        if finish is not None:
            finish()
        self.synchronize()
        return {}

    def _queue(self, request, calls, call):
        library, skip = self._library, request["skip"]
        graphs = None
        if request.get("graph") and not skip:
            graphs = [
                self._capture((named["in"], named["out"]), lambda number=number: call(number))
                for number, named in enumerate(request["calls"])
            ]
        self._calls = calls
        stream = torch.cuda.current_stream().cuda_stream
        library.roofmark_meter_start()
        self._check(library.roofmark_stage_join(int(request.get("join", False))))
        start = time.perf_counter_ns()
        self._check(library.roofmark_stage_begin(stream, calls, request["hold_ns"]))
        for number in range(calls):
            self._before(request["calls"][number])
            finish = None
            if graphs is not None:
                graph, finish = graphs[number]
                graph.replay()
            elif not skip:
                finish = call(number)
            self._check(library.roofmark_stage_after())
            # What copies returned outputs to their place belongs to the worker, not to the call.
            if finish is not None:
                finish()
        self._check(library.roofmark_stage_end())
        return {"queue_ns": time.perf_counter_ns() - start}


def _json(text):
    import json

    return json.loads(text.decode("utf-8"))
