# SPDX-License-Identifier: BSD-3-Clause
"""GOAL: schedules, their size, and what optimising them gives."""

import json
import math
import random
import re

from lab import CORES, HERE, Plot, Table, bytes_text, examples, experiment, judge, short, sim, total_ns, values

EXAMPLE2 = """rank #0 {
  r1: recv 503,1 from 1;
  r2: recv 504,1 from 2;
  e1: exec sumInt8 with 501,1 503,1;
  e2: exec sumInt8 with 502,1 504,1;
  requ e1 -> r1;
  requ e2 -> r2;
}
rank #1, #2 {
  send 501,1 to 0;
}
"""
BINOMIAL = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_bcast_algorithm": 6, "coll_tuned_bcast_algorithm_segmentsize": 0}


# ---- Figure 5


@experiment("goal5", "goal", "Figure 5", "A binomial broadcast that runs as a schedule is as fast as Open MPI's own, with 256 and 512 processes.",
            "both curves lie on each other, from 1 byte to some kilobytes")
def goal5(lab):
    program, theirs = lab.build("bcast.c"), lab.build("bcast.c", mpi="openmpi")
    sizes, counts = lab.pick((1, 64, 1024, 4096), (64, 4096)), lab.pick((2, 8, 32, 64), (2, 8))
    pictures, rows, worst = [], [], []
    for n in counts:
        both = lab.sides({
            "schedule": lambda: values(lab.mpirun("-q", "-n", n, "--force", "bcast=binomial", program, "library", *sizes)),
            "by hand": lambda: values(lab.mpirun("-q", "-n", n, program, "hand", *sizes)),
            "Open MPI, binomial": lambda: values(lab.openmpi(theirs, n, "library", *sizes, mca=BINOMIAL, limit=200)),
        }, 5 if n <= 8 else 3)
        ratios = [both["schedule"][f"{size}_us"].median / both["Open MPI, binomial"][f"{size}_us"].median for size in sizes]
        worst.append(max(ratios))
        rows.append([n, *(str(both[name][f"{sizes[-1]}_us"]) for name in both), f"{max(ratios):.2f}"])
        pictures.append(Plot(f"{n} processes", "bytes", "microseconds until the last rank has the data",
                             {name: [sample[f"{size}_us"].point(size) for size in sizes] for name, sample in both.items()}, log_x=True, log_y=True))
    simulated = {"schedule": [], "by hand": []}
    for size in lab.pick((1, 64, 1024, 4096), (64, 4096)):
        recorded = lab.scratch / f"hand{size}.goal"
        lab.mpirun("-q", "-n", 1, "-nfg", 512, "--record", recorded, lab.build("once.c"), size)
        simulated["by hand"].append((size, sim(lab, "infiniband128", strip(recorded)) / 1e3))
        simulated["schedule"].append((size, sim(lab, "infiniband128", "--alg", "bcast.binomial", "-n", 512, "--count", size, "--type", "UInt8") / 1e3))
    apart = max(abs(a[1] / b[1] - 1) for a, b in zip(*simulated.values()))
    pictures.append(Plot("512 processes on 128 nodes, simulated", "bytes", "microseconds", simulated, log_x=True, log_y=True))
    shared = "" if max(worst) <= 1.1 else f" It is slowest with {counts[worst.index(max(worst))]} processes on {len(CORES)} cores, where ours sleep while they wait, and Open MPI's poll."
    return judge(max(worst) <= 1.1, f"The schedule takes at most {max(worst):.2f} times as long as Open MPI's binomial tree, over {counts[0]} to {counts[-1]} processes; at most 1.1 "
                 f"confirms the claim.{shared} Simulated with 512 processes, schedule and tree by hand differ by {apart:.0%} at most.",
                 ran=f"bcast.c: medians of 61 broadcasts of {sizes[0]} to {sizes[-1]} bytes, processes; Open MPI with its tuned binomial algorithm forced.",
                 simulated="bcast.binomial, and the tree by hand as mpirun --record wrote it, on 128 nodes of four cores (infiniband128.machine).", plots=pictures,
                 tables=[Table(["processes", *(f"{name}, us" for name in ("schedule", "by hand", "Open MPI")), "worst ratio"], rows, f"{sizes[-1]} bytes")])


