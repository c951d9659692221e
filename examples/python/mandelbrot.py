# SPDX-License-Identifier: BSD-3-Clause
# The Mandelbrot set by a farm: whichever worker is free takes the next line of the picture. Under mpirun the ranks are the workers,
# each a process of the system; alone, it has four of its own.
#
#     mpirun -n 4 python3 mandelbrot.py              72 x 28 letters
#     mpirun -n 4 python3 mandelbrot.py 1200 800 > set.pgm
import sys

from millet import *

WIDTH, HEIGHT = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (72, 28)
MOST = 200


def depth(c):
    z = 0
    for i in range(MOST):
        z = z * z + c
        if abs(z) > 2:
            return i
    return MOST


@process
def worker(jobs, lines):
    while True:  # until the farmer has no more jobs; then it retires from both
        y = jobs()
        lines((y, [depth(complex(3 * x / WIDTH - 2.2, 2.4 * y / HEIGHT - 1.2)) for x in range(WIDTH)]))


@process
def farmer(jobs):
    for y in range(HEIGHT):
        jobs(y)
    retire(jobs)


@process
def painter(lines):
    picture = dict(lines() for _ in range(HEIGHT))
    picture = [picture[y] for y in range(HEIGHT)]
    if len(sys.argv) > 2:
        print(f"P2 {WIDTH} {HEIGHT} {MOST}")
        for line in picture:
            print(*line)
    else:
        for line in picture:
            print("".join(" .:-=+*#%@"[min(9, d * 10 // 40)] for d in line).rstrip())


everyone = Group("everyone")[0]
if node() == 0:
    jobs, lines = Channel("jobs"), Channel("lines")
    registerNamedChannel(jobs, "jobs")
    registerNamedChannel(lines, "lines")
    own = 4 * worker(+jobs, -lines) if nodes() == 1 else []
    everyone.barrier()
    Parallel(farmer(-jobs), painter(+lines), own)
else:
    jobs, lines = +getNamedChannel("jobs"), -getNamedChannel("lines")
    everyone.barrier()  # the names are gone when the farm ends, however late a worker begins
    Sequence(worker(jobs, lines))
