# SPDX-License-Identifier: BSD-3-Clause
"""Alternation: waits for whichever of several guards is ready first."""

import ctypes
import functools

from .channel import ChannelEnd, ChannelEndRead, ChannelEndWrite
from .library import OK, TOO_LONG, Buffer, Guard, call, check, deadline
from .port import Port

READ, WRITE, TIME, SKIP, PORT = 1, 2, 3, 4, 8  # csp_guard_kind


class Choice:
    """What a guard does when it was chosen: made by a call of a function with @choice. The value read comes as channel_input."""

    def __init__(self, function, args, named):
        self.function, self.args, self.named = function, args, named

    def __call__(self, *value):
        named = dict(self.named)
        if value:
            named["channel_input"] = value[0]
        return self.function(*self.args, **named)


def choice(function):
    @functools.wraps(function)
    def make(*args, **named):
        return Choice(function, args, named)

    return make


class InputGuard:
    """Of a reading end, or a port."""

    def __init__(self, end, action=None):
        if not isinstance(end, (ChannelEndRead, Port)):
            raise TypeError(f"an InputGuard waits for a reading end or a port, not {end!r}")
        self.end, self.action = end, action

    def prepare(self, guard):
        size = self.end.room if isinstance(self.end, Port) else self.end.codec.size
        self.buffer = Buffer(size)
        guard.kind = PORT if isinstance(self.end, Port) else READ
        guard.what, guard.value, guard.size = self.end.use(), self.buffer.place, size

    def chosen(self, guard):
        if guard.kind == PORT and guard.status == TOO_LONG:
            return self.end, self.end.receive()
        check(guard.status, self.end.name)
        if guard.kind == PORT:
            return self.end, self.end.codec.decode(self.buffer.bytes(guard.size))
        return self.end, self.end.codec.decode(self.buffer.bytes(), self.end.chan)

    def dropped(self):
        pass

    def act(self, value):
        return self.action(value) if self.action else None


class OutputGuard:
    def __init__(self, end, msg=None, action=None):
        if not isinstance(end, ChannelEndWrite):
            raise TypeError(f"an OutputGuard waits for a writing end, not {end!r}")
        self.end, self.msg, self.action = end, msg, action

    def prepare(self, guard):
        handle = self.end.use()
        self.data = self.end.codec.encode(self.msg, self.end.chan)
        self.buffer = Buffer(self.end.codec.size, self.data)
        guard.kind, guard.what, guard.value = WRITE, handle, self.buffer.place

    def chosen(self, guard):
        if guard.status != OK:
            self.end.failed(self.data, guard.status)
        self.end.codec.written(self.data, self.end)
        return self.end, None

    def dropped(self):
        self.end.codec.undo(self.data, self.end.chan)

    def act(self, value):
        return self.action() if self.action else None


class TimeoutGuard:
    """Ready when so many seconds have passed."""

    def __init__(self, seconds, action=None):
        self.seconds, self.action = seconds, action

    def prepare(self, guard):
        guard.kind, guard.what = TIME, deadline(self.seconds)

    def chosen(self, guard):
        return self, None

    def dropped(self):
        pass

    act = OutputGuard.act


class SkipGuard(TimeoutGuard):
    """Ready if no other guard is."""

    def __init__(self, action=None):
        self.action = action

    def prepare(self, guard):
        guard.kind = SKIP


Timeout, Skip = TimeoutGuard, SkipGuard


def as_guard(thing):
    """Ends and ports stand for their InputGuards."""
    if isinstance(thing, (InputGuard, OutputGuard, TimeoutGuard)):
        return thing
    if isinstance(thing, (ChannelEnd, Port)):
        return InputGuard(thing)
    raise TypeError(f"this is no guard: {thing!r}")


def select(guards, how):
    """The guard that was chosen, and what its `chosen` gives."""
    guards = [as_guard(guard) for guard in guards]
    if not guards:
        raise ValueError("an alternation without guards would never end")
    array = (Guard * len(guards))()
    ready = []
    try:
        for guard, place in zip(guards, array):
            guard.prepare(place)
            ready.append(guard)
    except BaseException:
        for guard in ready:
            guard.dropped()
        raise
    at = call(how, ctypes.addressof(array), len(guards))
    for i, guard in enumerate(guards):
        if i != at:
            guard.dropped()
    return guards[at], guards[at].chosen(array[at])


def act(how, guards):
    guard, (end, value) = select(guards, how)
    guard.act(value)
    return end, value


def AltSelect(*guards):
    """Waits until a guard is ready, does what it stands for, calls its action; (end or guard, value read or None). No guard that
    is ready is left out for ever."""
    return act("alt", guards)


FairSelect = AltSelect


def PriSelect(*guards):
    """The first one that is ready, in their order."""
    return act("pri_alt", guards)


class Alternation:
    """Alternation([{cin: action}, {(cout, value): action}, {TimeoutGuard(1): action}]), an action being a choice, or None."""

    def __init__(self, guards):
        self.guards = []
        for group in guards:
            for thing, action in group.items():
                if isinstance(thing, tuple):
                    guard = OutputGuard(*thing)
                else:
                    guard = as_guard(thing)
                guard.action = action
                self.guards.append(guard)

    def execute(self):
        return act("pri_alt", self.guards)

    def select(self):
        """Without the action."""
        return select(self.guards, "pri_alt")[1]


class Chosen:
    """What Alternative chose: equal to the end, and a call of it gives the value, which has been read already."""

    def __init__(self, end, value):
        self.end, self.value = end, value

    def __call__(self):
        return self.value

    def __eq__(self, other):
        return self.end is (other.end if isinstance(other, Chosen) else other)

    def __hash__(self):
        return id(self.end)


class Alternative:
    """As in PyCSP 0.3: chosen = Alternative(c1.read, c2.read).select(); value = chosen()."""

    def __init__(self, *guards):
        self.guards = guards

    def select(self):
        return Chosen(*select(self.guards, "alt")[1])

    def priSelect(self):
        return Chosen(*select(self.guards, "pri_alt")[1])
