# SPDX-License-Identifier: BSD-3-Clause
# Two processes and two channels: listing 1 of Bjorndalen and Sampson, Process-Oriented Collective Operations (2008), in Python 3.
# docs/guide/pycsp.md explains it.
#
#     python3 two.py          for ever
#     python3 two.py 3 0.1    three values, a tenth of a second each
import sys
import time

from millet import *

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else None
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1


@process
def P1(cin, cout):
    while True:
        v = cin()
        print("P1, read from input channel:", v)
        time.sleep(seconds)
        cout(v)


@process
def P2(cin, cout):
    i = 0
    while i != rounds:
        cout(i)
        v = cin()
        print("P2, read from input channel:", v)
        i += 1
    retire(cin, cout)


chan1 = One2OneChannel()
chan2 = One2OneChannel()

Parallel(P1(chan1.read, chan2.write), P2(chan2.read, chan1.write))
