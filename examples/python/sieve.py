# SPDX-License-Identifier: BSD-3-Clause
# The primes, by a chain of processes: each keeps the first number that it hears, which is a prime, and passes on what that does
# not divide, to a process that it starts itself.
#
#     python3 sieve.py 100        the primes up to 100
import sys

from millet import *


@process
def count(cout, last):
    for n in range(2, last + 1):
        cout(n)
    retire(cout)


@process
def sieve(cin):
    try:
        prime = cin()
    except ChannelRetireException:
        return []  # the numbers are over: this is the end of the chain
    rest = Channel()
    return [prime] + Parallel(keep(prime, cin, -rest), sieve(+rest))[1]


@process
def keep(prime, cin, cout):
    while True:  # until cin has retired; then cout retires, too
        n = cin()
        if n % prime:
            cout(n)


numbers = Channel()
last = int(sys.argv[1]) if len(sys.argv) > 1 else 100
print(*Parallel(count(-numbers, last), sieve(+numbers))[1])
