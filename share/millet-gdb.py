# SPDX-License-Identifier: BSD-3-Clause
"""Millet's ranks and processes in gdb. They are fibers: most of them are parked, and no thread shows them.

    (gdb) source millet-gdb.py
    (gdb) millet ranks            every rank, its state and what it waits for; grouped when many
    (gdb) millet ranks 3 17 5-9   some of them, one a line
    (gdb) millet bt 17            the stack of rank 17, whether it runs or is parked
    (gdb) millet procs            every process (millet/csp.h), as ranks; grouped when many
    (gdb) millet procs worker     those whose names have that word, one a line
    (gdb) millet bt p5            the stack of process 5; also by name: millet bt worker[3]
    (gdb) millet enter 17         make that stack the current one: up, down, info locals, print
    (gdb) millet leave            back to the thread's own stack
    (gdb) millet image 17         the program's names and variables as rank 17 has them, where ranks have their own
    (gdb) millet print 17 x + y   ... in an expression
    (gdb) millet gcore [FILE]     a core file with all ranks' stacks, of a live process

It works on a live process and on a core file alike, and runs nothing in the process, except for gcore. The
library's debug information must be there. It starts at the variable mlt_sched_list, the list of
schedulers (one for each worker); see src/fiber/fiber.h.

Stacks of ranks are left out of core files, since most of their address space is empty; when a rank crashes,
their live parts are put in. gdb's own `gcore` finds none of them: use `millet gcore`.

Where ranks of a process have their own globals, each but the first has its own copy of the program, at other
addresses (docs/internals/images.md). gdb knows the first one's. The script adds the symbols of the others
(add-symbol-file), so that breakpoints by name stop in every rank: of all if they are at most 64, otherwise of
the rank in which the program has stopped, or which is selected (bt, enter, image). `print` then shows the
variables of the rank whose stack is shown; `millet print N` those of any rank. The library tells where copies
lie by the variable mlt_image_sets (src/image/image_int.h), and calls mlt_image_made when there is a new one.
`set millet-images off` stops all that.

A frame unwinder shows a parked stack: it says that the parked fiber called the thread's innermost frame. So
frame 0 stays the thread's, and the parked rank's frames follow it.
"""

import gdb
import gdb.unwinder
import re
import struct

GROUP_ABOVE = 40  # ranks; more are shown in groups
MOST_IMAGES = 64  # copies of the program whose symbols are kept at the same time
STATES = ["new", "runnable", "running", "parked", "ended"]
KINDS = {
    "MLT_WAIT_RECV": "for a message from {peer}",
    "MLT_WAIT_SEND": "for {peer} to take a message",
    "MLT_WAIT_PROBE": "for a message from {peer} to look at",
    "MLT_WAIT_ALL": "for all of {n} operations",
    "MLT_WAIT_ANY": "for one of {n} operations",
    "MLT_WAIT_COLLECTIVE": "for the other ranks",
    "MLT_WAIT_OTHER": "for something inside the library",
    "MLT_WAIT_TIME": "for time to pass",
    "MLT_WAIT_FD": "for a descriptor",
}
# What a process waits for (src/csp/wait.h).
CSP_KINDS = {
    "MLT_CSP_READ": "to read {chan}",
    "MLT_CSP_WRITE": "to write {chan}",
    "MLT_CSP_ALT": "for one of {n} guards",
    "MLT_CSP_SYNC": "at a barrier",
    "MLT_CSP_PAR": "for {number} of its processes",
    "MLT_CSP_JOIN": "for a child",
    "MLT_CSP_SLEEP": "for time to pass",
    "MLT_CSP_FD": "for descriptor {number}",
    "MLT_CSP_RECEIVE": "for a message at a port",
    "MLT_CSP_SEND": "for room at a port",
    "MLT_CSP_NAME": "for a name",
    "MLT_CSP_REMOTE": "for an answer about {chan}",
    "MLT_CSP_GROUP": "for the other members of its group",
    "MLT_CSP_UPPER": "in a flow program",
}
MESSAGES = ("MLT_WAIT_RECV", "MLT_WAIT_SEND", "MLT_WAIT_PROBE")
# By which ranks are grouped, beside call and kind: the fields that a kind of wait has (src/fiber/wait.h).
KEYS = {kind: ("context", "tag", "bytes") for kind in MESSAGES}
KEYS.update({"MLT_WAIT_ALL": ("n",), "MLT_WAIT_ANY": ("n",), "MLT_WAIT_COLLECTIVE": ("context", "number")})
ANYONE, ANY_TAG = -1, -2

