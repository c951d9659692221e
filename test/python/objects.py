# SPDX-License-Identifier: BSD-3-Clause
"""What the examples do not do, in one program: every kind of channel, guard and wrong use. Ends with "right"."""

import ctypes
import threading

import millet
from millet import *
from millet.values import Apart


def raises(kind, words, call, *args, **named):
    try:
        call(*args, **named)
    except kind as error:
        assert words in str(error), f"{words!r} should be in {error!r}"
        return
    raise AssertionError(f"{kind.__name__} with {words!r} should be raised")


@process
def say(cout, *values):
    for value in values:
        cout(value)


@process
def fail(cin):
    raise ValueError("on purpose")


@process
def poisons(cout):
    cout(1)
    poison(cout)


@process
def forever(cin):
    while True:
        cin()


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]


def objects():
    thing = lambda: 1  # cannot be pickled, need not be
    c = Channel(buffer=1)
    one, two = -c, +c
    one(thing)
    assert two() is thing and not c.kept
    c = Channel("last", buffer=2, overwriting=True)
    for i in range(5):
        c.write(i)
    assert (c.read(), c.read()) == (3, 4)
    raises(TimeoutError, "last", c.read, timeout=0.001)
    raises(ValueError, "a buffer", Channel, overwriting=True)
    raises(ValueError, "zero bytes", Channel, "a\0b")


def types():
    for kind, value in ((16, b"x" * 16), ("i", -3), ("id", (1, 2.5)), (ctypes.c_double, 0.5)):
        c = Channel(type=kind, buffer=1)
        c.write(value)
        assert c.read() == value
    c = Channel(type=Point, buffer=1)
    c.write((3, 4.5))
    point = c.read()
    assert (point.x, point.y) == (3, 4.5)
    raises(TypeError, "int", Channel(type=16, buffer=1).write, 16)
    raises(TypeError, "'i'", Channel(type="i", buffer=1).write, "three")
    raises(ValueError, "16 bytes, not 3", Channel(type=16, buffer=1).write, b"abc")
    raises(TypeError, "a type is None", Channel, type=[])
    raises(ValueError, "at least one byte", Channel, type=0)


def ends():
    c = Channel("c")
    assert Parallel(poisons(-c), forever(+c)) == [None, None]
    raises(ChannelPoisonException, "c: is poisoned", c.read)
    c = Channel("d")
    cin, cout = +c, -c
    retire(cin)
    retire(cin)  # once more does nothing
    raises(ChannelRetireException, "d: has retired", cout, 1)
    raises(ChannelRetireException, "d: this end has retired", cin)
    c = Channel()
    raises(ValueError, "on purpose", Parallel, fail(+c), say(-c, 1, 2))  # the other one is poisoned
    raises(ValueError, "on purpose", Sequence, fail(+Channel()))
    raises(TypeError, "is @process missing?", Parallel, objects)
    done = Process(len, "four")
    assert Parallel(done) == [4]
    raises(RuntimeError, "a process runs once", Parallel, done)
    c = Channel()
    (spawned,) = Spawn(say(-c, 1, 2))
    cin = +c
    assert (cin(), cin(), spawned.join()) == (1, 2, None)
    assert 0 * say(-c, 1) == []


def guards():
    a, b = Channel(buffer=1), Channel(buffer=1)
    timeout, skip = TimeoutGuard(0.001), SkipGuard()
    assert AltSelect(+a, timeout) == (timeout, None)
    assert PriSelect(+a, +b, skip) == (skip, None)
    cin, cout = +a, -b
    a.write(7)
    assert PriSelect(cin, OutputGuard(cout, 8)) == (cin, 7) and not b.kept  # the one not chosen leaves nothing
    assert AltSelect(cin, OutputGuard(cout, 8)) == (cout, None) and b.read() == 8
    heard = []
    a.write(9)
    assert Alternation([{cin: heard.append}, {Timeout(60): None}]).execute() == (cin, 9) and heard == [9]
    assert Alternation([{cin: None}, {(cout, 10): None}]).select() == (cout, None) and b.read() == 10
    a.write(11)
    chosen = Alternative(a.read, b.read).select()
    assert chosen == a.read and chosen != b.read and chosen() == 11
    poison(a)
    raises(ChannelPoisonException, "is poisoned", AltSelect, cin, skip)
    raises(ValueError, "without guards", AltSelect)
    raises(TypeError, "no guard", AltSelect, 1)
    raises(TypeError, "waits for a reading end", InputGuard, cout)
    raises(TypeError, "waits for a writing end", OutputGuard, cin)


def ports():
    port = Port("bytes", type=bytes)
    target = connect(node(), "bytes", type=bytes)
    long = bytes(range(256)) * 1000
    target.send(b"")
    target.send(long)
    assert (port(), port.receive_from()) == (b"", (long, node()))
    target.send(long[:10000])
    assert AltSelect(port, TimeoutGuard(60)) == (port, long[:10000])
    raises(TimeoutError, "bytes", port.receive, timeout=0.001)
    raises(NameException, "bytes", Port, "bytes")
    raises(NameException, "nobody", connect, node(), "nobody", timeout=0)
    port.close()
    raises(ChannelRetireException, "bytes", target.send, b"x")
    raises(ChannelRetireException, "was closed", port.receive)


