# SPDX-License-Identifier: BSD-3-Clause
"""MPI as a C++ library: averaging, broadcasts over sockets, start and end, wire routing, tree reductions."""

from lab import CORES, Plot, Table, bytes_text, experiment, judge, recorded, short, sim, values


def speedups(lab, programs, machine):
    times = {}
    for n, program in programs.items():
        lab.say(f"simulating {n} ranks on {machine}")
        times[n] = sim(lab, machine, program)
    first = min(times)
    return [(n, times[first] * first / time) for n, time in times.items()]


# ---- experiment I


@experiment("cpp1", "cpp", "experiment I", "Averaging a huge array, which communicates once, speeds up by 28 with 32 cores and 61 with 96; a library that uses shared memory stays near the "
            "number of cores.", "28x/32, 61x/96; Open MPI 117x/128")
def cpp1(lab):
    program = lab.build("average.c")
    elements, times = lab.pick((1 << 25, 4), (1 << 22, 1))
    real = {}
    for n in lab.pick((1, 2, 4, 16, 64), (1, 2)):
        real[n] = lab.sides({"Millet": lambda: values(lab.mpirun("-q", "-n", n, program, elements, times))["seconds"]}, 3)["Millet"]
    speeds = [(n, real[1].median / sample.median) for n, sample in real.items()]
    programs = recorded(lab, lab.pick((1, 2, 4, 8, 16, 32, 64, 96, 128), (1, 32, 96)), program, elements, times)
    memory, sockets = speedups(lab, programs, "cores128"), speedups(lab, programs, "sockets128")
    at = dict(memory)
    return judge(at[32] >= 28 and at[96] >= 61, f"Simulated on 128 cores, the recorded runs speed up by {at[32]:.1f} with 32 ranks and {at[96]:.1f} with 96; at least 28 and 61 confirm the claim. "
                 f"{'More than one for a rank: its part of the array fits the caches. ' if at[32] > 32 else ''}"
                 f"{len(CORES)} cores here give {max(speed for _, speed in speeds):.2f}.",
                 ran=f"average.c, {elements:,} elements, added up {times} times, 1 to {max(real)} processes on {len(CORES)} cores.",
                 simulated="Each number of ranks recorded as fibers with its own computing times, on one node of 128 cores with shared memory (cores128.machine) and with a socket connected "
                 "for each message (sockets128.machine).",
                 plots=[Plot("Averaging", "ranks", "speed-up", {"Here, simulated": memory, "Simulated, sockets": sockets, f"Here, {len(CORES)} cores": speeds,
                                                                 "The paper's library": [(32, 28), (96, 61)], "The paper's Open MPI": [(128, 117)]},
                             paper=("The paper's library", "The paper's Open MPI"))])


# ---- experiment II


@experiment("cpp2", "cpp", "experiment II", "A linear broadcast over sockets is much slower than Open MPI for short messages, and faster for the longest.", "2^10 to 2^28 bytes, 16 and 128 processes; read off the plot: slower "
            "to about 2^20 bytes, faster above")
def cpp2(lab):
    program, theirs = lab.build("bcast.c", flags=("-O2", "-DFEW")), lab.build("bcast.c", mpi="openmpi", flags=("-O2", "-DFEW"))
    ranks, sizes = 16, lab.pick([1 << power for power in range(10, 27, 4)], [1 << 10, 1 << 20])
    hosts = f"n[1-{ranks}]"
    both = lab.sides({
        "Linear over sockets": lambda: values(lab.mpirun("-q", "--rsh", "local", "-H", hosts, "--force", "bcast=linear", "-n", ranks, program, "library", *sizes, limit=300)),
        "Millet": lambda: values(lab.mpirun("-q", "-n", ranks, program, "library", *sizes, limit=300)),
        "Open MPI": lambda: values(lab.openmpi(theirs, ranks, "library", *sizes, limit=300)),
    }, 3)
    ratios = [both["Linear over sockets"][f"{size}_us"].median / both["Open MPI"][f"{size}_us"].median for size in sizes]
    cores = "" if ratios[-1] <= 1 else f" The kernel copies the bytes twice for each of {ranks - 1} receivers, on {len(CORES)} cores that all of them share; the paper had a core for each."
    return judge(ratios[0] >= 2 and ratios[-1] <= 1, f"Over sockets a broadcast takes {ratios[0]:.1f} times as long as Open MPI's with {bytes_text(sizes[0])}, and {ratios[-1]:.2f} times with {bytes_text(sizes[-1])}; "
                 "at least 2 and at most 1 confirm the claim." + cores,
                 ran=f"bcast.c, {ranks} processes on {len(CORES)} cores: --rsh local with a host a process and --force bcast=linear; Open MPI at its best, in shared memory. 128 processes and 2^28 bytes need "
                 "more memory and cores than this machine has.",
                 plots=[Plot(f"{ranks} processes", "bytes", "microseconds until the last rank has the data",
                             {name: [sample[f"{size}_us"].point(size) for size in sizes] for name, sample in both.items()}, log_x=True, log_y=True)])


# ---- experiment III


@experiment("cpp3", "cpp", "experiment III", "Starting ranks and cleaning up after them takes much less time than with Open MPI.", "read off the plot: less at every number of processes")
def cpp3(lab):
    program, theirs = lab.build("start_end.c"), lab.build("start_end.c", mpi="openmpi")
    launcher = lab.peer()[1]
    counts = lab.pick((2, 4, 8, 16, 32, 64), (2, 8))
    series = {"Millet": [], "Open MPI": []}
    for n in counts:
        both = lab.sides({"Millet": lambda: lab.timed(lab.bin / "mpirun", "-q", "-n", n, program),
                          "Open MPI": lambda: lab.timed(launcher, "--oversubscribe", "-n", n, theirs)}, 5)
        for name, sample in both.items():
            series[name].append(sample.point(n))
    ratios = [ours[1] / other[1] for ours, other in zip(*series.values())]
    return judge(max(ratios) < 1, f"Millet takes {min(ratios):.3f} to {max(ratios):.3f} times as long as Open MPI, over {counts[0]} to {counts[-1]} processes.",
                 ran="start_end.c: MPI_Init and MPI_Finalize, the whole command. The paper adds a loop of 10^8 turns, which both would pay alike.",
                 plots=[Plot("Start and end", "processes", "seconds", series, log_x=True, log_y=True)])


