# SPDX-License-Identifier: BSD-3-Clause
"""A launcher that speaks PMI-1, for tests: it starts processes with PMI_FD (or PMI_PORT), answers them, and remembers what they said.

    with Launcher(4, [program, "word"], env=...) as job:
        results = job.finish()

It is a strict one: an unknown command, a value that is too long or holds a blank, a get of a key that nobody has put, and a put after the fence are faults, which
`faults` lists. `twist` changes an answer before it is sent."""

import os
import selectors
import signal
import socket
import subprocess
import threading
import time

import harness

VALUE_MOST = 1024


class Rank:
    def __init__(self, launcher, number, end):
        self.launcher, self.number, self.end, self.got, self.process = launcher, number, end, b"", None
        self.said = []  # (command, keys)
        self.fenced = self.finalized = False


class Launcher:
    def __init__(self, size, words, env=(), on=None, port=False, twist=None, value_most=VALUE_MOST, kvsname=None, grains=None):
        """`on(number, words)`: the words that start that process elsewhere; `port`: PMI_PORT in place of PMI_FD; `grains`: more variables of each process."""
        self.size, self.twist, self.value_most = size, twist or (lambda rank, command, answer: answer), value_most
        self.kvsname = kvsname or f"kvs_{os.getpid()}_{time.monotonic_ns()}"
        self.space, self.faults, self.aborted, self.fences = {}, [], None, 0
        self.ranks, self.selector = [], selectors.DefaultSelector()
        self.lock = threading.Lock()
        self.door = socket.create_server(("127.0.0.1", 0)) if port else None
        self.numbers = {}  # of PMI_PORT: connections whose number is not known yet
        if port:
            self.selector.register(self.door, selectors.EVENT_READ, None)
        for number in range(size):
            own, theirs = (None, None) if port else socket.socketpair()
            rank = Rank(self, number, own)
            self.ranks.append(rank)
            own_env = harness.environment({"PMI_RANK": str(number), "PMI_SIZE": str(size), **dict(env), **dict(grains[number] if grains else {})})
            if port:
                own_env.pop("PMI_RANK"), own_env.pop("PMI_SIZE")
                own_env |= {"PMI_PORT": f"127.0.0.1:{self.door.getsockname()[1]}", "PMI_ID": str(number)}
            else:
                own_env["PMI_FD"] = str(theirs.fileno())
                self.selector.register(own, selectors.EVENT_READ, rank)
            command = on(number, words) if on else words
            rank.process = harness.start(*command, env=own_env, pass_fds=[] if port else [theirs.fileno()])
            if theirs:
                theirs.close()
        self.over = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.over = True
        self.thread.join(5)
        for rank in self.ranks:
            if rank.end:
                rank.end.close()
            rank.process.communicate()

    def kill(self):
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.process.send_signal(signal.SIGKILL)

    # ---- answers

    def serve(self):
        while not self.over:
            for key, _ in self.selector.select(0.05):
                if key.data is None:
                    self.accept(key.fileobj)
                else:
                    self.read(key.data, key.fileobj)

    def accept(self, door):
        end, _ = door.accept()
        line = end.makefile("rb", buffering=0).readline().decode()
        number = int(dict(word.split("=", 1) for word in line.split())["pmiid"])
        rank = self.ranks[number]
        rank.end = end
        end.sendall(f"cmd=initack rc=0\ncmd=set size={self.size}\ncmd=set rank={number}\ncmd=set debug=0\n".encode())
        self.selector.register(end, selectors.EVENT_READ, rank)

    def read(self, rank, end):
        try:
            got = end.recv(4096)
        except OSError:
            got = b""
        if not got:
            self.selector.unregister(end)
            return
        rank.got += got
        while b"\n" in rank.got:
            line, rank.got = rank.got.split(b"\n", 1)
            self.take(rank, line.decode())

    def fault(self, rank, text):
        self.faults.append(f"process {rank.number}: {text}")

    def take(self, rank, line):
        words = line.split(" ")
        keys = dict(word.split("=", 1) for word in words)
        command = keys.pop("cmd")
        rank.said.append((command, keys))
        answer = getattr(self, f"take_{command}", self.take_unknown)(rank, keys)
        if command == "barrier_in" and all(r.fenced for r in self.ranks):
            self.fences += 1
            for r in self.ranks:
                r.fenced = False
                self.send(r, command, "cmd=barrier_out")
        elif answer:
            self.send(rank, command, answer)

    def send(self, rank, command, answer):
        answer = self.twist(rank, command, answer)
        if answer is None:
            rank.end.shutdown(socket.SHUT_RDWR)
            return
        try:
            rank.end.sendall((answer + "\n").encode())
        except OSError:
            pass  # it has ended

    def take_unknown(self, rank, keys):
        self.fault(rank, f"says what PMI-1 does not know: {rank.said[-1]}")

    def take_init(self, rank, keys):
        return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"

    def take_get_maxes(self, rank, keys):
        return f"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max={self.value_most}"

    def take_get_my_kvsname(self, rank, keys):
        return f"cmd=my_kvsname kvsname={self.kvsname}"

    def take_get_appnum(self, rank, keys):
        return "cmd=appnum appnum=0"

    def take_put(self, rank, keys):
        if keys["kvsname"] != self.kvsname or len(keys["value"]) >= self.value_most or len(keys["key"]) >= 64 or keys["key"] in self.space or self.fences:
            self.fault(rank, f"puts what it may not: {keys}")
        self.space[keys["key"]] = keys["value"]
        return "cmd=put_result rc=0 msg=success"

    def take_barrier_in(self, rank, keys):
        rank.fenced = True

    def take_get(self, rank, keys):
        if keys["key"] not in self.space or not self.fences:
            self.fault(rank, f"gets what is not there: {keys}")
            return "cmd=get_result rc=-1 msg=not_found"
        return f"cmd=get_result rc=0 msg=success value={self.space[keys['key']]}"

    def take_abort(self, rank, keys):
        self.aborted = int(keys["exitcode"])
        self.kill()

    def take_finalize(self, rank, keys):
        rank.finalized = True
        return "cmd=finalize_ack"

    # ---- for tests

    def finish(self, code=0, limit=30):
        """The results of all processes, in their order; `code`: the exit code of each (None: any)."""
        return [harness.finish(rank.process, code, limit=limit) for rank in self.ranks]

    def count(self, command):
        return sum(said == command for rank in self.ranks for said, _ in rank.said)
