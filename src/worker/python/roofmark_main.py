# SPDX-License-Identifier: Apache-2.0
"""The main program of Python workers:

    python3 roofmark_main.py candidate|reference|importer cpu|cuda SOCKET

Runs inside the sandbox. Requests and replies: worker/worker.h.
"""

import gc
import importlib
import os
import platform
import sys

import torch

from roofmark_arenas import refusal_of
from roofmark_channel import Channel
from roofmark_crash import report_crashes_to


def _start_ahead(role, device):
    """What the worker is going to need and takes long to begin with, before anybody waits for it.
    The device stays closed. ROOFMARK_AHEAD names a language whose compiler is to be warm."""
    importlib.import_module("roofmark_" + device)
    importlib.import_module("roofmark_" + role)
    if device != "cuda":
        return
    try:
        importlib.import_module("triton")
        if os.environ.get("ROOFMARK_AHEAD") == "triton":
            importlib.import_module("roofmark_triton").warm()
    except Exception:  # there is none, or another one: whoever needs it will hear of it
        pass


def _open_device(name):
    return importlib.import_module("roofmark_" + name).Device()


def _open_worker(role, device):
    return importlib.import_module("roofmark_" + role).Worker(device)


def _serve(worker, device, request, fds):
    verb = request["do"]
    if verb == "hello":
        versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
        versions.update(device.versions())
        return {"versions": versions}
    if verb.startswith("_") or not hasattr(worker, verb):
        raise KeyError("this worker does not know '%s'" % verb)
    return getattr(worker, verb)(request, fds)


def main():
    role, device_name, socket_fd = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.set_inheritable(socket_fd, False)
    channel = Channel(socket_fd)
    report_crashes_to(channel)
    threads = os.environ.get("ROOFMARK_THREADS")
    if threads:
        torch.set_num_threads(int(threads))
    _start_ahead(role, device_name)
    # What is there now stays: else the collector walks through all of PyTorch again and again, for
    # tens of milliseconds, out of calls in which a compiler of kernels makes garbage.
    gc.freeze()
    device = worker = None
    while True:
        request, fds = channel.receive()
        if request is None or request["do"] == "bye":
            break
        try:
            if worker is None:
                device = _open_device(device_name)
                worker = _open_worker(role, device)
            reply = _serve(worker, device, request, fds)
            reply["ok"] = True
        except BaseException as error:  # a candidate may raise anything, SystemExit too
            refusal = refusal_of(error)
            reply = {"ok": False, "outcome": refusal.outcome, "reason": refusal.reason}
        for fd in fds:
            os.close(fd)
        channel.send(reply)
    # No destructors of a candidate, which could hang.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
