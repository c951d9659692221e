#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails on an include that goes against the layers, on a declared edge that nothing needs, and on an old drawing.

The graph is what CMake's mlt_layer() calls declared (build/layers.txt: "layer: layers directly below | layers for its tests |
installed headers that it implements | what it is"). A file may include its own layer and everything below it; a test also what
its layer names for tests. An x_int.h belongs to its folder and those below. What is generated from the MPI tables belongs to the
layer `mpi`. Quoted includes are written from src/ down, so that the layer can be read off. docs/architecture.md has the drawing
that --draw prints; --write puts it there."""

import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
DRAWING = re.compile(r"(<!-- layers: .*? -->\n```\n).*?(```\n)", re.S)


@dataclasses.dataclass
class Layer:
    uses: list  # directly below
    tests: list  # ... for tests
    headers: list  # installed ones
    about: str
    allowed: set = dataclasses.field(default_factory=set)  # itself and all below
    for_tests: set = dataclasses.field(default_factory=set)


def read_graph(text):
    """{name: Layer}"""
    graph = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name.strip():
            parts = [part.strip() for part in (rest + "|||").split("|")]
            graph[name.strip()] = Layer(parts[0].split(), parts[1].split(), parts[2].split(), parts[3])

    def closure(names):
        seen, pending = set(), list(names)
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += graph[name].uses if name in graph else []
        return seen

    for name, layer in graph.items():
        layer.allowed = closure([name])
        layer.for_tests = closure([name, *layer.tests])
    return graph


def owner_of(path, quote, source, graph, generated, installed):
    """The layer that an included path belongs to; None for the system's headers; "?" if it is nobody's."""
    first = path.split("/")[0]
    if "/" in path and first in graph and (quote == '"' or (source / path).exists()):
        return first
    if path in installed:
        return installed[path]
    if path in generated:
        return "mpi"
    return "?" if quote == '"' else None


def fault_of(name, owner, path, graph):
    """What is wrong with this include; None: nothing."""
    layer = graph[name.parts[0]]
    test = re.search(r"_test\.[ch]$", name.name)
    folder = pathlib.PurePath(path).parent
    if owner == "?":
        return f'"{path}" is not written as "layer/file.h"'
    if owner not in (layer.for_tests if test else layer.allowed):
        below = ", ".join(sorted(layer.allowed - {name.parts[0]})) or "nothing"
        return f"layer {name.parts[0]} includes {path} of layer {owner}, but may use only {below}"
    if path.endswith("_int.h") and folder != name.parent and folder not in name.parents:
        return f"{path} is private to the folder {folder}/"
    return None


def check(source, graph, generated=(), installed=None):
    """Messages, one for each fault, and the number of files read."""
    faults, files, used = [], 0, set()
    installed = installed or {}
    for file in sorted(source.rglob("*")):
        layer = file.relative_to(source).parts[0]
        if file.suffix not in (".c", ".h", ".S") or layer == "wrapper":
            continue
        files += 1
        text = file.read_text(errors="replace")
        name = file.relative_to(source)
        if layer not in graph:
            faults.append(f"src/{name}:1: the folder {layer}/ is no declared layer (CMakeLists.txt)")
            continue
        for match in INCLUDE.finditer(text):
            quote, path = match.groups()
            owner = owner_of(path, quote, source, graph, generated, installed)
            if owner is None:
                continue
            used.add((layer, owner))
            fault = fault_of(name, owner, path, graph)
            if fault:
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"src/{name}:{line}: {fault}")
    for name, layer in graph.items():
        if not (source / name).exists():
            faults.append(f"CMakeLists.txt: layer {name} has no folder src/{name}/")
            continue
        for below in [*layer.uses, *layer.tests]:
            if (name, below) not in used:
                faults.append(f"CMakeLists.txt: layer {name} declares that it uses {below}, but no file of it includes that")
    return faults, files


# ---- the drawing

def levels(graph):
    """Layers by their height above the lowest, the highest first."""
    height = {}

    def of(name):
        if name not in height:
            height[name] = 1 + max((of(below) for below in graph[name].uses), default=-1)
        return height[name]

    for name in graph:
        of(name)
    return [[name for name in graph if height[name] == h] for h in range(max(height.values()), -1, -1)]


def draw(graph):
    """The layers from top to bottom, those of one height side by side, each with what it is, what it stands on, and its folders."""
    wide = max(len(name) for name in graph)
    lines = []
    for row in levels(graph):
        for i, name in enumerate(row):
            layer = graph[name]
            mark = "─" if len(row) == 1 else "┌" if i == 0 else "└" if i == len(row) - 1 else "├"
            lines.append(f"{mark} {name:{wide}}  {layer.about}")
            below = " ".join(layer.uses) + (f" (tests: {' '.join(layer.tests)})" if layer.tests else "")
            if below:
                bar = " " if mark in "─└" else "│"
                lines.append(f"{bar} {'':{wide}}    on {below}")
            folders = sorted(path.name for path in (ROOT / "src" / name).glob("*/"))
            if len(folders) > 1:
                bar = " " if mark in "─└" else "│"
                lines.append(f"{bar} {'':{wide}}    in {' '.join(folders)}")
    return "\n".join(lines) + "\n"


def drawing_fault(text, graph):
    found = DRAWING.search(text)
    if not found:
        return "docs/architecture.md: the drawing of the layers is missing"
    if found.group(0) != found.group(1) + draw(graph) + found.group(2):
        return "docs/architecture.md: the drawing of the layers is old: test/layers_test.py --write"
    return None


# ---- the test can fail

def self_test():
    """Every rule must be able to fail, and a right tree must pass."""
    graph = read_graph("arch: ||| a\nbase: arch ||| b\nos: base ||| o\nfiber: os || millet/csp.h | f\ntype: base | os || t\n"
                       "mpi: fiber type || mpi.h | m\n")
    right = {
        "arch/pause.h": "",
        "base/list.h": '#include <stddef.h>\n#include "arch/pause.h"\n',
        "os/os.c": '#include "os/os.h"\n#include "base/list.h"\n#include <linux/futex.h>\n',
        "os/os.h": "",
        "type/type.h": '#include "base/list.h"\n',
        "type/type_test.c": '#include "os/os.h"\n',
        "mpi/send.c": '#include "mpi.h"\n#include "fiber/fiber.h"\n#include "arch/pause.h"\n#include "mpi_fn.h"\n#include "type/type.h"\n',
        "mpi/p2p/recv.c": '#include "mpi/self_int.h"\n#include <millet/csp.h>\n',
        "fiber/fiber.h": '#include "os/os.h"\n',
        "fiber/fiber_int.h": "",
        "fiber/fiber.c": '#include "fiber/fiber_int.h"\n',
    }
    wrong = {
        "upward": ("base/log.c", '#include "os/os.h"\n', "layer base includes os/os.h of layer os"),
        "sideways": ("type/pack.c", '#include "fiber/fiber.h"\n', "layer type includes fiber/fiber.h"),
        "a test's layer outside of tests": ("type/pack.c", '#include "os/os.h"\n', "layer type includes os/os.h"),
        "in angle brackets": ("base/log.c", "#include <os/os.h>\n", "layer base includes os/os.h"),
        "indented": ("base/log.c", "\n#  include \"os/os.h\"\n", "src/base/log.c:2:"),
        "assembly": ("base/x.S", '#include "os/os.h"\n', "layer base includes"),
        "private header": ("mpi/x.c", '#include "fiber/fiber_int.h"\n', "is private to the folder fiber/"),
        "private header of a folder below": ("mpi/x.c", '#include "mpi/p2p/p2p_int.h"\n', "is private to the folder mpi/p2p/"),
        "MPI below mpi": ("type/x.c", "#include <mpi.h>\n", "layer type includes mpi.h of layer mpi"),
        "installed header below its layer": ("os/x.c", "#include <millet/csp.h>\n", "layer os includes millet/csp.h of layer fiber"),
        "generated below mpi": ("os/x.c", '#include "mpi_fn.h"\n', "layer os includes mpi_fn.h of layer mpi"),
        "no layer in the path": ("os/x.c", '#include "os.h"\n', 'is not written as "layer/file.h"'),
        "undeclared folder": ("stray/x.c", "\n", "the folder stray/ is no declared layer"),
        "unused edge": ("fiber/fiber.h", "", "layer fiber declares that it uses os"),
        "unused edge of tests": ("type/type_test.c", "", "layer type declares that it uses os"),
    }
    bad = 0
    for name, case in [("right tree", None)] + list(wrong.items()):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            tree = dict(right)
            if case:
                tree[case[0]] = case[1]
            for path, text in tree.items():
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                (source / path).write_text(text)
            faults, _ = check(source, graph, {"mpi_fn.h"}, {"mpi.h": "mpi", "millet/csp.h": "fiber"})
            good = not faults if case is None else len(faults) == 1 and case[2] in faults[0]
            print(f"{'ok' if good else 'FAILED'}: {name}: {faults}")
            bad += not good
    page = f"x\n<!-- layers: test -->\n```\n{draw(graph)}```\ny\n"
    drawings = [("right drawing", page, None), ("no drawing", "x\n", "missing"), ("old drawing", page.replace("type", "kind"), "is old")]
    for name, text, expected in drawings:
        fault = drawing_fault(text, graph)
        good = fault is None if expected is None else expected in (fault or "")
        print(f"{'ok' if good else 'FAILED'}: {name}: {fault}")
        bad += not good
    print(f"{len(wrong) + 1 + len(drawings) - bad} passed, {bad} failed")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--self-test", action="store_true", help="show that every rule can fail")
    parser.add_argument("--draw", action="store_true", help="print the drawing")
    parser.add_argument("--write", action="store_true", help="put the drawing into docs/architecture.md")
    args = parser.parse_args()
    if args.self_test:
        return 1 if self_test() else 0
    graph = read_graph((args.build / "layers.txt").read_text())
    page = ROOT / "docs/architecture.md"
    if args.draw:
        print(draw(graph), end="")
        return 0
    if args.write:
        page.write_text(DRAWING.sub(lambda found: found.group(1) + draw(graph) + found.group(2), page.read_text()))
    generated = {p.relative_to(args.build / "gen").as_posix() for p in (args.build / "gen").rglob("*.h")}
    installed = {header: name for name, layer in graph.items() for header in layer.headers}
    faults, files = check(ROOT / "src", graph, generated, installed)
    for header in sorted(p.relative_to(ROOT / "include").as_posix() for p in (ROOT / "include").rglob("*.h")):
        if header not in installed:
            faults.append(f"CMakeLists.txt: include/{header} belongs to no layer")
    faults += filter(None, [drawing_fault(page.read_text(), graph)])
    for fault in faults:
        print(fault)
    print(f"{files} files of {len(graph)} layers read")
    print(f"{0 if faults else 1} passed, {len(faults)} failed")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
