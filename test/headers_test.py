#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles every header alone, twice in a row: it must include what it needs and guard itself.

Headers of src/ and generated ones are compiled as the library is (GNU C11, warnings are errors). Installed headers must also
please a strict C99 (millet/csp.h and flow.h: C11) and, where a C++ compiler is there, C++11."""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile

import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wundef",
       "-Wno-unused-parameter"]
STRICT = ["-pedantic", "-Wall", "-Wextra"]
FABRIC = ("wire/ofi/load.h", "rdma/fabric.h", "libfabric-dev")  # the header that is compiled where this one is there
NEWER = {"millet/csp.h": "11", "millet/flow.h": "11"}  # they have _Generic and an anonymous union
PLUS = ["-std=c++11", "-pedantic", "-Wall", "-Wextra"]


def compile_alone(compiler, language, flags, folders, header):
    """None, or what the compiler said."""
    program = f'#include "{header}"\n#include "{header}"\nextern int mlt_header_test;\n'
    command = [*compiler.split(), "-x", language, "-fsyntax-only", "-Werror", *flags, *(f"-I{f}" for f in folders), "-"]
    done = patience.run(command, 60, program)
    return done.stderr.strip() or "the compiler failed" if done.returncode else None


def has_fabric(cc):
    return compile_alone(cc, "c", [], [], FABRIC[1]) is None


def jobs_for(root, build, cc, cxx):
    """(label, arguments of compile_alone) for each header and language."""
    folders = [root / "src", build / "gen", build / "include", root / "include"]
    arch = os.uname().machine
    own = [p.relative_to(root / "src").as_posix() for p in sorted((root / "src").rglob("*.h"))]
    own = [p for p in own if not p.startswith("arch/") or p.count("/") == 1 or p.startswith(f"arch/{arch}/")]
    own = [p for p in own if p != FABRIC[0] or has_fabric(cc)]
    own += [p.relative_to(build / "gen").as_posix() for p in sorted((build / "gen").rglob("*.h"))]
    installed = sorted({p.relative_to(f).as_posix() for f in (build / "include", root / "include") for p in f.rglob("*.h")}
                       - {"mpif.h"})  # Fortran's
    for header in own:
        yield header, (cc, "c", OWN, folders, header)
    for header in installed:
        year = NEWER.get(header, "99")
        yield f"{header} (C{year})", (cc, "c", [f"-std=c{year}", *STRICT], folders[2:], header)
        if cxx:
            yield f"{header} (C++11)", (cxx, "c++", PLUS, folders[2:], header)


def run(root, build, cc, cxx):
    """Sentences for the headers that do not compile alone, and how many were tried."""
    jobs = list(jobs_for(root, build, cc, cxx))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: (job[0], compile_alone(*job[1])), jobs))
    return [f"{label}: {fault}" for label, fault in results if fault], len(jobs)


def self_test(cc, cxx):
    """A right tree passes; each kind of wrong header fails."""
    good = "#ifndef X_H\n#define X_H\n#include <stddef.h>\nsize_t x_size(void);\n#endif\n"
    wrong = {
        "needs another header": ("src/base/x.h", "#ifndef X_H\n#define X_H\nsize_t x_size(void);\n#endif\n"),
        "has no guard": ("src/base/x.h", "typedef struct x { int a; } x;\n"),
        "has a warning": ("src/base/x.h", "#ifndef X_H\n#define X_H\nint x();\n#endif\n"),
        "installed, not C99": ("include/x.h", "#ifndef X_H\n#define X_H\nstruct x { union { int a; float b; }; };\n#endif\n"),
        "installed in a folder": ("include/millet/x.h", "#ifndef X_H\n#define X_H\nstruct x { union { int a; float b; }; };\n#endif\n"),
        "generated": ("build/gen/x.h", "#ifndef X_H\n#define X_H\nuint8_t x;\n#endif\n"),
    }
    if cxx:
        wrong["installed, not C++"] = ("include/x.h", "#ifndef X_H\n#define X_H\nint x(int class);\n#endif\n")
    bad = 0
    for name, case in [("right tree", None)] + list(wrong.items()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in [("src/base/good.h", good), ("include/good.h", good)] + ([case] if case else []):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            faults, count = run(root, root / "build", cc, cxx)
            right = not faults if case is None else len(faults) == 1 and faults[0].startswith(("x.h", "base/x.h", "millet/x.h"))
            print(f"{'ok' if right else 'FAILED'}: {name}: {len(faults)} of {count} fail")
            bad += not right
    print(f"{len(wrong) + 1 - bad} passed, {bad} failed")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--self-test", action="store_true", help="show that a wrong header fails")
    args = parser.parse_args()
    cc = os.environ.get("CC", "cc")
    cxx = os.environ.get("CXX") or shutil.which("c++")
    if args.self_test:
        return 1 if self_test(cc, cxx) else 0
    faults, count = run(ROOT, args.build, cc, cxx)
    for fault in faults:
        print(fault)
    if not has_fabric(cc):
        print(f"skipped: {FABRIC[0]}: there is no {FABRIC[1]} (package {FABRIC[2]})")
    if not cxx:
        print("skipped: installed headers as C++: there is no C++ compiler")
    print(f"{count - len(faults)} passed, {len(faults)} failed")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
