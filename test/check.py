#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every test, stage by stage: a line a stage, details in build/check-logs/, the sum in the last line.

A stage that cannot run here, or a part of one, is listed as `skipped: why` and is never counted as passed."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "check-logs"
ENGINE = ["base", "os", "fiber", "boot", "net", "type", "wire", "p2p"]
SEEDS = 40
FORMAT_VERSION = 14  # clang-format's layout differs between major versions: Debian 12's decides
# What measures memory, and what dies by a signal that a sanitizer turns into a report of its own, is left out there.
NOT_SANITIZED = r"^(?!flood memory|many_comm crowd|goal_many crowd|\w+_leak|exit_code (crash|overflow|assert|large-frame)|group_share |moves_lists|coll_.* x(7|17|18|64)\])"
# What TSan sees with workers as threads: programs in which threads share something, each way of sharing once or twice. What a rank does with its own
# objects, arguments, errors, ways to end, and one collective after the other, which are all the same messages, are ASan's. _Fork tells nobody, TSan
# neither: a child may find its locks held.
SHARED = (r"^(traffic|sendrecv|ordering|many|flood(?! memory)|probe|progress|synchronous|cancel_send|persistent|barrier|children(?! _Fork)|"
          r"comm_(dup|split|inter|disconnect)|win_(random|lock|sync)|part_basic|many_comm(?! crowd)|million_comm|session_many|inter_all|reduce_to_all|"
          r"coll_(engine_\w+|nonblocking|persistent|change|paths)|goal_(random|many(?! crowd))|csp_(net(?!_end)\w*|port|io\w*|group_mpi|mpi)|flow_(link|random)|tool_(counts|events)) ")
# What runs on several hosts: each protocol between processes, each collective on 4 ranks or 8, ends and reports.
ON_HOSTS = (r"^(env|traffic|sendrecv|send_modes|ordering|many|flood|probe|synchronous|cancel_send|persistent|bsend|self|truncate|barrier|exit_code|fatal|deadlock|kinds|"
            r"comm_(dup|split|inter|type|disconnect)|cart|reorder|hardware|inter_all|reduce_to_all|threads_(mix|stuck)|tool_(counts|events)|type_send|publish|"
            r"coll_(bcast|gather|scatter|allgather|alltoall|reduce|reduce_scatter|scan|barrier|nonblocking|same_bits|small)|"
            r"goal_(basic|random|deadlock|offload)|csp_(net\w*|port|mpi|io|exit)|flow_(link|random|hang|fault|differ)|"
            r"win_(random|lock|request|dynamic|errors|deadlock)|part_random|file_loose) (?!.* x(1|7|64|1000)\])")
# Programs are compiled without optimisation there: that takes most of a stage's time, and the library is what is looked at.
SANITIZED_FLAGS = "--cflags=-O0 -g1"
MANY_RANKS = r"^(?!.* x1\])"  # one rank is the same in all modes of one worker: `proc` has them
# A compiler cache, if there is one, knows a file again in another tree or clone, and does not preprocess each file once more to look for it.
CACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
MODEL = "wire_sleep_model"  # one thread that computes, for some seconds: the same in every build
SUM = re.compile(r"^(\d+) passed, (\d+) failed", re.M)


running = set()  # commands of all stages that run now
interrupted = threading.Event()


