# SPDX-License-Identifier: BSD-3-Clause
"""Groups of processes, on one node or on all nodes of the job: the paper's collective operations by the library's schedules,
and its messages between members (send_to, recv_from), which are ports."""

import ctypes
import functools
import itertools
import operator
import pickle
import struct

from . import library
from .library import Buffer, call, check, text
from .port import Port, connect
from .process import Parallel, process
from .select import AltSelect
from .values import codec

# Symbols of csp_op, by function and type; other functions combine objects in the order of members.
OPERATIONS = {operator.add: "sum", max: "max", min: "min"}
TYPES = {"i": "int", "l": "long", "d": "double"}
FIRST = 256  # bytes that a broadcast carries before it knows the length
LENGTH = struct.Struct("q")


def add(a, b):
    return a + b


class Group:
    """`members` on each node that takes part: all nodes of the job, or only this one. Making it is collective over them, in the
    same order everywhere. group[i] is the Comm of member i of this node."""

    def __init__(self, name="group", members=1, here=False):
        words = text(name)
        if members < 1:
            raise ValueError("a group has at least one member on each node")
        self.name = name
        self.ports = self.ports_prefix(name, here)
        self.handle = call("group_here" if here else "group_of_nodes", words.place, members)
        self.size = call("group_size", self.handle)
        first = call("group_first", self.handle)
        self.comms = [Comm(self, first + i) for i in range(members)]
        self.nodes = None
        if self.size > members or members > 1:
            self.meet(members)
        else:
            self.comms[0].open()
            self.nodes = [library.node()]

    made = {}  # how many groups there are of a name

    @classmethod
    def ports_prefix(cls, name, here):
        """The members' ports have names that no other group's have, and the same on all nodes."""
        key = f"{name} here" if here else name
        number = next(cls.made.setdefault(key, itertools.count(1)))
        return key if number == 1 else f"{key} #{number}"

    def meet(self, members):
        """Members make their ports, and tell each other where they are."""
        for comm in self.comms:
            comm.open()

        @process
        def where(comm):
            return comm.allgather(library.node())

        if members == 1:
            self.nodes = self.comms[0].allgather(library.node())
        else:
            self.nodes = Parallel([where(comm) for comm in self.comms])[0]

    def force(self, what):
        """Which algorithms, as mpirun --force has it: "reduce=linear"."""
        words = text(what)
        if not call("group_force", self.handle, words.place):
            raise ValueError(f"{what}: {library.why()}")

    def __len__(self):
        return len(self.comms)

    def __getitem__(self, i):
        return self.comms[i]

    def __iter__(self):
        return iter(self.comms)


