#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails on an include that goes against the layers.

The graph is what CMake's mlt_layer() calls declared (build/layers.txt: "layer: layers directly below"). A file may include
its own layer and everything below it. An x_int.h belongs to its folder alone. The MPI header and what is generated from the
MPI tables belong to the layer `mpi`. Quoted includes are written from src/ down, so that the layer can be read off."""

import argparse
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def read_graph(text):
    """{layer: set of layers it may include}, its own and everything below."""
    uses = {}
    for line in text.splitlines():
        name, _, below = line.partition(":")
        if name.strip():
            uses[name.strip()] = below.split()

    def closure(name, seen):
        if name not in seen:
            seen.add(name)
            for below in uses.get(name, []):
                closure(below, seen)
        return seen

    return {name: closure(name, set()) for name in uses}


def owner_of(path, quote, source, graph, generated, installed):
    """The layer that an included path belongs to; None for the system's headers; "?" if it is nobody's."""
    first = path.split("/")[0]
    if "/" in path and first in graph and (quote == '"' or (source / path).exists()):
        return first
    if path in generated or path in installed:
        return "mpi"
    return "?" if quote == '"' else None


def check(source, graph, generated=(), installed=()):
    """Sentences, one for each include that is against the layers, and the number of files read."""
    faults, files = [], 0
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
            line = text.count("\n", 0, match.start()) + 1
            where = f"src/{name}:{line}"
            owner = owner_of(path, quote, source, graph, generated, installed)
            if owner is None:
                continue
            if owner == "?":
                faults.append(f'{where}: "{path}" is not written as "layer/file.h"')
            elif owner not in graph[layer]:
                below = ", ".join(sorted(graph[layer] - {layer})) or "nothing"
                faults.append(f"{where}: layer {layer} includes {path} of layer {owner}, but may use only {below}")
            elif path.endswith("_int.h") and pathlib.PurePath(path).parent != name.parent:
                faults.append(f"{where}: {path} is private to the folder {pathlib.PurePath(path).parent}/")
    return faults, files


def self_test():
    """Every rule must be able to fail, and a right tree must pass."""
    graph = read_graph("arch: \nbase: arch\nos: base\nfiber: os\ntype: base\nmpi: fiber type\n")
    right = {
        "base/list.h": "#include <stddef.h>\n",
        "os/os.c": '#include "os/os.h"\n#include "base/list.h"\n#include <linux/futex.h>\n',
        "os/os.h": "",
        "mpi/send.c": '#include "mpi.h"\n#include "fiber/fiber.h"\n#include "arch/pause.h"\n#include "mpi_fn.h"\n',
        "fiber/fiber.h": "",
        "fiber/fiber_int.h": "",
        "fiber/fiber.c": '#include "fiber/fiber_int.h"\n',
    }
    wrong = {
        "upward": ("base/log.c", '#include "os/os.h"\n', "layer base includes os/os.h of layer os"),
        "sideways": ("type/pack.c", '#include "fiber/fiber.h"\n', "layer type includes fiber/fiber.h"),
        "in angle brackets": ("base/log.c", "#include <os/os.h>\n", "layer base includes os/os.h"),
        "indented": ("base/log.c", "\n#  include \"os/os.h\"\n", "src/base/log.c:2:"),
        "assembly": ("base/x.S", '#include "os/os.h"\n', "layer base includes"),
        "private header": ("mpi/x.c", '#include "fiber/fiber_int.h"\n', "is private to the folder fiber/"),
        "MPI below mpi": ("type/x.c", "#include <mpi.h>\n", "layer type includes mpi.h of layer mpi"),
        "generated below mpi": ("os/x.c", '#include "mpi_fn.h"\n', "layer os includes mpi_fn.h of layer mpi"),
        "no layer in the path": ("os/x.c", '#include "os.h"\n', 'is not written as "layer/file.h"'),
        "undeclared folder": ("stray/x.c", "\n", "the folder stray/ is no declared layer"),
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
            faults, _ = check(source, graph, {"mpi_fn.h"}, {"mpi.h"})
            good = not faults if case is None else len(faults) == 1 and case[2] in faults[0]
            print(f"{'ok' if good else 'FAILED'}: {name}: {faults}")
            bad += not good
    print(f"{len(wrong) + 1 - bad} passed, {bad} failed")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--self-test", action="store_true", help="show that every rule can fail")
    args = parser.parse_args()
    if args.self_test:
        return 1 if self_test() else 0
    graph = read_graph((args.build / "layers.txt").read_text())
    generated = {p.relative_to(args.build / "gen").as_posix() for p in (args.build / "gen").rglob("*.h")}
    installed = {"mpi.h"} | {p.name for p in (ROOT / "include").glob("*.h")}
    faults, files = check(ROOT / "src", graph, generated, installed)
    for fault in faults:
        print(fault)
    print(f"{files} files of {len(graph)} layers read")
    print(f"{0 if faults else 1} passed, {len(faults)} failed")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
