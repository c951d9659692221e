#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Network modules of flow programs, and what their clients may do to them: many clients, clients that vanish, send too much, or
nothing; ports that are taken, servers that refuse; how a server ends.

`network.py [--build DIR] [-k WORD]`. The last line is the sum: N passed, N failed. No test looks at a time."""

import os
import pathlib
import re
import resource
import signal
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from harness import expect  # noqa: E402

LIMIT = 60
BUILD = SCRATCH = None

MODULES = {
    # Echoes lines; "twice" gets two lines, "long N" a line of N letters; "flood" a reply for ever and ever.
    "Echo": ("in flow_line; out flow_line;", """
    const flow_line *line;
    size_t n;
    while (flow_dequeue(my, &line, &n)) {
        int letters;
        if (strcmp(line->text, "twice") == 0)
            flow_reply(my, line->client, "one\\ntwo");
        else if (sscanf(line->text, "long %d", &letters) == 1)
            flow_reply(my, line->client, "%*s", letters, "x");
        else if (strcmp(line->text, "nobody") == 0)
            flow_reply(my, line->client + 1000, "for nobody");
        else if (strcmp(line->text, "flood") == 0)
            for (int i = 0; i < 3000; i++)
                flow_reply(my, line->client, "%10000s", "x");
        else
            flow_give(my, (flow_line *)line, n);
    }"""),
    "Sum": ("in double;", """
    const double *v;
    size_t n, elements = 0;
    double sum = 0;
    for (; flow_dequeue(my, &v, &n); elements++)
        for (size_t i = 0; i < n; i++)
            sum += v[i];
    printf("%zu elements, sum %g\\n", elements, sum);"""),
    "Text": ("in char;", """
    const char *text;
    size_t n;
    while (flow_dequeue(my, &text, &n))
        printf("%zu %s\\n", n, text);"""),
    "Numbers": ("out double;", """
    for (int i = 1; i <= 100; i++)
        flow_send(my, ((const double[]){i, -1}), 2);"""),
    "Words": ("out char;", """
    flow_send(my, "hello", 6);
    flow_send(my, "", 1);
    flow_send(my, "world", 6);"""),
}


def clean():
    return harness.environment({"MILLET_NAMES": "job"}, asan="detect_leaks=0")


def build(name, instances, wires, *modules):
    """A program of these instances and wires, with the modules above."""
    program = SCRATCH / name
    folder = SCRATCH / f"{name}.d"
    folder.mkdir()
    text = f"const PORT = 1;\nModule Main is Root {{\n  {instances}\n  flow: {wires}\n}}\n"
    for module in modules:
        queues, body = MODULES[module]
        text += f"Declare Module {module} {{ {queues} }}\n"
        (folder / f"{module}.c").write_text(f"#include <stdio.h>\n#include <string.h>\n#include \"{module}.flow.h\"\n"
                                            f"int {module}_run({module} *my)\n{{{body}\n    return 0;\n}}\n")
    (folder / f"{name}.flow").write_text(text)
    harness.run(BUILD / "bin/millet", "flow", "build", folder / f"{name}.flow", *(folder / f"{module}.c" for module in modules),
                "-Wall", "-Wextra", "-Werror", "-o", program, env=clean(), limit=LIMIT)
    return program


def listen(program, *words):
    """A program that listens, and its port."""
    process = harness.start(program, "-D", "PORT=0", *words, env=clean(), cwd=SCRATCH)
    return process, int(re.search(r"listens at [0-9.]+:(\d+)\n", harness.heard(process, "listens at", "\n"))[1])


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT)


def ask(port, *lines):
    """The replies to a client that sends all of this, and then only listens."""
    with connect(port) as client:
        client.sendall("".join(lines).encode())
        client.shutdown(socket.SHUT_WR)
        return client.makefile(newline="").read()


def end(process):
    process.send_signal(signal.SIGTERM)
    return harness.finish(process, code=0, limit=LIMIT)


def echo():
    program = SCRATCH / "echo"
    if not program.exists():
        build("echo", "LineServer s(port = PORT, length = 100, linger = 1); Echo e[2]; Deal d;", "s -> d -> e -> s;", "Echo")
    return program


def test_lines():
    process, port = listen(echo())
    expect(ask(port, "a\n") == "a\n", "an echo")
    expect(sorted(ask(port, "a\nbb\r\n\nccc\n").split("\n")) == ["", "", "a", "bb", "ccc"], "lines, one of them empty")
    expect(ask(port, "twice\n") == "one\ntwo\n", "a reply of two lines")
    expect(ask(port, "long 5000\n") == f"{'x':>5000}\n", "a long reply")
    expect(ask(port, "whole\nunfinished") == "whole\n", "a line that has not ended is none")
    expect(ask(port) == "", "nothing at all")
    expect(ask(port, "nobody\n") == "", "a reply to a client that is not there; this one gives up after `linger`")
    expect(ask(port, "x" * 100 + "\n") == "x" * 100 + "\n", "the longest line")
    for line in ("x" * 101 + "\n", "x" * 200000, "first\n" + "y" * 101 + "\n"):
        said = ask(port, line) if len(line) < 1000 else None
        if said is None:
            with connect(port) as client:
                client.sendall(line.encode())
                said = client.makefile().read()
        expect(said.endswith("error: a line of more than 100 bytes\n"), "too long a line", said)
    expect(ask(port, "a\0b\n") == "error: a line with a zero byte\n", "a zero byte")
    expect(ask(port, "still\n") == "still\n", "it serves others")
    said = end(process)
    expect(len(said.err.splitlines()) == 1 and "a line of more than 100 bytes (others like it are not told)" in said.err, "told once", said)


def test_clients_that_vanish():
    process, port = listen(echo())
    for text in (b"", b"half a line", b"a\n" * 1000):
        with connect(port) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
            client.sendall(text)
    slow = connect(port)
    slow.sendall(b"flood\n")  # 30 MB, which it does not read
    expect(ask(port, "a\n") == "a\n", "others are served meanwhile")
    gone = slow.makefile("rb")
    try:
        while gone.read(1 << 20):
            pass
    except ConnectionResetError:
        pass
    expect(ask(port, "a\n") == "a\n", "and afterwards")
    end(process)


def test_many_clients():
    """No thread, and no process of csp, for each."""
    count = 2000
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    process, port = listen(echo())
    clients = [connect(port) for _ in range(count)]
    for turn in range(2):
        for i, client in enumerate(clients):
            client.sendall(b"%d %d\n" % (turn, i))
        for i, client in enumerate(clients):
            expect(client.recv(100) == b"%d %d\n" % (turn, i), f"the reply of client {i}")
    threads = len(os.listdir(f"/proc/{process.pid}/task"))
    expect(threads <= 4, f"{threads} threads")
    for client in clients[1:]:
        client.close()
    clients[0].sendall(b"last\n")
    expect(clients[0].recv(100) == b"last\n", "the last one")
    end(process)
    expect(clients[0].recv(100) == b"", "it is told of the end")


def test_limits_and_ends():
    program = build("limits", "LineServer s(port = PORT, clients = 2, serve = 3, host = \"*\"); Echo e;", "s -> e -> s;", "Echo")
    process, port = listen(program)
    first, second, third = (connect(port) for _ in range(3))  # the third one waits in the system's queue
    third.sendall(b"third\n")
    harness.heard(process, "no room for more")
    for client in (first, second):
        client.sendall(b"a\n")
        expect(client.recv(10) == b"a\n", "two are served")
    first.close()
    expect(third.recv(10) == b"third\n", "then the third")
    second.close()
    third.close()
    harness.finish(process, code=0, limit=LIMIT)
    program = build("idle", "LineServer s(port = PORT, idle = 1); Echo e;", "s -> e -> s;", "Echo")
    process, port = listen(program)
    expect(ask(port, "a\n") == "a\n", "it serves")
    harness.finish(process, code=0, limit=LIMIT)
    program = build("shared", "LineServer s[3](port = PORT, idle = 1); Echo e[3];", "s => e => s;", "Echo")
    with socket.socket() as probe:  # a port that is free
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = harness.start(program, "-D", f"PORT={port}", env=clean())
    harness.heard(process, *(f"s[{i}] listens at 127.0.0.1:{port}\n" for i in range(3)))
    for i in range(10):
        expect(ask(port, f"{i}\n") == f"{i}\n", "several servers at one port")
    harness.finish(process, code=0, limit=LIMIT)


def test_what_fails():
    process, port = listen(echo())
    said = harness.run(echo(), "-D", f"PORT={port}", code=1, env=clean())
    expect(f"module LineServer, instance s, on rank 0: it cannot listen at 127.0.0.1:{port}: Address already in use" in said.err, "in use", said)
    end(process)
    program = build("refused", "Numbers n; TcpSink t(port = PORT, patience = 0);", "n -> t;", "Numbers")
    said = harness.run(program, "-D", f"PORT={port}", code=1, env=clean())
    expect(f"module TcpSink, instance t, on rank 0: it cannot connect to 127.0.0.1:{port}: Connection refused" in said.err, "refused", said)
    program = build("nowhere", "Numbers n; TcpSink t(port = 1, host = \"no.such.host.invalid\");", "n -> t;", "Numbers")
    said = harness.run(program, code=1, env=clean())
    expect('host "no.such.host.invalid" is not known: ' in said.err, "a host that is none", said)


def test_tcp():
    source = build("source", "TcpSource s(port = PORT, serve = 4, length = 1000); Sum sum; Broadcast b;", "s -> b -> sum;", "Sum")
    sink = build("sink", "Numbers n; TcpSink t(port = PORT);", "n -> t;", "Numbers")
    process, port = listen(source)
    harness.run(sink, "-D", f"PORT={port}", env=clean())
    for wrong in (struct.pack(">I", 12) + b"x" * 12, struct.pack(">I", 1 << 31), struct.pack(">I", 16) + b"x"):  # half a value; too long; unfinished
        with connect(port) as client:
            client.sendall(wrong)
            client.shutdown(socket.SHUT_WR)
            expect(client.recv(1) == b"", "it is disconnected")
    said = harness.finish(process, code=0, limit=LIMIT)
    expect(said.out == "100 elements, sum 4950\n", "what came", said)
    expect("which sent an element of 12 bytes, but values have 8 (others" in said.err, "what did not", said)
    process, port = listen(build("values", 'TcpSource s(port = PORT, serve = 1, frame = "values"); Sum sum;', "s -> sum;", "Sum"))
    with connect(port) as client:
        for part in (data := struct.pack("=3d", 1, 2, 3))[:5], data[5:]:
            client.sendall(part)
    expect("sum 6\n" in harness.finish(process, code=0, limit=LIMIT).out, "plain values")
    process, port = listen(build("text", 'TcpSource s(port = PORT, serve = 1, frame = "lines"); Text t;', "s -> t;", "Text"))
    harness.run(build("words", 'Words w; TcpSink t(port = PORT, frame = "lines");', "w -> t;", "Words"), "-D", f"PORT={port}", env=clean())
    expect(harness.finish(process, code=0, limit=LIMIT).out == "6 hello\n1 \n6 world\n", "lines of text")
    with socket.create_server(("127.0.0.1", 0)) as server:  # it hangs up after the first byte
        process = harness.start(build("long", "Numbers n[2000]; TcpSink t(port = PORT);", "n -> t;", "Numbers"), "-D", f"PORT={server.getsockname()[1]}",
                                env=clean())
        client, _ = server.accept()
        client.recv(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        said = harness.finish(process, code=1, limit=LIMIT)
        expect(re.search(r"the server closed the connection after \d+ elements: ", said.err), "it is told", said)


def test_names():
    """localhost is the address at which modules listen, whatever else it is; what refuses at one address may be at another."""
    sink = build("by_name", 'Numbers n; TcpSink t(port = PORT, host = "localhost");', "n -> t;", "Numbers")
    source = build("by_address", "TcpSource s(port = PORT, serve = 1); Sum sum;", "s -> sum;", "Sum")
    hosts = SCRATCH / "hosts"
    hosts.write_text("::1 localhost\n127.0.0.1 localhost\n")
    with_hosts = ["unshare", "-r", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    if harness.run(*with_hosts, "true", code=None).code != 0:
        with_hosts = []  # this system lets nobody do that
    process, port = listen(source)
    harness.run(*with_hosts, sink, "-D", f"PORT={port}", env=clean())
    expect("sum 4950" in harness.finish(process, code=0, limit=LIMIT).out, "it has come")
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        return  # no IPv6
    with server:
        process = harness.start(*with_hosts, sink, "-D", f"PORT={server.getsockname()[1]}", env=clean())
        if with_hosts:
            with server.accept()[0] as client:
                expect(len(client.makefile("rb").read()) == 100 * 20, "it has come by IPv6, too")
            harness.finish(process, code=0, limit=LIMIT)
        else:
            process.kill()
            harness.finish(process)


def test_udp():
    source = build("datagrams", "UdpSource s(port = PORT, serve = 3); Sum sum;", "s -> sum;", "Sum")
    process, port = listen(source)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for data in (struct.pack("=d", 1), b"odd", struct.pack("=2d", 2, 3), b""):
            client.sendto(data, ("127.0.0.1", port))
    said = harness.finish(process, code=0, limit=LIMIT)
    expect(said.out == "3 elements, sum 6\n" and "drops a datagram of 3 bytes, for values have 8" in said.err, "what came", said)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(LIMIT)
        port = server.getsockname()[1]
        harness.run(build("words_udp", "Words w; UdpSink u(port = PORT);", "w -> u;", "Words"), "-D", f"PORT={port}", env=clean())
        expect([server.recv(100) for _ in range(3)] == [b"hello\0", b"\0", b"world\0"], "an element is a datagram")
    harness.run(SCRATCH / "words_udp", "-D", f"PORT={port}", env=clean())  # nobody is there: that is UDP
    process, port = listen(source)
    end(process)


def main():
    global BUILD, SCRATCH
    options = harness.options(__doc__)
    BUILD = options.build
    with harness.folder("flow-network") as SCRATCH:
        return harness.run_tests(globals(), options.k)


if __name__ == "__main__":
    sys.exit(main())