class Stage:
    """One line of output: counts what passed, failed and was skipped, and logs every command."""

    begun = set()

    def __init__(self, name, modest=False):
        self.name, self.passed, self.failed = name, 0, 0
        self.modest = modest  # lets others go first
        self.skipped, self.faults = [], []
        self.busy = 0.0  # seconds of processors that its commands took
        self.log, self.parts = LOGS / f"{name}.log", []
        if name not in Stage.begun:  # the thread that builds its tree has one of its own
            Stage.begun.add(name)
            self.log.write_text("")

    def skip(self, why):
        self.skipped.append(why)

    def fault(self, what, count=1):
        self.failed += count
        self.faults.append(what)

    def command(self, command, limit, env=None):
        """Runs a command with its output in the log. (exit status, output); status None when its time was over."""
        if interrupted.is_set():  # the thread of another stage: it ends
            raise KeyboardInterrupt
        command = [*(["nice", "-n", "5"] if self.modest else []), *map(str, command)]
        with open(self.log, "a") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            start = log.tell()
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **(env or {})}, start_new_session=True)
            running.add(process)
            try:
                status, seconds = wait_for(process, limit)
                self.busy += seconds
            finally:  # also on Ctrl-C: a stage leaves no process behind
                end_group(process)
                running.discard(process)
        with open(self.log, errors="replace") as log:
            log.seek(start)
            return status, log.read()

    def step(self, what, command, limit=600, env=None):
        """A command that must succeed but is no test of its own. False, and a fault, if it fails."""
        status, output = self.command(command, limit, env)
        if status == 0:
            return True
        self.fault(f"{what}: {'no end after %d s' % limit if status is None else tail(output)}")
        return False

    def runner(self, command, limit, env=None):
        """A test runner: its last line is `N passed, N failed`, and `skipped: why` lines are its own."""
        status, output = self.command(command, limit, env)
        sums = SUM.findall(output)
        for line in output.splitlines():
            match = re.match(r"\s*(?:skipped|SKIPPED):?\s+(.*)", line)
            if match:
                self.skip(match.group(1))
        if not sums or status is None:
            why = f"no end after {limit} s" if status is None else f"ended with {status} without its sum: {tail(output)}"
            self.fault(f"{pathlib.Path(command[0]).name}: {why}")
            return
        passed, failed = map(int, sums[-1])
        self.passed += passed
        if failed or status != 0:
            bad = [line for line in output.splitlines() if re.match(r"\s*(FAIL|FAILED|failed|not ok)\b", line)]
            self.fault("\n".join(bad[:12]) or tail(output), max(failed, 1))

    def ctest(self, build, labels=None, limit=1200, env=None, prefix=(), without="$^", only="."):
        """CTest's tests with these labels (None: all except source tests) whose names match only, except those that match without."""
        chosen = ["-LE", "^source$"] if labels is None else ["-L", f"^({'|'.join(labels)})$"]
        command = [*prefix, "ctest", "--test-dir", build, "--output-on-failure", "-j", str(os.cpu_count()), *chosen, "-R", only, "-E", without]
        status, output = self.command(command, limit, env)
        lines = re.findall(r"Test +#\d+: (\S+) \.*(.*?) +[\d.]+ sec", output)
        for name, result in lines:
            if "Skipped" in result:
                self.skip(f"{name}: it says that this machine cannot run it")
            elif "Passed" in result:
                self.passed += 1
            else:
                self.fault(f"{name}:{result.replace('*', ' ')}")
        if status is None:
            self.fault(f"ctest: no end after {limit} s")
        elif not lines:
            self.skip("there are no such tests") if "No tests were found" in output else self.fault(tail(output))
        elif status != 0 and not self.failed:
            self.fault(tail(output))


def wait_for(process, limit):
    """A process's exit status, None if it does not end in time; and the seconds of processors that it and its children took."""
    began = time.monotonic()
    while patience.left(began, limit) > 0:
        try:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        except ChildProcessError:  # Ctrl-C: the main thread has ended it
            return None, 0.0
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(0.02)
    return None, 0.0


