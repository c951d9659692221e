# SPDX-License-Identifier: BSD-3-Clause
"""Processes: threads of Python, each with its proxy in the worker."""

import functools
import sys
import threading
import traceback

from . import library
from .channel import Channel, ChannelEnd, Ends
from .library import ChannelPoisonException, ChannelRetireException, call, here, text


def ends_in(things):
    """The ends among arguments, in lists and the like, too."""
    for thing in things:
        if isinstance(thing, (ChannelEnd, Ends)):
            yield thing
        elif isinstance(thing, (list, tuple, set, frozenset)):
            yield from ends_in(thing)
        elif isinstance(thing, dict):
            yield from ends_in(thing.values())


def again(thing):
    """Arguments for one more process: each process has its own ends."""
    if isinstance(thing, ChannelEnd):
        return thing.again()
    if isinstance(thing, (list, tuple)):
        return type(thing)(map(again, thing))
    if isinstance(thing, dict):
        return {key: again(value) for key, value in thing.items()}
    return thing


class Process:
    """A function and its arguments; Parallel, Sequence or Spawn runs it, once."""

    def __init__(self, function, *args, **named):
        self.function = function
        self.args = args
        self.named = named
        self.name = getattr(function, "__name__", "process")
        self.result = self.error = self.proxy = self.thread = None
        self.claims = [None]  # whoever takes it away gives the proxy back
        self.waits = {}  # a channel for all who join meanwhile
        self.begun = self.joined = False

    def __mul__(self, count):
        """5 * worker(+c): so many, each with ends of its own."""
        more = [Process(self.function, *again(self.args), **again(self.named)) for _ in range(count - 1)]
        return [self, *more] if count > 0 else []

    __rmul__ = __mul__

    def run(self):
        """In whichever thread calls; what goes wrong is passed on through the ends."""
        try:
            self.result = self.function(*self.args, **self.named)
        except ChannelRetireException:
            for end in ends_in([self.args, self.named]):
                end.retire()
        except ChannelPoisonException:
            self.poison()
        except BaseException as error:
            self.error = error
            self.poison()

    def poison(self):
        for end in ends_in([self.args, self.named]):
            end.poison()

    def begin(self):
        if self.begun:
            raise RuntimeError(f"{self.name}: a process runs once; call the function again for another one")
        self.begun = True

    def start(self):
        self.begin()
        words = text(self.name)
        self.proxy = call("proxy_new", words.place)
        if not self.proxy:
            raise OSError(f"{self.name}: {library.why()}")
        self.thread = threading.Thread(target=self.main, name=self.name, daemon=True)
        try:
            self.thread.start()
        except RuntimeError:  # no more threads
            library.library.csp_proxy_end(self.proxy)
            self.wait()
            raise

    def main(self):
        here.proxy = self.proxy
        try:
            self.run()
        finally:
            here.proxy = 0
            library.library.csp_proxy_end(self.proxy)

    def join(self):
        """Waits until it has ended; its result. Raises what it raised. Any number of processes may join it, and again."""
        if not self.begun:
            raise RuntimeError(f"{self.name}: it was not started: Spawn starts a process, and Parallel")
        self.wait()
        return self.value()

    def wait(self):
        """The library joins a proxy once; who comes later reads from a channel that retires then."""
        try:
            self.claims.pop()
        except IndexError:
            chan = self.waits.setdefault(0, Channel(f"end of {self.name}", type=1))
            if not self.joined:
                try:
                    chan.read()
                except ChannelRetireException:
                    pass
            return
        if self.proxy:
            call("proxy_join", self.proxy)
        self.joined = True
        if self.waits:
            self.waits[0].write.retire()

    def value(self):
        if self.error is not None:
            raise self.error
        return self.result


def process(function):
    """@process: a call of the function makes a process, which does not run yet."""

    @functools.wraps(function)
    def make(*args, **named):
        return Process(function, *args, **named)

    return make


def flat(processes):
    for one in processes:
        if isinstance(one, Process):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from flat(one)
        else:
            raise TypeError(f"this is no process, nor a list of them: {one!r}; is @process missing?")


def Parallel(*processes):
    """Runs all of them at once, and waits until all have ended; a list of what they returned. An exception of one, other than
    poison and retirement, is raised then: the first, in their order."""
    running = list(flat(processes))
    sys.stdout.flush()  # a deadlock ends the program without Python's clean-up
    started = []
    try:
        for one in running:
            one.start()
            started.append(one)
    except BaseException:
        for one in started:
            one.poison()
        raise
    for one in started:
        one.wait()
    return [one.value() for one in running]


def Sequence(*processes):
    """One after the other, in the calling process; a list of what they returned."""
    results = []
    for one in list(flat(processes)):
        one.begin()
        one.run()
        one.joined = True
        results.append(one.value())
    return results


def shutdown():
    """Programs of PyCSP call it last. There is nothing to do."""


class Spawned(Process):
    def run(self):
        super().run()
        if self.error is not None:
            traceback.print_exception(type(self.error), self.error, self.error.__traceback__)


def Spawn(*processes):
    """Starts them and goes on; a list of them, each to be joined. They run while the first thread waits in a call of millet."""
    running = list(flat(processes))
    for one in running:
        one.__class__ = Spawned
        one.start()
    return running
