# SPDX-License-Identifier: Apache-2.0
"""The last words of a Python worker: which fatal signal, at which address; as crash_report.cc.

The handler is a callback into the interpreter. It can run wherever the interpreter's lock is free
or held by the faulting thread, which covers PyTorch's own kernels (they release it or run under
it); in other places the process hangs until the judge's time limit. Testimony, like everything that
a worker says.
"""

import ctypes
import signal

_SA_SIGINFO, _SA_ONSTACK, _SA_NODEFER, _SA_RESETHAND = 0x4, 0x08000000, 0x40000000, 0x80000000
_STACK_BYTES = 256 << 10


class _SigInfo(ctypes.Structure):
    # Only what precedes and holds si_addr on x86-64 Linux.
    _fields_ = [
        ("si_signo", ctypes.c_int),
        ("si_errno", ctypes.c_int),
        ("si_code", ctypes.c_int),
        ("_pad", ctypes.c_int),
        ("si_addr", ctypes.c_uint64),
    ]


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(_SigInfo), ctypes.c_void_p)


class _SigAction(ctypes.Structure):
    _fields_ = [
        ("handler", _Handler),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


class _Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


_keep = []


def report_crashes_to(channel):
    libc = ctypes.CDLL(None)

    def on_fatal(number, info, _context):
        address = info[0].si_addr if number != signal.SIGABRT else 0
        channel.send_raw(
            b'{"ok":false,"last_words":true,"signal":%d,"code":%d,"address":%d}'
            % (number, info[0].si_code, address if address < 1 << 63 else 0)
        )
        # The handler was reset on entry: the signal kills, and the judge sees by which it died.
        libc["raise"](number)

    memory = ctypes.create_string_buffer(_STACK_BYTES)
    stack = _Stack(ctypes.addressof(memory), 0, _STACK_BYTES)
    libc.sigaltstack(ctypes.byref(stack), None)
    handler = _Handler(on_fatal)
    flags = _SA_SIGINFO | _SA_ONSTACK | _SA_NODEFER | _SA_RESETHAND
    action = _SigAction(handler, flags=ctypes.c_int(flags).value)
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE):
        libc.sigaction(int(number), ctypes.byref(action), None)
    _keep.extend([memory, stack, handler, action])