def end_group(process):
    """Ends a command and all that it started: politely first, for a runner ends its own jobs then."""
    for what in (signal.SIGINT, signal.SIGKILL):
        try:
            if process.poll() is None or what == signal.SIGKILL:
                os.killpg(process.pid, what)
            process.wait(timeout=10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def tail(output, lines=8):
    """The end of a failed command's output, or what a compiler said was wrong."""
    said = output.strip().splitlines()
    wrong = [line for line in said if re.search(r"\berror: |undefined reference|CMake Error", line)]
    return "\n".join(wrong[:lines] or said[-lines:])


def preset(stage, name, targets=(), options=(), prefix=()):
    """Configures and builds a preset; False if that failed."""
    jobs = ["--", "-k", "0"]
    if not stage.step(f"configure {name}", [*prefix, "cmake", "--preset", name, *options], 600):
        return False
    folder = {"release": "build", "cross-x86_64": "build-cross", "cross-aarch64": "build-cross"}.get(name, f"build-{name}")
    chosen = ["--target", *targets] if targets else []
    return stage.step(f"build {name}", [*prefix, "cmake", "--build", folder, *chosen, *jobs], 1200)


class Trees:
    """The build trees of later stages. One thread builds them, one after the other, with the cycles that the tests of earlier stages
    leave over: many tests wait, and a compiler at the lowest priority takes nothing from those that do not."""

    def __init__(self):
        self.pool, self.futures, self.busy = concurrent.futures.ThreadPoolExecutor(1), {}, 0.0

    def start(self, stage_name):
        stage = Stage(stage_name)
        self.futures[stage_name] = self.pool.submit(self.build, stage)

    def build(self, stage):
        if stage.name == "clang":  # it needs no tree: what the release build compiles is read, and nothing made of it
            for option in (("--self-test",), ("--build", BUILD)):
                stage.runner(["nice", "-n", "19", ROOT / "test/clang_test.py", *option], 1200)
            return stage, not stage.failed
        name, targets, options = TREES[stage.name]()
        return stage, preset(stage, name, targets, options, ["nice", "-n", "19"])

    def wait(self, stage):
        """True if the stage's tree is built; else the stage has the build's faults."""
        if stage.name not in self.futures:
            self.start(stage.name)
        builder, built = self.futures[stage.name].result()
        self.busy += builder.busy
        stage.passed += builder.passed
        stage.failed += builder.failed
        stage.faults += builder.faults
        return built

    def end(self, wait=True):
        self.pool.shutdown(wait=wait, cancel_futures=True)


trees = Trees()
lane = concurrent.futures.ThreadPoolExecutor(1)  # for the stages that run beside others


def no_address_randomisation():
    """Sanitizers of older compilers fail where the kernel spreads addresses widely; without randomisation they do not."""
    tool = shutil.which("setarch")
    if tool and subprocess.run([tool, "-R", "true"], capture_output=True).returncode == 0:
        return [tool, "-R"]
    return []


def script(stage, path, *arguments, limit=1200, env=None):
    """A test runner of the repository, skipped if it is not there (yet)."""
    if not (ROOT / path).exists():
        stage.skip(f"{path} does not exist")
        return
    stage.runner([ROOT / path, *arguments], limit, env)


def together(stage, *scripts):
    """Test runners that mostly wait, three at a time: each is a script with its arguments, and has a log of its own."""
    def run(number, words):
        part = Stage(f"{stage.name}-{number}-{pathlib.Path(words[0]).parent.name}")
        script(part, *words)
        return part
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for part in pool.map(run, range(len(scripts)), scripts):
            stage.passed += part.passed
            stage.failed += part.failed
            stage.busy += part.busy
            stage.skipped += part.skipped
            stage.faults += part.faults
            stage.parts += [part.log] if part.failed else []


# ---- the stages, in the order in which they run

def stage_build(stage, quick):
    """the release build, warnings are errors"""
    if preset(stage, "release"):
        stage.passed += 1


def stage_source(stage, quick):
    """includes go down the layers only, every header compiles alone, files that are named exist; and these tests can fail"""
    for name in ("layers_test.py", "names_test.py", "headers_test.py", "mentions_test.py"):
        script(stage, f"test/{name}", "--build", BUILD, limit=120)
        script(stage, f"test/{name}", "--self-test", limit=120)
    script(stage, "test/release_test.py", limit=60)
    for name in ("coverage", "mutate"):
        script(stage, f"test/{name}/self", limit=120)
    judge(stage, "share/containers/Dockerfile", wrong_image(ROOT / "share/containers/Dockerfile", ROOT / "debian/control"))


def wrong_image(image, control):
    """Packages that Debian's package needs to be built, and the image that builds it does not install."""
    needs = re.search(r"^Build-Depends: (.*?)^\S", control.read_text(), re.M | re.S)[1]
    needs = {re.sub(r"-compat$|:any$", "", need.split()[0]) for need in needs.split(",")}
    lacking = needs - set(re.search(r"apt-get install .*", image.read_text())[0].split())
    return [f"does not install {name}" for name in sorted(lacking)]


def stage_format(stage, quick):
    """clang-format"""
    tool = shutil.which(f"clang-format-{FORMAT_VERSION}") or shutil.which("clang-format")
    if not tool:
        return stage.skip("there is no clang-format")
    said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"version (\d+)", said)
    if not found or int(found.group(1)) != FORMAT_VERSION:
        return stage.skip(f"the layout is that of clang-format {FORMAT_VERSION}; this one is {said.strip()}")
    files = sorted(str(path.relative_to(ROOT)) for folder in ("src", "include", "test", "bench", "examples")
                   for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h", ".cc"))
    status, output = stage.command([tool, "--dry-run", "--Werror", *files], 120)
    wrong = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error:", output, re.M)) & set(files))
    if wrong or status != 0:
        stage.fault(f"clang-format -i would change {' '.join(wrong)}" if wrong else tail(output), max(len(wrong), 1))
    stage.passed += len(files) - len(wrong)


def stage_docs(stage, quick):
    """README fits a screen or two, links lead somewhere, the index has every page once, the guide's commands print what stands there"""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md"),
                        *(ROOT / "examples").rglob("*.md")]):
        judge(stage, path.relative_to(ROOT), wrong_links(path))
    judge(stage, "README.md", wrong_size(ROOT / "README.md"))
    judge(stage, "docs/README.md", wrong_index(ROOT / "docs"))
    judge(stage, "docs/reference/mpi-functions.md", wrong_coverage(ROOT / "docs/reference/mpi-functions.md"))
    script(stage, "test/docs/run", "--build", BUILD, limit=300)


