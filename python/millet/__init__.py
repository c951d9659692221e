# SPDX-License-Identifier: BSD-3-Clause
"""Processes and channels for Python, as PyCSP has them, on Millet's library: docs/guide/pycsp.md.

    from millet import *

    @process
    def source(cout):
        for i in range(10):
            cout(i)
        retire(cout)

    @process
    def sink(cin):
        while True:
            print(cin())

    c = Channel()
    Parallel(source(-c), sink(+c))
"""

from .channel import (
    Any2AnyChannel,
    Any2OneChannel,
    BufferedAny2AnyChannel,
    BufferedAny2OneChannel,
    BufferedOne2AnyChannel,
    BufferedOne2OneChannel,
    Channel,
    ChannelEndRead,
    ChannelEndWrite,
    One2AnyChannel,
    One2OneChannel,
    getNamedChannel,
    poison,
    registerNamedChannel,
    retire,
    unregisterName,
)
from .group import Allgather, Allreduce, Alltoall, Barrier, Broadcast, Comm, Gather, Group, Reduce, Scatter
from .library import ChannelLostException, ChannelPoisonException, ChannelRetireException, NameException, node, nodes, sleep
from .port import Port, Target, connect, findPort
from .process import Parallel, Process, Sequence, Spawn, process, shutdown
from .select import (
    Alternation,
    Alternative,
    AltSelect,
    FairSelect,
    InputGuard,
    OutputGuard,
    PriSelect,
    Skip,
    SkipGuard,
    Timeout,
    TimeoutGuard,
    choice,
)

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("channel", "group", "library", "port", "select", "values")]
