# SPDX-License-Identifier: BSD-3-Clause
# Commstime, the classic measure of channels: a number goes round prefix, delta and successor and grows by one each time; delta
# also tells a consumer. A round is four communications.
#
#           +--> prefix(0) --a--> delta --d--> consumer
#           |                       |
#           c                       b
#           |                       v
#           +------ successor <-----+
#
#     python3 commstime.py 5000        rounds
import sys
import time

from millet import *


@process
def prefix(cin, cout, item):
    while True:
        cout(item)
        item = cin()


@process
def delta(cin, *couts):
    while True:
        value = cin()
        for cout in couts:
            cout(value)


@process
def successor(cin, cout):
    while True:
        cout(cin() + 1)


@process
def consumer(cin, rounds):
    start = time.perf_counter()
    heard = [cin() for _ in range(rounds)]
    seconds = time.perf_counter() - start
    poison(cin)
    right = "right" if heard == list(range(rounds)) else "WRONG"
    print(f"{rounds} rounds ({right}), {seconds / rounds / 4 * 1e6:.1f} us a communication")


a, b, c, d = Channel("a"), Channel("b"), Channel("c"), Channel("d")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
Parallel(prefix(+c, -a, 0), delta(+a, -b, -d), successor(+b, -c), consumer(+d, rounds))