def judge(stage, name, wrong):
    if wrong:
        stage.fault(f"{name}: {'; '.join(wrong)}")
    else:
        stage.passed += 1


def anchors(text):
    """Those of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


def wrong_links(path):
    """Links of a page that lead nowhere, and places that were left to fill in."""
    text, wrong = path.read_text(), []
    for link in re.findall(r"\]\(([^)]+)\)", text):
        name, _, anchor = link.partition("#")
        to = path.parent / name if name else path
        if "://" in link:
            continue
        if not to.exists():
            wrong.append(f"{link} does not exist")
        elif anchor and to.suffix == ".md" and anchor not in anchors(to.read_text()):
            wrong.append(f"{link}: there is no such heading")
    marks = len(re.findall(r"@@[^@\n]*@@", text))
    return wrong + [f"{marks} @@places@@ are left to fill in"] * (marks > 0)


def wrong_size(path, most_lines=100, most_columns=120):
    lines = path.read_text().splitlines()
    wrong = [f"line {i} has {len(line)} columns, but {most_columns} are allowed" for i, line in enumerate(lines, 1) if len(line) > most_columns]
    return wrong + [f"it has {len(lines)} lines, but {most_lines} are allowed"] * (len(lines) > most_lines)


def wrong_index(docs):
    """Pages that docs/README.md does not list, or lists more than once."""
    listed = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", (docs / "README.md").read_text())]
    pages = [str(page.relative_to(docs)) for page in sorted(docs.rglob("*.md")) if page != docs / "README.md"]
    return [f"it lists {page} {listed.count(page)} times instead of once" for page in pages if listed.count(page) != 1]


def wrong_coverage(path):
    said = subprocess.run([BUILD / "bin/millet", "info"], capture_output=True, text=True).stdout
    lines = re.search(r"MPI functions, by chapter.*?\n(.* in all\n)", said, re.S)
    found = lines and lines[1] in path.read_text()
    return [] if found else ["its list of MPI chapters is not what `millet info` prints"]


def stage_unit(stage, quick):
    """the tests beside the sources"""
    stage.ctest(BUILD, without=f"{MODEL}|p2p_hosts$|launch_hosts_broker$" if quick else "$^")  # as the stage hosts


def stage_surface(stage, quick):
    """every function and constant of the standard ABI, at its value, in header and library; each function has a test"""
    if stage.step("test/surface_test.py", [ROOT / "test/surface_test.py", "--build", BUILD], 120):
        stage.passed += 1
    if not quick and stage.step("test/sweep_test.py", [ROOT / "test/sweep_test.py", "--build", BUILD], 120):
        stage.passed += 1
    # gen/mpi_fn.c has a row a function: name, chapter (0: not MPI's), in the ABI.
    rows = (BUILD / "gen/mpi_fn.c").read_text()
    functions = set(re.findall(r'^    \{"(MPI_\w+)", [1-9]', rows, re.M))
    programs = "\n".join(path.read_text() for folder in ("mpi", "ports") for path in (ROOT / "test" / folder).glob("*.[ch]"))
    uncalled = sorted(functions - set(re.findall(r"\bP?(MPI_\w+)", programs)))
    stage.passed += len(functions) - len(uncalled)
    if uncalled:
        stage.fault(f"no program of test/mpi or test/ports calls {' '.join(uncalled)}", len(uncalled))


def stage_mpi(stage, quick):
    """the multi-rank tests in all five modes"""
    run = ["test/run_mpi", "--build", BUILD, "-j", "3", "--patience", "3"]  # some only wait
    if quick:
        script(stage, *run, "--mode", "fiber")
        return
    # As threads and as fibers of several processes: only what the sanitizers' stages leave out. They run all others in these modes.
    script(stage, *run, "--mode", "proc", "--mode", "alone")
    script(stage, *run, "--mode", "fiber", "--only", MANY_RANKS)
    script(stage, *run, "--mode", "fiber", "--but", "proc", "--only", r" x1\]")
    script(stage, *run, "--mode", "split", "--only", "^(?!coll_)")  # those follow, as if on several hosts
    # Ranks of different workers in one process: what runs as `split` has them, too, and ranks of one worker beside.
    script(stage, *run, "--mode", "thread", "--but", "split", "--only", f"{MANY_RANKS}(?!coll_)(?!{SHARED[1:]})")
    script(stage, *run, "--mode", "splitproc", "--only", f"^(?!coll_)(?!{NOT_SANITIZED[1:]})")
    script(stage, "test/files/run", "--build", BUILD, limit=300)
    script(stage, "test/sched/run", "--build", BUILD, limit=300)
    # Collectives as if workers were on several hosts.
    pretend = {"MILLET_PRETEND_HOSTS": "2"}
    script(stage, *run, "--mode", "split", "--only", r"^coll_(?!engine_alloc|types .* x64\])", env=pretend)  # types: of 4 ranks
    script(stage, *run, "--mode", "splitproc", "--only", "^coll_", env={**pretend, "MILLET_PRETEND_ORDER": "turn"})


def stage_instructions(stage, quick):
    """how many instructions a message, a collective, a channel's write and a switch have"""
    script(stage, "test/instructions/run", "--build", BUILD)


