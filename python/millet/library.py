# SPDX-License-Identifier: BSD-3-Clause
"""The library, and how a thread calls it.

The thread that calls first, which should be the main one, is the worker's own: its calls go straight in. Processes of
Parallel are threads, and each has a proxy in the worker (csp_proxy in millet/csp.h), which makes the calls for it. So every
channel is the library's, and so are alternations, poison, names and deadlock reports; no Python code runs on a fiber."""

import ctypes
import itertools
import os
import pathlib
import shutil
import signal
import threading

SONAME = "libmpi_abi.so.1"
OK, POISONED, RETIRED, LOST, LATE, TOO_LONG, NO_NAME, TAKEN, REFUSED = range(9)
NEVER, AT_ONCE = 2**63 - 1, 0


class ChannelPoisonException(Exception):
    """Somebody poisoned the channel. A process that does not catch it poisons its own ends."""


class ChannelRetireException(Exception):
    """All others have retired: nothing will come, or be taken, any more. A process that does not catch it retires its ends."""


class ChannelLostException(ChannelRetireException):
    """The program on the other side is gone without having ended in order."""


class NameException(LookupError):
    """Nothing has that name, or something else has; the text tells."""


# ---- finding it


def places():
    """Where the library may be, best first."""
    if os.environ.get("MILLET_LIBRARY"):
        return [os.environ["MILLET_LIBRARY"]]
    here = pathlib.Path(__file__).absolute().parent
    found = []
    if "MILLET_JOB_FD" in os.environ:
        found.append(SONAME)  # mpirun has put its own into LD_LIBRARY_PATH
    # An installed prefix or a build tree: lib/python3/dist-packages/millet. A clone: python/millet.
    found += [here.parents[2] / SONAME, here.parents[2] / "millet/lib" / SONAME, here.parents[1] / "build/lib" / SONAME]
    mpirun = shutil.which("mpirun")
    if mpirun:
        found.append(pathlib.Path(mpirun).resolve().parent.parent / "lib" / SONAME)
    return [str(path) for path in found if path == SONAME or path.exists()] + [SONAME]


def load():
    wrong = None
    for path in places():
        try:
            library = ctypes.CDLL(path)
        except OSError as why:
            wrong = wrong or f"{why}"
            continue
        if hasattr(library, "csp_proxy_new"):
            return library
        wrong = f"{path} is another MPI's, or a Millet without processes and channels, or an older one"
    raise ImportError(f"Millet's library was not found ({wrong}): set MILLET_LIBRARY to the path of its {SONAME}")


# ---- its functions

# A C bool is a byte; what else is in the register is not defined.
POINTER, INT, BOOL, VOID = ctypes.c_int64, ctypes.c_int, ctypes.c_int8, None
FUNCTIONS = {  # how many arguments, all of them integers or addresses; what comes back
    "csp_why": (0, POINTER),
    "csp_now": (0, POINTER),
    "csp_sleep": (1, VOID),
    "csp_node": (0, INT),
    "csp_nodes": (0, INT),
    "csp_proxy_new": (1, POINTER),
    "csp_proxy_join": (1, VOID),
    "csp_chan_new": (2, POINTER),
    "csp_chan_buffered": (3, POINTER),
    "csp_chan_overwriting": (3, POINTER),
    "csp_chan_free": (1, VOID),
    "csp_chan_in": (1, POINTER),
    "csp_chan_out": (1, POINTER),
    "csp_read": (2, INT),
    "csp_write": (2, INT),
    "csp_read_by": (3, INT),
    "csp_write_by": (3, INT),
    "csp_poison_in": (1, VOID),
    "csp_poison_out": (1, VOID),
    "csp_retire_in": (1, VOID),
    "csp_retire_out": (1, VOID),
    "csp_alt": (2, INT),
    "csp_pri_alt": (2, INT),
    "csp_port_new": (2, POINTER),
    "csp_port_free": (1, VOID),
    "csp_receive_by": (6, INT),
    "csp_target_at": (4, INT),
    "csp_target_free": (1, VOID),
    "csp_send_by": (4, INT),
    "csp_register_port": (2, INT),
    "csp_register_chan": (2, INT),
    "csp_unregister": (1, INT),
    "csp_find_port": (3, INT),
    "csp_find_in": (4, INT),
    "csp_find_out": (4, INT),
    "csp_pack_in": (2, INT),
    "csp_pack_out": (2, INT),
    "csp_unpack_in": (2, INT),
    "csp_unpack_out": (2, INT),
    "csp_group_here": (2, POINTER),
    "csp_group_of_nodes": (2, POINTER),
    "csp_group_free": (1, VOID),
    "csp_group_size": (1, INT),
    "csp_group_first": (1, INT),
    "csp_group_force": (2, BOOL),
    "csp_group_barrier": (2, INT),
    "csp_group_bcast": (5, INT),
    "csp_group_reduce": (7, INT),
    "csp_group_allreduce": (6, INT),
    "csp_group_gather": (6, INT),
    "csp_group_allgather": (5, INT),
    "csp_group_scatter": (6, INT),
    "csp_group_alltoall": (5, INT),
}
ARGUMENTS = 8