def groups():
    @process
    def member(comm):
        assert comm.broadcast("x" * 5000 if comm.rank == 1 else None, root=1) == "x" * 5000
        assert comm.scatter([1, "two", None] if comm.rank == 0 else None) == [1, "two", None][comm.rank]
        assert comm.reduce(comm.rank, max, root=2, type="i") == (2 if comm.rank == 2 else None)
        assert comm.allreduce("abc"[comm.rank]) == "abc"
        raises(ValueError, "no member 3 of 3", comm.send_to, 3, None)
        raises(ValueError, "a list of 3 values", comm.alltoall, [1])
        raises(ValueError, "a reduction with a type", comm.allreduce, 1, pow, type="i")
        raises(TypeError, "not of type 'i'", comm.allreduce, "x", type="i")
        return comm.alltoall([comm.rank * 10 + i for i in range(3)])

    group = Group("three", members=3, here=True)
    group.force("bcast=linear")
    raises(ValueError, "circular", group.force, "bcast=circular")
    assert Parallel([member(comm) for comm in group])[1] == [1, 11, 21] and len(group) == 3
    raises(ValueError, "at least one member", Group, members=0)
    for group in (Group("alone"), Group("alone"), Group("alone", here=True)):  # names of groups may be the same
        for receive in (lambda: group[0].recv_from(0), group[0].recv):
            group[0].send_to(0, "to myself")
            assert receive() == "to myself"
    assert [len(Group("twice", members=m, here=True)) for m in (2, 3)] == [2, 3]


def names():
    c = Channel("early", buffer=1)
    c.write("by reference")
    registerNamedChannel(c, "early")
    raises(NameException, "early", registerNamedChannel, Channel(), "early")
    unregisterName("early")
    raises(NameException, "early", unregisterName, "early")
    raises(NameException, "nobody", lambda: getNamedChannel("nobody", timeout=0).read)


def long_values():
    """Between programs these go apart, as here, where the channel has a name."""
    long = list(range(10000))
    c = Channel("long")
    registerNamedChannel(c, "long")

    @process
    def reads(cin):
        return [cin() == long for _ in range(20)]

    @process
    def writes(cout):
        for i in range(20):
            if i % 2:
                cout(long)
            else:
                AltSelect(OutputGuard(cout, long), TimeoutGuard(60))

    assert Parallel(reads(+c), writes(-c)) == [[True] * 20, None]
    raises(TimeoutError, "long", c.write, long, timeout=0.001)
    assert len(Apart.pending) <= 1 and AltSelect(OutputGuard(c.write, long), TimeoutGuard(0.001))[0] is not c.write
    Apart.sweep()
    assert not Apart.pending  # nothing is left
    c = Channel("late", overwriting=True, buffer=1)
    c.write(long)
    assert c.read() == long


def ends_come_back():
    """An end in a value that was not written is still its holder's."""
    c, answer = Channel("questions"), Channel("answers")
    registerNamedChannel(c, "questions")
    port = Port("narrow", room=100)
    target = connect(node(), "narrow")
    target.send("x" * 200)
    cin, cout, reply = +answer, -c, -answer
    for padding in ("", "long" * 1000):
        raises(TimeoutError, "questions", cout, (reply, padding), timeout=0.001)
        timeout = TimeoutGuard(0.001)
        assert AltSelect(OutputGuard(cout, (reply, padding)), timeout)[0] is timeout
        raises(TimeoutError, "narrow", target.send, (reply, padding), timeout=0.001)
        raises(TypeError, "pickle", cout, (reply, threading.Lock()))

    @process
    def replies(cin):
        (end, _) = cin()
        end("here")
        retire(end)

    assert Parallel(replies(+c), Process(cout, (reply, "")), Process(cin))[2] == "here"
    raises(ChannelRetireException, "given away", reply, 1)
    raises(ChannelRetireException, "answers", cin)
    assert not millet.values.given
    answer, keep = Channel(), []

    @process
    def asks(cout):
        keep.append(-answer)
        got = []
        for _ in range(2):  # c.write is given away, and then a new one
            cout((answer.write, ""))
            got.append(answer.read())
        return got

    c = Channel()
    registerNamedChannel(c, "again")
    assert Parallel(2 * replies(+c), asks(-c))[2] == ["here", "here"]


def crowded():
    """Several processes write long values at once, each looks after its own."""
    long = list(range(10000))
    c = Channel("crowded")
    registerNamedChannel(c, "crowded")

    @process
    def writes(cout):
        for i in range(30):
            cout((i, long))
        retire(cout)

    @process
    def reads(cin):
        seen = []
        try:
            while True:
                i, value = cin()
                assert value == long
                seen.append(i)
        except ChannelRetireException:
            return seen

    results = Parallel(6 * writes(-c), 3 * reads(+c))
    assert sorted(sum(results[6:], [])) == sorted(6 * list(range(30)))
    Apart.sweep()
    assert not Apart.pending and not Apart.held


def joins():
    """Any number of processes may join one, and again."""

    @process
    def thinks():
        sleep(0.05)
        return 42

    @process
    def joins_it(other):
        return other.join()

    (spawned,) = Spawn(thinks())
    assert Parallel(*[joins_it(spawned) for _ in range(4)]) == [42] * 4
    assert spawned.join() == spawned.join() == 42
    done = thinks()
    raises(RuntimeError, "was not started", done.join)
    assert Sequence(done) == [42] and done.join() == 42
    raises(RuntimeError, "a process runs once", Sequence, done)


def threads():
    problems = []

    def foreign():
        raises(RuntimeError, "this thread is no process", Channel)
        problems.append("told")

    thread = threading.Thread(target=foreign)
    thread.start()
    thread.join()
    assert problems == ["told"]


for test in (objects, types, ends, guards, ports, groups, names, long_values, ends_come_back, crowded, joins, threads):
    test()
shutdown()
print("right")
