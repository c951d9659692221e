# SPDX-License-Identifier: BSD-3-Clause
"""Ports: queues for messages of any length, from any program; a sender waits only for room."""

import ctypes

from . import library
from .library import TOO_LONG, Buffer, call, check, deadline, found, text
from .values import codec

FIRST_ROOM = 4096  # bytes of a buffer, until a longer message has come


class Port:
    """name: nodes of the job find it by it (connect). type: what messages are (values.py); room: bytes that a sender may have in it."""

    def __init__(self, name=None, type=None, room=0):
        self.codec = codec(type, port=True)
        self.name = name or f"port {next(library.numbers)}"
        self.room = FIRST_ROOM if self.codec.size is None else max(self.codec.size, 1)
        words = text(name) if name else None
        self.handle = call("port_new", words.place if words else 0, room)
        if not self.handle:
            raise library.NameException(f"{self.name}: {library.why()}")

    def use(self):
        if not self.handle:
            raise library.ChannelRetireException(f"{self.name}: the port was closed")
        return self.handle

    def receive(self, timeout=None):
        """Waits for a message; TimeoutError if none comes for so many seconds."""
        return self.receive_from(timeout)[0]

    __call__ = receive

    def receive_from(self, timeout=None):
        """The message, and the node of this job that sent it, or -1."""
        until = deadline(timeout)
        size, node = ctypes.c_size_t(), ctypes.c_int()
        while True:
            buffer = Buffer(self.room)
            status = call(
                "receive_by", self.use(), buffer.place, buffer.size, ctypes.addressof(size), ctypes.addressof(node), until
            )
            if status != TOO_LONG:
                break
            self.room = max(2 * self.room, size.value)
        check(status, self.name)
        return self.codec.decode(buffer.bytes(size.value)), node.value

    def register(self, name):
        """Other programs find it by that name (findPort)."""
        words = text(name)
        check(call("register_port", words.place, self.use()), name)

    def close(self):
        """Senders get ChannelRetireException."""
        if self.handle:
            call("port_free", self.handle)
            self.handle = 0


class Target:
    """The sending side of a port."""

    def __init__(self, handle, codec, name):
        self.handle, self.codec, self.name = handle, codec, name

    def send(self, value, timeout=None):
        """Waits for room."""
        data = self.codec.encode(value)
        buffer = Buffer(len(data), data)
        status = call("send_by", self.handle, buffer.place, len(data), deadline(timeout))
        if status:
            self.codec.undo(data, None)
            check(status, self.name)
        self.codec.written(data, self)

    __call__ = send

    def close(self):
        if self.handle:
            call("target_free", self.handle)
            self.handle = 0


def connect(node, name, type=None, timeout=None):
    """The port of that name at a node of the job; waits until there is one."""
    words = text(name)
    status, handle = found("target_at", node, words.place, None, deadline(timeout))
    check(status, f"{name} of node {node}")
    return Target(handle, codec(type, port=True), name)


def findPort(name, type=None, timeout=None):
    """The port that some program has registered by that name; waits until there is one."""
    words = text(name)
    status, handle = found("find_port", words.place, None, deadline(timeout))
    check(status, name)
    return Target(handle, codec(type, port=True), name)
