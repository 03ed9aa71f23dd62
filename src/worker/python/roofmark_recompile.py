# SPDX-License-Identifier: Apache-2.0
"""Compiles intermediate code of Triton's once more, in a process that never runs code of the
candidate whose it is:

    python3 roofmark_recompile.py SOCKET

Runs inside a sandbox without a GPU. Triton is imported and warm before anybody asks; each piece of
code is compiled in a child of its own, several at a time and at a low priority, so that what one
of them breaks is its own. Requests and replies: worker/worker.h. Code and options are the
candidate's: options that would let it bring other code along are left out.
"""

import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

from roofmark_channel import Channel

_TIMEOUT_S = 300
_CHILD_BYTES = 4 << 30
_MOST_CUBIN_BYTES = 16 << 20
# Options that a candidate's metadata does not decide: the target is the judged device, and files
# would be code from elsewhere.
_OURS = frozenset(("arch", "extern_libs", "ir_override", "ptx_options"))
# ptxas options of one word each, which name no file and hold no program.
_PTXAS_OPTION = re.compile(r"[-A-Za-z0-9]+(=[A-Za-z0-9,]*)?")
# Variables that Triton keeps with what it compiled and that change code; the rest of its list
# prints, or loads plugins.
_VARIABLES = (
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION",
    "DISABLE_FAST_REDUCTION",
    "DISABLE_LLVM_OPT",
    "DISABLE_MMA_V3",
    "DISABLE_MMA_V5",
    "DISABLE_PTXAS_OPT",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_DISABLE_LINE_INFO",
    "TRITON_PREFER_TMEM_16x256_LAYOUT",
)
_VALUE = re.compile(r"[-A-Za-z0-9_, ]{1,64}")
_WARPS = re.compile(r'"ttg\.num-warps" = (\d{1,4}) : i32')

# Stores one number: enough to go through all of the compiler.
_SMALL = """module {
  tt.func public @again(%at: !tt.ptr<f32>) {
    %one = arith.constant 1.000000e+00 : f32
    tt.store %at, %one : !tt.ptr<f32>
    tt.return
  }
}
"""


def _extern_libraries(metadata):
    """Libraries of bitcode that come with Triton or the system. Others would be code of the
    candidate's that nobody compiled; without them it comes out otherwise, or not at all."""
    import triton

    places = (os.path.dirname(os.path.realpath(triton.__file__)), "/usr", "/opt")
    found = {}
    for name, path in metadata.get("extern_libs") or ():
        real = os.path.realpath(path)
        if os.path.exists(real) and any(real.startswith(place + "/") for place in places):
            found[str(name)] = real
    return found


def _ptxas_options(metadata):
    words = str(metadata.get("ptx_options") or "").split()
    for word in words:
        if not _PTXAS_OPTION.fullmatch(word):
            raise ValueError("the ptxas option %.60r is not repeated" % word)
    return " ".join(words)


def _options(metadata, fields, layouts):
    """The options of a compilation as its metadata tells them. Warp specialisation overwrites the
    number of warps there; the code with layouts keeps the one that was asked for."""
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in metadata.items()
        if name in fields and name not in _OURS
    }
    libraries = _extern_libraries(metadata)
    if libraries:
        options["extern_libs"] = libraries
    more = _ptxas_options(metadata)
    if more and "ptx_options" in fields:
        options["ptx_options"] = more
    warps = _WARPS.search(layouts)
    if warps:
        options["num_warps"] = int(warps.group(1))
    return options


def _set_variables(metadata):
    for name in _VARIABLES:
        value = metadata.get(name)
        if isinstance(value, str) and _VALUE.fullmatch(value):
            os.environ[name] = value


def _compile(folder, arch, stage, code, metadata, layouts):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    # A name that no code can foresee, so that none can refer to its own file.
    path = os.path.join(tempfile.mkdtemp(dir=folder), "kernel." + stage)
    with open(path, "wb") as file:
        file.write(code)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
    _set_variables(metadata)
    target = GPUTarget("cuda", arch, 32)
    fields = make_backend(target).parse_options({}).__dict__
    options = _options(metadata, fields, layouts)
    return bytes(triton.compile(path, target=target, options=options).asm["cubin"])


def _compile_job(folder, arch, job):
    metadata = json.loads(bytes.fromhex(job["options"]))
    if not isinstance(metadata, dict):
        raise ValueError("its .json holds no object")
    layouts = bytes.fromhex(job["layouts"]).decode("utf-8", "replace")
    cubin = _compile(folder, arch, job["stage"], bytes.fromhex(job["code"]), metadata, layouts)
    if len(cubin) > _MOST_CUBIN_BYTES:
        raise ValueError("it gives a cubin of %d bytes" % len(cubin))
    return cubin


def _yield_to_others():
    # Not to the last: at a candidate's end the judge waits, and other cores may be full.
    try:
        os.nice(5)
    except OSError:
        pass  # not permitted here; others are slower, and all is right


def _told(error):
    text = " ".join(str(error).split())
    return ("%s: %s" % (type(error).__name__, text))[:300]


