# SPDX-License-Identifier: BSD-3-Clause
"""Channels, their ends, and their names."""

import collections

from . import library
from .library import LATE, OK, Buffer, call, check, deadline, found, here, text
from .values import PARCEL, codec


class ChannelEnd:
    """Of a channel of this program (`chan`), or of another's (None)."""

    def __init__(self, handle, kind, chan, name):
        self.handle = handle
        self.kind = kind
        self.codec = codec(kind)
        self.chan = chan
        self.name = name
        self.maker = chan  # NamedChannel
        self.retired = False
        self.over = False  # as far as is known, what was written is read no more

    def ended(self):
        self.over = True
        if self.chan is not None:
            self.chan.over = True

    def carries_long(self):
        """May other programs still read what was written to it? The end of this one waits for them."""
        return not self.over and (self.chan is None or self.chan.keeps_for_others())

    def use(self):
        """The handle, for a call."""
        if self.retired:
            raise library.ChannelRetireException(f"{self.name}: this end has retired, or was given away")
        return self.handle

    def poison(self):
        if not self.retired:
            self.ended()
            call(f"poison_{self.side}", self.handle)

    def retire(self):
        if not self.retired:
            self.retired = True
            call(f"retire_{self.side}", self.handle)

    def again(self):
        """The end for one more holder; one that came as a value is shared."""
        if self.maker is None:
            return self
        return self.maker.reader() if self.side == "in" else self.maker.writer()

    def __reduce__(self):
        """Through a channel or a port to another program: gives the holder's share away."""
        parcel = Buffer(PARCEL)
        if self.chan is not None:
            self.chan.local = False
            given_away.append(self.chan)
        check(call(f"pack_{self.side}", self.use(), parcel.place), self.name)
        self.retired = True
        if self.maker is not None and self.maker.ends.get(self.side) is self:  # c.read or c.write: the next one is new
            self.maker.ends.pop(self.side, None)
        if here.given is not None:
            here.given.append((self, parcel))
        return unpack, (self.side, parcel.bytes(), self.kind, self.name)

    def take_back(self, parcel):
        """What it was part of was not written after all."""
        status, handle = found(f"unpack_{self.side}", parcel.place, None)
        if status == OK:
            self.handle, self.retired = handle, False

    def __repr__(self):
        return f"<{'reading' if self.side == 'in' else 'writing'} end of {self.name}>"


class ChannelEndRead(ChannelEnd):
    side = "in"

    def __call__(self, timeout=None):
        """Waits for a value; TimeoutError if none comes for so many seconds."""
        buffer = here.buffer(self.codec.size)
        if timeout is None:
            status = call("read", self.use(), buffer.place)
        else:
            status = call("read_by", self.use(), buffer.place, deadline(timeout))
        if status:
            check(status, self.name)
        return self.codec.decode(buffer.bytes(), self.chan)

    read = __call__


class ChannelEndWrite(ChannelEnd):
    side = "out"

    def __call__(self, value, timeout=None):
        """Waits until it was read, or until there is room in the buffer."""
        handle = self.use()
        data = self.codec.encode(value, self.chan)
        buffer = Buffer(self.codec.size, data)
        if timeout is None:
            status = call("write", handle, buffer.place)
        else:
            status = call("write_by", handle, buffer.place, deadline(timeout))
        if status:
            self.failed(data, status)
        self.codec.written(data, self)

    write = __call__

    def failed(self, data, status):
        self.codec.undo(data, self.chan)
        if status != LATE:
            self.ended()
        check(status, self.name)


def make_end(side, handle, kind, chan, name):
    return (ChannelEndRead if side == "in" else ChannelEndWrite)(handle, kind, chan, name)


def unpack(side, parcel, kind, name):
    packed = Buffer(PARCEL, parcel)
    status, handle = found(f"unpack_{side}", packed.place, None)
    check(status, name)
    return make_end(side, handle, kind, None, name)


