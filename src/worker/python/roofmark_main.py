# SPDX-License-Identifier: Apache-2.0
"""The main program of Python workers:

    python3 roofmark_main.py candidate|reference|importer cpu|cuda SOCKET

Runs inside the sandbox. Requests and replies: worker/worker.h.
"""

import os
import platform
import sys

import torch

from roofmark_arenas import refusal_of
from roofmark_channel import Channel
from roofmark_crash import report_crashes_to


def _open_device(name):
    if name == "cuda":
        import roofmark_cuda

        return roofmark_cuda.Device()
    import roofmark_cpu

    return roofmark_cpu.Device()


def _open_worker(role, device):
    if role == "reference":
        import roofmark_reference

        return roofmark_reference.Worker(device)
    if role == "importer":
        import roofmark_importer

        return roofmark_importer.Worker(device)
    import roofmark_candidate

    return roofmark_candidate.Worker(device)


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
