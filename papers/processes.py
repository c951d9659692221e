# SPDX-License-Identifier: BSD-3-Clause
"""Process-oriented collectives and PATHS."""

import re

from lab import CORES, Failure, Plot, Table, examples, experiment, judge, short, values

COLLECTIVES = ("collectives.h", "comm.h", "comm.c", "broadcast.c", "reduce.c", "barrier.c", "allreduce.c", "gather.c", "allgather.c", "scatter.c", "alltoall.c")


# ---- Listings 6 to 8, 13 and 14


def late(lab):
    folder = examples(lab, "csp/collectives")
    program = lab.build("late.c", *(folder / file for file in COLLECTIVES if file.endswith(".c")), name="late", flags=("-O2", f"-I{folder}"))
    return lab.sides({"late": lambda: values(lab.run(program, 16))}, 3)["late"]


def listings(found, names):
    return [Plot("One member of 16 is 40 ms late", "listing", "milliseconds",
                 {"Until the root is done": [found[f"{name}_ms"].point(title) for name, title in names], "A sender is blocked, in the mean": [found[f"{name}_blocked_ms"].point(title) for name, title in names]},
                 bars=True)]


@experiment("csp-late", "csp", "Listings 6 to 8", "A child that is late blocks those behind it in a sequential tree reduction (Listing 6); receiving in parallel frees the others (7), and a chain of processes also reduces meanwhile (8).",
            "no numbers")
def csp_late(lab):
    found = late(lab)
    names = [("listing6", "6"), ("listing7", "7"), ("listing8", "8"), ("as_they_come", "as they come")]
    t = {name: found[f"{name}_ms"].median for name, _ in names}
    b = {name: found[f"{name}_blocked_ms"].median for name, _ in names}
    return judge(t["listing8"] < 0.9 * t["listing6"] and t["listing8"] < 0.9 * t["listing7"] and b["listing7"] < 0.8 * b["listing6"],
                 f"The root is done after {t['listing6']:.0f} ms (Listing 6), {t['listing7']:.0f} ms (7) and {t['listing8']:.0f} ms (8); other members are blocked for {b['listing6']:.0f}, {b['listing7']:.0f} and "
                 f"{b['listing8']:.0f} ms. Receiving as messages come, which the paper leaves open, takes {t['as_they_come']:.0f} ms.",
                 ran="late.c: the listings as processes in C (examples/csp/collectives), 16 members, the root's first child late, 5 ms to combine two values, channels without a buffer.",
                 plots=listings(found, names))


@experiment("csp-gather", "csp", "Listings 13 and 14", "A sequential gather stalls members that are ready while it waits for one that is not; a parallel one does not.", "no numbers")
def csp_gather(lab):
    found = late(lab)
    names = [("listing13", "13, sequential"), ("listing14", "14, parallel")]
    seq, par = (found[f"{name}_blocked_ms"].median for name, _ in names)
    return judge(par < seq / 4, f"With one late member of 16 the others are blocked for {seq:.1f} ms by Listing 13 and for {par:.2f} ms by Listing 14.",
                 ran="late.c: both listings with channels without a buffer; rank 1 comes 40 ms late.", plots=listings(found, names))


# ---- section 3


@experiment("csp-ack", "csp", "section 3", "A channel that is extended over a network costs one or more round trips for each value, as it must be acknowledged; asynchronous messages do not.", "no numbers")
def csp_ack(lab):
    program = lab.build("net.c")
    ways = {"one machine": (), "TCP sockets": ("--rsh", "local", "-H", "a,b")}
    sides = lab.sides({name: (lambda words=words: values(lab.mpirun("-q", *words, "-n", 2, program, lab.pick(20, 3)))) for name, words in ways.items()}, 3)
    ratios = {name: sample["write"].median / sample["port"].median for name, sample in sides.items()}
    series = {title: [sides[name][key].point(name, 1e-3) for name in ways] for key, title in (("mpi", "MPI, half a round trip"), ("port", "port, half a round trip"), ("write", "channel, a value"))}
    return judge(ratios["TCP sockets"] >= 1.6, f"Over sockets a value through a channel takes {ratios['TCP sockets']:.2f} times as long as a message to a port takes one way, {ratios['one machine']:.2f} times in memory: a round trip "
                 "would take twice as long; at least 1.6 confirms the claim.",
                 ran="net.c: two programs; a write to a channel until it is acknowledged, and half a round trip by ports and by MPI.",
                 plots=[Plot("A value from one program to the other", "between", "microseconds", series, bars=True, log_y=True)])


