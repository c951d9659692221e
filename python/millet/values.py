# SPDX-License-Identifier: BSD-3-Clause
"""What a channel or a port carries: objects of Python, or what C declares.

    None          any object: by reference inside a program, pickled between programs
    "i", "=id"    a format of the module struct, native layout: one number, or a tuple
    16            so many bytes
    bytes         (ports only) bytes of any length
    ctypes types  structures and arrays as ctypes has them

A value of a channel of objects is a block of 1,024 bytes: a mark, a kind, a length, and then a number that the program knows the
object by, or its pickle, or, if that is longer, the end of a channel that has the pickle as its only value."""

import atexit
import ctypes
import itertools
import pickle
import struct
import sys
import threading
import time

from . import library
from .library import Buffer, call, here

BLOCK = 1024
HEAD = struct.Struct("=4sII")
MARK = b"MPy1"
KEPT, INSIDE, APART = range(3)  # kinds
PARCEL = 128
PATIENCE = 10  # seconds that a program which ends waits for the next reader of a long value


# ---- long pickles, each in a channel of its own until its reader has retired


class Apart:
    """Its writer has it until the block was written, and then waits for the reader, or leaves it to whoever sweeps. Whoever frees a
    channel, or asks it something, has taken it out of the table first: several threads may do so at once."""

    held = {}  # by parcel: not written yet
    pending = {}  # by parcel: left to their readers

    def __init__(self, data):
        self.sweep()
        self.data = Buffer(len(data), data)
        self.chan = call("chan_buffered", 0, len(data), 1)
        self.out = call("chan_out", self.chan)
        library.check(call("write", self.out, self.data.place), "a long value")
        parcel = Buffer(PARCEL)
        library.check(call("pack_in", call("chan_in", self.chan), parcel.place), "a long value")
        self.parcel = parcel.bytes()
        self.end = None  # that it was written to
        self.held[self.parcel] = self

    def wait(self):
        """Until the reader has it, and has retired. (What is written now nobody reads; room only means that the value is on its way.)"""
        while call("write", self.out, self.data.place) == library.OK:
            pass

    def is_over(self):
        """The reader has retired, or is gone."""
        return call("write_by", self.out, self.data.place, library.AT_ONCE) not in (library.OK, library.LATE)

    def free(self):
        call("chan_free", self.chan)

    @classmethod
    def sweep(cls):
        for parcel in list(cls.pending):
            one = cls.pending.pop(parcel, None)
            if one is None:  # another thread is at it
                continue
            if one.is_over():
                one.free()
            else:
                cls.pending[parcel] = one

    @staticmethod
    def read(parcel, length):
        packed = Buffer(PARCEL, parcel)
        status, end = library.found("unpack_in", packed.place, None)
        library.check(status, "a long value")
        data = Buffer(length)
        library.check(call("read", end, data.place), "a long value")
        call("retire_in", end)
        return data.bytes()


@atexit.register
def await_readers():
    """Long values in buffers are lost when their program ends; those of others may still read them. What nobody takes for some time is
    given up: it may be in a buffer that was poisoned."""
    if library.owner != threading.get_ident():
        return
    began, before = time.monotonic(), None
    while True:
        Apart.sweep()
        left = [one for one in list(Apart.pending.values()) if one.end.carries_long()]
        if len(left) != before:
            began, before = time.monotonic(), len(left)
        if not left:
            return
        if time.monotonic() - began > PATIENCE:
            names = ", ".join(sorted({one.end.name for one in left}))
            sys.stderr.write(f"millet: {len(left)} long values that nobody has read are lost with their program: {names}\n")
            return
        library.sleep(0.005)


# ---- pickles. The ends in one are given away; if it is not written after all, they are taken back.

given = {}  # by pickle, as it was encoded


def pickled(value):
    """The pickle, and the ends in it with their parcels."""
    outer, here.given = here.given, []
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL), here.given
    except BaseException:
        take_back(here.given)
        raise
    finally:
        here.given = outer


def take_back(ends):
    for end, parcel in ends:
        end.take_back(parcel)


# ---- codecs of channels: size, encode(value, chan) and decode(data, chan). After encode either written(data, end), or undo(data, chan)
# if it was not written after all.


