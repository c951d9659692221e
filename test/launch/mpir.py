# SPDX-License-Identifier: BSD-3-Clause
"""A debugger of parallel programs, as small as one can be: it finds the processes of a job by MPIR's names in mpirun, of a job that runs
(attach) or that it starts itself (Launched), and knows no debugging information, as debuggers of a stripped mpirun."""

import ctypes
import os
import platform
import signal
import struct

TRACEME, CONT, KILL, PEEKUSER, POKEUSER = 0, 7, 8, 3, 6
X86 = platform.machine() == "x86_64"
BREAK = b"\xcc" if X86 else struct.pack("<I", 0xD4200000)  # int3, brk #0
RIP = 16 * 8  # offset in struct user
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
    return result


def dynamic_symbols(path):
    """Names and addresses of an ELF file's dynamic symbols, relative to where it is loaded."""
    data = path.read_bytes()
    at, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
    found = {}
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        texts = sections[link][4]
        for place in range(offset, offset + length, entry):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, place)
            if section:
                found[data[texts + name:data.index(b"\0", texts + name)].decode()] = value
    return found


class Starter:
    """An mpirun, seen from outside."""

    def __init__(self, pid, program):
        self.pid, self.names = pid, dynamic_symbols(program)
        with open(f"/proc/{pid}/maps") as maps:
            self.base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(str(program)))

    def read(self, address, length):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(address)
            return memory.read(length)

    def write(self, address, data):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            memory.write(data)

    def where(self, name):
        return self.base + self.names[name]

    def number(self, name):
        return struct.unpack("<i", self.read(self.where(name), 4))[0]

    def text(self, address):
        return self.read(address, 256).split(b"\0")[0].decode() if address else None

    def table(self):
        """(host, program, pid) of each process."""
        at, = struct.unpack("<Q", self.read(self.where("MPIR_proctable"), 8))
        rows = [struct.unpack("<QQi4x", self.read(at + 24 * i, 24)) for i in range(self.number("MPIR_proctable_size"))]
        return [(self.text(host), self.text(program), pid) for host, program, pid in rows]


def is_traced():
    """For preexec_fn: the caller traces what starts."""
    ptrace(TRACEME, 0)


class Launched(Starter):
    """A job that this debugger has started (with is_traced), stopped at MPIR_Breakpoint."""

    def __init__(self, job, program):
        os.waitpid(job.pid, 0)  # at its exec
        super().__init__(job.pid, program)
        self.write(self.where("MPIR_being_debugged"), struct.pack("<i", 1))
        at = self.where("MPIR_Breakpoint")
        kept = self.read(at, len(BREAK))
        self.write(at, BREAK)
        self.go_on_until(signal.SIGTRAP)
        self.write(at, kept)
        if X86:  # the processor stands behind the instruction
            ptrace(POKEUSER, self.pid, RIP, at)

    def go_on_until(self, wanted=None):
        """Runs until the signal stops it; without one, until its end: the exit code."""
        passed = 0
        while True:
            ptrace(CONT, self.pid, 0, passed)
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                if wanted:
                    raise OSError(f"mpirun ended with {status} before it stopped")
                return os.waitstatus_to_exitcode(status)
            passed = os.WSTOPSIG(status)
            if passed == wanted:
                return None
