# SPDX-License-Identifier: BSD-3-Clause
"""Fine-grain MPI: functions as ranks, the scheduler, and what a rank takes."""

import os
import re

from lab import CORES, Failure, Plot, Table, bytes_text, experiment, judge, short, total_ns, values

# ---- Figure 6


@experiment("fg6", "fine", "Figure 6", "N processes whose every message is a function of its own (N x (N+1) ranks) are as fast as N processes that "
            "post nonblocking messages and wait for any of them: the same to 24,492 ranks, 8.7 % slower with 43,472.",
            "ratio 1.0 for 156 processes (24,492 ranks), 1.087 for 208 (43,472); long messages, 10 iterations")
def fg6(lab):
    program, size = lab.build("fig6.c"), lab.pick(65536, 32768)
    counts = lab.pick((16, 64, 156, 208), (8, 24))
    ratios, loops, functions, rows = [], [], [], []
    for n in counts:
        both = lab.sides({
            "loop": lambda: values(lab.mpirun("-q", "-n", n, program, "loop", n, size))["seconds"],
            "functions": lambda: values(lab.mpirun("-q", "-n", n, "-nfg", n + 1, "--workers", "process", "--globals", "shared", program,
                                                   "functions", n, size))["seconds"],
        }, 5 if n < 100 else 3)
        loop, fine = both["loop"], both["functions"]
        ratios.append(fine.median / loop.median)
        loops.append(loop.point(n))
        functions.append(fine.point(n))
        rows.append([n, n * (n + 1), str(loop), str(fine), f"{ratios[-1]:.2f}"])
    paper = (("Ratio in the paper", [(156, 1.0), (208, 1.087)]),)
    far = [(n, simulated(lab, n, size)) for n in counts]
    return judge(max(ratio for _, ratio in far[-2:]) <= 1.10, f"Simulated with a core for each process, functions take {far[-2][1]:.2f} times the loop's time with {rows[-2][1]:,} ranks and {far[-1][1]:.2f} times with "
                 f"{rows[-1][1]:,}; at most 1.10 confirms the claim. Here, where {counts[-1]} processes share {len(CORES)} cores, they took {ratios[-2]:.2f} and {ratios[-1]:.2f} times as long: the sender of a process waits for "
                 "one message after the other, and each time the system must change processes.",
                 ran=f"fig6.c, messages of {bytes_text(size)}, {counts[0]} to {counts[-1]} processes on {len(CORES)} cores; the paper had up to 208 cores.",
                 simulated="Three of the ten iterations, on hosts with one processor that changes its fibers in 60 ns, and InfiniBand of the paper's time.",
                 plots=[Plot("Ten iterations", "processes", "seconds", {"Nonblocking loop": loops, "A function a message": functions}, log_y=True),
                        Plot("Functions / loop", "processes", "ratio", {"Simulated": far, f"Here, {len(CORES)} cores": list(zip(counts, ratios)), **dict(paper)}, paper=(paper[0][0],))],
                 tables=[Table(["processes", "ranks", "loop, s", "functions, s", "ratio"], rows)])


MACHINE = """# A host for each process, with one processor that its ranks share. A change of fibers takes 60 ns.
hosts {n}
cores {ranks}
processors 1 switch 60 wake 0
within-host   L 100 o 50 g 50 G 0.1 O 0.1
between-hosts L 3000 o 900 g 900 G 1.1 O 0
S 12288
network crossbar
"""
ITERATIONS, COMPUTE_NS = 3, 10000


def simulated(lab, n, size):
    """The time of functions by that of the loop, where each process has a processor."""
    times = []
    for name, ranks, text in (("loop", 1, loops_of(n, size)), ("functions", n + 1, functions_of(n, size))):
        lab.say(f"simulating {n * ranks:,} ranks")
        machine, program = lab.scratch / f"fig6-{name}.machine", lab.scratch / f"fig6-{name}.goal"
        machine.write_text(MACHINE.format(n=n, ranks=ranks))
        program.write_text(text)
        times.append(total_ns(lab.millet("goal", "sim", program, "--machine", machine)))
    return times[1] / times[0]