def strip(recorded):
    """The recorded program without the time between calls: its messages alone."""
    text = recorded.read_text()
    lines = [re.sub(r"calc \d+", "calc 0", line) for line in text.splitlines()]
    made = recorded.with_suffix(".messages.goal")
    made.write_text("\n".join(lines) + "\n")
    return made


# ---- Figure 6


@experiment("goal6", "goal", "Figure 6", "What of a nonblocking broadcast cannot be overlapped: least with the scheduler in a thread, more with one that the program progresses by hand, "
            "most with LibNBC.", "512 processes: thread < by hand < LibNBC at all sizes")
def goal6(lab):
    program, theirs = lab.build("overlap.c"), lab.build("overlap.c", mpi="openmpi")
    sizes = lab.pick((1024, 16384, 131072, 1048576), (16384, 1048576))
    both = lab.sides({
        "thread": lambda: values(lab.mpirun("-q", "-n", 2, program, "thread", 1, *sizes)),
        "by hand": lambda: values(lab.mpirun("-q", "-n", 2, program, "hand", 8, *sizes)),
        "LibNBC (Open MPI)": lambda: values(lab.openmpi(theirs, 2, "library", 8, *sizes)),
    })
    series = {name: [sample[f"{size}_us"].point(size) for size in sizes] for name, sample in both.items()}
    big = {name: points[-1][1] for name, points in series.items()}
    simulated = {name: [] for name in ("thread", "by hand")}
    for size in sizes[:-1] if not lab.quick else sizes[:1]:
        for name in simulated:
            program512 = lab.scratch / f"overlap-{name.replace(' ', '-')}-{size}.goal"
            program512.write_text(overlapped(512, size, name == "thread"))
            simulated[name].append((size, (sim(lab, "infiniband128", program512) - WORK_NS) / 1e3))
    right = big["thread"] < big["by hand"] < big["LibNBC (Open MPI)"]
    few = "" if right else " With two processes the broadcast is one message, which LibNBC moves in its first test; the paper's 512 processes need a test for each of nine rounds."
    return judge(right,
                 f"Of a broadcast of {bytes_text(sizes[-1])}, {short(big['thread'])} us cannot be hidden with the thread, {short(big['by hand'])} us by hand, {short(big['LibNBC (Open MPI)'])} us with "
                 "Open MPI's MPI_Ibcast, which is LibNBC; this order confirms the claim." + few,
                 ran="overlap.c: two processes; the broadcast is a schedule, with GOAL_OFFLOAD or without, and Open MPI's MPI_Ibcast; the work is a device's, four times as long as the broadcast, in 8 slices with MPI_Test between, in one slice with the thread.",
                 simulated="A binomial broadcast of 512 ranks beside 8 slices of work, on a core of its own or on the rank's (infiniband128.machine). LibNBC is not simulated.",
                 plots=[Plot("Two processes", "bytes", "microseconds not overlapped", series, log_x=True),
                        Plot("512 processes, simulated", "bytes", "microseconds not overlapped", simulated, log_x=True)])


WORK_NS, SLICES = 8_000_000, 8


def overlapped(ranks, size, thread):
    """A binomial broadcast beside work in slices, in LogGOPSim's dialect: cpu 1 has the work if a thread moves messages."""
    out = [f"num_ranks {ranks}"]
    cpu = " cpu 1" if thread else ""
    for rank in range(ranks):
        out.append(f"rank {rank} {{")
        out += [f"c{i}: calc {WORK_NS // SLICES}{cpu}" for i in range(SLICES)]
        out += [f"c{i} requires c{i - 1}" for i in range(1, SLICES)]
        low = 1 << max(ranks - 1, 1).bit_length()
        if rank:
            low = rank & -rank
            out.append(f"r: recv {size}b from {rank - low} tag 1")
        while (low := low >> 1) > 0:
            if rank + low < ranks:
                out.append(f"s{low}: send {size}b to {rank + low} tag 1")
                if rank:
                    out.append(f"s{low} requires r")
        out.append("}")
    return "\n".join(out) + "\n"


# ---- Theorem 2


@experiment("goal2", "goal", "Theorem 2, Figure 2", "Actions need an order only relative to a data item: any order that the dependencies allow gives the same result, and the scheduler "
            "is free to take it.", "Figure 2 shows four of the orders of Example 2")