# What mlt_arch_switch leaves at the saved stack pointer (src/arch/*/switch.S): words to registers, and
# the size of the frame.
FRAMES = {
    "aarch64": (["x29", "pc"] + ["x%d" % i for i in range(19, 29)], 160, "sp"),
    "i386:x86-64": (["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"], 56, "rsp"),
}
FRAME_POINTER = {"aarch64": "x29", "i386:x86-64": "rbp"}


class MilletError(gdb.GdbError):
    pass


def variable(name, local=False):
    """A variable of any file: once symbols were added, gdb itself looks only into the file where the program stands."""
    for file in gdb.objfiles():
        symbol = file.lookup_global_symbol(name) or (local and file.lookup_static_symbol(name))
        if symbol:
            return symbol
    return None


def of_library(name):
    symbol = variable(name)
    if not symbol:
        raise gdb.error("there is no %s" % name)
    return symbol


TYPES = {}  # of the library, by name


def type_of_library(name):
    """Found once, while the program stands in the library or the first rank: gdb does not find it elsewhere."""
    if name not in TYPES:
        TYPES[name] = gdb.lookup_type(name).strip_typedefs()
    return TYPES[name]


class Layout:
    """Reads structures as bytes: a million ranks are too many for gdb.Value."""

    def __init__(self, name):
        self.type = type_of_library(name)
        self.size = self.type.sizeof
        self.fields = {}
        self._add(self.type, 0)

    def _add(self, kind, base):
        for field in kind.fields():
            if not hasattr(field, "bitpos"):
                continue
            at = base + field.bitpos // 8
            real = field.type.strip_typedefs()
            if not field.name or field.is_base_class:  # anonymous
                self._add(real, at)
            elif real.sizeof in (1, 2, 4, 8) and real.code != gdb.TYPE_CODE_STRUCT:
                signed = real.code == gdb.TYPE_CODE_INT and int(gdb.Value(-1).cast(real)) < 0
                letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[real.sizeof]
                self.fields[field.name] = (at, "<" + (letter.lower() if signed else letter))

    def get(self, data, name, base=0):
        at, form = self.fields[name]
        return struct.unpack_from(form, data, base + at)[0]


class Memory:
    """Reads of the process, by pages, kept for one command."""

    PAGE = 4096

    def __init__(self):
        self.pages = {}

    def read(self, at, size):
        first, last = at // self.PAGE, (at + size - 1) // self.PAGE
        if last - first > 4:
            return bytes(gdb.selected_inferior().read_memory(at, size))
        data = b""
        for page in range(first, last + 1):
            if page not in self.pages:
                self.pages[page] = bytes(
                    gdb.selected_inferior().read_memory(page * self.PAGE, self.PAGE))
            data += self.pages[page]
        start = at - first * self.PAGE
        return data[start:start + size]


class Rank:
    """One fiber of one scheduler: a rank, or a process of a pool, which has a name and a number."""

    __slots__ = ("sched", "fiber", "world", "state", "wait", "sp", "current", "name", "number")

    def title(self):
        return "rank %d" % self.world if self.name is None else "process %s (p%d)" % (self.name, self.number)