def loops_of(n, size):
    """Listing 1 in LogGOPSim's dialect: each rank posts all of an iteration, and computes until all have come."""
    out = [f"num_ranks {n}"]
    for rank in range(n):
        out.append(f"rank {rank} {{")
        for time in range(ITERATIONS):
            others = [(rank + d) % n for d in range(1, n)]
            posted = [f"r{time}x{i}" for i in range(n - 1)] + [f"s{time}x{i}" for i in range(n - 1)]
            out += [f"r{time}x{i}: recv {size}b from {other} tag 1" for i, other in enumerate(others)]
            out += [f"s{time}x{i}: send {size}b to {other} tag 1" for i, other in enumerate(others)]
            out += [f"c{time}x{i}: calc {COMPUTE_NS}" for i in range(2 * (n - 1))]
            out += [f"c{time}x{i} requires c{time}x{i - 1}" for i in range(1, 2 * (n - 1))]
            out.append(f"e{time}: calc 0")
            out += [f"e{time} requires {each}" for each in (*posted, f"c{time}x{2 * n - 3}")]
            if time:
                out += [f"{each} requires e{time - 1}" for each in (*posted, f"c{time}x0")]
        out.append("}")
    return "\n".join(out) + "\n"


def functions_of(n, size):
    """Listing 2: of each process, a sender, n - 1 receivers and one that computes."""
    out = [f"num_ranks {n * (n + 1)}"]

    def chain(rank, actions):
        out.append(f"rank {rank} {{")
        out.extend(f"a{i}: {action}" for i, action in enumerate(actions))
        out.extend(f"a{i} requires a{i - 1}" for i in range(1, len(actions)))
        out.append("}")
    for process in range(n):
        first = process * (n + 1)
        chain(first, [f"send {size}b to {(process + d) % n * (n + 1) + n - d} tag 1" for _ in range(ITERATIONS) for d in range(1, n)])
        for slot in range(1, n):
            chain(first + slot, [f"recv {size}b from {(process + slot) % n * (n + 1)} tag 1"] * ITERATIONS)
        chain(first + n, [f"calc {COMPUTE_NS}"] * (ITERATIONS * 2 * (n - 1)))
    return "\n".join(out) + "\n"


# ---- section 3: the scheduler and the direction of a ring


@experiment("fg-ring", "fine", "section 3", "Round robin that keeps waiting ranks in its queue is fast for a ring in scheduling order and slow for one in reverse "
            "order; a scheduler that parks waiting ranks does not care.",
            "no numbers: \"communication in the reverse direction is slow due to re-scheduling delay of all of the processes on the run queue\"")