def goal2(lab):
    program = lab.scratch / "example2.goal"
    program.write_text(EXAMPLE2)
    proof = lab.millet("goal", "check", program)
    seen, results = {}, set()
    for seed in range(lab.pick(200, 40)):
        lab.say(f"seed {seed}")
        output = lab.millet("goal", "run", program, "--order", "--", "-nfg", 3, "--sched", f"random:{seed}", note=seed == 0)
        rank0 = output.split("rank 1")[0]
        order = re.search(r"finished in the order +(.+)", rank0).group(1).strip()
        seen[order] = seen.get(order, 0) + 1
        results.add(re.search(r"after +(.+)", rank0).group(1).strip())
    allowed = orders({"r1": [], "r2": [], "e1": ["r1"], "e2": ["r2"]})
    right = set(seen) <= {" ".join(order) for order in allowed}
    return judge("no races" in proof and right and len(results) == 1 and len(seen) >= 2,
                 f"The checker proves the program free of races. {len(seen)} of the {len(allowed)} orders that its dependencies allow were seen, and the result was always {', '.join(results)}.",
                 timed=False, ran="Example 2 of the paper on three fibers, scheduled at random with many seeds.",
                 tables=[Table(["order on rank 0", "runs"], [[order, count] for order, count in sorted(seen.items())])])


def orders(needs, done=()):
    """All orders of a few actions, given what each needs."""
    left = [action for action in needs if action not in done]
    if not left:
        return [done]
    return [order for action in left if all(before in done for before in needs[action]) for order in orders(needs, (*done, action))]


# ---- Theorems 3 and 4


@experiment("goal34", "goal", "Theorems 3 and 4, Figures 3 and 4", "A sliding window of constant size needs a side table that grows with the schedule, n/2 cells for the adversary of Figure 3; with dummy actions a constant number is enough.",
            "n/2 cells with a window of 2 actions; 3 cells with dummies")
