# SPDX-License-Identifier: BSD-3-Clause
"""A TCP proxy whose faults a test controls: delay, rate, a cut or an end at a byte, a pause, a wrong byte; and it counts.

    with proxy.Proxy([(proxy.listener(("10.0.0.254", 0)), ("10.0.0.2", 4000))]) as between:     # or Hosts.proxy()
        between.up.cut_at = 17          # connections are reset when 17 bytes went from the one that dialled
        between.down.delay = 0.050      # and what comes back takes 50 ms longer

`up` is the way from the side that dialled, `down` the way back. Settings hold for all connections, at once: also for those that are open. A
place (`cut_at`, `end_at`, `garble_at`) counts the bytes of a connection and a way from 0, so a fault meets each connection at the same byte.

One thread a way of a connection. At best it moves 1 GB/s of one connection, and a half round trip takes 20 us; on busy cores a third and ten times that: a
means to break connections, not to measure them."""

import collections
import contextlib
import fcntl
import os
import select
import selectors
import socket
import struct
import termios
import threading
import time

PIECE = 256 << 10  # bytes read at once
BEHIND = 4 << 20  # bytes that a delayed way holds at most; then it stops reading


def listener(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(address)
    made.listen(1024)
    return made


class Way:
    """The settings of a direction, and what went through it."""

    def __init__(self):
        self.delay = 0.0  # seconds
        self.rate = float("inf")  # bytes a second, of each connection
        self.cut_at = None  # after so many bytes both sides are reset; those bytes arrive
        self.end_at = None  # after so many bytes the receiver sees the end of the stream; the rest is swallowed, the other way stays
        self.garble_at = None  # this byte arrives inverted
        self.reached = False  # one of these places was
        self.record = 0  # so many first bytes of each connection are kept,
        self.recorded = []  # here, one bytearray a connection
        self.bytes = 0  # passed on, of all connections; counted before they are sent
        self.until = 0.0  # nothing is passed on before

    def hold(self, seconds=float("inf")):
        """Passes nothing on for so long, or until release."""
        self.until = time.monotonic() + seconds

    def release(self):
        self.until = 0.0


class Proxy:
    """listeners: pairs of a listening socket and the address to which its connections go. The proxy closes them at its end."""

    def __init__(self, listeners, at_end=lambda: None):
        self.up, self.down, self.at_end = Way(), Way(), at_end
        self.accepted = 0  # connections
        self.open, self.threads = set(), []
        self.listeners, self.ending = listeners, threading.Event()
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def address(self):
        return self.listeners[0][0].getsockname()[:2]

    def close(self):
        self.ending.set()
        self.thread.join()
        self.cut()
        for thread in self.threads:
            thread.join()
        for listening, _ in self.listeners:
            listening.close()
        self.at_end()

    def cut(self):
        """Resets all open connections."""
        for connection in list(self.open):
            connection.reset()

    def accept(self):
        with selectors.DefaultSelector() as ready:
            for listening, to in self.listeners:
                ready.register(listening, selectors.EVENT_READ, to)
            while not self.ending.is_set():
                for key, _ in ready.select(0.02):
                    self.connect(key.fileobj.accept()[0], key.data)

    def connect(self, near, to):
        """The far side is dialled when the near one has connected; if that fails, the near one is reset."""
        self.accepted += 1
        try:
            far = socket.create_connection(to, timeout=5)
        except OSError:
            return abort(near)
        connection = Connection(self, near, far)
        self.open.add(connection)
        for pump in (Pump(connection, self.up, near, far), Pump(connection, self.down, far, near)):
            thread = threading.Thread(target=pump.run, daemon=True)
            self.threads.append(thread)
            thread.start()
        return None


class Connection:
    """The two sockets, which the later of the two pumps closes."""

    def __init__(self, proxy, near, far):
        self.proxy, self.ends, self.running, self.broken = proxy, (near, far), 2, False
        self.lock, (self.wake, self.waker) = threading.Lock(), os.pipe()
        for end in self.ends:
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def reset(self):
        """Both pumps see the end of the pipe, wherever they wait. (A socket that a thread waits for would not be reset by closing it.)"""
        with self.lock:
            if self.running and not self.broken:
                self.broken = True
                os.close(self.waker)

    def pump_ended(self):
        with self.lock:
            self.running -= 1
            if self.running:
                return
        for end in self.ends:
            abort(end) if self.broken else end.close()
        os.close(self.wake)
        if not self.broken:
            os.close(self.waker)
        self.proxy.open.discard(self)

    def wait(self, end, event, seconds=None):
        """True if the socket is ready before the time is over."""
        poll = select.poll()
        poll.register(end, event)
        poll.register(self.wake, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(None if seconds is None else 1000 * seconds)]
        if self.wake in ready:
            raise Cut
        return bool(ready)


class Cut(OSError):
    """The proxy cuts the connection."""


class Pump:
    """A way of one connection: reads, keeps for the delay, and passes on."""

    def __init__(self, connection, way, source, sink):
        self.connection, self.way, self.source, self.sink = connection, way, source, sink
        self.at = 0  # bytes passed on
        self.waiting, self.behind = collections.deque(), 0  # (when, bytes; none: the end), and their sum
        self.ended, self.kept = False, None

    def run(self):
        try:
            self.pass_all()
        except BaseException as error:
            self.connection.reset()
            if not isinstance(error, OSError):  # reset by a side, or by the proxy
                raise
        finally:
            self.connection.pump_ended()

    def pass_all(self):
        reading = True
        while reading or self.waiting:
            if reading and self.behind < BEHIND and self.readable():
                data = self.source.recv(PIECE)
                reading = bool(data)
                self.waiting.append((time.monotonic() + self.way.delay, data))
                self.behind += len(data)
            elif self.waiting:
                when, data = self.waiting.popleft()
                self.sleep_until(lambda: when)
                self.behind -= len(data)
                self.deliver(data)

    def readable(self):
        """Waits for data, but not longer than until something is to be passed on."""
        wait = None if not self.waiting else max(0.0, self.waiting[0][0] - time.monotonic())
        return self.connection.wait(self.source, select.POLLIN, wait)

    def sleep_until(self, when):
        """when() may change meanwhile: the proxy's settings are its test's."""
        while (left := when() - time.monotonic()) > 0:
            if self.connection.broken:
                raise Cut
            time.sleep(min(left, 0.01))

    def deliver(self, data):
        self.sleep_until(lambda: self.way.until)
        if self.ended:
            return None
        if not data:
            return self.end()
        for piece in self.split(self.garbled(data)):
            self.send(piece)
            if self.at == self.way.cut_at:
                self.way.reached = True
                drain(self.sink)
                raise Cut
            if self.at == self.way.end_at:
                self.way.reached = True
                return self.end()
        return None

    def end(self):
        self.ended = True
        self.sink.shutdown(socket.SHUT_WR)

    def garbled(self, data):
        place = self.way.garble_at
        if place is None or not self.at <= place < self.at + len(data):
            return data
        self.way.reached = True
        wrong = bytearray(data)
        wrong[place - self.at] ^= 0xFF
        return bytes(wrong)

    def split(self, data):
        """At the places where something happens, and small enough for the rate; place 0 is before the first byte."""
        if 0 in (self.way.cut_at, self.way.end_at) and self.at == 0:
            yield b""
        view = memoryview(data)
        while view:
            places = [place - self.at for place in (self.way.cut_at, self.way.end_at) if place is not None and place > self.at]
            length = int(min([len(view), max(1, self.way.rate / 100), *places]))
            yield view[:length]
            view = view[length:]

    def send(self, piece):
        self.way.bytes += len(piece)
        self.keep(piece)
        rest = piece
        while rest:
            with contextlib.suppress(BlockingIOError):
                rest = rest[self.sink.send(rest):]
            if rest:
                self.connection.wait(self.sink, select.POLLOUT)
        self.at += len(piece)
        until = time.monotonic() + len(piece) / self.way.rate
        self.sleep_until(lambda: until)

    def keep(self, piece):
        if self.at < self.way.record:
            if self.kept is None:
                self.kept = bytearray()
                self.way.recorded.append(self.kept)
            self.kept += piece[:self.way.record - self.at]


def drain(sink, seconds=2):
    """Waits until the other kernel has all that was sent: a reset would throw it away."""
    end = time.monotonic() + seconds
    while struct.unpack("i", fcntl.ioctl(sink, termios.TIOCOUTQ, b"\0\0\0\0"))[0] and time.monotonic() < end:
        time.sleep(0.0005)


def abort(end):
    """Closes a socket so that the other side sees a reset."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()