def fg_ring(lab):
    program = lab.build("ring.c")
    counts = lab.pick((100, 300, 1000, 3000), (100, 1000))
    policies = {"parked, forwards": ("direct", "forward"), "parked, reverse": ("direct", "reverse"),
                "polled, forwards": ("poll", "forward"), "polled, reverse": ("poll", "reverse")}
    series = {name: [] for name in policies}
    for n in counts:
        def side(policy, way):
            return lambda: values(lab.mpirun("-q", "-n", 1, "-nfg", n, "--sched", policy, program, way, max(2, 20000 // n)))["hop"]
        both = lab.sides({name: side(*how) for name, how in policies.items()}, 3)
        for name, sample in both.items():
            series[name].append(sample.point(n))
    last = {name: points[-1][1] for name, points in series.items()}
    polled = last["polled, reverse"] / last["polled, forwards"]
    parked = last["parked, reverse"] / last["parked, forwards"]
    return judge(polled >= 10 and parked <= 1.5, f"With {counts[-1]} ranks a hop in reverse takes {short(polled)} times as long as forwards where waiting ranks stay "
                 f"in the queue, and {parked:.2f} times where they are parked; at least 10 and at most 1.5 confirm the claim.",
                 ran=f"ring.c, {counts[0]} to {counts[-1]} fibers of one worker, --sched poll and --sched direct.",
                 plots=[Plot("A hop of the ring", "ranks of one process", "microseconds", series, log_x=True, log_y=True)])


# ---- sections 2.3 and 2.5: memory


@experiment("fg-comm", "fine", "section 2.3", "Process maps of communicators take O(P) memory, since the processes of an OS process share one.",
            "one map an OS process for each communicator; arrays of P would take O(P^2)")
def fg_comm(lab):
    program = lab.build("memory.c")
    counts = lab.pick((1000, 10000, 100000, 1000000), (1000, 10000, 50000))
    series = {"dup": [], "split, reverse order": []}
    rows = []
    for n in counts:
        lab.say(f"{n:,} ranks")
        found = values(lab.mpirun("-q", "-n", 1, "-nfg", n, program, limit=300))
        series["dup"].append((n, found["dup_bytes"]))
        series["split, reverse order"].append((n, found["split_bytes"]))
        rows.append([f"{n:,}", short(found["dup_bytes"]), short(found["split_bytes"])])
    worst = max(series["split, reverse order"][-1][1], series["dup"][-1][1])
    first = max(series["split, reverse order"][1][1], series["dup"][1][1], 1)
    return judge(worst <= 2 * first and worst < 1328, f"One more communicator of {counts[-1]:,} ranks takes {short(worst)} bytes a rank, and {short(first)} with "
                 f"{counts[1]:,} ranks: the memory grows as P does, not as its square.", timed=False,
                 ran="memory.c: resident bytes before and after four MPI_Comm_dup, then four MPI_Comm_split into two halves in reverse order, ranks of one process.",
                 plots=[Plot("One more communicator", "ranks of one process", "bytes a rank", series, log_x=True)],
                 tables=[Table(["ranks", "dup, bytes a rank", "split, bytes a rank"], rows)])


def memory_a_rank(report):
    """Of `mpirun --report`."""
    match = re.search(r"memory .* ([\d,]+) bytes a rank", report)
    if not match:
        raise Failure("mpirun --report does not say what a rank takes")
    return float(match.group(1).replace(",", ""))


@experiment("fg-state", "fine", "section 2.5", "The state of a rank takes 1,328 bytes, and a stack.", "1,328 bytes, a stack of 128 KiB (of which what is touched counts)")
def fg_state(lab):
    program = lab.build("ring.c")
    counts = lab.pick((10000, 100000, 1000000), (10000, 50000))
    page, rows, points = os.sysconf("SC_PAGE_SIZE"), [], []
    for n in counts:
        lab.say(f"{n:,} ranks")
        report = lab.mpirun("-q", "--report", "-n", 1, "-nfg", n, program, "forward", 1, limit=300)
        total = memory_a_rank(report)
        points.append((n, total - page))
        rows.append([f"{n:,}", short(total), short(total - page)])
    state = points[-1][1]
    return judge(0 < state <= 1328, f"A rank of {counts[-1]:,} takes {short(state + page)} bytes, of which {page:,} are the one page of its stack that it touches: "
                 f"{short(state)} bytes of state; at most 1,328 confirms the claim.", timed=False,
                 ran="ring.c as fibers of one process; the most memory in use, by mpirun --report, divided by the ranks.",
                 plots=[Plot("A rank's state", "ranks", "bytes", {"Here": points, "The paper": [(n, 1328) for n in counts]}, paper=("The paper",), log_x=True)],
                 tables=[Table(["ranks", "bytes a rank", "less a page of stack"], rows)])


@experiment("fg-copy", "fine", "section 3", "A message between processes of one OS process is one memcpy.", "one copy; two would take twice the time")
def fg_copy(lab):
    program = lab.build("copy.c")
    sizes = lab.pick([1 << power for power in (16, 18, 20, 22)], [1 << 20, 1 << 22])
    ways = {"fibers": ("-n", 1, "-nfg", 2), "threads": ("-n", 2, "--workers", "thread"), "processes": ("-n", 2)}
    series = {name: [] for name in ways}
    for size in sizes:
        def side(how):
            def run():
                found = values(lab.mpirun("-q", *how, program, size))
                return found["send"] / found["copy"]
            return run
        for name, sample in lab.sides({name: side(how) for name, how in ways.items()}).items():
            series[name].append(sample.point(size))
    worst = series["fibers"][-1][1]
    return judge(worst <= 1.5, f"A message of {bytes_text(sizes[-1])} between fibers takes {worst:.2f} times as long as memcpy of as many bytes, between processes "
                 f"{series['processes'][-1][1]:.2f} times; at most 1.5 confirms a single copy.",
                 ran="copy.c, medians of 41 messages a run; the receiver answers with an empty message, which counts.",
                 plots=[Plot("Message / memcpy", "bytes", "ratio of times", {**series, "One copy": [(size, 1.0) for size in sizes], "Two copies": [(size, 2.0) for size in sizes]},
                             paper=("One copy", "Two copies"), log_x=True)])
