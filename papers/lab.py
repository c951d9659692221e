# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment works with: programs that are built once, runs, sides measured in turns, simulations.

An experiment is a function with the decorator @experiment. It gets a Lab, and returns a Result, which the page
(page.py) and papers.json show. Whatever it cannot run raises Missing, whatever goes wrong raises Failure; both
become a verdict with that sentence."""

import dataclasses
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
MACHINES = HERE / "machines"
CORES = sorted(os.sched_getaffinity(0))
BUSY = 0.15  # the part of a core that others took while nothing but the spin loop ran

CONFIRMED, REFUTED, NOT_JUDGED = "confirmed", "not confirmed", "not judged"

# What the five texts are called, in the page's order.
PAPERS = {
    "fine": ("An Integrated Fine-Grain Runtime System for MPI", "Kamal, Wagner"),
    "goal": ("Group Operation Assembly Language", "Hoefler, Siebert, Lumsdaine, 2009"),
    "aspen": ("Advanced Collective Communication in Aspen", "Ali, Pai, Midkiff, 2008"),
    "csp": ("Process-Oriented Collective Operations", "Bjørndalen, Sampson, 2008"),
    "cpp": ("MPI as a C++ Library", "Bhagwat, Bhat"),
}


class Missing(Exception):
    """This machine lacks what the experiment needs: it is not judged."""


class Failure(Exception):
    """A command failed: the claim is not confirmed."""


# ---- results


@dataclasses.dataclass
class Plot:
    """A picture in the paper's axes. A series is a name and points (x, y) or (x, y, low, high); one that is `paper` is
    what the paper's text or figure says, drawn with dashes. `bars` draws a group of bars for each x."""
    title: str
    x: str
    y: str
    series: dict
    paper: tuple = ()
    log_x: bool = False
    log_y: bool = False
    bars: bool = False


@dataclasses.dataclass
class Table:
    head: list
    rows: list
    title: str = ""


@dataclasses.dataclass
class Result:
    verdict: str
    why: str
    ran: str = ""  # programs, sizes, baseline
    simulated: str = ""  # what, on which description of the paper's machine
    plots: list = dataclasses.field(default_factory=list)
    tables: list = dataclasses.field(default_factory=list)
    timed: bool = True  # a busy machine can change the verdict


def judge(true, why, **more):
    return Result(CONFIRMED if true else REFUTED, why, **more)


@dataclasses.dataclass(frozen=True)
class Experiment:
    id: str
    paper: str
    where: str  # in the paper: "Figure 6"
    claim: str
    numbers: str  # the paper's own, or what its plot shows
    run: object


EXPERIMENTS = {}


def experiment(id, paper, where, claim, numbers):
    def add(function):
        assert id not in EXPERIMENTS, id
        EXPERIMENTS[id] = Experiment(id, paper, where, claim, numbers, function)
        return function
    return add


# ---- samples


@dataclasses.dataclass(frozen=True)
class Sample:
    """One value, measured several times."""
    values: tuple

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)

    @property
    def spread(self):
        return (self.high - self.low) / self.median if self.median else 0.0

    def point(self, x, scale=1.0):
        return (x, self.median * scale, self.low * scale, self.high * scale)

    def __str__(self):
        return f"{short(self.median)} ({short(self.low)} to {short(self.high)})"


