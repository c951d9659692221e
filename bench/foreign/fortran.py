# SPDX-License-Identifier: BSD-3-Clause
"""What bench/foreign/run builds and runs of programs in Fortran."""

import re
import textwrap


class Suite:
    """Many small programs that tell themselves whether they are right. `build` is a shell script that prepares the sources and leaves `path`;
    tests(source) gives (name, ranks, sources); `right` is what a right one prints; `known` has patterns of names
    of programs that cannot be right here, with the reason; what matches `spawns` needs slots for ranks that it starts."""

    def __init__(self, name, package, build, path, flags, tests, right, known, spawns):
        self.name, self.package, self.build, self.path, self.only = name, package, textwrap.dedent(build), path, None
        self.archive = None
        self.flags, self.tests, self.right, self.known, self.spawns = flags, tests, right, known, spawns


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
                helpers = [top / "util" / f"mtest_{language}{suffix}", *sorted(folder.glob("[ud][tu][im][lm]*" + suffix))]
                halves = halves_in_c(main.read_text(errors="replace"), folder)
                yield f"{language}/{folder.name}/{words[1]}", int(words[2]), [*helpers, main, *halves]


def halves_in_c(fortran, folder):
    """The files in C that have functions which a text in Fortran uses; of those that have the same
    function, the one that fits best."""
    found, taken = [], set()
    for path in folder.glob("*.c"):
        c = path.read_text(errors="replace")
        names = {name.lower().rstrip("_") for name in re.findall(r"^\w[\w ]* \**(\w+_) *\(", c, re.M)}
        used = {name for name in names if re.search(rf"\b{name}\b", fortran, re.I)}
        if used and " main(" not in c:
            found.append((len(used), path, names))
    for _, path, names in sorted(found, key=lambda each: (-each[0], len(each[2]))):
        if not names & taken:
            taken |= names
            yield path


# What is wrong in the tests themselves.
MPICH_KNOWN = {
    r"/(typecnts|allctypes|hindex1|get_elem_u)": "it wants what MPI 3.0 removed",
    r"/baseenvf": "it knows versions of MPI up to 4",
    r"/greqf": "its callback changes extra_state and wants to see that in its own variable, which is intent(in)",
    r"f08/io/c2f2ciof90": "its half in C does not compile",
    r"f77/rma/aintf$": "it declares functions again that mpif.h declares",
    r"f90/coll/(alltoallv|split_type|vw_inplace|nonblocking_inp)f90": "it gives scalars for arrays, or arrays for scalars, where mpi has interfaces",
    r"f90/profile/profile1f90": "it makes a procedure mpi_send that uses mpi, which has an interface of that name",
    r"f08/spawn/spawnargvf": "it wants that an argument keeps its leading blank, which MPI_COMM_SPAWN strips",
}

MPICH = Suite("mpich-fortran", "mpich", """
    cd test/mpi
    ./configure --with-mpi="$MILLET" --disable-cxx FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch
    """, "test/mpi/config.status", ["-O1", "-w", "-fallow-argument-mismatch", "-fcray-pointer", "-I../attr"], mpich_tests, "No Errors", MPICH_KNOWN,
              "/spawn/")
