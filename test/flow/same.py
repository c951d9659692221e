#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the tool says of a .flow file is what the program does: random files with vectors, slices, constants, collectives and
nested roots are built with modules that do nothing, and run on one and several workers. The lines that the program reports
(setting flow_report) are compared with the wires that the file was written from, and with `millet flow place`: how many lines,
and on which worker every instance runs. Constants are given when checking, when building and when running.

`same.py [--build DIR] [-k SEED]`. The last line is the sum: N passed, N failed."""

import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from harness import expect  # noqa: E402

FILES, LIMIT = 6, 120


class Program:
    """A random file, and the wires between modules that it means for any values of its constants."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.modules = [f"M{i}" for i in range(self.random.randint(1, 3))]
        self.statements = []  # (text, wires of it as a function of the constants)
        self.vectors = {}  # name: (module, size as a function)
        self.queues = {}  # module: outputs that it has beside out
        self.collectives = 0
        for i in range(self.random.randint(2, 4)):
            self.vectors[f"v{i}"] = self.random.choice(self.modules), self.random.choice(["N", "N + K", "2 * N", "(N + K) / 2 + N"])
        for _ in range(self.random.randint(3, 7)):
            self.random.choice([self.each, self.ring, self.merge, self.collective, self.nested])()

    @staticmethod
    def size(expression, given):
        return eval(expression.replace("/", "//"), {}, given)

    def out(self, vector):
        """A new output queue of the vector's module, for an output leads to one thing."""
        module = self.vectors[vector][0]
        queues = self.queues.setdefault(module, [])
        queues.append(f"o{len(queues)}")
        return queues[-1]

    def add(self, text, wires):
        self.statements.append((text, wires))

    def each(self):
        """v[0:n-1] => w[0:n-1], n the smallest size that any constant gives."""
        a, b = self.random.choice(list(self.vectors)), self.random.choice(list(self.vectors))
        q = self.out(a)
        self.add(f"{a}[0:N - 1].{q} => {b}[0:N - 1];", lambda given: [(f"{a}[{i}].{q}", f"{b}[{i}].in") for i in range(given["N"])])

    def ring(self):
        a = self.random.choice(list(self.vectors))
        q, size = self.out(a), self.vectors[a][1]
        self.add(f"{a}.{q} => {a}[1:{size} - 1], {a}[0];",
                 lambda given: [(f"{a}[{i}].{q}", f"{a}[{(i + 1) % self.size(size, given)}].in") for i in range(self.size(size, given))])

    def merge(self):
        a, b = self.random.choice(list(self.vectors)), self.random.choice(list(self.vectors))
        q, size = self.out(a), self.vectors[a][1]
        self.add(f"{a}[0:{size} - 1:2].{q} ||| {b}[K - 1];",
                 lambda given: [(f"{a}[{i}].{q}", f"{b}[{given['K'] - 1}].in") for i in range(0, self.size(size, given), 2)])

    def collective(self):
        """No wire between modules; its lines are counted by the tool only."""
        a, b = self.random.choice(list(self.vectors)), self.random.choice(list(self.vectors))
        kind = self.random.choice(["Reduce", "Broadcast", "Deal", "Collect"])
        name, q = f"c{self.collectives}", self.out(a)
        self.collectives += 1
        sink = f"{b}[0]" if kind == "Collect" else b
        self.add((kind, name, f"{a}.{q} -> {name}{'(sum)' if kind == 'Reduce' else ''} -> {sink};"), lambda given: [])

    def nested(self):
        """v[0] through a pair of roots in a root."""
        a, b = self.random.choice(list(self.vectors)), self.random.choice(list(self.vectors))
        q, name = self.out(a), f"n{len(self.statements)}"
        self.add(("Outer", name, f"{a}[0].{q} -> {name} -> {b}[N - 1];"), lambda given: [
            (f"{a}[0].{q}", f"{name}.x[0].p.in"), (f"{name}.x[0].p.out", f"{name}.x[1].p.in"),
            (f"{name}.x[1].p.out", f"{b}[{given['N'] - 1}].in")])

    def text(self):
        lines = ["const N = 3;", "const K = N - 1;", "Declare Module P { in double; out double; }"]
        for m in self.modules:
            lines.append(f"Declare Module {m} {{ in double optional; " +
                         " ".join(f"out double {q} optional;" for q in self.queues.get(m, [])) + " weight K; }")
        lines += ["Module Inner is Root { in double; out double; P p; flow: in -> p -> out; }",
                  "Module Outer is Root { in double; out double; const TWO = 2; Inner x[TWO]; flow: in -> x[0] -> x[TWO - 1] -> out; }",
                  "Module Main is Root {"]
        lines += [f"  {module} {name}[{size}];" for name, (module, size) in self.vectors.items()]
        lines += [f"  {text[0]} {text[1]};" for text, _ in self.statements if isinstance(text, tuple)]
        lines += ["  flow:"] + ["    " + (text if isinstance(text, str) else text[2]) for text, _ in self.statements] + ["}", ""]
        return "\n".join(lines)

    def wires(self, given):
        return sorted(wire for _, wires in self.statements for wire in wires(given))


