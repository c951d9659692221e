# SPDX-License-Identifier: BSD-3-Clause
"""One of several programs that talk by names: peer.py WHAT."""

import os
import signal
import sys
import time

from millet import *

LONG = list(range(50_000))


def serve():
    """Writes three values, the second one long, and ends in order; or is killed before it has written the third."""
    c = Channel("numbers")
    cout = -c
    registerNamedChannel(c, "numbers")
    for value in ("first", LONG):
        cout(value)
    if sys.argv[2:] == ["killed"]:
        os.kill(os.getpid(), signal.SIGKILL)
    cout("last")
    asked = Channel("asked")
    registerNamedChannel(asked, "asked")
    reply = asked.read()
    reply(LONG)  # through an end that came from the other program
    reply("small")
    retire(reply)


def ask():
    cin = +getNamedChannel("numbers", timeout=30)
    print(cin(), cin() == LONG, flush=True)
    try:
        print(cin())
    except ChannelLostException as why:
        print("lost:", why)
        return
    answer = Channel("answer")
    (-getNamedChannel("asked", timeout=30))(answer.writer())
    got = +answer
    print(got() == LONG, got())
    try:
        got()
    except ChannelRetireException:
        print("retired")


def early():
    """A value that was written before the channel had a name cannot be known to others."""
    if node() == 0:
        c = Channel("early", buffer=1)
        c.write(1)
        registerNamedChannel(c, "early")
    Group("both")[0].barrier()
    if node() == 1:
        try:
            getNamedChannel("early").read()
        except TypeError as why:
            print(why)
    Group("again")[0].barrier()


def wrong_type():
    if node() == 0:
        c = Channel("ints", type="i")
        registerNamedChannel(c, "ints")
    Group("both")[0].barrier()
    if node() == 1:
        try:
            getNamedChannel("ints").read()
        except NameException as why:
            print(why)
    Group("again")[0].barrier()


def crowd():
    """Each of several processes has an end of its own of another program's channel, too."""

    @process
    def reads(cin):
        total = 0
        try:
            while True:
                total += cin()
        except ChannelRetireException:
            retire(cin)
            return total

    if node() == 0:
        c = Channel("crowd")
        cout = -c
        registerNamedChannel(c, "crowd")
        for i in range(100):
            cout(i)
        retire(cout)
    else:
        print(sum(Parallel(4 * reads(+getNamedChannel("crowd")))))
    Group("both")[0].barrier()


def leaves():
    """The home of a buffered channel, or its other writer, ends while long values are in the buffer; or the reader never comes."""
    writer, unread = int(sys.argv[2]), sys.argv[3:] == ["unread"]
    millet.values.PATIENCE = 1 if unread else 60
    if node() == 0:
        c = Channel("left", buffer=6)
        registerNamedChannel(c, "left")
    else:
        c = getNamedChannel("left")
    cout, cin = (-c, None) if node() == writer else (None, +c)
    Group("both")[0].barrier()
    if cout:
        for _ in range(6):
            cout(LONG)
    elif unread:
        sleep(3)
    else:
        values = []
        try:
            while True:
                sleep(0.05)
                values.append(cin())
        except ChannelRetireException:
            print(len(values), all(value == LONG for value in values))


def deadlock():
    @process
    def waits(cin):
        print("waits")
        cin()

    a, b = Channel("a"), Channel("b")
    Parallel(waits(+a), waits(+b))


def thinks():
    """While a process computes, the others that wait are no deadlock."""

    @process
    def thinker(cout):
        time.sleep(0.2)
        cout("thought")

    c = Channel()
    print(Parallel(thinker(-c), Process(+c))[1])


def mpi():
    """MPI and channels in one program."""
    import ctypes

    library = millet.library.library
    library.MPI_Init(None, None)
    world, rank, two = ctypes.c_void_p(0x101), ctypes.c_int(), ctypes.c_int(2)
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    assert rank.value == node() == Group("all")[0].rank

    @process
    def doubles(cin):
        return 2 * cin()

    c = Channel()
    assert Parallel(doubles(+c), Process(-c, 21)) == [42, None]
    library.MPI_Barrier(world)
    print("right")
    library.MPI_Finalize()


import millet  # noqa: E402

globals()[sys.argv[1]]()