def stage_seeds(stage, quick):
    """the multi-rank tests under random schedules"""
    # Within one worker a seed decides everything, so that is where most of them are spent.
    script(stage, "test/run_mpi", "--build", BUILD, "--patience", "3", "--mode", "fiber", "--seeds", f"1-{4 if quick else SEEDS}")
    if not quick:
        script(stage, "test/run_mpi", "--build", BUILD, "--patience", "3", "--mode", "fiber", "--seeds", f"{SEEDS + 1}-100", "--only", "^csp_")
        script(stage, "test/run_mpi", "--build", BUILD, "--patience", "3", "--mode", "split", "--mode", "splitproc", "--seeds", "1")


def stage_launch(stage, quick):
    """mpirun: options, exits, signals, faults, reports; narrow containers; programs that other launchers start; the papers' experiments, in short"""
    together(stage,
             ("test/papers/run", "--build", BUILD),  # structure, not speed
             ("test/launch/run", "--build", BUILD),
             ("test/launchers/run", "--build", BUILD),
             ("test/spawn/run", "--build", BUILD, "--slow", "10"),
             ("test/trace/run", "--build", BUILD),
             ("test/trace/record", "--build", BUILD),  # all programs with --long
             ("test/live/run", "--build", BUILD),
             ("test/view/run", "--build", BUILD),
             ("test/machines/narrow", "--build", BUILD, "--short"))  # all of it without the option


def stage_goal(stage, quick):
    """millet goal, the choice of algorithms: whole commands on examples and algorithms, every way to be wrong, each algorithm forced"""
    script(stage, "test/goal/run", "--build", BUILD)
    script(stage, "test/coll/run", "--build", BUILD)
    script(stage, "test/coll/force", "--build", BUILD)


def stage_csp(stage, quick):
    """processes and channels: every example and every fragment of the documents, in C and Python; the name server, programs that find each other, and are killed"""
    script(stage, "test/csp/run", "--build", BUILD)
    script(stage, "test/python/run", "--build", BUILD)
    script(stage, "test/names/run", "--build", BUILD)
    script(stage, "test/names/hosts", "--build", BUILD)


def stage_flow(stage, quick):
    """wiring apart from computing: every example in every way to run it, every fragment of the documents, the command, wrong files"""
    script(stage, "test/flow/run", "--build", BUILD)


def stage_images(stage, quick):
    """ranks of one process with their own globals: the same program in every grain, linked in every way; the stand-in for a GPU, and what is said of one"""
    script(stage, "test/images/run", "--build", BUILD, *(["-k", "globals"] if quick else []))
    script(stage, "test/gpu/run", "--build", BUILD)
    script(stage, "test/gpu/tell", "--build", BUILD)
    script(stage, "test/gpu/calls", "--build", BUILD)


def stage_fortran(stage, quick):
    """programs in Fortran by mpi_f08, mpi and mpif.h, in every grain, on two hosts, with halves in C; mpifort"""
    script(stage, "test/fortran/run", "--build", BUILD)
    script(stage, "test/fortran/run", "--build", BUILD, "--hosts")