def short(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def examples(lab, folder):
    """A folder of examples: of the source, or of an installed tree."""
    for root in (HERE.parent / "examples", HERE.parent.parent / "doc/millet/examples"):
        if (root / folder).is_dir():
            return root / folder
    raise Missing("the examples are not installed")


def bytes_text(count):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{short(count / size)} {unit}"
    return f"{short(count)} B"


def values(output):
    """The `key value` lines of what a program printed."""
    found = {}
    for line in output.splitlines():
        match = re.fullmatch(r"(\S+) ([-+]?\d[\d.]*(?:e[-+]?\d+)?)(?: \S+)?", line.strip(), re.I)
        if match:
            found[match.group(1)] = float(match.group(2))
    return found


def wanted(pattern, output):
    """What the pattern's group finds in a program's output."""
    match = re.search(pattern, output, re.M)
    if not match:
        raise Failure(f"a program did not print what it should: {pattern}")
    return match.group(1)


# ---- the laboratory


class Lab:
    def __init__(self, bin, folder, quick, say):
        self.bin, self.folder, self.quick = pathlib.Path(bin), pathlib.Path(folder), quick
        self.say = say  # what the progress line adds to the experiment's name
        self.commands = []
        self.built = self.folder / "programs"
        self.built.mkdir(parents=True, exist_ok=True)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(exist_ok=True)

    def pick(self, whole, quick):
        return quick if self.quick else whole

    # -- commands

    def run(self, *words, limit=120, env=(), cwd=None, fails=False, note=True):
        """Runs a command, and returns its output, both streams. With `fails`: (exit code, output)."""
        words = [str(word) for word in words]
        if note:
            self.note(words, env)
        whole = {**os.environ, **dict(env)}
        whole.update({name: "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")})
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", env=whole, cwd=cwd, start_new_session=True)
        try:
            output, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failure(f"`{self.text(words)}` did not end within {limit} s") from None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        if fails:
            return child.returncode, output
        if child.returncode != 0:
            last = output.strip().splitlines()[-1:] or ["it printed nothing"]
            raise Failure(f"`{self.text(words)}` failed with exit code {child.returncode}: {last[0]}")
        return output

    def text(self, words):
        """A command as a user would type it."""
        short = [str(word).replace(f"{self.bin}/", "").replace(f"{self.built}/", "").replace(f"{self.scratch}/", "")
                 .replace(f"{HERE}/", "papers/") for word in words]
        return shlex.join(short)

    def note(self, words, env=()):
        line = " ".join([*(f"{name}={value}" for name, value in dict(env).items()), self.text(words)])
        if line not in self.commands:
            self.commands.append(line)

    def mpirun(self, *words, **more):
        return self.run(self.bin / "mpirun", *words, **more)

    def millet(self, *words, **more):
        return self.run(self.bin / "millet", *words, **more)

    # -- the peer: Open MPI as Debian packages it

    def peer(self):
        """(compiler, launcher); raises Missing."""
        found = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")
        if not all(found):
            raise Missing("Open MPI (openmpi-bin, libopenmpi-dev) is not installed")
        return found

    def openmpi(self, program, ranks, *words, mca=(), **more):
        options = [word for name, value in dict(mca).items() for word in ("--mca", name, value)]
        return self.run(self.peer()[1], "--oversubscribe", "--bind-to", "none", *options, "-n", ranks, program, *words, **more)

    # -- programs

    def build(self, *sources, mpi="millet", name=None, flags=("-O2",), libs=("-lm",)):
        """Compiles programs/SOURCE... with that MPI; kept until a source changes."""
        compiler = self.bin / "mpicc" if mpi == "millet" else self.peer()[0]
        files = [PROGRAMS / source for source in sources]
        made = self.built / f"{name or pathlib.Path(sources[0]).stem}{'-few' if '-DFEW' in flags else ''}-{mpi}"
        words = [compiler, *flags, *files, "-o", made, *libs]
        return self._made(made, files, words)

    def flow(self, flow, *modules, name=None, flags=("-O2",)):
        """Builds programs/FLOW with its modules by `millet flow build`."""
        files = [PROGRAMS / flow, *(PROGRAMS / module for module in modules)]
        made = self.built / (name or f"{files[0].stem}-flow")
        return self._made(made, files, [self.bin / "millet", "flow", "build", *files, "-o", made, *flags])

    def _made(self, made, files, words):
        for file in files:
            if not file.exists():
                raise Failure(f"{file.name} is missing, which belongs to this command")
        read = [*files, *sorted(PROGRAMS.glob("*.h"))]
        text = "".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in read) + repr([str(word) for word in words])
        mark = made.with_name(made.name + ".made")
        if not (made.exists() and mark.exists() and mark.read_text() == text):
            self.run(*words, limit=300, cwd=self.scratch)
            mark.write_text(text)
        else:
            self.note(words)
        return made

    # -- measuring

    def sides(self, sides, rounds=5):
        """Runs the sides in turns, round after round. A side is a function that returns {key: value}, or a value.
        Returns {side: {key: Sample}}, or {side: Sample}. The order turns around each round, so that what grows
        meets both alike."""
        rounds = 1 if self.quick else rounds
        found = {side: [] for side in sides}
        for turn in range(rounds):
            for side in list(sides)[::1 if turn % 2 == 0 else -1]:
                self.say(f"{side}, round {turn + 1} of {rounds}")
                found[side].append(sides[side]())
        return {side: self.samples(got) for side, got in found.items()}

    @staticmethod
    def samples(got):
        if not isinstance(got[0], dict):
            return Sample(tuple(got))
        keys = [key for key in got[0] if all(key in each for each in got)]
        return {key: Sample(tuple(each[key] for each in got)) for key in keys}

    def timed(self, *words, **more):
        """Seconds that the whole command takes."""
        begin = time.perf_counter()
        self.run(*words, **more)
        return time.perf_counter() - begin


def total_ns(report):
    """Of `millet goal sim`."""
    match = re.search(r"^  total +([\d,.]+) ns", report, re.M)
    if not match:
        raise Failure("millet goal sim does not say how long the program takes")
    return float(match.group(1).replace(",", ""))


def sim(lab, machine, *words):
    return total_ns(lab.millet("goal", "sim", "--machine", MACHINES / f"{machine}.machine", *words))


AGENT = """#!/bin/sh
# HOST COMMAND...: runs it in that host's namespaces
while case $1 in -*) true ;; *) false ;; esac; do shift; done
case $1 in *.1|*-a) net={name}-a ;; *) net={name}-b ;; esac
shift
exec ip netns exec $net unshare --uts sh -c "hostname $net; exec sh -c '$*'"
"""


