# SPDX-License-Identifier: Apache-2.0
"""The worker's end of the socket to the judge; worker/channel.h says what a message is."""

import json
import os
import socket
import struct

_MAX_FDS = 8


class Channel:
    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)
        self._buffer = bytearray()
        self._fds = []

    def fileno(self):
        return self._socket.fileno()

    def _need(self, count):
        """True once `count` bytes are there; False when the judge has closed the socket."""
        while len(self._buffer) < count:
            data, fds, _, _ = socket.recv_fds(
                self._socket, 1 << 20, _MAX_FDS, socket.MSG_CMSG_CLOEXEC
            )
            self._fds.extend(fds)
            if not data:
                return False
            self._buffer += data
        return True

    def receive(self):
        """The next request and its descriptors, or (None, []) when there are no more."""
        if not self._need(4):
            return None, []
        (length,) = struct.unpack_from("<I", self._buffer)
        if not self._need(4 + length):
            return None, []
        request = json.loads(self._buffer[4 : 4 + length].decode())
        del self._buffer[: 4 + length]
        fds, self._fds = self._fds, []
        return request, fds

    def send(self, reply):
        text = json.dumps(reply, allow_nan=False).encode()
        self._socket.sendall(struct.pack("<I", len(text)) + text)

    def send_raw(self, text):
        """For a process that is about to die: one small message, no waiting."""
        os.write(self.fileno(), struct.pack("<I", len(text)) + text)