class Function:
    """One of them."""

    def __init__(self, name, count, result):
        self.direct = getattr(library, name)
        self.direct.argtypes = [ctypes.c_int64] * count
        self.direct.restype = result
        self.address = address_of(self.direct)
        self.result = result

    def narrow(self, word):
        """The result in a register."""
        return None if self.result is None else self.result(word).value


class Call(ctypes.Structure):
    """csp_call."""

    _fields_ = [("function", ctypes.c_int64), ("args", ctypes.c_int64 * ARGUMENTS), ("result", ctypes.c_int64)]


class Guard(ctypes.Structure):
    """csp_guard."""

    _fields_ = [
        ("kind", ctypes.c_int),
        ("off", ctypes.c_bool),
        ("status", ctypes.c_int),
        ("fd", ctypes.c_int),
        ("what", ctypes.c_int64),
        ("value", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("turn", ctypes.c_int64),
    ]


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


library = load()
functions = {name: Function(name, *kind) for name, kind in FUNCTIONS.items()}
library.csp_proxy_call.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
library.csp_proxy_end.argtypes = [ctypes.c_int64]
library.csp_proxy_end.restype = None
run_call = address_of(library.csp_call_run)


# ---- calling them


class Here(threading.local):
    """Of the calling thread."""

    def __init__(self):
        self.proxy = 0
        self.block = Call()
        self.place = ctypes.addressof(self.block)
        self.buffers = {}
        self.given = None  # ends that the pickle being made gives away, with their parcels

    def buffer(self, size):
        """Memory until the thread's next call of this."""
        if size not in self.buffers:
            self.buffers[size] = Buffer(size)
        return self.buffers[size]


class Buffer:
    def __init__(self, size, data=None):
        self.memory = ctypes.create_string_buffer(max(size, 1)) if data is None else ctypes.create_string_buffer(data, max(size, 1))
        self.place = ctypes.addressof(self.memory)
        self.size = size

    def bytes(self, size=None):
        return ctypes.string_at(self.place, self.size if size is None else size)


here = Here()
owner = None  # the worker's own thread
owning = threading.Lock()


def own():
    """The calling thread has no proxy: it is the worker's own, or becomes that, or may not call."""
    global owner
    with owning:
        if owner is None:
            owner = threading.get_ident()
            # The library's waits would keep Python from looking at Ctrl-C.
            if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
    if owner != threading.get_ident():
        raise RuntimeError("this thread is no process: start it by Parallel or Spawn; the first thread that uses millet is one, too")


def call(name, *args):
    """Calls csp_NAME, on the worker's thread."""
    function = functions["csp_" + name]
    if not here.proxy:
        if owner != threading.get_ident():
            own()
        return function.direct(*args)
    block = here.block
    block.function = function.address
    for i, arg in enumerate(args):
        block.args[i] = arg
    library.csp_proxy_call(here.proxy, run_call, here.place)
    return function.narrow(block.result)


def why():
    return ctypes.string_at(call("why")).decode(errors="replace")


RAISED = {
    POISONED: (ChannelPoisonException, "is poisoned"),
    RETIRED: (ChannelRetireException, "has retired"),
    LOST: (ChannelLostException, "is lost"),
    LATE: (TimeoutError, "nothing happened before the time-out"),
    NO_NAME: (NameException, "there is no such name"),
    TAKEN: (NameException, "the name is taken, or the end was unpacked before"),
    REFUSED: (NameException, "was refused"),
    TOO_LONG: (ValueError, "the message is longer than the buffer"),
}


def check(status, what):
    """Raises what the status means for `what`, unless it is OK."""
    if status == OK:
        return
    kind, text = RAISED[status]
    reason = why() if status in (LOST, NO_NAME, TAKEN, REFUSED) else ""
    raise kind(f"{what}: {reason or text}")


def text(words):
    """Words of the user as a C string; keep it while its place is in use."""
    data = words.encode() if isinstance(words, str) else bytes(words)
    if b"\0" in data:
        raise ValueError(f"a name has no zero bytes: {words!r}")
    return Buffer(len(data) + 1, data)


def deadline(seconds):
    """A csp_time; None: never."""
    if seconds is None:
        return NEVER
    if seconds <= 0:
        return AT_ONCE
    return min(call("now") + int(seconds * 1e9), NEVER)


def found(name, *args):
    """What a function stores at its address of a pointer, which is the second last argument: None."""
    pointer = ctypes.c_int64()
    words = [ctypes.addressof(pointer) if arg is None else arg for arg in args]
    return call(name, *words), pointer.value


def sleep(seconds):
    """Lets other processes run; time.sleep in the first thread stops them all."""
    call("sleep", deadline(seconds))


def node():
    """The calling program's number in its job."""
    return call("node")


def nodes():
    return call("nodes")


numbers = itertools.count(1)