def stage_hosts(stage, quick):
    """several hosts on this machine: jobs on them by way of TCP, by ssh, with faults at random moments, and nothing is left behind"""
    script(stage, "test/hosts/run", "--build", BUILD)  # by itself: it waits for what a cut network still lets pass
    together(stage,  # the longest first
             # All programs run by `test/run_mpi --mode hosts --mode hostfibers`, all faults in all layouts by `test/hosts/faults --times 20 -j 4`.
             ("test/run_mpi", "--build", BUILD, "-j", "3", "--patience", "3", "--mode", "hosts", "--mode", "hostfibers", "--only", ON_HOSTS),
             ("test/hosts/net", "--build", BUILD),
             ("test/hosts/faults", "--build", BUILD, "--spread", "-j", "3", "--patience", "3"),
             ("test/flow/run", "--build", BUILD, "--hosts"),
             ("test/ports/run", "--build", BUILD),
             ("test/csp/run", "--build", BUILD, "--hosts"),
             ("test/gpu/calls", "--build", BUILD, "--hosts"),
             ("test/ports/run", "--build", BUILD, "--hosts"),
             ("test/hosts/fabrics", "--build", BUILD))  # all by --all


def stage_systems(stage, quick):
    """quickstart on machines that lack something; mpicc; CMake, Meson, pkg-config, configure scripts and module files; the installed tree; what test/systems/run and .ci/run count"""
    script(stage, "test/quickstart_test.py")
    script(stage, "test/build_test.py", "--build", BUILD)
    script(stage, "test/systems/self")


def stage_recipes(stage, quick):
    """docs/extending.md: its patches apply, compile and do what it says"""
    script(stage, "test/recipes/run", "--build", BUILD)


ASAN_LAYERS = [*ENGINE, "trace", "goal", "judge", "coll", "csp", "flow", "flowc", "lua", "tools"]
CROSS_LAYERS = ["arch", "image", "fiber", "wire", "type", "goal", "csp", "flow", "mpi"]  # judge only computes: the same everywhere
ENGINE_TARGETS = ["mpi_abi", "mpirun", "millet_lua"]


def tests_of(layers):
    return [f"tests_{layer}" for layer in layers]


def other_processor():
    return "x86_64" if os.uname().machine == "aarch64" else "aarch64"


# The build tree of a stage: its preset, the targets (none: all), options of CMake.
TREES = {
    "asan": lambda: ("asan", [*ENGINE_TARGETS, *tests_of(ASAN_LAYERS)], ["-DMLT_TEST_TIMEOUT=240"]),
    "tsan": lambda: ("tsan", [*ENGINE_TARGETS, *tests_of(["wire", "p2p"]), "fiber_gate", "os_symbols", "trace_tracer"], ["-DMLT_TEST_TIMEOUT=240"]),
    "jitter": lambda: ("jitter", [*ENGINE_TARGETS, *tests_of(["boot", "wire", "p2p"]), "fiber_gate", "fiber_delegate", "csp_net_remote"], []),
    "cross": lambda: (f"cross-{other_processor()}", ["mpi_abi", *tests_of(CROSS_LAYERS)], ["-DMLT_TEST_TIMEOUT=240", "-DMLT_OPTIMIZE=-O1 -g1"]),
}
TREE_TOOLS = {"clang": lambda: ["clang"], "cross": lambda: [f"{other_processor()}-linux-gnu-gcc", f"qemu-{other_processor()}"]}


def missing_tools(stage_name):
    return [tool for tool in TREE_TOOLS.get(stage_name, list)() if not shutil.which(tool)]


def stage_asan(stage, quick):
    """the engine's tests and some of the multi-rank tests under ASan and UBSan"""
    if trees.wait(stage):
        # Without what goes over the same code once more, with other programs and mutants of them.
        env = {}
        if os.uname().machine == "aarch64":  # each process takes 4 s of a processor for it, 0.1 s on x86-64
            env["ASAN_OPTIONS"] = "detect_leaks=0"
            stage.skip("leaks are not looked for on this processor, where it takes 10 minutes; the same code is looked at on x86-64")
        stage.ctest("build-asan", ASAN_LAYERS, prefix=no_address_randomisation(), env=env,
                    without=f"judge_check_brute|coll_alg_(mutate|pass|check)$|p2p_match$|{MODEL}")
        # Programs may end without freeing; the engine's own tests above may not.
        script(stage, "test/run_mpi", "--build", ROOT / "build-asan", SANITIZED_FLAGS, "--patience", "3", "--mode", "splitproc",
               "-j", "3", "--only", NOT_SANITIZED, env={"ASAN_OPTIONS": "detect_leaks=0"})