def goal34(lab):
    counts, cells = lab.pick((10, 30, 100, 1000, 10000), (10, 100)), {"Theorem 3": [], "Theorem 4": []}
    for n in counts:
        for name, points in cells.items():
            script = examples(lab, "goal") / f"theorem{name[-1]}.lua"
            points.append((n, json.loads(lab.millet("goal", "table", script, "-n", 1, "--set", f"n={n}", "--json"))["cells"]))
    right = all(found == n // 2 for n, found in cells["Theorem 3"]) and all(found == 3 for _, found in cells["Theorem 4"])
    figure3 = lab.millet("goal", "table", examples(lab, "goal") / "fig3.goal")
    return judge(right, f"The adversary of {counts[-1]:,} actions needs {cells['Theorem 3'][-1][1]:,} cells, and with a dummy after every third action {cells['Theorem 4'][-1][1]}.", timed=False,
                 ran="millet goal table: what every execution in a window of two actions needs at most; theorem3.lua and theorem4.lua of examples/goal are the programs of the proofs.",
                 plots=[Plot("Side table", "actions", "cells", {**cells, "n/2": [(n, n // 2) for n in counts]}, paper=("n/2",), log_x=True, log_y=True)],
                 tables=[Table(["finished up to", "cells", "table"], [(re.split(r"\s{2,}", line.strip()) + [""])[:3] for line in figure3.splitlines() if re.match(r"  a\d+ ", line)], "Figure 3, n = 10")])


# ---- section IV.C


@experiment("goal-size", "goal", "section IV.C", "A rank's schedule has O(log p) actions for trees and disseminations, and O(k) for a pipeline of k fragments.", "O(log p), O(k)")
def goal_size(lab):
    counts = lab.pick([1 << power for power in (4, 6, 8, 10, 12, 14)], [16, 256])
    trees = {"bcast.binomial": [], "allreduce.dissemination": [], "barrier.dissemination": []}
    for name, points in trees.items():
        for n in counts:
            points.append((n, largest(lab, "--alg", name, "-n", n)))
    pieces = lab.pick((4, 16, 64, 256, 1024), (4, 64))
    pipe = [(k, largest(lab, "--alg", "bcast.chain", "-n", 8, "--count", 1024 * k, "--segment", 1024)) for k in pieces]
    slopes = {name: points[-1][1] / math.log2(points[-1][0]) / (points[0][1] / math.log2(points[0][0])) for name, points in trees.items()}
    line = pipe[-1][1] / pipe[-1][0] / (pipe[0][1] / pipe[0][0])
    return judge(max(slopes.values()) <= 1.5 and 0.5 <= line <= 1.5, f"From {counts[0]} to {counts[-1]:,} ranks the largest schedule's actions for log2 p change by a factor of at most {max(slopes.values()):.2f}; "
                 f"from {pieces[0]} to {pieces[-1]} fragments a chain's actions for a fragment change by {line:.2f}. At most 1.5 confirms the claim.", timed=False,
                 ran="Counted in the programs that millet goal gen writes: actions of the rank that has most.",
                 plots=[Plot("Trees and disseminations", "ranks", "actions of the largest schedule", {**trees, "2 log2 p": [(n, 2 * math.log2(n)) for n in counts]}, paper=("2 log2 p",), log_x=True),
                        Plot("Pipeline along a chain of 8", "fragments", "actions of the largest schedule", {"bcast.chain": pipe, "2 k": [(k, 2 * k) for k in pieces]}, paper=("2 k",),
                             log_x=True, log_y=True)])


def largest(lab, *words):
    """Actions of the rank that has most."""
    most = count = 0
    for line in lab.millet("goal", "gen", *words).splitlines():
        if line.startswith("rank"):
            count = 0
        elif re.search(r"\b(send|recv|exec)\b", line):
            count += 1
            most = max(most, count)
    return most


# ---- section III.B


@experiment("goal-global", "goal", "section III.B", "If the schedules of all processes are known, a compiler maps their graph to the network and computes a better schedule, by added dependencies as in a colouring.",
            "no numbers: \"a good scheduling could be achieved with multi-graph coloring\"")
def goal_global(lab):
    degrees, networks = lab.pick((6, 16, 32), (6,)), ("fattree64", "torus64")
    rows, series = [], {f"{network}, {what}": [] for network in networks for what in ("order", "order and places")}
    for degree in degrees:
        program = lab.scratch / f"exchange{degree}.goal"
        program.write_text(irregular(64, degree, 16384))
        for network in networks:
            lab.say(f"{degree} partners on {network}")
            before = sim(lab, network, program) / 1e3
            times = [better(lab, program, network, what) / 1e3 for what in ("order", "order,place")]
            for what, time in zip(("order", "order and places"), times):
                series[f"{network}, {what}"].append((degree, 100 * (1 - time / before)))
            rows.append([network, degree, short(before), *(short(time) for time in times)])
    gains = [points[i][1] for points in series.values() for i in range(len(degrees))]
    tree, torus = (max(point[1] for name, points in series.items() if name.startswith(network) for point in points) for network in networks)
    return judge(min(gains) >= 0 and min(tree, torus) >= 10,
                 f"An irregular exchange takes up to {tree:.0f} % less time on a fat tree, and up to {torus:.0f} % less on a torus; at least 10 % on both confirms the claim.", timed=False,
                 ran="millet goal opt --machine: dependencies that order sends, and other places of ranks, found by search; the checker proves that the same messages meet.",
                 simulated="64 ranks that each exchange 16 KiB with 6 to 32 others at random, on a fat tree with half of its upper links (fattree64.machine) and a torus of 4 x 4 x 4 (torus64.machine).",
                 plots=[Plot("Time saved", "partners of a rank", "per cent", series)],
                 tables=[Table(["network", "partners", "as written, us", "order of sends, us", "order and places, us"], rows)])


def irregular(ranks, degree, size):
    """An exchange between pairs that nothing but a fixed series of random numbers chose. Each rank sends in the order of its partners' numbers."""
    chance, pairs = random.Random(5), set()
    for rank in range(ranks):
        for other in chance.sample([r for r in range(ranks) if r != rank], degree // 2):
            pairs |= {(rank, other), (other, rank)}
    out = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        partners = [other for other in range(ranks) if (rank, other) in pairs]
        out.append(f"rank {rank} {{")
        out += [f"r{i}: recv {size}b from {other} tag 0" for i, other in enumerate(partners)]
        out += [f"s{i}: send {size}b to {other} tag 0" for i, other in enumerate(partners)]
        out.append("}")
    return "\n".join(out) + "\n"


def better(lab, program, network, what):
    """ns of the program that the search finds."""
    machine, found = HERE / "machines" / f"{network}.machine", program.with_suffix(".better.goal")
    places = program.with_suffix(".machine")
    more = ("--map", places) if "place" in what else ()
    lab.millet("goal", "opt", "-q", program, "--machine", machine, "--only", what, "--seconds", 0, "--steps", lab.pick(1000, 400), *more, "-o", found)
    return total_ns(lab.millet("goal", "sim", found, "--machine", places if more else machine))