class _Child:
    """One compilation, in a process of its own."""

    def __init__(self, arch, job):
        self.key = job["key"]
        self.since = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="roofmark-")
        self.words = bytearray()
        self.fd, theirs = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            self._run(arch, job, theirs)
        os.close(theirs)

    def _run(self, arch, job, fd):
        try:
            os.setsid()  # so that ptxas ends with it
            _yield_to_others()
            resource.setrlimit(resource.RLIMIT_DATA, (_CHILD_BYTES, _CHILD_BYTES))
            reply = {"cubin": _compile_job(self.folder, arch, job).hex(), "failure": ""}
        except BaseException as error:
            reply = {"cubin": "", "failure": _told(error)}
        with os.fdopen(fd, "wb") as pipe:
            pipe.write(json.dumps(reply).encode())
        os._exit(0)

    def is_late(self):
        return time.monotonic() - self.since > _TIMEOUT_S

    def read(self):
        """True once it has ended."""
        words = os.read(self.fd, 1 << 20)
        self.words += words
        return not words or len(self.words) > 4 * _MOST_CUBIN_BYTES

    def end(self, failure=""):
        """What it came to; it and what it started are gone afterwards."""
        os.close(self.fd)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass  # it has not come as far as to have a group, or is gone
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        reply = {"cubin": "", "failure": failure or "its compiler ended with status %d" % status}
        if not failure:
            try:
                reply = json.loads(self.words.decode())
            except ValueError:
                pass
        reply["seconds"] = round(time.monotonic() - self.since, 3)
        return reply


class _Farm:
    """Compilations at a time: half of the cores, since the others have the judge's work."""

    def __init__(self, arch):
        self._arch = arch
        self._most = max(1, len(os.sched_getaffinity(0)) // 2)
        self._queue = []
        self._running = {}
        self._done = {}

    def add(self, job):
        self._queue.append(job)

    def prefer(self, key):
        self._queue.sort(key=lambda job: job["key"] != key)

    def start(self):
        while self._queue and len(self._running) < self._most:
            child = _Child(self._arch, self._queue.pop(0))
            self._running[child.fd] = child

    def fds(self):
        return list(self._running)

    def go_on(self, readable):
        for fd in readable:
            if fd in self._running and self._running[fd].read():
                child = self._running.pop(fd)
                self._done[child.key] = child.end()
        for fd in [fd for fd, child in self._running.items() if child.is_late()]:
            child = self._running.pop(fd)
            self._done[child.key] = child.end("not done after %d s" % _TIMEOUT_S)

    def take(self, key):
        return self._done.pop(key, None)

    def knows(self, key):
        running = any(child.key == key for child in self._running.values())
        return running or key in self._done or any(job["key"] == key for job in self._queue)


class _Server:
    def __init__(self, channel, arch):
        self._channel = channel
        self._farm = _Farm(arch)
        self._versions = _warm(arch)
        self._awaited = None  # (key, until when)

    def _reply(self, **words):
        self._channel.send(dict(words, ok=True))

    def _answer(self, request):
        if request["do"] == "hello":
            self._reply(versions=self._versions)
        elif request["do"] == "submit":
            self._farm.add(request)
            self._reply()
        elif request["do"] == "collect":
            self._farm.prefer(request["key"])
            self._awaited = (request["key"], time.monotonic() + request["wait_s"])
        else:
            self._channel.send(
                {"ok": False, "outcome": "runtime_error", "reason": "no such request"}
            )

    def _collect(self):
        key, until = self._awaited
        done = self._farm.take(key)
        if done is None and not self._farm.knows(key):
            done = {"cubin": "", "failure": "nobody asked for it", "seconds": 0}
        if done is None and time.monotonic() < until:
            return
        self._awaited = None
        self._reply(done=done)

    def serve(self):
        while True:
            self._farm.start()
            if self._awaited:
                self._collect()
            listening = [] if self._awaited else [self._channel.fileno()]
            patience = min(1.0, self._awaited[1] - time.monotonic()) if self._awaited else 1.0
            readable = select.select(listening + self._farm.fds(), [], [], max(0.0, patience))[0]
            self._farm.go_on(readable)
            if self._channel.fileno() in readable:
                request, _ = self._channel.receive()
                if request is None or request["do"] == "bye":
                    os._exit(0)
                self._answer(request)


def _warm(arch):
    """Does once what every compilation needs, and finds out whether this Triton compiles its own
    intermediate code at all: where it does not, nobody can be held to it."""
    try:
        import triton
    except Exception as error:
        return {"triton": "", "fault": _told(error)}
    folder = tempfile.mkdtemp(prefix="roofmark-")
    try:
        _compile(folder, arch, "ttir", _SMALL.encode(), {}, "")
        fault = ""
    except Exception as error:
        fault = _told(error)
    shutil.rmtree(folder, ignore_errors=True)
    return {"triton": str(triton.__version__), "fault": fault}


def main():
    channel = Channel(int(sys.argv[1]))
    os.set_inheritable(channel.fileno(), False)
    _Server(channel, int(os.environ["ROOFMARK_ARCH"])).serve()


if __name__ == "__main__":
    main()
