# SPDX-License-Identifier: Apache-2.0
"""The CPU as a Python worker's device: arenas are mapped, and tensors share their memory."""

import ctypes
import os
import struct
import time

import torch

_PROT_NONE, _PROT_READ, _PROT_WRITE = 0, 1, 2
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED = 0x01, 0x02, 0x10
_MAP_ANONYMOUS, _MAP_NORESERVE, _MAP_POPULATE = 0x20, 0x4000, 0x8000

# No access on both sides of an arena; an overrun that leaves it faults. As the native worker does.
_ZONE_BYTES = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8_e4m3fn": torch.uint8,
    "f8_e4m3fnuz": torch.uint8,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
}
_FP8_TYPES = {"f8_e4m3fn": "float8_e4m3fn", "f8_e4m3fnuz": "float8_e4m3fnuz"}


def with_fp8_type(tensor, dtype):
    """The tensor with PyTorch's fp8 type, where this PyTorch has it."""
    fp8 = getattr(torch, _FP8_TYPES.get(dtype, ""), None)
    return tensor.view(fp8) if fp8 is not None else tensor


def _map(address, size, protection, flags, fd):
    result = _libc.mmap(address, size, protection, flags, fd, 0)
    if result == _FAILED:
        code = ctypes.get_errno()
        raise MemoryError("mmap: %s" % os.strerror(code))
    return result


class Mapping:
    def __init__(self, address, size):
        self.address = address
        self.size = size


class Device:
    name = "cpu"
    torch_device = torch.device("cpu")

    def versions(self):
        return {}

    def map(self, fd, access, size):
        reserved = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
        zone = _map(None, size + 2 * _ZONE_BYTES, _PROT_NONE, reserved, -1)
        protection = _PROT_READ | _PROT_WRITE if access == "rw" else _PROT_READ
        flags = _MAP_SHARED | _MAP_FIXED | _MAP_POPULATE
        try:
            return Mapping(_map(zone + _ZONE_BYTES, size, protection, flags, fd), size)
        except MemoryError:
            _libc.munmap(zone, size + 2 * _ZONE_BYTES)
            raise

    def unmap(self, mapping):
        _libc.munmap(mapping.address - _ZONE_BYTES, mapping.size + 2 * _ZONE_BYTES)

    def tensor(self, mapping, offset, dtype, sizes, fp8_types):
        torch_dtype = DTYPES[dtype]
        count = 1
        for size in sizes:
            count *= size
        if count == 0:
            return torch.empty(sizes, dtype=torch_dtype)
        bytes_each = torch.empty(0, dtype=torch_dtype).element_size()
        memory = (ctypes.c_uint8 * (count * bytes_each)).from_address(mapping.address + offset)
        flat = torch.frombuffer(memory, dtype=torch_dtype, count=count)
        tensor = flat.reshape(sizes)
        return with_fp8_type(tensor, dtype) if fp8_types else tensor

    def synchronize(self):
        pass

    def release(self):
        """Gives memory that PyTorch keeps for later back to the machine."""

    def fit(self, request, call):
        raise RuntimeError("a CPU has no graphs and no calls to watch")

    def batch(self, request, calls, call):
        raise RuntimeError("a CPU is timed by the bell, not by batches")


# The doorbell page: worker/bell.h. Offsets in 8-byte words.
_RING, _DONE, _WORKER_NS, _STATUS, _RETURNED = 0, 8, 9, 10, 16
_MOST_RETURNED = 64
_STOP = (1 << 64) - 1
_EMPTY = 1 << 62
_LOOKS = 20000  # about a millisecond in the interpreter


def _hand_over(returned, page):
    """Says where the outputs lie, for the judge to fetch. False when they must be stored now."""
    addresses = returned.addresses()
    if len(addresses) > _MOST_RETURNED:
        return False
    for at, address in enumerate(addresses, _RETURNED):
        page[at] = address
    return True


def serve_bell(fd, call, fetched):
    """Answers rings until told to stop, and returns how many calls were made.

    `call(number)` makes a call and returns None, or what it returned and has not stored. With
    `fetched` the judge takes that as soon as the ring is answered; it is kept until the next ring.
    A failed call is answered and raised.
    """
    address = _map(None, 4096, _PROT_READ | _PROT_WRITE, _MAP_SHARED, fd)
    page = memoryview((ctypes.c_uint64 * 512).from_address(address)).cast("B").cast("Q")
    calls, last, returned = 0, 0, None
    clock = time.perf_counter_ns
    try:
        while True:
            looks = 0
            while page[_RING] == last:
                looks += 1
                if looks > _LOOKS:
                    time.sleep(5e-5)
            last = page[_RING]
            returned = None
            page[_STATUS] = 0
            if last & _EMPTY:
                page[_WORKER_NS] = 0
                page[_DONE] = last
                if last == _STOP:
                    return calls
                continue
            try:
                start = clock()
                returned = call(last - 1)
                if returned is not None and not (fetched and _hand_over(returned, page)):
                    returned()
                    returned = None
                page[_WORKER_NS] = clock() - start
            except BaseException:
                page[_STATUS] = 1
                page[_DONE] = last
                raise
            page[_DONE] = last
            calls += 1
            if returned is not None:
                returned.check()
    finally:
        page.release()
        _libc.munmap(address, 4096)