class Objects:
    size = BLOCK
    numbers = itertools.count(1)

    def encode(self, value, chan):
        if chan is not None and chan.local:
            number = next(self.numbers)
            chan.kept[number] = value
            return HEAD.pack(MARK, KEPT, 8) + number.to_bytes(8, "little")
        data, ends = pickled(value)
        if len(data) <= BLOCK - HEAD.size:
            block = HEAD.pack(MARK, INSIDE, len(data)) + data
        else:
            block = HEAD.pack(MARK, APART, len(data)) + Apart(data).parcel
        if ends:
            given[block] = ends
        return block

    def written(self, data, end):
        """Without a buffer a write ends when the reader has the value; whether a channel of others has one is not known."""
        given.pop(data, None)
        if HEAD.unpack_from(data)[1] != APART:
            return
        apart = Apart.held.pop(data[HEAD.size :])
        if end.chan is not None and not end.chan.buffered:
            apart.wait()
            apart.free()
        else:
            apart.end = end
            Apart.pending[apart.parcel] = apart

    def undo(self, data, chan):
        kind = HEAD.unpack_from(data)[1]
        if kind == KEPT:
            chan.kept.pop(int.from_bytes(data[HEAD.size : HEAD.size + 8], "little"), None)
        elif kind == APART:
            Apart.held.pop(data[HEAD.size :]).free()
        take_back(given.pop(data, ()))

    def decode(self, data, chan):
        mark, kind, length = HEAD.unpack_from(data)
        if mark != MARK:
            raise TypeError("what was read is no object of Python: say which type the channel has, as C declares it")
        if kind == INSIDE:
            return pickle.loads(data[HEAD.size : HEAD.size + length])
        if kind == APART:
            return pickle.loads(Apart.read(data[HEAD.size : HEAD.size + PARCEL], length))
        number = int.from_bytes(data[HEAD.size : HEAD.size + 8], "little")
        if chan is None or number not in chan.kept:
            raise TypeError("the value was written before the channel had a name: register a channel before it is used")
        return chan.kept.pop(number)


class Plain:
    """No object is kept by reference, or apart."""

    def written(self, data, end):
        pass

    def undo(self, data, chan):
        pass


class Format(Plain):
    def __init__(self, words):
        self.struct = struct.Struct(words)
        self.size = self.struct.size
        self.one = len(self.struct.unpack(bytes(self.size))) == 1

    def encode(self, value, chan=None):
        try:
            return self.struct.pack(value) if self.one else self.struct.pack(*value)
        except (struct.error, TypeError) as why:
            raise TypeError(f"a value of type {self.struct.format!r} cannot be made of {value!r}: {why}") from None

    def decode(self, data, chan=None):
        values = self.struct.unpack(data)
        return values[0] if self.one else values


class Bytes(Plain):
    def __init__(self, size):
        self.size = size

    def encode(self, value, chan=None):
        data = bytes(memoryview(value))
        if len(data) != self.size:
            raise ValueError(f"a value has {self.size} bytes, not {len(data)}")
        return data

    def decode(self, data, chan=None):
        return data


class Declared(Plain):
    """Of ctypes."""

    def __init__(self, kind):
        self.kind = kind
        self.size = ctypes.sizeof(kind)

    def encode(self, value, chan=None):
        if not isinstance(value, self.kind):
            value = self.kind(*value) if isinstance(value, (tuple, list)) else self.kind(value)
        return bytes(value)

    def decode(self, data, chan=None):
        value = self.kind.from_buffer_copy(data)
        return value.value if isinstance(value, ctypes._SimpleCData) else value


class Pickles(Plain):
    """Of ports: any length."""

    size = None

    def encode(self, value, chan=None):
        data, ends = pickled(value)
        if ends:
            given[data] = ends
        return data

    def written(self, data, end):
        given.pop(data, None)

    def undo(self, data, chan):
        take_back(given.pop(data, ()))

    def decode(self, data, chan=None):
        return pickle.loads(data)


class Raw(Plain):
    size = None

    def encode(self, value, chan=None):
        return bytes(memoryview(value))

    def decode(self, data, chan=None):
        return data


OBJECTS, PICKLES, RAW = Objects(), Pickles(), Raw()


def codec(kind, port=False):
    if kind is None:
        return PICKLES if port else OBJECTS
    if port and kind is bytes:
        return RAW
    if isinstance(kind, str):
        made = Format(kind)
    elif isinstance(kind, int) and not isinstance(kind, bool):
        made = Bytes(kind)
    elif isinstance(kind, type) and hasattr(kind, "from_buffer_copy"):
        made = Declared(kind)
    else:
        raise TypeError(f"a type is None, a format of struct, a number of bytes, or a type of ctypes, not {kind!r}")
    if made.size <= 0 and not port:
        raise ValueError("a value of a channel has at least one byte")
    return made