def stage_tsan(stage, quick):
    """rings, transports and messages, and the multi-rank tests with workers or ranks as threads, under TSan"""
    if trees.wait(stage):
        stage.ctest("build-tsan", ["wire", "p2p"], prefix=no_address_randomisation(), without=f"wire_ring|p2p_match$|fuzz_far|wire_ofi_fabric|{MODEL}")  # one thread; libfabric is not built for it
        # A race is seen when two accesses meet once, so a fourth of the ring's messages does: its shapes and seeds are all there.
        for name, *arguments in (["fiber_gate"], ["os_symbols"], ["trace_tracer"], ["wire_ring", "4"]):
            status, output = stage.command([*no_address_randomisation(), ROOT / "build-tsan/test" / name, *arguments], 240)
            if status == 0:
                stage.passed += 1
            else:
                stage.fault(f"{name}: status {status}\n{tail(output)}")
        # Optimised, so that not every use of a local variable is looked at.
        run = [*no_address_randomisation(), ROOT / "test/run_mpi", "--build", ROOT / "build-tsan", "--patience", "3", "-j", "3", "--only"]
        # TSan starts the programs' threads itself, so that in a process of several ranks they belong to none.
        shared = SHARED
        if os.uname().machine == "aarch64":
            shared = r"^(?!csp_io_many 200|flow_link many)" + SHARED[1:]
            stage.skip("csp_io_many 200, flow_link many: TSan has room for fewer fibers on this processor")
        stage.runner([*run, shared, "--mode", "thread"], 1200)
        stage.runner([*run, r"^(barrier|comm_split|flood(?! memory)|goal_(many(?! crowd)|random)|ordering|probe|progress|wait\w*) (?!\[split x1000)",
                      "--mode", "split"], 1200)
        # It knows no threads of C11, and keeps a thread of its own, so that no deadlock is proven.
        stage.runner([*run, "^(coll_threads|tool_threads|part_threads|win_threads|threads_(?!level (c11|deadlock))|goal_(threads|offload(?! (stuck|late|library))))", "--mode", "proc", "--mode",
                      "alone"], 1200)
        stage.runner([*run, "^goal_offload(?! (stuck|late|library|threads|signals))", "--mode", "fiber", "--mode", "splitproc"], 600)
        # Workers that are threads meet another job at the same time.
        stage.runner([*no_address_randomisation(), ROOT / "test/ports/run", "--build", ROOT / "build-tsan", "-k", "last_words"], 600)


def stage_jitter(stage, quick):
    """sleeping and waking: the tests of workers that share something, in a build that delays threads at random where interleavings matter"""
    if trees.wait(stage):
        stage.ctest("build-jitter", ["boot", "wire", "p2p"], without=f"p2p_match$|{MODEL}")
        stage.ctest("build-jitter", ["fiber", "csp"], only="^(fiber_gate|fiber_delegate|csp_net_remote)$")
        # The programs are those of the release build, with this build's library.
        run = ["test/run_mpi", "--build", BUILD, "--mpirun", ROOT / "build-jitter/bin/mpirun", "--patience", "3", "-j", "3"]
        env = {"LD_LIBRARY_PATH": str(ROOT / "build-jitter/lib")}
        script(stage, *run, "--only", SHARED, "--mode", "proc", "--mode", "thread", env=env)
        script(stage, *run, "--only", "^(coll_threads|threads_|goal_offload)", "--mode", "proc", env=env)
        if "build-jitter/lib/" not in stage.command(["ldd", BUILD / "test/mpi/barrier"], 10, env)[1]:
            stage.fault("the programs ran with another library than that of build-jitter")


def stage_cross(stage, quick):
    """fibers, rings, datatypes, GOAL and the MPI layer's unit tests for the other processor, and ranks with their own globals, under qemu-user"""
    for tool in missing_tools("cross"):
        return stage.skip(f"there is no {tool}")
    if trees.wait(stage):
        # What only computes, and takes long at that, gives the same everywhere; flow_conn and csp_names_names are messages of threads, which wire's
        # and csp's other tests send here. qemu knows no limits of memory (image_need).
        stage.ctest("build-cross", CROSS_LAYERS, without=f"image_need|fiber_delegate|goal_(derive|text_print)|flow_(lower_tokens|lower_lower|graph_graph|place_place|conn)$|csp_names_names|mpi_comm_map|{MODEL}")
        # A handler that interrupts qemu's return from another one finds a stack that cannot be walked: once in twenty runs where cores are busy.
        if any(stage.command(["ctest", "--test-dir", "build-cross", "-R", "^fiber_delegate$", "--no-tests=error"], 300)[0] == 0 for _ in range(3)):
            stage.passed += 1
        else:
            stage.fault("fiber_delegate failed three times")
        script(stage, "test/images/cross", "--build", BUILD, "--cross", ROOT / "build-cross")