class Comm:
    """One member of a group: rank, groupsize, and what it does together with the others. Every member calls each operation, in the
    same order. Values are objects of Python, or with `type` what C declares: a number, or a list of numbers."""

    def __init__(self, group, rank):
        self.group, self.rank = group, rank
        self.groupsize = group.size
        self.ports = {}
        self.targets = {}

    # ---- messages

    def port_name(self, receiver, sender):
        return f"{self.group.ports}: {sender} to {receiver}"

    def open(self):
        """A port for each sender."""
        for sender in range(self.groupsize):
            self.ports[sender] = Port(self.port_name(self.rank, sender))

    def send_to(self, rank, data):
        """Waits for room at the receiver, not for the receiver."""
        self.check_rank(rank)
        if rank not in self.targets:
            self.targets[rank] = connect(self.group.nodes[rank], self.port_name(rank, self.rank))
        self.targets[rank].send(data)

    def recv_from(self, rank):
        self.check_rank(rank)
        return self.ports[rank].receive()

    def recv(self):
        """From whichever member has sent something."""
        return AltSelect(*self.ports.values())[1]

    def check_rank(self, rank):
        if not 0 <= rank < self.groupsize:
            raise ValueError(f"{self.group.name}: there is no member {rank} of {self.groupsize}")

    # ---- collective operations

    def do(self, operation, *args):
        check(call(f"group_{operation}", self.group.handle, self.rank, *args), self.group.name)

    def barrier(self):
        self.do("barrier")

    def broadcast(self, data=None, root=0):
        """What the root has."""
        self.check_rank(root)
        pickled = pickle.dumps(data, pickle.HIGHEST_PROTOCOL) if self.rank == root else b""
        first = Buffer(FIRST, LENGTH.pack(len(pickled)) + pickled[: FIRST - LENGTH.size])
        self.do("bcast", first.place, FIRST, root)
        head = first.bytes()
        (length,) = LENGTH.unpack_from(head)
        if length <= FIRST - LENGTH.size:
            return data if self.rank == root else pickle.loads(head[LENGTH.size : LENGTH.size + length])
        whole = Buffer(length, pickled)
        self.do("bcast", whole.place, length, root)
        return data if self.rank == root else pickle.loads(whole.bytes())

    def longest(self, length):
        mine = Buffer(LENGTH.size, LENGTH.pack(length))
        self.do("allreduce", mine.place, mine.place, 1, symbol("csp_max_long"))
        return LENGTH.unpack(mine.bytes())[0]

    def gather(self, data, root=0):
        """At the root: a list of what all have; elsewhere None."""
        self.check_rank(root)
        return self.collect("gather", data, root)

    def allgather(self, data):
        return self.collect("allgather", data, None)

    def collect(self, operation, data, root):
        pickled = pickle.dumps(data, pickle.HIGHEST_PROTOCOL)
        room = self.longest(len(pickled))
        mine = Buffer(room, pickled)
        all_of_them = Buffer(room * self.groupsize if root in (None, self.rank) else 0)
        self.do(operation, mine.place, all_of_them.place, room, *([] if root is None else [root]))
        return objects(all_of_them, room) if root in (None, self.rank) else None

    def scatter(self, data=None, root=0):
        """One of the root's list of values for each member."""
        self.check_rank(root)
        pickled = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in self.one_each(data)] if self.rank == root else []
        room = self.longest(max(map(len, pickled), default=0))
        all_of_them = Buffer(room * len(pickled), b"".join(one.ljust(room, b"\0") for one in pickled))
        mine = Buffer(room)
        self.do("scatter", all_of_them.place, mine.place, room, root)
        return pickle.loads(mine.bytes())

    def alltoall(self, data):
        """data[i] to member i; a list of what came, by member."""
        pickled = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in self.one_each(data)]
        room = self.longest(max(map(len, pickled)))
        mine = Buffer(room * self.groupsize, b"".join(one.ljust(room, b"\0") for one in pickled))
        theirs = Buffer(room * self.groupsize)
        self.do("alltoall", mine.place, theirs.place, room)
        return objects(theirs, room)

    def one_each(self, data):
        values = list(data)
        if len(values) != self.groupsize:
            raise ValueError(f"{self.group.name}: a list of {self.groupsize} values, one for each member, not of {len(values)}")
        return values

    def reduce(self, data, func=add, root=0, type=None):
        """At the root: all values combined in the order of members; elsewhere None, with any function of two values. With
        `type` ("i", "l" or "d") func is operator.add, max or min, and the values are combined in C on their way."""
        self.check_rank(root)
        if type is not None:
            return self.reduce_numbers("reduce", data, func, type, [root])
        values = self.gather(data, root)
        return None if values is None else functools.reduce(func, values)

    def allreduce(self, data, func=add, type=None):
        if type is not None:
            return self.reduce_numbers("allreduce", data, func, type, [])
        return functools.reduce(func, self.allgather(data))

    def reduce_numbers(self, name, data, func, type, root):
        func = operator.add if func is add else func
        if func not in OPERATIONS or type not in TYPES:
            raise ValueError("a reduction with a type is operator.add, max or min of 'i', 'l' or 'd'")
        numbers = list(data) if hasattr(data, "__len__") else [data]
        form = codec(f"{len(numbers)}{type}")
        try:
            mine = Buffer(form.size, form.struct.pack(*numbers))
        except struct.error as why:
            raise TypeError(f"{data!r} is not of type {type!r}: {why}") from None
        symbol_name = f"csp_{OPERATIONS[func]}_{TYPES[type]}"
        self.do(name, mine.place, mine.place, len(numbers), symbol(symbol_name), *root)
        if root and root[0] != self.rank:
            return None
        values = form.struct.unpack(mine.bytes())
        return list(values) if hasattr(data, "__len__") else values[0]


def symbol(name):
    return ctypes.addressof(ctypes.c_char.in_dll(library.library, name))


def objects(buffer, room):
    data = buffer.bytes()
    return [pickle.loads(data[at : at + room]) for at in range(0, len(data), room)]


# ---- under the paper's names


def Barrier(comm):
    comm.barrier()


def Broadcast(comm, data=None):
    return comm.broadcast(data)


def Reduce(comm, data, func=add):
    return comm.reduce(data, func)


def Allreduce(comm, data, func=add):
    return comm.allreduce(data, func)


def Gather(comm, data):
    return comm.gather(data)


def Allgather(comm, data):
    return comm.allgather(data)


def Scatter(comm, data=None):
    return comm.scatter(data)


def Alltoall(comm, data):
    return comm.alltoall(data)
