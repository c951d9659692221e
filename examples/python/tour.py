# SPDX-License-Identifier: BSD-3-Clause
# What docs/guide/pycsp.md tells, step by step.
import operator

from millet import *


# ---- processes and channels


@process
def source(cout, last):
    for i in range(last):
        cout(i)
    retire(cout)


@process
def sink(cin):
    total = 0
    try:
        while True:
            total += cin()
    except ChannelRetireException:
        return total


c = Channel()
results = Parallel(source(-c, 100), sink(+c))
print(results)  # [None, 4950]

c = Channel()
results = Parallel(5 * source(-c, 100), sink(+c))
print(results[-1])  # 24750


# ---- how a network ends


@process
def double(cin, cout):
    while True:
        cout(2 * cin())


@process
def until(cin, limit):
    while cin() < limit:
        pass
    poison(cin)
    return "enough"


a, b = Channel("a"), Channel("b")
print(Parallel(source(-a, 10**9), double(+a, -b), until(+b, 20)))  # [None, None, 'enough']


# ---- alternation


@choice
def got(what, channel_input=None):
    print(what, channel_input)


@process
def listen(cin, cout):
    AltSelect(InputGuard(cin, action=got("read")), TimeoutGuard(seconds=60))
    end, message = AltSelect(InputGuard(cin), OutputGuard(cout, "news"))
    written = end == cout
    end, message = PriSelect(cin, SkipGuard())
    return written, "nothing there" if end != cin else message


@process
def speak(cout, cin):
    cout("hello")
    return cin()


a, b = Channel(), Channel()
print(Parallel(listen(+a, -b), speak(-a, +b)))  # [(True, 'nothing there'), 'news']


# ---- an end is a value


@process
def server(cin):
    question, reply = cin()
    reply(question + 1)


@process
def client(cout):
    answer = Channel()
    cout((41, -answer))
    print((+answer)())


c = Channel()
Parallel(server(+c), client(-c))

# ---- ranks, ports and groups

me = node()
inbox = Port("inbox")
connect((me + 1) % nodes(), "inbox").send({"from": me})
message, sender = inbox.receive_from()
print(message["from"] == sender)

comm = Group("all")[0]
ranks = comm.gather(comm.rank)
biggest = comm.reduce(me, max)
total = comm.allreduce([1.0, 2.0 * me], operator.add, type="d")
print(ranks == list(range(nodes())) and biggest == nodes() - 1 if me == 0 else ranks is None, total[0] == nodes())