class Ends:
    """What has two ends: +c or c.reader(), -c or c.writer(); c.read and c.write are one of each, as PyCSP 0.3 has them."""

    def __pos__(self):
        return self.reader()

    def __neg__(self):
        return self.writer()

    def first(self, side):
        """Made when it is asked for: an end counts as a holder."""
        if side not in self.ends:
            made = self.reader() if side == "in" else self.writer()
            if self.ends.setdefault(side, made) is not made:  # another process was first
                made.retire()
        return self.ends[side]

    @property
    def read(self):
        return self.first("in")

    @property
    def write(self):
        return self.first("out")

    def poison(self):
        for end in list(self.ends.values()):
            end.poison()

    def retire(self):
        for end in list(self.ends.values()):
            end.retire()


class Channel(Ends):
    """Carries values of one type (values.py); any number of processes have each end. buffer: writers go on while fewer values
    are in it; with overwriting they always do, and the oldest value goes."""

    dropped = collections.deque()  # handles of channels that Python has forgotten

    def __init__(self, name=None, buffer=0, type=None, overwriting=False):
        try:
            while True:
                call("chan_free", self.dropped.popleft())
        except IndexError:  # none is left
            pass
        self.handle = 0
        self.kind = type
        self.codec = codec(type)
        self.name = name or f"channel {next(library.numbers)}"
        self.kept = {}  # objects on their way, by number
        self.local = not overwriting
        self.buffered = bool(buffer)
        self.overwriting = overwriting
        self.over = False
        self.ends = {}
        words = text(self.name)
        if overwriting and not buffer:
            raise ValueError("an overwriting channel has a buffer")
        if buffer:
            make = "chan_overwriting" if overwriting else "chan_buffered"
            self.handle = call(make, words.place, self.codec.size, buffer)
        else:
            self.handle = call("chan_new", words.place, self.codec.size)

    def reader(self):
        return make_end("in", call("chan_in", self.handle), self.kind, self, self.name)

    def writer(self):
        return make_end("out", call("chan_out", self.handle), self.kind, self, self.name)

    def poison(self):
        self.first("in").poison()

    def keeps_for_others(self):
        """What is in the buffer stays there, and other programs may have ends."""
        return self.buffered and not self.overwriting and not self.over and (self in given_away or self in list(named.values()))

    def __del__(self):
        if getattr(self, "handle", 0):
            self.dropped.append(self.handle)  # nobody has an end of it; freed by a thread that may


# PyCSP 0.3 has a class for each number of holders.
One2OneChannel = Any2OneChannel = One2AnyChannel = Any2AnyChannel = Channel


def BufferedOne2OneChannel(name=None, buffer=1, type=None):
    return Channel(name, buffer=buffer, type=type)


BufferedAny2OneChannel = BufferedOne2AnyChannel = BufferedAny2AnyChannel = BufferedOne2OneChannel


# ---- names


named = {}  # channels of this program that others know: they live until they lose their names, or it ends
given_away = []  # those of which others have an end


class NamedChannel(Ends):
    """A channel of whichever program has registered it."""

    def __init__(self, name, type, timeout):
        self.name = name
        self.kind = type
        self.timeout = timeout
        self.ends = {}

    def find(self, side):
        words = text(self.name)
        status, handle = found(f"find_{side}", words.place, codec(self.kind).size, None, deadline(self.timeout))
        check(status, self.name)
        end = make_end(side, handle, self.kind, None, self.name)
        end.maker = self
        return end

    def reader(self):
        return self.find("in")

    def writer(self):
        return self.find("out")


def registerNamedChannel(chan, name):
    """Gives a channel of this program a name, which it has until the program ends, or unregisterName."""
    words = text(name)
    check(call("register_chan", words.place, chan.handle), name)
    chan.local = False
    named[name] = chan


def unregisterName(name):
    words = text(name)
    check(call("unregister", words.place), name)
    named.pop(name, None)


def getNamedChannel(name, type=None, timeout=None):
    """The channel of that name. Taking an end waits until something has the name: NameException or TimeoutError if nothing has after
    `timeout` seconds."""
    return NamedChannel(name, type, timeout)


def poison(*ends):
    for end in ends:
        end.poison()


def retire(*ends):
    for end in ends:
        end.retire()