class World:
    """All ranks of the process, as they are now."""

    def __init__(self):
        try:
            head = of_library("mlt_sched_list").value()
            self.sched = Layout("struct mlt_sched")
            self.fiber = Layout("struct mlt_fiber")
            self.wait = Layout("struct mlt_wait")
        except gdb.error as why:
            raise MilletError("Millet is not in this program, or has no debug information: %s" % why)
        try:
            self.rank = Layout("struct mlt_rank")
        except gdb.error:
            self.rank = None
        try:
            self.pool, self.csp, self.proc = Layout("struct mlt_fiber_pool"), Layout("struct mlt_csp"), Layout("struct mlt_proc")
            self.team, self.csp_wait = Layout("struct mlt_proc_team_of"), Layout("struct mlt_csp_wait")
            self.chan, self.alt = Layout("struct csp_chan"), Layout("struct mlt_alt")
            self.csp_kinds = {f.enumval: f.name for f in type_of_library("mlt_csp_wait_kind").fields()}
        except gdb.error:
            self.csp = None  # a program without processes
        self.kinds = {f.enumval: f.name for f in type_of_library("mlt_wait_kind").fields()}
        self.memory = Memory()
        self.texts = {}
        self.scheds = []
        at = int(head)
        while at:
            data = self.memory.read(at, self.sched.size)
            self.scheds.append((at, data))
            at = self.sched.get(data, "next_sched")

    def home_at(self, sched):
        return sched + [f for f in self.sched.type.fields() if f.name == "home"][0].bitpos // 8

    def ranks(self):
        for at, data in self.scheds:
            current = self.sched.get(data, "current")
            if self.sched.get(data, "solo") or self.sched.get(data, "member"):
                home = self.home_at(at)
                yield self.make(at, home, self.memory.read(home, self.fiber.size), 0, current)
                continue
            fibers, count = self.sched.get(data, "fibers"), self.sched.get(data, "count")
            for first in range(0, count, 65536):
                some = min(65536, count - first)
                block = self.memory.read(fibers + first * self.fiber.size, some * self.fiber.size)
                for i in range(some):
                    base = i * self.fiber.size
                    where = fibers + (first + i) * self.fiber.size
                    yield self.make(at, where, block, base, current)

    def procs(self):
        """The processes of all workers; those of a worker in the order of its records."""
        for at, data in self.scheds:
            pool = self.sched.get(data, "pool") if self.csp else 0
            if not pool:
                continue
            pool = self.memory.read(pool, self.pool.size)
            fibers, count, owner = (self.pool.get(pool, name) for name in ("fibers", "count", "owner"))
            current = self.sched.get(data, "current")
            procs = self.csp.get(self.memory.read(owner, self.csp.size), "procs") if owner else 0
            for first in range(0, count, 65536):
                some = min(65536, count - first)
                block = self.memory.read(fibers + first * self.fiber.size, some * self.fiber.size)
                names = self.memory.read(procs + first * self.proc.size, some * self.proc.size) if procs else None
                for i in range(some):
                    if STATES[self.fiber.get(block, "state", i * self.fiber.size)] == "ended":
                        continue
                    where = fibers + (first + i) * self.fiber.size
                    proc = self.make(at, where, block, i * self.fiber.size, current)
                    proc.name, proc.number = self.name(names, i * self.proc.size) if names else ("?", first + i)
                    yield proc

    def name(self, data, base):
        """Name and number of a process."""
        name, number = self.proc.get(data, "name", base), self.proc.get(data, "number", base)
        if not name:
            return "%d" % number, number
        text, team = self.text(name), self.proc.get(data, "of", base)
        try:
            if team and self.team.get(self.memory.read(team, self.team.size), "vector"):
                text += "[%d]" % self.proc.get(data, "index", base)
        except gdb.MemoryError:
            pass
        return text, number

    def find_proc(self, text):
        """By its number ("p17") or its name."""
        number = int(text[1:]) if text[:1] == "p" and text[1:].isdigit() else None
        found = [p for p in self.procs() if (p.name == text if number is None else p.number == number)]
        if number is not None and not found:
            found = [p for p in self.procs() if p.name == text]
        if not found:
            raise MilletError("no process %s in this program" % text)
        if len(found) > 1:
            raise MilletError("%d processes are called %s; write their numbers: %s" % (
                len(found), text, " ".join("p%d" % p.number for p in found[:8])))
        return found[0]

    def chan_name(self, at):
        try:
            name = gdb.Value(at).cast(self.chan.type.pointer()).dereference()["name"].string()
            return "channel '%s'" % name if name else "channel %d" % self.chan.get(
                self.memory.read(at, self.chan.size), "number")
        except gdb.error:
            return "a channel"

    def csp_words(self, rank):
        """What a process waits for."""
        try:
            data = self.memory.read(self.wait.get(rank.wait, "csp"), self.csp_wait.size)
            kind = self.csp_kinds.get(self.csp_wait.get(data, "kind"), "")
            what, number = self.csp_wait.get(data, "what"), self.csp_wait.get(data, "number")
            words = CSP_KINDS.get(kind, "")
            n = self.alt.get(self.memory.read(what, self.alt.size), "count") if "{n}" in words else 0
            chan = self.chan_name(what) if "{chan}" in words else ""
            return ", waits " + words.format(chan=chan, number=number, n=n) if words else ""
        except (gdb.MemoryError, AttributeError):
            return ""

    def make(self, sched, where, data, base, current):
        rank = Rank()
        rank.name = rank.number = None
        rank.sched, rank.fiber = sched, where
        rank.state = self.fiber.get(data, "state", base)
        rank.sp = self.fiber.get(data, "sp", base)
        rank.current = where == current
        user = self.fiber.get(data, "user", base)
        rank.world = self.fiber.get(data, "id", base)
        if self.rank and user:
            try:
                rank.world = self.rank.get(self.memory.read(user, self.rank.size), "world")
            except gdb.MemoryError:
                pass
        wait = self.fiber.get(data, "wait", base)
        rank.wait = None
        if wait and STATES[rank.state] == "parked":
            try:
                rank.wait = self.memory.read(wait, self.wait.size)
            except gdb.MemoryError:
                pass
        return rank

    def find(self, world):
        for rank in self.ranks():
            if rank.world == world:
                return rank
        raise MilletError("no rank %d in this process" % world)

    def text(self, at):
        if at not in self.texts:
            try:
                self.texts[at] = gdb.Value(at).cast(
                    gdb.lookup_type("char").pointer()).string() if at else "?"
            except gdb.error:
                self.texts[at] = "?"
        return self.texts[at]

    def thread(self, rank):
        """The thread of the rank's worker, or None."""
        tid = [self.sched.get(d, "thread") for at, d in self.scheds if at == rank.sched][0]
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == tid or (thread.ptid[1] == 0 and thread.ptid[0] == tid):
                return thread
        return None

    def describe(self, rank, peer=None):
        """State and wait record in words; `peer` replaces the number of the peer."""
        state = STATES[rank.state] if rank.state < len(STATES) else "state %d" % rank.state
        if rank.wait is None:
            return state
        get = lambda name: self.wait.get(rank.wait, name)
        number = get("peer")
        if peer is None:
            peer = "any rank" if number == ANYONE else "rank %d" % number
        kind = self.kinds.get(get("kind"), "")
        words = "%s in %s" % (state, self.text(get("call")))
        what = KINDS.get(kind)
        if kind == "MLT_WAIT_CSP" and self.csp:
            words += self.csp_words(rank)
        if what:
            words += ", waits " + what.format(peer=peer, n=get("n"))
        if kind in MESSAGES:
            tag = get("tag")
            words += " (tag %s, communicator %d" % ("any" if tag == ANY_TAG else tag, get("context"))
            words += ", %d bytes)" % get("bytes") if kind != "MLT_WAIT_PROBE" else ")"
        return words

    def key(self, rank):
        """Ranks with the same key are one group; the peer is looked at later."""
        if rank.wait is None:
            return (rank.state,)
        kind = self.kinds.get(self.wait.get(rank.wait, "kind"), "")
        if kind == "MLT_WAIT_CSP":
            return (rank.state, self.text(self.wait.get(rank.wait, "call")))
        return (rank.state,) + tuple(self.wait.get(rank.wait, name)
                                     for name in ("call", "kind") + KEYS.get(kind, ("context",)))