class Network:
    """Two hosts of this machine, each with a network of its own, and a line of 1 Gbit/s between them. Where the system does not let
    us have that, two hosts that talk through sockets as fast as they go."""

    def __init__(self, lab):
        self.lab, self.name = lab, f"papers-{os.getpid()}"
        self.limited = os.geteuid() == 0 and all(shutil.which(tool) for tool in ("ip", "tc", "unshare")) and self._make()
        self.what = "through a line of 1 Gbit/s between two network namespaces" if self.limited else "through sockets of this machine, which are not limited to 1 Gbit/s"

    def _make(self):
        a, b = f"{self.name}-a", f"{self.name}-b"
        commands = [f"ip netns add {a}", f"ip netns add {b}", f"ip link add line netns {a} type veth peer name line netns {b}"]
        for net, address in ((a, "10.219.0.1/24"), (b, "10.219.0.2/24")):
            commands += [f"ip -n {net} addr add {address} dev line", f"ip -n {net} link set line up", f"ip -n {net} link set lo up",
                         f"ip netns exec {net} tc qdisc add dev line root tbf rate 1gbit burst 128kb latency 50ms"]
        made = all(subprocess.run(command.split(), stdin=subprocess.DEVNULL, capture_output=True).returncode == 0 for command in commands)
        if not made:
            self.end()
        self.agent = self.lab.scratch / "agent"
        self.agent.write_text(AGENT.format(name=self.name))
        self.agent.chmod(0o755)
        return made

    def mpirun(self, *words):
        if not self.limited:
            return self.lab.mpirun("-q", "--rsh", "local", "-H", "a,b", *words)
        return self.lab.run("ip", "netns", "exec", f"{self.name}-a", self.lab.bin / "mpirun", "-q", "--rsh", self.agent, "-H", "10.219.0.1,10.219.0.2", *words)

    def openmpi(self, program, *words):
        if not self.limited:
            return self.lab.openmpi(program, 2, *words, mca={"btl": "tcp,self", "btl_tcp_if_include": "lo"})
        line = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "btl_tcp_if_include": "10.219.0.0/24", "oob_tcp_if_include": "10.219.0.0/24"}
        options = [word for name, value in line.items() for word in ("--mca", name, value)]
        command = shlex.join(str(word) for word in (self.lab.peer()[1], "--bind-to", "none", *options, "-H", "10.219.0.1,10.219.0.2", "-n", 2, program, *words))
        return self.lab.run("ip", "netns", "exec", f"{self.name}-a", "unshare", "--uts", "sh", "-c", f"hostname {self.name}-a; exec {command}")

    def end(self):
        for side in "ab":
            subprocess.run(["ip", "netns", "del", f"{self.name}-{side}"], capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.limited:
            self.end()


FLAT = "barrier=dissemination:flat,allreduce=recursive_doubling:flat"


def recorded(lab, counts, program, *words, turns=3):
    """{ranks: GOAL program} of runs as fibers of one core. Of several recordings each piece of computing counts as often as it was least disturbed."""
    found = {}
    for n in counts:
        made = []
        for turn in range(lab.pick(turns, 1)):
            lab.say(f"recording {n} ranks")
            made.append(lab.scratch / f"{program.stem}{n}-{turn}.goal")
            lab.mpirun("-q", "-n", 1, "-nfg", n, "--force", FLAT, "--record", made[-1], program, *words, limit=200, note=turn == 0)
        found[n] = made[0]
        least(made)
    return found


def least(files):
    """The first program gets the shortest time of each piece of computing, from those of the same shape."""
    texts = [file.read_text().split("\n") for file in files]
    shapes = [[re.sub(r"calc \d+", "calc", line) for line in lines] for lines in texts]
    same = [lines for lines, shape in zip(texts, shapes) if shape == shapes[0]]
    with files[0].open("w") as out:
        for each in zip(*same):
            times = [int(match.group(1)) for line in each if (match := re.search(r"calc (\d+)", line))]
            out.write((re.sub(r"calc \d+", f"calc {min(times)}", each[0]) if times else each[0]) + "\n")


def spin(seconds):
    """The part of a core that a loop on each core did not get for that long: others took it."""
    def burn():
        wall, used = time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < seconds:
            pass
        return 1 - (time.process_time() - used) / (time.perf_counter() - wall)
    ends = []
    for core in CORES[1:]:
        read, write = os.pipe()
        if os.fork() == 0:
            os.sched_setaffinity(0, {core})
            os.write(write, f"{burn():.3f}".encode())
            os._exit(0)
        os.close(write)
        ends.append(read)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORES[0]})
    lost = [burn()]
    os.sched_setaffinity(0, before)
    for read in ends:
        with os.fdopen(read) as end:
            lost.append(float(end.read()))
        os.wait()
    return max(lost)