def run(*words, env=()):
    return harness.run(*words, limit=LIMIT, env=harness.environment({"MILLET_NAMES": "job", "LC_ALL": "C", **dict(env)})).out


def expand(text):
    """`s, q[0,1], p[2..4]`: the instances."""
    for name, inside in re.findall(r"([\w.]+(?:\[\d+\]\.[\w.]+)*)((?:\[[\d.,]+\])?)(?:, |$)", text):
        if not inside:
            yield name
        for piece in filter(None, inside.strip("[]").split(",")):
            if piece == "...":
                continue  # the tool left some out
            first, _, last = piece.partition("..")
            for i in range(int(first), int(last or first) + 1):
                yield f"{name}[{i}]"


def placed(out):
    """Instance: worker; whether all are named; how many lines there are."""
    worker, where = 0, {}
    for line in out.splitlines():
        if match := re.match(r"worker (\d+)", line):
            worker = int(match[1])
        elif match := re.match(r"\s+rank \d+: (.*)", line):
            where.update((name, worker) for name in expand(match[1]))
    return where, ",...," not in out, int(re.search(r"lines: ([\d,]+)", out)[1].replace(",", ""))


def compare(program, app, given, words, workers, report, bin_):
    options = [f"-D{name}={value}" for name, value in words.items()]
    where, complete, lines = placed(run(bin_ / "millet", "flow", "place", app.with_suffix(".flow"), "-n", workers,
                                        *[f"-D{name}={value}" for name, value in given.items()]))
    report.unlink(missing_ok=True)
    start = [app] if workers == 1 else [bin_ / "mpirun", "-n", workers, app]
    run(*start, *options, env={"MILLET_FLOW_REPORT": str(report)})
    found = [line.split("\t") for line in report.read_text().splitlines()[1:]]
    expect(len(found) == lines, f"{len(found)} lines are reported, `place -n {workers}` says {lines}")
    for row in found:
        instance = row[0].rpartition(".")[0]
        expect(where.get(instance, int(row[-1])) == int(row[-1]),
               f"{row[0]} is on worker {row[-1]}, `place -n {workers}` says {where.get(instance)}")
    wires = {name for wire in program.wires(given) for name in wire}
    missing = {name.rpartition(".")[0] for name in wires} - set(where)
    expect(not (complete and missing), f"`place -n {workers}` does not name {sorted(missing)}")
    both = sorted((row[1], row[0]) for row in found if (row[1], row[0]) in set(program.wires(given)))
    expect(both == program.wires(given), f"wires are missing: {sorted(set(program.wires(given)) - set(both))}")


def try_program(program, seed, folder, bin_):
    file = folder / f"r{seed}.flow"
    file.write_text(program.text())
    for module in ["P", *program.modules]:
        (folder / f"{module}.c").write_text(f'#include "{module}.flow.h"\nint {module}_run({module} *my)\n{{\n    (void)my;\n    return 0;\n}}\n')
    modules = [folder / f"{m}.c" for m in ["P", *program.modules] if m == "P" or any(m == v[0] for v in program.vectors.values())]
    if not any(isinstance(text, tuple) and text[0] == "Outer" for text, _ in program.statements):
        modules.remove(folder / "P.c")
    built = {"N": program.random.randint(2, 5)}
    app = file.with_suffix("")
    run(bin_ / "millet", "flow", "build", file, *modules, "-O0", *[f"-D{k}={v}" for k, v in built.items()], "-o", app)
    values = {"N": built["N"], "K": built["N"] - 1}
    for workers in (1, 3):
        compare(program, app, values, {}, workers, folder / "report.tsv", bin_)
    other = {"N": program.random.randint(3, 9), "K": program.random.randint(1, 3)}
    for workers in (1, 2):
        compare(program, app, other, other, workers, folder / "report.tsv", bin_)


def try_seed(seed, bin_):
    program = Program(seed)
    with harness.folder("flow-same") as folder:
        try:
            try_program(program, seed, folder, bin_)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{program.text()}") from None


def main():
    parser = harness.parser(__doc__)
    parser.add_argument("-k", type=int, metavar="SEED", help="only the file of this number")
    options = parser.parse_args()
    total = harness.Sum()
    for seed in [options.k] if options.k is not None else range(FILES):
        total.run(f"file {seed}", try_seed, seed, options.build / "bin")
    return total.end()


if __name__ == "__main__":
    sys.exit(main())