def ranges(numbers, limit=12):
    """"0-4, 9, 12-20": short for many."""
    numbers = sorted(numbers)
    spans = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = ["%d" % a if a == b else "%d-%d" % (a, b) for a, b in spans[:limit]]
    if len(spans) > limit:
        words.append("and %d more ranges" % (len(spans) - limit))
    return ", ".join(words)


def parse_ranks(text):
    wanted = set()
    for word in text.replace(",", " ").split():
        first, _, last = word.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise MilletError("'%s' is no rank; write numbers or ranges: 3 17 5-9" % word)
        wanted.update(range(int(first), int(last or first) + 1))
    return wanted


class Millet(gdb.Command):
    """Ranks and processes of a Millet program: millet ranks, procs, bt N, enter N, leave, image N, print N, gcore."""

    def __init__(self):
        super().__init__("millet", gdb.COMMAND_STACK, prefix=True)


class Ranks(gdb.Command):
    """List ranks with their state and what they wait for: millet ranks [N | N-M]..."""

    def __init__(self):
        super().__init__("millet ranks", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        world = World()
        wanted = parse_ranks(text)
        ranks = [r for r in world.ranks() if not wanted or r.world in wanted]
        print("%d ranks in %d workers" % (len(ranks), len(world.scheds)))
        if len(ranks) <= GROUP_ABOVE or wanted:
            for rank in sorted(ranks, key=lambda r: r.world):
                print("  %6d  %s%s" % (rank.world, world.describe(rank), self.at(world, rank)))
            return
        groups = {}
        for rank in ranks:
            groups.setdefault(world.key(rank), []).append(rank)
        for group in sorted(groups.values(), key=lambda g: -len(g)):
            print("  %d %s" % (len(group), world.describe(group[0], self.peers(world, group))))
            print("      %s" % ranges(r.world for r in group))

    @staticmethod
    def at(world, rank):
        if not rank.current:
            return ""
        thread = world.thread(rank)
        return " (thread %d)" % thread.num if thread else " (on its worker's thread)"

    @staticmethod
    def peers(world, group):
        """What the peers of a group have in common."""
        if group[0].wait is None or world.kinds.get(world.wait.get(group[0].wait, "kind")) not in MESSAGES:
            return None
        pairs = [(r.world, world.wait.get(r.wait, "peer")) for r in group]
        if len({peer for _, peer in pairs}) == 1:
            return None
        steps = {peer - rank for rank, peer in pairs}
        if len(steps) == 1:
            return "the rank %+d from itself" % steps.pop()
        peers = {peer for _, peer in pairs}
        return "each another rank" if len(peers) == len(pairs) else "%d different ranks" % len(peers)


class Procs(gdb.Command):
    """List processes with their state and what they wait for: millet procs [PART OF A NAME]"""

    def __init__(self):
        super().__init__("millet procs", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        world = World()
        part = text.strip()
        procs = [p for p in world.procs() if part in p.name]
        print("%d processes in %d workers" % (len(procs), len(world.scheds)))
        if len(procs) <= GROUP_ABOVE or part:
            for proc in procs:
                print("  p%-6d %s: %s%s" % (proc.number, proc.name, world.describe(proc), Ranks.at(world, proc)))
            return
        groups = {}
        for proc in procs:
            kind = proc.name.partition("[")[0] if not proc.name.isdigit() else "process"
            groups.setdefault((kind,) + world.key(proc), []).append(proc)
        for key, group in sorted(groups.items(), key=lambda g: -len(g[1])):
            first = group[0]
            print("  %d %s: %s" % (len(group), key[0], world.describe(first)
                                   + (" (p%d; the others alike)" % first.number if len(group) > 1 else "")))
            print("      p %s" % ranges(p.number for p in group))


def word(value):
    return gdb.Value(value).cast(gdb.lookup_type("unsigned long"))


class FrameId:
    """What gdb wants of a frame: a stack address and a program counter."""

    def __init__(self, sp, pc):
        self.sp, self.pc = word(sp), word(int(pc))


class Parked(gdb.unwinder.Unwinder):
    """Puts a parked fiber's stack below the innermost frame of the selected thread."""

    def __init__(self, rank, memory):
        super().__init__("millet")
        self.rank = rank
        arch = gdb.selected_inferior().architecture().name()
        if arch not in FRAMES:
            raise MilletError("no frame layout for the processor '%s'" % arch)
        names, size, self.sp_name = FRAMES[arch]
        words = struct.unpack("<%dQ" % len(names), memory.read(rank.sp, 8 * len(names)))
        self.registers = dict(zip(names, words))
        self.registers[self.sp_name] = rank.sp + size
        self.frame_pointer = self.registers[FRAME_POINTER[arch]]
        self.pc = self.registers["pc" if "pc" in names else "rip"]

    def __call__(self, pending):
        if pending.level() != 0:
            return None

        # Below the parked stack pointer, so that frames seem to grow the right way.
        info = pending.create_unwind_info(FrameId(self.rank.sp, pending.read_register("pc")))
        for name, value in self.registers.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, word(value).cast(kind))
        return info

    def enter(self):
        gdb.unwinder.register_unwinder(None, self, replace=True)
        gdb.invalidate_cached_frames()

    def leave(self):
        if self in gdb.frame_unwinders:
            gdb.frame_unwinders.remove(self)
        gdb.invalidate_cached_frames()

    def walk(self, memory):
        """By frame pointers, if the unwinder finds nothing."""
        pc, frame, lines = self.pc, self.frame_pointer, []
        for number in range(200):
            symbol = gdb.execute("info symbol 0x%x" % pc, to_string=True).split(" in section")[0]
            lines.append("#%-3d 0x%016x in %s" % (number, pc, symbol.strip()))
            if not frame:
                break
            try:
                frame, pc = struct.unpack("<2Q", memory.read(frame, 16))
            except gdb.MemoryError:
                break
        return "\n".join(lines)


class Images:
    """The ranks' own copies of the program and its libraries."""

    added = {}  # (number of the image, load address) to an address of its code, for remove-symbol-file

    @classmethod
    def spans(cls, index):
        """Objects of an image: file, load address; where the original lies, and how far from it the image."""
        at = of_library("mlt_image_sets").value()
        while int(at):
            area, span = int(at["area"]), int(at["span"])
            for number in range(int(at["first"]), int(at["count"]) if area else 0):
                one = at["objects"][number]
                if one["own"]:
                    start, end = int(one["start"]), int(one["end"])
                    shift = area + (index - 1) * span + int(at["place"][number]) - start if index else 0
                    yield one["path"].string(), int(one["base"]) + shift, start, end, shift
            at = at["next"].cast(at.type)

    @classmethod
    def objects(cls, index):
        return [(path, base) for path, base, _, _, _ in cls.spans(index)]

    @classmethod
    def own_address(cls, index, address):
        """An address of the original, as the image has it."""
        for _, _, start, end, shift in cls.spans(index):
            if start <= address < end:
                return address + shift
        return address

    @staticmethod
    def code(path):
        """Where the code of a file begins, relative to its load address."""
        with open(path, "rb") as file:
            head = file.read(64)
            at, size, count = struct.unpack_from("<Q", head, 40)[0], *struct.unpack_from("<HH", head, 58)
            file.seek(at)
            table = file.read(size * count)
        for i in range(count):
            _, kind, flags, address = struct.unpack_from("<IIQQ", table, i * size)
            if kind == 1 and flags & 4:  # of the program, executable
                return address
        return 0

    @classmethod
    def show(cls, index):
        """Adds the symbols of an image. 0: the original's, which gdb has anyway."""
        for path, base in cls.objects(index) if index else ():
            if (index, base) in cls.added or not cls.is_mapped(base):
                continue
            if not Print.defined:
                Print.defined = True
                Print()
            if path == "/proc/self/exe":
                path = gdb.current_progspace().filename
            try:
                gdb.execute('add-symbol-file "%s" -o 0x%x' % (path, base), to_string=True)
                cls.added[index, base] = base + cls.code(path)
            except (gdb.error, OSError) as why:
                print("no symbols of %s: %s" % (path, why))

    @staticmethod
    def is_mapped(base):
        """False: a library that this rank has not loaded."""
        try:
            return bytes(gdb.selected_inferior().read_memory(base, 4)) == b"\x7fELF"
        except gdb.MemoryError:
            return False

    @classmethod
    def hide(cls, but=None):
        for (index, base), address in list(cls.added.items()):
            if index == but:
                continue
            try:
                gdb.execute("remove-symbol-file -a 0x%x" % address, to_string=True)
            except gdb.error:
                pass  # gdb has dropped it by itself: the program was started anew
            del cls.added[index, base]

    @staticmethod
    def exist():
        try:
            return bool(gdb.parameter("millet-images")) and int(of_library("mlt_image_sets").value())
        except (gdb.error, RuntimeError):
            return False

    @classmethod
    def few(cls):
        return int(of_library("mlt_image_sets").value()["copies"]) <= MOST_IMAGES

    @classmethod
    def select(cls, world, rank):
        """Images are numbered as the ranks of the process; the first rank has the original."""
        if not cls.exist():
            return 0
        index = rank.world - min(r.world for r in world.ranks())
        if not cls.few():
            cls.hide(but=index)
        cls.show(index)
        return index


class Made(gdb.Breakpoint):
    """An image was made: with its symbols, breakpoints by name stop in it, too."""

    def __init__(self):
        super().__init__("mlt_image_made", internal=True)
        self.silent = True

    @classmethod
    def begin(cls):
        """The library may not be loaded yet; gdb would ask, or complain."""
        pending = gdb.parameter("breakpoint pending")
        gdb.execute("set breakpoint pending on")
        gdb.execute("python Made()", to_string=True)
        gdb.execute("set breakpoint pending %s" % {True: "on", False: "off", None: "auto"}[pending])

    def stop(self):
        World()  # finds the library's types
        if not Images.exist() or not Images.few():
            self.enabled = False
        else:
            Images.show(int(gdb.parse_and_eval("index")))
        return False


def with_own(index, expression):
    """The expression, with an image's variables in the place of the original's."""

    def here(name):
        try:
            return gdb.lookup_symbol(name)[0]
        except gdb.error:  # there is no frame
            return None

    def own(match):
        name = match.group(0)
        symbol = here(name) or variable(name, local=True)
        if not symbol or symbol.addr_class != gdb.SYMBOL_LOC_STATIC or not symbol.is_variable:
            return name
        where = symbol.value().address
        address = Images.own_address(index, int(where))
        gdb.set_convenience_variable("mlt_" + name, word(address).cast(where.type))
        return "(*$mlt_%s)" % name

    return re.sub(r"(?<![\w$.>'/-])[A-Za-z_]\w*", own, expression)


class PrintOf(gdb.Command):
    """Print an expression with the variables of a rank's own copy of the program: millet print N EXPRESSION"""

    def __init__(self):
        super().__init__("millet print", gdb.COMMAND_DATA)

    def invoke(self, text, from_tty):
        number, _, expression = text.strip().partition(" ")
        if not number.isdigit() or not expression:
            raise MilletError("write a rank and an expression: millet print 17 counter")
        world = World()
        rank = world.find(int(number))
        index = Images.select(world, rank)
        if index and STATES[rank.state] == "new":
            raise MilletError("rank %d has no variables yet: it has not started" % rank.world)
        gdb.execute("call " + with_own(index, expression))


class Print(gdb.Command):
    """Print the value of an expression: print [/FORMAT] EXPRESSION

In the place of gdb's own command since a rank's own copy of the program was seen: a variable of the program
or its libraries is that of the rank whose stack is shown, which gdb does not know to tell from the first one's."""

    defined = False

    def __init__(self):
        super().__init__("print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, text, from_tty):
        world = World()
        rank = entered.rank if entered else rank_here(world)
        index = Images.select(world, rank) if rank else 0
        gdb.execute("call " + with_own(index, text))


class ShowImages(gdb.Parameter):
    """Whether symbols of a rank's own copy of the program are added when the rank is selected."""

    set_doc = show_doc = __doc__

    def __init__(self):
        super().__init__("millet-images", gdb.COMMAND_STACK, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self):
        if not self.value:
            Images.hide()
        return ""


def rank_here(world):
    """The rank that the selected thread runs, or None."""
    thread = gdb.selected_thread()
    for rank in world.ranks() if thread else ():
        its = world.thread(rank) if rank.current else None
        if its and its.num == thread.num:
            return rank
    return None


def stopped(_):
    """The program has stopped: in which rank?"""
    if not Images.exist():
        return
    try:
        world = World()
        rank = rank_here(world)
        if rank:
            Images.select(world, rank)
    except (MilletError, gdb.error):
        pass


class Image(gdb.Command):
    """Show the program's names and variables as a rank has them: millet image N"""

    def __init__(self):
        super().__init__("millet image", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        if not text.strip().isdigit():
            raise MilletError("which rank? write its number: millet image 17")
        if not Images.exist():
            raise MilletError("ranks of this process have no copies of the program")
        world = World()
        index = Images.select(world, world.find(int(text)))
        for path, base in Images.objects(index) if index else ():
            print("0x%016x  %s" % (base, path))


entered = None  # the Parked that is in force


def leave_parked(_=None):
    global entered
    if entered:
        entered.leave()
        entered = None


def parked_rank(text):
    """World, rank and unwinder (None if it runs) for the argument of a command."""
    text = text.strip()
    if not text:
        raise MilletError("which rank or process? write its number or name: millet bt 17, millet bt p5, millet bt worker[3]")
    leave_parked()
    world = World()
    rank = world.find(int(text)) if text.isdigit() else world.find_proc(text)
    Images.select(world, rank)
    if rank.current:
        thread = world.thread(rank)
        if thread and thread.num != gdb.selected_thread().num:
            thread.switch()
        return world, rank, None
    state = STATES[rank.state]
    if state in ("new", "ended"):
        raise MilletError("%s has no stack: it %s" %
                          (rank.title(), "has not started" if state == "new" else "has ended"))
    return world, rank, Parked(rank, world.memory)


class Backtrace(gdb.Command):
    """Show the stack of a rank or a process, running or parked: millet bt N, millet bt pN, millet bt NAME"""

    def __init__(self):
        super().__init__("millet bt", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        before = gdb.selected_thread()
        world, rank, parked = parked_rank(text)
        print("%s: %s" % (rank.title(), world.describe(rank)))
        if not parked:
            try:
                gdb.execute("bt")
            finally:
                before.switch()
            return
        parked.enter()
        try:
            lines = gdb.execute("bt", to_string=True).splitlines()
        except gdb.error:
            lines = []
        finally:
            parked.leave()
        # Frame 0 is the thread's. Continuation lines have no number.
        start = next((i for i, line in enumerate(lines) if line.startswith("#1 ")), None)
        if start is None:
            print(parked.walk(world.memory))
            return
        for line in lines[start:]:
            number, _, rest = line.partition(" ")
            shown = line
            if line.startswith("#") and number[1:].isdigit():
                shown = "#%-3d%s" % (int(number[1:]) - 1, rest.lstrip())
            print(shown)


class Enter(gdb.Command):
    """Make the stack of a parked rank or process the current one: millet enter N; then up, info locals, ..."""

    def __init__(self):
        super().__init__("millet enter", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        global entered
        world, rank, parked = parked_rank(text)
        if not parked:
            print("%s runs: its stack is the thread's" % rank.title())
            gdb.execute("frame 0")
            return
        parked.enter()
        entered = parked
        print("%s: %s. Frame 0 is still the thread's. `millet leave` ends this." %
              (rank.title(), world.describe(rank)))
        gdb.execute("frame 1")


class Leave(gdb.Command):
    """End `millet enter`."""

    def __init__(self):
        super().__init__("millet leave", gdb.COMMAND_STACK)

    def invoke(self, text, from_tty):
        leave_parked()
        gdb.execute("frame 0")


class Gcore(gdb.Command):
    """Write a core file with the stacks of all ranks: millet gcore [FILE]"""

    def __init__(self):
        super().__init__("millet gcore", gdb.COMMAND_STACK, gdb.COMPLETE_FILENAME)

    def invoke(self, text, from_tty):
        leave_parked()
        try:
            gdb.execute("call (void)mlt_fault_expose_stacks()")
        except gdb.error as error:
            # Some gdb's do not know all registers of newer processors, and then call nothing.
            raise gdb.GdbError("this gdb cannot call functions here, so the core file would lack the stacks: %s" % error)
        gdb.execute("gcore " + text)


gdb.events.cont.connect(leave_parked)
gdb.events.stop.connect(stopped)
Millet()
Ranks()
Procs()
Backtrace()
Enter()
Leave()
Gcore()
ShowImages()
Made.begin()
PrintOf()
Image()