def stage_clang(stage, quick):
    """clang reads everything, warnings are errors"""
    for tool in missing_tools("clang"):
        return stage.skip(f"there is no {tool}")
    trees.wait(stage)


# These mostly wait, for time-outs and for the end of what they have killed, or keep one processor busy. They run beside the others, one after the
# other, and go first where both could run: then they wait for nothing but what they test.
BESIDE = ("launch", "hosts", "csp", "goal", "flow", "images", "fortran", "systems")
NOT_QUICK = ("asan", "tsan", "jitter", "cross", "clang", "launch", "goal", "csp", "flow", "hosts", "systems", "recipes", "fortran")
STAGES = {name[6:]: function for name, function in list(globals().items()) if name.startswith("stage_")}


def run_stage(name, quick, modest=False):
    stage = Stage(name, modest)
    terminal = sys.stdout.isatty()
    if terminal:
        print(f"{name:9} ...", end="", flush=True)
    start = time.monotonic()
    try:
        STAGES[name](stage, quick)
    except OSError as error:
        stage.fault(str(error))
    result = f"{stage.passed} passed"
    if stage.failed:
        result += f", {stage.failed} FAILED"
    if stage.skipped:
        result += f", {len(stage.skipped)} skipped"
    title = STAGES[name].__doc__
    print(f"{chr(13) if terminal else ''}{name:9} {time.monotonic() - start:4.0f} s {stage.busy:5.0f} s  {result:28} {title}", flush=True)
    for fault in stage.faults[:5]:
        print("    " + fault.replace("\n", "\n    "))
    if stage.faults:
        print(f"    all of it: {' '.join(str(log.relative_to(ROOT)) for log in [stage.log, *stage.parts])}", flush=True)
    return stage


def main():
    parser = argparse.ArgumentParser(prog="check", description=__doc__)
    parser.add_argument("--only", metavar="STAGE", action="append", default=[], help="only this stage (repeatable)")
    parser.add_argument("--quick", action="store_true", help="leave the slow stages out: " + ", ".join(NOT_QUICK))
    parser.add_argument("--list", action="store_true", help="list the stages")
    parser.add_argument("--no-install", action="store_true", help="install no packages")
    args = parser.parse_args()
    if args.list:
        for name, function in STAGES.items():
            print(f"{name:9} {function.__doc__}")
        return 0
    for name in args.only:
        if name not in STAGES:
            parser.error(f"there is no stage {name}; ./check --list shows them")
    names = args.only or [name for name in STAGES if not (args.quick and name in NOT_QUICK)]
    LOGS.mkdir(parents=True, exist_ok=True)
    for name, value in CACHE.items():
        os.environ.setdefault(name, value)
    start = time.monotonic()
    stages = []
    if "build" in names:
        stages.append(run_stage("build", args.quick))
    if not any(stage.failed for stage in stages):  # else nothing else can say anything
        for name in names:
            if (name in TREES or name == "clang") and not missing_tools(name):
                trees.start(name)
        beside = [lane.submit(run_stage, name, args.quick) for name in BESIDE if name in names]
        stages += [run_stage(name, args.quick, modest=bool(beside)) for name in names if name != "build" and name not in BESIDE]
        stages += [future.result() for future in beside]
    trees.end()
    wall, busy = time.monotonic() - start, sum(s.busy for s in stages) + trees.busy
    print(f"{wall:.0f} s in all, {busy:.0f} s of processors, {trees.busy:.0f} of them for the build trees of later stages; logs in {LOGS.relative_to(ROOT)}/")
    for stage in stages:
        for why in stage.skipped:
            print(f"skipped: {stage.name}: {why}")
    for name in names:
        if name not in [stage.name for stage in stages]:
            print(f"skipped: {name}: the build failed")
    passed, failed = sum(s.passed for s in stages), sum(s.failed for s in stages)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def interrupt(number, frame):
    interrupted.set()
    trees.end(wait=False)
    lane.shutdown(wait=False, cancel_futures=True)
    for process in list(running):  # those of the stage that runs beside, too
        end_group(process)
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and some tests send it
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)  # so that the stages' processes end with us
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
