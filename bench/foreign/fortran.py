# SPDX-License-Identifier: BSD-3-Clause
"""What bench/foreign/run builds and runs of programs in Fortran."""

import re
import textwrap


class Suite:
    """Many small programs that tell themselves whether they are right. `build` is a shell script that prepares the sources and leaves `path`;
    tests(source) gives (name, ranks, sources); `right` is what a right one prints; `known` maps names of programs that cannot be right
    here to the reason."""

    def __init__(self, name, package, build, path, flags, tests, right, known):
        self.name, self.package, self.build, self.path, self.only = name, package, textwrap.dedent(build), path, None
        self.flags, self.tests, self.right, self.known = flags, tests, right, known


def mpich_tests(source):
    """MPICH's tests of its Fortran interfaces, by the lists in their folders. Some have a half in C, which lies beside them."""
    top = source / "test/mpi"
    for language, suffix in (("f77", ".f"), ("f90", ".f90"), ("f08", ".f90")):
        for folder in sorted(path for path in (top / language).iterdir() if (path / "testlist").exists()):
            for line in (folder / "testlist").read_text().splitlines():
                words = re.match(r"(\w+)\s+(\d+)(.*)$", line)
                main = folder / f"{words[1]}{suffix}" if words else None
                if not words or not main.exists() or "resultTest" in words[3]:
                    continue
                helpers = [top / "util" / f"mtest_{language}{suffix}", *sorted(folder.glob("util*" + suffix))]
                halves = [path for path in folder.glob("*.c") if calls(main.read_text(errors="replace"), path.read_text(errors="replace"))]
                yield f"{language}/{folder.name}/{words[1]}", int(words[2]), [*helpers, main, *halves]


def calls(fortran, c):
    """True if a text in Fortran uses functions of one in C that has no main."""
    names = {name.lower().rstrip("_") for name in re.findall(r"^\w[\w ]* \**(\w+_) *\(", c, re.M)}
    return " main(" not in c and any(re.search(rf"\b{name}\b", fortran, re.I) for name in names)


MPICH = Suite("mpich-fortran", "mpich", """
    cd test/mpi
    ./configure --with-mpi="$MILLET" --disable-cxx FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch
    """, "test/mpi/config.status", ["-O1", "-w", "-fallow-argument-mismatch"], mpich_tests, "No Errors", {})