@experiment("csp-io", "csp", "section 3.3", "One IO scheduler lets processes wait for very many sockets with little overhead, where a thread for each costs memory and switches.", "no numbers; \"very large numbers of sockets\"")
def csp_io(lab):
    program = lab.build("sockets.c", libs=("-lpthread",))
    counts, messages = lab.pick((10, 100, 1000, 10000), (10, 1000)), lab.pick(100000, 10000)
    series = {"Processes, one IO scheduler": [], "A thread for each": []}
    for n in counts:
        both = lab.sides({name: (lambda kind=kind: values(lab.run(program, kind, n, messages))["message"]) for name, kind in zip(series, ("processes", "threads"))}, 3)
        for name, sample in both.items():
            series[name].append(sample.point(n))
    ours, threads = series.values()
    return judge(ours[-1][1] <= 3 * ours[0][1] and ours[-1][1] <= 1.1 * threads[-1][1], f"From {counts[0]} to {counts[-1]:,} sockets a message takes {short(ours[0][1])} to {short(ours[-1][1])} us with one IO scheduler, and {short(threads[-1][1])} us with "
                 f"{counts[-1]:,} threads. At most three times as long as with {counts[0]}, and no longer than with threads, confirms the claim.",
                 ran=f"sockets.c: a server of TCP connections that echoes {messages:,} bytes sent at random, 32 at a time, on {len(CORES)} cores.",
                 plots=[Plot("Echo", "sockets", "microseconds a message", series, log_x=True, log_y=True)])


# ---- conciseness


def function_lines(text, name):
    """Lines of one C function, without comments and blank lines."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    match = re.search(rf"^[\w *]+\b{name}\([^;{{]*\)\s*\{{.*?^\}}", text, re.M | re.S)
    if not match:
        raise Failure(f"{name} is not in the examples")
    return sum(bool(line.strip()) for line in match.group(0).splitlines())


@experiment("csp-lines", "csp", "section 2", "Collectives written as processes are much shorter than Open MPI's.", "Open MPI's binomial reduce has 199 lines of C, its broadcasts 36 (linear, Listing 18) and 56 (binomial, Listing 19) without comments; Listings 2, 4 and 6 have 9, 6 and 9")
def csp_lines(lab):
    folder = examples(lab, "csp/collectives")
    reduce, broadcast = (folder / "reduce.c").read_text(), (folder / "broadcast.c").read_text()
    rows = [["broadcast, linear", 36, 9, function_lines(broadcast, "broadcast_linear")], ["broadcast, binomial", 56, 6, function_lines(broadcast, "broadcast_binomial")],
            ["reduce, binomial", 199, 9, function_lines(reduce, "reduce_binom1")]]
    worst = max(row[3] / row[1] for row in rows)
    return judge(worst <= 0.5, f"In C, with the same helper functions, they have {', '.join(str(row[3]) for row in rows)} lines: at most {worst:.2f} of Open MPI's. At most half confirms the claim.", timed=False,
                 ran="Lines that are no comments, of examples/csp/collectives.",
                 plots=[Plot("Lines", "operation", "lines", {"Open MPI": [(row[0], row[1]) for row in rows], "PyCSP": [(row[0], row[2]) for row in rows], "Here, in C": [(row[0], row[3]) for row in rows]},
                             paper=("Open MPI", "PyCSP"), bars=True, log_y=True)],
                 tables=[Table(["operation", "Open MPI", "PyCSP", "here, in C"], rows)])


# ---- Figure 2


@experiment("paths-tree", "csp", "Figure 2", "An all-reduce whose threads combine on their node before one of them goes to the next is faster than one of all threads alike.", "PATHS was faster than LAM-MPI on clusters of multiprocessors; no numbers here")
def paths_tree(lab):
    program = lab.build("combine.c")
    rules = {"combine": 'path { coll = "allreduce", "combine" }\n', "flat": 'path { coll = "allreduce", "count" }\nrule { coll = "allreduce", alg = "recursive_doubling", flat = true }\n'}
    for name, text in rules.items():
        (lab.scratch / f"{name}.lua").write_text(text)
    counts = lab.pick((2, 8, 32), (8,))
    series, messages = {name: [] for name in rules}, {}
    for n in counts:
        both = lab.sides({name: (lambda name=name: values(lab.mpirun("-q", "--rsh", "local", "-H", "a,b", "-n", 2, "-nfg", n, "--workers", "process", "--coll", lab.scratch / f"{name}.lua", program, lab.pick(200, 50)))["allreduce"])
                          for name in rules}, 5)
        for name, sample in both.items():
            series[name].append(sample.point(n))
    for name in rules:
        report = lab.mpirun("-q", "--report", "--rsh", "local", "-H", "a,b", "-n", 2, "-nfg", counts[-1], "--workers", "process", "--coll", lab.scratch / f"{name}.lua", program, 90, note=False)
        match = re.search(r"other host +([\d,]+) messages", report)
        messages[name] = int(match.group(1).replace(",", "")) / 100 if match else float("nan")
    gain = series["flat"][-1][1] / series["combine"][-1][1]
    return judge(gain >= 1.5, f"With {counts[-1]} threads on each of two hosts an all-reduce is {gain:.1f} times as fast where they combine first, and sends {short(messages['combine'])} messages between the hosts, not {short(messages['flat'])}.",
                 ran="combine.c: two hosts (--rsh local, TCP), fibers on each; a rule book with the wrapper `combine`; and one without it, whose rule is recursive doubling of all ranks alike.",
                 plots=[Plot("All-reduce of 8 bytes on two hosts", "ranks of a host", "microseconds", {"Combined first": series["combine"], "Flat": series["flat"]}, log_x=True, log_y=True)])