# ---- experiment IV


@experiment("cpp4", "cpp", "experiment IV", "Routing wires, whose messages become more and shorter with the ranks, speeds up to 64 processes and less with 128.",
            "10.88x with 64 processes, then a sharp drop at 128; 15.21x with 128 for Open MPI")
def cpp4(lab):
    program = lab.build("wires.c")
    size = lab.pick((16384, 512, 2), (1024, 256, 1))
    real = {n: lab.sides({"Millet": lambda: values(lab.mpirun("-q", "-n", n, program, *size))}, 3)["Millet"] for n in lab.pick((1, 2, 4, 16), (1, 2))}
    speeds = [(n, real[1]["seconds"].median / sample["seconds"].median) for n, sample in real.items()]
    programs = recorded(lab, lab.pick((1, 2, 4, 8, 16, 32, 64, 128), (1, 16)), program, *size)
    memory, sockets = speedups(lab, programs, "cores128"), speedups(lab, programs, "sockets128")
    top, end = max(sockets, key=lambda point: point[1]), sockets[-1]
    rises = f" It was {sockets[-2][1]:.1f} with {sockets[-2][0]}: how long the recorded ranks computed decides when it falls." if top == end else ""
    return judge(top[1] >= 2 and (lab.quick or dict(sockets)[128] < top[1]) and max(speed for _, speed in memory) >= 10.88,
                 f"With sockets the simulated speed-up is highest with {top[0]} ranks, {top[1]:.1f}, and {end[1]:.1f} with {end[0]}; with shared memory it reaches {max(speed for _, speed in memory):.1f}. "
                 "A highest point before 128 ranks with sockets, and at least 10.88 with shared memory, confirm the claim." + rises,
                 ran=f"wires.c: {size[0]:,} wires on a chip of {size[1]} x {size[1]} cells, {size[2]} iterations, 1 to {max(real)} processes on {len(CORES)} cores; the paper's own program is not public.",
                 simulated="Each number of ranks recorded as fibers, on 128 cores with shared memory and with a socket connected for each message.",
                 plots=[Plot("Routing", "ranks", "speed-up", {"Simulated": memory, "Simulated, sockets": sockets, f"Here, {len(CORES)} cores": speeds, "The paper's library": [(64, 10.88)],
                                                               "The paper's Open MPI": [(128, 15.21)]}, paper=("The paper's library", "The paper's Open MPI"), log_x=True)],
                 tables=[Table(["processes", "seconds", "cost", "fullest cell"], [[n, str(sample["seconds"]), short(sample["cost"].median), short(sample["most"].median)] for n, sample in real.items()])])


# ---- experiment V


@experiment("cpp5", "cpp", "experiment V", "A reduction by a tree is as fast as one by gathering for small arrays, and 10 times as fast for 3 million entries and 128 processes.",
            "almost 10x with 3 million entries and 128 processes; equal or slightly slower for small arrays")
def cpp5(lab):
    program = lab.build("reduction.c")
    ranks, sizes = lab.pick((64, (100, 10000, 300000)), (8, (100, 100000)))
    both = lab.sides({name: (lambda name=name: values(lab.mpirun("-q", "-n", ranks, program, name, lab.pick(5, 3), *sizes, limit=200))) for name in ("gather", "tree", "library")}, 3)
    real = [(size, both["gather"][f"{size}_us"].median / both["tree"][f"{size}_us"].median) for size in sizes]
    simulated = {"sockets": [], "shared memory": []}
    for size in (100, 1000, 10000, 100000, 1000000, 3000000):
        for name, machine in (("sockets", "sockets128"), ("shared memory", "cores128")):
            gather, tree = (sim(lab, machine, "--alg", f"reduce.{alg}", "-n", 128, "--count", size) for alg in ("gather", "binomial"))
            simulated[name].append((size, gather / tree))
    gain = simulated["sockets"][-1][1]
    return judge(gain >= 8 and simulated["sockets"][0][1] < gain, f"Simulated with 128 ranks and sockets, a tree is {gain:.1f} times as fast as gathering for 3 million entries, and {simulated['sockets'][0][1]:.1f} times for 100; at "
                 f"least 8 for the large ones confirms the claim. On {len(CORES)} cores, where adding hardly goes in parallel, it is {real[-1][1]:.1f} times as fast with {ranks} processes.",
                 ran=f"reduction.c: sums of {sizes[0]} to {sizes[-1]:,} ints on {ranks} processes by MPI_Gather and adding, by a tree of sends, and by MPI_Reduce.",
                 simulated="reduce.gather and reduce.binomial of 128 ranks on 128 cores.",
                 plots=[Plot("Gather / tree", "entries", "times as fast", {"Simulated, 128 ranks, sockets": simulated["sockets"], "Simulated, 128 ranks, shared memory": simulated["shared memory"],
                                                                            f"Here, {ranks} processes": real, "The paper": [(3000000, 10)]}, paper=("The paper",), log_x=True),
                        Plot(f"{ranks} processes here", "entries", "microseconds", {name: [sample[f"{size}_us"].point(size) for size in sizes] for name, sample in both.items()}, log_x=True, log_y=True)])
