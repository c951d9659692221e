#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `millet flow`: every command, its options, what it says when something is wrong; what it generates is compiled with
all warnings by gcc and clang, drawings are read as XML, and an installed tree does the same as the build tree.

`tool.py [--build DIR] [-k WORD]`. The last line is the sum: N passed, N failed. No test looks at a time."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
import patience  # noqa: E402
from harness import ROOT, Skip, expect  # noqa: E402

LIMIT = 120  # seconds for one command
BUILD = SCRATCH = MILLET = None
SVG = "{http://www.w3.org/2000/svg}"


def clean(env=()):
    """No name server of the user's, and a folder for temporary files that must be empty in the end."""
    own = {"MILLET_NAMES": "job", "LC_ALL": "C", "TMPDIR": str(SCRATCH / "tmp")}
    return harness.environment({**own, **dict(env)}, asan="detect_leaks=0")


def run(*words, code=0, env=(), stdin="", cwd=None):
    result = harness.run(*words, code=code, text=stdin, limit=LIMIT, env=clean(env), cwd=cwd or SCRATCH)
    left = [p.name for p in (SCRATCH / "tmp").iterdir()]
    expect(not left, f"nothing should be left in the temporary folder, but {left} is", result)
    return result


def flow(*words, **options):
    return run(MILLET, "flow", *words, **options)


def says(result, *lines):
    """These lines and nothing else on standard error; regular expressions."""
    return harness.only_lines(result, result.err, lines)


def write(name, text):
    path = SCRATCH / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


# ---- a program

PIPE = """\
    // Numbers, squared by several, summed.
    const N = 4;
    const COUNT = 10;
    include "pipe.h";
    Declare Module Source {
      data_section {
        long sent;
      }
      out number;
    }
    Declare Module Square { in number; out number; weight 3; }
    Declare Module Print { in number; }
    Module Main is Root requires Module Source, Module Square, Module Print, Module Deal, Module Collect {
      void initialize() {
        Source s;
        Square q[N];
        Print p;
        Deal d;
        Collect c;
        flow:
          s -> d -> q;
          q -> c -> p;
      }
    }
    """
SOURCE = """\
    #include "Source.flow.h"
    int Source_run(Source *my)
    {
        for (number i = 1; i <= flow_const(my, "COUNT"); i++, my->sent++)
            flow_send(my, &i, 1);
        return my->flow.argc > 1 ? 3 : 0;
    }
    """
SQUARE = """\
    #include "Square.flow.h"
    int Square_run(Square *my)
    {
        number *v;
        size_t n;
        while (flow_dequeue(my, &v, &n)) {
            *v *= *v;
            flow_give(my, v, n);
        }
        return 0;
    }
    """
PRINT = """\
    #include <stdio.h>
    #include "Print.flow.h"
    int Print_run(Print *my)
    {
        const number *v;
        number sum = 0;
        size_t n;
        while (flow_dequeue(my, &v, &n))
            sum += *v;
        printf("%ld\\n", sum);
        return 0;
    }
    """


def pipe():
    """The files: pipe.flow and its modules in a folder of their own."""
    path = write("pipe/pipe.flow", PIPE)
    if not (SCRATCH / "pipe/Source.c").exists():
        write("pipe/pipe.h", "typedef long number;\n")
        write("pipe/Source.c", SOURCE)
        write("pipe/Square.c", SQUARE)
        write("pipe/Print.c", PRINT)
    return path, [SCRATCH / f"pipe/{name}.c" for name in ("Source", "Square", "Print")]


def built(*words):
    file, modules = pipe()
    name = SCRATCH / "bin" / re.sub(r"\W", "_", "pipe " + " ".join(map(str, words)))
    name.parent.mkdir(exist_ok=True)
    if not name.exists():
        flow("build", file, *modules, "-o", name, *words)
    return name


# ---- the command line


def test_help():
    said = flow("--help").out
    for command in ("check", "build", "run", "draw", "place", "headers"):
        expect(f"  {command} " in said, f"{command} is listed", said)
        own = flow(command, "--help").out
        expect(own.startswith(f"usage: millet flow {command} [options] FILE.flow"), "its usage", own)
        expect(flow(command, "-h").out == own, "-h is --help", own)
    expect("  new " in said and flow("new", "--help").out.startswith("usage: millet flow new"), "new is listed", said)
    expect("  flow " in run(MILLET, "--help").out, "millet lists it")
    expect("usage: millet flow" in flow(code=2).err, "no command: usage")


def test_wrong_usage():
    file, modules = pipe()
    says(flow("chek", code=2), "millet flow: there is no command 'chek'; did you mean check\\?")
    says(flow("frobnicate", code=2), "millet flow: there is no command 'frobnicate'; millet flow --help lists them")
    for command in ("check", "build", "run", "draw", "place", "headers"):
        says(flow(command, code=2), f"millet flow {command}: it needs FILE.flow.*; millet flow {command} --help shows how")
        says(flow(command, "none.flow", code=1), f"millet flow {command}: 'none.flow' cannot be read: No such file.*")
        says(flow(command, SCRATCH, code=1), f"millet flow {command}: '.*' is a directory, but should be a file")
        for bad in ("N", "N=", "N=x", "N=1x", "3=4", "=4", "N= 4", "N=010", "N=99999999999999999999"):
            says(flow(command, file, "-D", bad, code=2),
                 f"millet flow {command}: option -D is '{re.escape(bad)}', but should be NAME=NUMBER")
        says(flow(command, file, "-DM=3", code=2),
             f"millet flow {command}: option -D is for M, but .*pipe.flow has no such constant")
        says(flow(command, file, "-D", code=2), f"millet flow {command}: option -D wants a value after it: NAME=N")
    for command in ("build", "run"):
        says(flow(command, modules[0], modules[1], code=2),
             f"millet flow {command}: '.*Source.c' is a module, but FILE.flow is missing.*")
        for words in ([file, "other.flow", *modules], [modules[0], file, "other.flow", modules[1]]):
            says(flow(command, *words, code=2),
                 f"millet flow {command}: a program is one FILE.flow, but there are '.*pipe.flow' and 'other.flow'.*")
    for command in ("check", "draw", "place", "headers", "build"):
        says(flow(command, file, "--frobnicate", code=2),
             f"millet flow {command}: there is no option --frobnicate; --help lists them all")
    for command in ("check", "draw", "place", "headers"):
        expect("is one word too many" in flow(command, file, "more", code=2).err, "one file only")
    says(flow("build", file, "--kep", "x", code=2), "millet flow build: there is no option --kep; did you mean --keep\\?")
    says(flow("run", file, "-o", "x", code=2), "millet flow run: the program is deleted after the run; to keep it, use millet flow build -o")


# ---- new


def test_new():
    said = flow("new", SCRATCH / "fresh")
    expect(said.out.splitlines()[1] == f"run it: millet flow run {SCRATCH}/fresh/fresh.flow {SCRATCH}/fresh/*.c", "what to do next", said)
    modules = sorted((SCRATCH / "fresh").glob("*.c"))
    for how in ([], ["-n", 2], ["-n", 2, "-nfg", 3]):
        expect(flow("run", SCRATCH / "fresh/fresh.flow", *modules, *how).out == "30\n174\n446\n", "it runs as it is", how)
    guide = (ROOT / "docs/guide/flow.md").read_text()
    wiring = (SCRATCH / "fresh/fresh.flow").read_text()
    expect(re.search(r"Module Main.*?\n}\n", wiring, re.S)[0] in guide, "the guide explains it")
    (SCRATCH / "fresh/fresh.flow").write_text("mine")
    says(flow("new", SCRATCH / "fresh", code=1), "millet flow new: folder '.*fresh' cannot be made: File exists")
    expect((SCRATCH / "fresh/fresh.flow").read_text() == "mine", "nothing is overwritten")
    says(flow("new", SCRATCH / "no/fresh", code=1), "millet flow new: folder '.*' cannot be made: No such file.*")
    for bad in ("", ".", "..", "folder/", ".hidden", "x" * 300):
        says(flow("new", bad, code=2), f"millet flow new: '{re.escape(bad)}' should be the name of a folder to make")
    says(flow("new", code=2), "millet flow new: it needs NAME.*")
    says(flow("new", "a", "b", code=2), "millet flow new: .*is one word too many.*")


# ---- check


def test_check():
    file, _ = pipe()
    expect(flow("check", file).out == f"{file}: 6 instances of modules, 2 collectives, 10 wires\n", "one line")
    expect(flow("check", file, "-D", "N=1000").out.endswith("1,002 instances of modules, 2 collectives, 2,002 wires\n"), "-D")
    expect(flow("check", file, "-DN=2").out.endswith("4 instances of modules, 2 collectives, 6 wires\n"), "-DN")
    quiet = flow("check", "-q", file)
    expect(quiet.out == quiet.err == "", "nothing", quiet)
    expect(flow("check", "-", stdin=file.read_text()).out.startswith("standard input: 6 instances"), "standard input")


def test_check_verbose():
    file, _ = pipe()
    said = flow("check", "-v", file, "-D", "COUNT=7").out
    expect(said == textwrap.dedent("""\
        constants
          N = 4
          COUNT = 7 (from the command line)
        instances
          s     Source
          q[4]  Square, weight 3
          p     Print
          d     Deal
          c     Collect
        wires
          s -> d    (line 21)
          d -> q[0..3]    (line 21, 4 wires)
          q[0..3] -> c    (line 22, 4 wires)
          c -> p    (line 22)
        """), "the graph", said)


def test_check_errors():
    file = write("wrong.flow", """\
        Declare Module A { in int; out double; }
        Module Main is Root requires Module A {
          A a[3], b[2];
         flow:
          a => b;
          a -> nobody;
        }
        """)
    said = flow("check", file, code=1)
    expect(said.out == "", "nothing on standard output", said)
    for line in said.err.splitlines():
        expect(re.match(rf"{re.escape(str(file))}:\d+(:\d+)?: (error|warning): \S", line), "each with its line", said)
    expect(":6" in said.err and "nobody" in said.err, "the unknown name", said)
    for command in ("build", "run", "draw", "place", "headers"):
        again = flow(command, file, code=1)
        expect(again.err == said.err, f"{command} says the same", again, said)
    text = write("text.flow", "Module Main is Root { ] }\n")
    expect(re.match(r"\S*text.flow:1(:\d+)?: error: ", flow("check", text, code=1).err), "not of the language")
    expect("error" in flow("check", "/dev/null", code=1).err, "an empty file")


def test_warnings():
    file = write("some.flow", """\
        Declare Module A { out int more; }
        Declare Module B { in int; }
        Module Main is Root requires Module A, Module B {
          A a[3]; B b;
         flow:
          a[0].more -> b;
        }
        """)
    said = flow("check", file)
    expect(re.match(r"\S*some.flow:\d+: warning: ", said.err), "a warning", said)
    expect("3" in said.out or "4 instances" in said.out, "and it goes on", said)
    modules = [write(f"some_{name}.c", f'#include "{name}.flow.h"\nint {name}_run({name} *my) {{ return 0 * my->flow.argc; }}\n')
               for name in "AB"]
    expect(flow("run", file, *modules).err == said.err, "run says it once")


# ---- build


def test_build():
    file, modules = pipe()
    program = built()
    expect(run(program).out == "385\n", "its result")
    expect(run(program, "-D", "COUNT=3").out == "14\n", "constants at run time")
    expect(run(BUILD / "bin/mpirun", "-n", 2, program).out == "385\n", "two processes")
    expect(run(BUILD / "bin/mpirun", "-nfg", 3, program).out == "385\n", "three ranks of one process")
    expect(run(built("-D", "COUNT=4", "-DN=2", "-O0")).out == "30\n", "constants at build time")
    expect(run(built("-D", "COUNT=4", "-DN=2", "-O0"), "-DCOUNT=2").out == "5\n", "and then at run time")


def test_build_default_name():
    file, modules = pipe()
    folder = SCRATCH / "default"
    folder.mkdir()
    flow("build", file, *modules, cwd=folder)
    expect([p.name for p in folder.iterdir()] == ["pipe"], "the program, called as the file, and nothing else")
    said = flow("build", "-", *modules, stdin=file.read_text(), code=2)
    says(said, "millet flow build: a file of standard input has no name: say -o PROGRAM")


def test_build_keep():
    file, modules = pipe()
    keep = SCRATCH / "keep"
    said = flow("build", file, *modules, "-o", SCRATCH / "kept", "--keep", keep, "-v")
    expect(sorted(p.name for p in keep.iterdir()) == ["Print.flow.h", "Source.flow.h", "Square.flow.h", "pipe.flow.c"],
           "headers and program")
    expect(re.match(rf"\S*/mpicc -O2 -g .*-I {re.escape(str(keep))} ", said.err), "-v shows the command", said)
    expect(said.err.count("\n") == 4 and said.err.count(" -c ") == 3, "one for each file, and one that links", said)
    text = (keep / "pipe.flow.c").read_text()
    for line in ("    // s -> d -> q;\n", "    // Square q[N];\n    int q = flow_add(w, 16, \"q\", &module_Square, FLOW_COUNT(N));\n",
                 "    FLOW_CONST N = flow_wiring_const(w, 2, \"N\", 4);\n", "    FLOW_CONST COUNT = flow_wiring_const(w, 3, \"COUNT\", 10);\n"):
        expect(line in text, f"it has {line}", text)
    header = (keep / "Source.flow.h").read_text()
    expect('#include "pipe.h"\n' in header and "FLOW_QUEUE(number) out;" in header and "long sent;" in header, "header", header)
    # The same by hand, with what is kept.
    run(BUILD / "bin/mpicc", "-I", keep, "-I", file.parent, keep / "pipe.flow.c", *modules, "-o", SCRATCH / "by_hand")
    expect(run(SCRATCH / "by_hand").out == "385\n", "by hand")


def test_statics():
    """What instances would share is refused with its name and file, however it is declared; constants and libraries are fine."""
    file, modules = pipe()
    shared = ": error: instances would share the {}: put it into the data_section of its module, make it const, or build with --shared-statics"
    more = write("statics/more.c", """\
        static const int table[3] = {1, 2, 3};
        static const char *const names[] = {"a", "b"};
        int common;
        int extra(int i)
        {
            static int calls;
            static const double factor[] = {1, 2};
            static _Thread_local long last;
            calls += (int)last;
            last = i;
            return ++calls + table[i] + names[i & 1][0] + (int)factor[i & 1];
        }
        """)
    names = ["variable 'common'", "thread-local variable 'last'", "variable 'calls'"]
    expected = [re.escape(str(more)) + shared.format(name) for name in names]
    program = SCRATCH / "statics/app"
    for level in ("-O2", "-O0"):
        said = flow("build", file, *modules, more, level, "-o", program, code=1)
        harness.only_lines(said, "\n".join(sorted(said.err.splitlines())), sorted(expected))
    expect(not program.exists(), "no program is made")
    said = flow("run", file, *modules, more, code=1)
    expect("'calls'" in said.err and not said.out, "run refuses it, too", said)
    expect(flow("run", file, *modules, more, "--shared-statics").out == "385\n", "what is asked for is allowed")
    run(BUILD / "bin/mpicc", "-O2", "-c", more, "-o", SCRATCH / "statics/more.o")
    said = flow("build", file, *modules, SCRATCH / "statics/more.o", "-o", program, code=1)
    expect("statics/more.o: error: instances would share the variable 'common'" in said.err, "an object", said)
    run("ar", "rcs", SCRATCH / "statics/libmore.a", SCRATCH / "statics/more.o")
    flow("build", file, *modules, SCRATCH / "statics/libmore.a", "-o", program)
    many = write("statics/many.c", "".join(f"int v{i};\n" for i in range(9)))
    said = flow("build", file, *modules, many, "-o", program, code=1)
    says(said, *[".*many.c: error: .* variable 'v[0-9]': .*"] * 4, ".*many.c: error: ... and 5 more")
    cxx = write("statics/cxx.cc", """\
        #include <iostream>
        #include <string>
        namespace {
        const std::string *words(const std::string &text) { return &text; }
        struct Counted { virtual ~Counted() {} static int count; };
        int Counted::count;
        }
        template <class T> struct Of { static int seen; };
        template <class T> int Of<T>::seen = 3;
        void count() { std::cout << ++Counted::count << ++Of<int>::seen << words("x")->size(); }
        """)
    said = flow("build", file, *modules, cxx, "-o", program, code=1)
    says(said, ".*cxx.cc" + shared.format("variable 'Counted::count'"))


def test_sources_by_language():
    """-x before a source is obeyed, and holds for it only as far as the compiler would have it."""
    file, (source, *modules) = pipe()
    odd = SCRATCH / "odd.inc"
    odd.write_text(pathlib.Path(source).read_text())
    program = SCRATCH / "by_language"
    flow("build", file, "-x", "c", odd, *modules, "-o", program)
    expect(run(program).out == "385\n", "it runs")


def test_build_hostfile():
    hosts = write("hosts", "alpha slots=2\nbeta slots=2 # \"two\"\n")
    program = built("--hostfile", hosts, "--keep", SCRATCH / "hosted")
    expect(run(program).out == "385\n", "it runs")
    text = (SCRATCH / "hosted/pipe.flow.c").read_text()
    expect('    "alpha slots=2\\n"\n    "beta slots=2 # \\"two\\"\\n";' in text, "the hosts are in it", text)
    file, modules = pipe()
    says(flow("build", file, *modules, "--hostfile", "nohosts", code=1), "millet flow build: 'nohosts' cannot be read: .*")


def test_build_objects_and_archives():
    file, modules = pipe()
    flow("headers", file, "-o", SCRATCH / "objects")
    objects = []
    for module in modules:
        objects.append(SCRATCH / "objects" / (module.stem + ".o"))
        run(BUILD / "bin/mpicc", "-c", "-I", SCRATCH / "objects", "-I", file.parent, module, "-o", objects[-1])
    flow("build", file, *objects, "-o", SCRATCH / "by_objects")
    expect(run(SCRATCH / "by_objects").out == "385\n", "objects")
    run("ar", "rcs", SCRATCH / "objects/libpipe.a", *objects)
    flow("build", file, "-L", SCRATCH / "objects", "-lpipe", "-o", SCRATCH / "by_archive")
    expect(run(SCRATCH / "by_archive").out == "385\n", "an archive")
    flow("build", file, "-o", SCRATCH / "after", "--", *objects, "-lm", "-DFOO=1")
    expect(run(SCRATCH / "after").out == "385\n", "after --")


def test_numbers_at_run_time():
    """What -D makes of counts, steps, capacities and weights: as `check` says it, also for values that mean "none"."""
    file = write("numbers.flow", """\
        const C = 4; const S = 2; const Q = 3; const W = 1; const T = 1;
        Module Team is Root requires Module A { out long; A one; flow: one -> out; }
        Module Main is Root requires Module A, Module B, Module Team {
          A a[C]; B b; Team t[T];
         flow:
          a[0:3:S] -> b;
          t -> b;
        }
        Declare Module A { out long; }
        Declare Module B { in long cap Q; weight W; }
        """)
    modules = [write("numbers_A.c", '#include "A.flow.h"\nint A_run(A *my) { flow_send(my, &(long){1}, 1); return 0; }\n'),
               write("numbers_B.c", '#include "B.flow.h"\n#include <stdio.h>\nint B_run(B *my) { long *v; size_t n; int sum = 0;'
                                    ' while (flow_dequeue(my, &v, &n)) sum++; printf("%d\\n", sum); return 0; }\n')]
    program = SCRATCH / "numbers"
    flow("build", file, *modules, "-o", program)
    expect(run(program).out == "3\n" and run(program, "-D", "S=1").out == "5\n", "right numbers")
    for given, line, said in (("C=0", 4, r"a\[0\] has no instances: a vector has at least 1"),
                              ("C=-1", 4, r"a\[-1\] has no instances: a vector has at least 1"),
                              ("T=-1", 4, r"t\[-1\] has no instances: a vector has at least 1"),
                              ("S=0", 6, r"a\[0:3:0\] has the step 0: a step is at least 1"),
                              ("S=-1", 6, r"a\[0:3:-1\] has the step -1: a step is at least 1"),
                              ("Q=0", 10, r"the capacity of in( of B)? is 0: it is at least 1, and below 2\^31"),
                              ("Q=-2", 10, r"the capacity of in( of B)? is -2: it is at least 1, and below 2\^31"),
                              ("W=0", 10, r"the weight of B is 0: it is at least 1, and below 2\^31")):
        for words in ([program], [BUILD / "bin/mpirun", "-n", 2, program]):
            told = run(*words, "-D", given, code=1)
            expect(re.search(rf"numbers.flow:{line}: error: {said}$", told.err, re.M), f"-D {given}: {said}", told)
        says(flow("check", file, "-D", given, code=1), rf".*numbers.flow:{line}(:\d+)?: error: {said}")


def test_missing_module():
    file, modules = pipe()
    says(flow("build", file, modules[0], "-o", "x", code=1),
         rf"{re.escape(str(file))}:11: error: module Square has no Square_run in the files given",
         rf"{re.escape(str(file))}:12: error: module Print has no Print_run in the files given")
    other = write("calls.c", "void undefined_thing(void); void more(void); void more(void) { undefined_thing(); }\n")
    said = flow("build", file, *modules[:2], other, "-o", "x", code=1).err
    expect("undefined_thing" in said and "has no Print_run" in said and "`Print_run'" not in said, "others pass", said)
    expect(not (SCRATCH / "x").exists(), "no program")


def operations():
    file = write("ops/ops.flow", """\
        include "ops.h";
        Declare Operation times(struct pair) ordered;
        Declare Module P { out struct pair; }
        Declare Module Q { in struct pair; }
        Module Main is Root requires Module P, Module Q, Module Reduce {
          P p[4]; Q q; Reduce r;
         flow:
          p -> r(times) -> q;
        }
        """)
    write("ops/ops.h", "struct pair { long a, b; };\n")
    write("ops/P.c", """\
        #include "P.flow.h"
        int P_run(P *my)
        {
            struct pair v = {my->flow.index + 1, 10}; // a digit and its power
            flow_send(my, &v, 1);
            return 0;
        }
        """)
    write("ops/Q.c", """\
        #include <stdio.h>
        #include "Q.flow.h"
        int Q_run(Q *my)
        {
            const struct pair *v;
            size_t n;
            while (flow_dequeue(my, &v, &n))
                printf("%ld %ld\\n", v->a, v->b);
            return 0;
        }
        """)
    write("ops/times.c", """\
        #include "operations.flow.h"
        void times(struct pair *into, const struct pair *with, size_t count)
        {
            for (size_t i = 0; i < count; i++)
                into[i] = (struct pair){into[i].a * with[i].b + with[i].a, into[i].b * with[i].b};
        }
        """)
    return file


def test_operations():
    file = operations()
    expect(flow("run", file, file.parent / "P.c", file.parent / "Q.c", file.parent / "times.c").out == "1234 10000\n", "in order")
    # The C library has a `times`, too, which is not meant.
    says(flow("build", file, file.parent / "P.c", file.parent / "Q.c", "-o", "x", code=1),
         r".*ops.flow:2: error: operation times has no function in the files given: void times\(struct pair \*into, const "
         r"struct pair \*with, size_t count\)")


def test_compile_errors():
    file, modules = pipe()
    wrong = write("pipe/Wrong.c", SQUARE.replace("number *v;", "double *v;"))
    said = flow("build", file, modules[0], wrong, modules[2], "-o", "x", code=1)
    expect("Wrong.c:6" in said.err and "the queue carries values of another type" in said.err,
           "a type that does not match is an error, with its line", said)
    for was, wrong, message in (("size_t n;", "int n;", "the count should be a size_t"),
                                 ("flow_give(my, v, n);", "flow_send(my, *v, n);", "the queue carries values of another type"),
                                 ("flow_give(my, v, n);", "flow_send(my, &n, n);", "the queue carries values of another type")):
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler):
                file_of = write("pipe/Wrong.c", SQUARE.replace(was, wrong))
                said = flow("build", file, modules[0], file_of, modules[2], "-o", "x", f"-cc={compiler}", code=1)
                expect("Wrong.c:" in said.err and message in said.err, f"{compiler}: {wrong}", said)
    wrong = write("pipe/Wrong.c", SQUARE.replace("flow_give(my, v, n);", "flow_give(my, w, n);"))
    said = flow("build", file, modules[0], wrong, modules[2], "-o", "x", code=1)
    expect(re.search(r"Wrong.c:8.*('w' undeclared|undeclared identifier 'w')", said.err), "others too", said)
    wrong = write("pipe/Wrong.c", SQUARE.replace("int Square_run", "double Square_run"))
    said = flow("build", file, modules[0], wrong, modules[2], "-o", "x", code=1)
    expect("conflicting types for 'Square_run'" in said.err, "a function of another type", said)
    data = write("pipe/data.flow", PIPE.replace("long sent;", "long sent; frob x;"))
    said = flow("build", data, *modules, "-o", "x", code=1)
    expect(re.search(r"data.flow:7:\d+: error: unknown type name 'frob'", said.err), "the data section has its lines", said)
    said = flow("build", file, *modules, "nofile.c", "-o", "x", code=1)
    expect(re.search("nofile.c: No such file or directory|no such file or directory: '.*nofile.c'", said.err), "a file that is not there", said)
    said = flow("build", file, *modules, "-o", SCRATCH / "nowhere/x", code=1)
    expect("nowhere/x" in said.err, "where the program cannot be", said)
    says(flow("build", file, *modules, "-o", "x", "--keep", "/proc/keep", code=1),
         "millet flow build: the folder '/proc/keep' cannot be made: .*")
    write("a_file", "")
    says(flow("build", file, *modules, "-o", "x", "--keep", SCRATCH / "a_file", code=1),
         "millet flow build: the folder '.*a_file' cannot be made: .*")
    says(flow("build", file, *modules, "-o", "x", code=1, env={"TMPDIR": "/proc"}),
         "millet flow build: no temporary folder can be made in '/proc': .*")


def test_warnings_of_compilers():
    """All of it with all warnings, by both compilers: what is generated, and the examples' modules."""
    many = write("many/many.flow", """\
        const N = 6;
        const M = N / 2;
        const Z = 2;
        const TOLD = 1;
        include "stdint.h";
        Declare Module A {
          data_section { int x; }
          in int32_t cap N / M optional;
          out double big[] cap 2 * 4 optional;
          out unsigned long optional;
          weight M;
        }
        Declare Module Unused { in int; }
        Module Main is Root requires Module A, Module Team, Module B {
          const K = M % Z;
          A w[N + 1];
          B unwired;
          B flow_b, NULL_, B, main_;
          Team t;
         flow:
          w[0:N-1:M] -> flow_b;
          w[1] => t;
          w[1:3] @ K + 0;
          w[4] @ localhost;
          w[5] @ 0;
          w[6] @ M * (2 - 2);
        }
        Module Team is Root requires Module B {
          in unsigned long cap M;
          B w[M];
         flow:
          in -> w[0];
        }
        """)
    write("many/A.c", '#include "A.flow.h"\nint A_run(A *my) { return my->x; }\n')
    write("many/B.c", '#include "B.flow.h"\nint B_run(B *my) { return my->flow.index < 0; }\n')
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            raise Skip(f"there is no {compiler}")
        strict = [f"-cc={compiler}", "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-O2"]
        said = flow("build", many, SCRATCH / "many/A.c", SCRATCH / "many/B.c", "-o", SCRATCH / f"many_{compiler}", *strict)
        expect("error" not in said.err, "no word", said)
        # Values that are given leave constants unused that others were computed from.
        for words in (["-D", "M=3"], ["-D", "N=6", "-D", "K=0", "-D", "M=3", "-D", "Z=1"]):
            flow("build", many, SCRATCH / "many/A.c", SCRATCH / "many/B.c", "-o", SCRATCH / "y", *strict, *words)
        file, modules = pipe()
        said = flow("build", file, *modules, "-o", SCRATCH / f"pipe_{compiler}", *strict)
        expect(said.err == "", "no word", said)
        expect(run(SCRATCH / f"pipe_{compiler}").out == "385\n", "it runs")
        file = operations()
        flow("build", file, *file.parent.glob("*.c"), "-o", SCRATCH / f"ops_{compiler}", *strict)
    # A divisor that becomes 0 at run time is told.
    said = run(SCRATCH / "many_gcc", "-D", "M=0", code=None)
    expect(said.code not in (0, 136, -8) and "many.flow:8" in said.err, "a division by 0", said)


CXX = """\
    #include "Cxx.flow.h"
    #include <memory>
    #include <vector>
    struct state { std::vector<long> seen; };
    extern "C" void Cxx_init(Cxx *my) { my->own = new state; }
    extern "C" void Cxx_fini(Cxx *my) { delete static_cast<state *>(my->own); }
    int Cxx_run(Cxx *my)
    {
        state *own = static_cast<state *>(my->own);
        const long *v;
        long *w;
        double *any;
        size_t n;
        int which;
        flow_dequeue(my, &w, &n);
        own->seen.push_back(*w);
        flow_keep(w);
        while ((which = flow_dequeue_from(my, &v, &n, in, more)) >= 0)
            own->seen.push_back(which == 0 ? *v : -*v);
        while (flow_dequeue_on(my, any, &any, &n))
            own->seen.push_back(static_cast<long>(any[n - 1]));
        flow_give(my, w, 1);
        for (size_t i = 1; i < own->seen.size(); i++)
            flow_send(my, &own->seen[i], 1);
        long *last = flow_new(my, 1);
        *last = flow_const(my, "LAST");
        flow_give(my, last, 1);
        double *untyped = flow_new_on(my, rest, sizeof(double));
        *untyped = 0.5;
        flow_give_on(my, rest, untyped, 1);
        return 0;
    }
    """


def test_cxx():
    """Modules and operations in C++, beside others in C."""
    file = write("cxx/cxx.flow", """\
        const LAST = 9;
        Declare Operation join(long);
        Declare Module Give { out long; out long more; out any; }
        Declare Module Cxx { data_section { void *own; } in long; in long more; in any; out long; out rest; }
        Declare Module Show { in long; in rest; }
        Module Main is Root requires Module Give, Module Cxx, Module Show {
          Give g[2]; Cxx c; Show s; Reduce r, r2, r3;
          flow: g -> r(join) -> c; g.more -> r2(join) -> c.more; g.any -> r3(sum) -> c.any; c -> s; c.rest -> s.rest;
        }
        """.replace("out any;", "out void any;").replace("in any;", "in void any;").replace("out rest;", "out void rest;")
                 .replace("in rest;", "in void rest;"))
    modules = [write("cxx/Give.c", """\
                   #include "Give.flow.h"
                   int Give_run(Give *my)
                   {
                       long v[] = {1, 2, 3};
                       double d[] = {1, 20};
                       for (int i = 0; i < 2; i++)
                           flow_send(my, &v[i], 1);
                       flow_send_on(my, more, &v[2], 1);
                       flow_send_on(my, any, d, 2);
                       return 0;
                   }
                   """),
               write("cxx/Show.c", """\
                   #include "Show.flow.h"
                   #include <stdio.h>
                   int Show_run(Show *my)
                   {
                       const long *v;
                       double *d;
                       size_t n;
                       while (flow_dequeue(my, &v, &n))
                           printf("%ld ", *v);
                       flow_dequeue_on(my, rest, &d, &n);
                       printf("%g %zu\\n", *d, n);
                       return 0;
                   }
                   """),
               write("cxx/Cxx.cc", CXX),
               write("cxx/join.cpp", """\
                   #include "operations.flow.h"
                   void join(long *into, const long *with, size_t count)
                   {
                       for (size_t i = 0; i < count; i++)
                           into[i] += with[i];
                   }
                   """)]
    for cc, cxx in (("gcc", "g++"), ("clang", "clang++")):
        if not shutil.which(cxx):
            continue
        flow("build", file, *modules, f"-cc={cc}", "-Wall", "-Wextra", "-Werror", "-o", "cxx.app")
        for start in ([], [BUILD / "bin/mpirun", "-n", 2]):
            said = run(*start, SCRATCH / "cxx.app")
            expect(sorted(said.out.split()) == sorted("2 4 -6 40 9 0.5 1".split()), "C++ does what C does", said)
    for wrong in ("double x = 1; flow_send(my, &x, 1);", "double *x; flow_dequeue(my, &x, &n);",
                  "double *x; flow_dequeue_from(my, &x, &n, in, more);"):
        write("cxx/Wrong.cc", CXX.replace("int which;", f"int which; {wrong}"))
        said = flow("build", file, *modules[:2], SCRATCH / "cxx/Wrong.cc", modules[3], "-o", "cxx.app", code=1)
        expect("the queue carries values of another type" in said.err, "types are checked", said)


def test_examples():
    for file in sorted((ROOT / "examples/flow").glob("*/*.flow")):
        flow("check", file)
        flow("headers", file, "-o", SCRATCH / ("headers_" + file.stem))


# ---- run


def test_run():
    file, modules = pipe()
    expect(flow("run", file, *modules).out == "385\n", "alone")
    expect(flow("run", *modules, file).out == "385\n", "the file may stand last")
    expect(flow("run", file, *modules, "-n", 2).out == "385\n", "two processes")
    expect(flow("run", file, "-n", 2, "-nfg", 2, *modules, "-O1", "-D", "COUNT=2").out == "5\n", "options anywhere")
    expect(flow("run", file, "-nfg", 3, *modules, "-g", "-DCOUNT=2", "--", "-D", "COUNT=3").out == "14\n", "of the program")
    said = flow("run", file, *modules, "--", "fail", code=None)
    expect(said.code not in (0, 2) and "module Source, instance s" in said.err, "a module that fails", said)
    said = flow("run", file, *modules, "-n", 2, "--report")
    expect(said.out.startswith("385\n") or "385" in said.out, "a report", said)
    said = flow("run", file, "-genv", "A", "B", "-l", *modules, "-localonly", "-lm", "-fno-common", "-v")
    expect(said.out == "[0] 385\n" and "-fno-common" in said.err and "-genv" not in said.err and " -lm" in said.err,
           "whose word is whose", said)
    long = write("pipe/long.flow", PIPE.replace("Square q", "Square squares_of_a_long_name").replace("q;", "squares_of_a_long_name;")
                 .replace("q ->", "squares_of_a_long_name ->"))
    lines = [line for line in flow("run", long, *modules, "-n", 2, "--report").err.splitlines() if " elements " in line]
    expect(len(lines) == 4 and len({line.index(" elements ") for line in lines}) == 1, "columns of long names", *lines)
    said = flow("run", file, *modules, "-n", "many", code=None)
    expect(said.code != 0 and "option -n is 'many'" in said.err, "mpirun's own words", said)


def test_mpi():
    """Modules call MPI if the file includes mpi.h."""
    file = write("mpi.flow", """\
        include <mpi.h>;
        Declare Module A { data_section { MPI_Comm own; } out double; }
        Declare Module B { in double; }
        Module Main is Root requires Module A, Module B { A a[4]; B b; Reduce r; flow: a -> r(sum) -> b; a @ 0; b @ 0; }
        """)
    modules = [write("mpi_A.c", """\
                   #include "A.flow.h"
                   int A_run(A *my)
                   {
                       int rank, from = my->flow.index, got = -1;
                       my->own = MPI_COMM_WORLD;
                       MPI_Comm_rank(my->own, &rank);
                       MPI_Sendrecv(&from, 1, MPI_INT, rank, from, &got, 1, MPI_INT, rank, from, my->own, MPI_STATUS_IGNORE);
                       double value = got;
                       flow_send(my, &value, 1);
                       return 0;
                   }
                   """),
               write("mpi_B.c", """\
                   #include "B.flow.h"
                   #include <stdio.h>
                   int B_run(B *my)
                   {
                       const double *v;
                       size_t n;
                       while (flow_dequeue(my, &v, &n))
                           printf("%g\\n", *v);
                       return 0;
                   }
                   """)]
    for words in ([], ["-n", 2], ["-n", 2, "-nfg", 3]):
        expect(flow("run", file, *modules, *words).out == "6\n", "MPI in modules", words)


def test_input():
    """A module reads standard input wherever it is placed, as much of it as is left."""
    file = write("input.flow", """\
        const WHERE = 0;
        Declare Module In { out long; }
        Declare Module Sum { in long; }
        Module Main is Root requires Module In, Module Sum { In i; Sum s; flow: i -> s; i @ (WHERE); }
        """)
    modules = [write("input_In.c", """\
                   #include "In.flow.h"
                   #include <stdio.h>
                   int In_run(In *my)
                   {
                       long v;
                       while (scanf("%ld", &v) == 1)
                           flow_send(my, &v, 1);
                       return 0;
                   }
                   """),
               write("input_Sum.c", """\
                   #include "Sum.flow.h"
                   #include <stdio.h>
                   int Sum_run(Sum *my)
                   {
                       const long *v;
                       size_t n;
                       long sum = 0;
                       while (flow_dequeue(my, &v, &n))
                           sum += *v;
                       printf("%ld\\n", sum);
                       return 0;
                   }
                   """)]
    program = SCRATCH / "input"
    flow("build", file, *modules, "-o", program)
    numbers = "".join(f"{i}\n" for i in range(1, 20001))  # more than a buffer's
    for where, words in ((0, []), (0, ["-n", 3]), (2, ["-n", 3]), (2, ["-n", 3, "--workers", "thread"]), (3, ["-n", 2, "-nfg", 2]),
                         (2, ["-n", 2, "-nfg", 2, "--workers", "process"]), (1, ["-n", 3, "--stdin", 2])):
        start = [BUILD / "bin/mpirun", *words] if words else []
        said = run(*start, program, "-D", f"WHERE={where}", stdin=numbers)
        expect(said.out == "200010000\n", "all numbers came", said)
    expect(run(BUILD / "bin/mpirun", "-n", 3, "--stdin", "none", program, "-D", "WHERE=1", stdin=numbers).out == "0\n",
           "nobody has input")
    expect(run(BUILD / "bin/mpirun", "-n", 3, "--stdin", "all", program, "-D", "WHERE=1", stdin="1 2 3").out == "6\n",
           "everybody has all of it")
    path = write("input.txt", numbers)
    with open(path, "rb") as source:
        os.lseek(source.fileno(), len("1\n2\n3\n"), os.SEEK_SET)
        done = patience.run([str(BUILD / "bin/mpirun"), "-n", "3", str(program), "-D", "WHERE=2"], LIMIT, stdin=source, env=clean())
        expect(done.stdout == f"{200010000 - 6}\n", "a file is read from where it stands", done)


def test_crash():
    """A crash report names the instance and the function; an array larger than the stack is told as that."""
    file, modules = pipe()
    for code, words in ((SQUARE.replace("*v *= *v;", "*(volatile int *)0 = 1;"), ("q[", "Square_run")),
                        (SQUARE.replace("*v *= *v;", "volatile char a[4000000]; for (int i = 0; i < 4000000; i += 9) a[i] = 1;"),
                         ("q[", "stack overflow"))):
        wrong = write("pipe/Crash.c", code)
        flow("build", file, modules[0], wrong, modules[2], "-o", "crash")
        for start in ([], [BUILD / "bin/mpirun", "-n", 2, "-nfg", 2]):
            said = run(*start, SCRATCH / "crash", code=None)
            expect(said.code != 0 and all(word in said.err for word in words), f"it says {words}", said)


def test_threads():
    """Only the thread that runs an instance has its queues."""
    file, modules = pipe()
    first = SQUARE.replace("int Square_run", """\
    #include <pthread.h>
    static void *thread(void *arg)
    {
        Square *my = arg;
        number *v;
        size_t n;
        number one = 1;
        %s;
        (void)v, (void)n, (void)one;
        return NULL;
    }
    int Square_run""").replace("size_t n;\n        while", """size_t n;
        pthread_t other;
        pthread_create(&other, NULL, thread, my);
        pthread_join(other, NULL);
        while""")
    for call in ("flow_send(my, &one, 1)", "flow_new(my, 1)", "flow_dequeue(my, &v, &n)", "flow_dequeue_from(my, &v, &n, in)"):
        wrong = write("pipe/Thread.c", first % call)
        said = flow("run", file, modules[0], wrong, modules[2], "-pthread", code=1)
        queue = "in" if "dequeue" in call else "out"
        says(said, rf"millet: module Square, instance q\[\d\], on rank 0: {call.split('(')[0]} on {queue} by a thread that the "
                   "module made or in a child that it forked: only the thread that runs the instance has its queues")


def test_hang_of_reduction():
    """Who writes results to receivers is known, so that no cycle is told that is none."""
    file = write("sums.flow", """\
        Declare Module W { in double; out double; }
        Module Main is Root requires Module W { W w[4]; Reduce r; flow: w -> r(sum); }
        """)
    module = write("sums_W.c", """\
        #include "W.flow.h"
        int W_run(W *my)
        {
            double *v, x = 1;
            size_t n;
            if (my->flow.index == 2) // before it has sent
                flow_dequeue(my, &v, &n);
            flow_send(my, &x, 1);
            flow_dequeue(my, &v, &n);
            return 0;
        }
        """)
    said = flow("run", file, module, "-n", 2, code=125)
    for line in ("  w[0]: flow_dequeue from queue 'w[0].in', which results of r on worker 0 writes",
                 "  results of r on worker 0: waits for what other workers contribute",
                 "  r on worker 1: flow_dequeue from queue 'w[2].out', which w[2] writes",
                 "  results of r on worker 1: waits for the next elements of this worker"):
        expect(line in said.err.splitlines(), line, said)
    expect("cycle" not in said.err, "no cycle of processes of one worker", said)
    for line in ("  reduction r: w[0] and w[1] have sent 1 element each; the 1st of other workers is missing",
                 "  reduction r: w[2] has sent 0 elements, w[3] 1"):
        expect(line in said.err.splitlines(), line, said)


def test_hang_by_numbers():
    """Contributors in a circle that send different numbers of elements: the report has the numbers, wherever they run."""
    file = write("counts.flow", """\
        Declare Module S { in double; out double; }
        Module Main is Root requires Module S { const N = 6; S s[N]; Reduce r; flow: s -> r(sum); }
        """)
    module = write("counts_S.c", """\
        #include "S.flow.h"
        int S_run(S *my)
        {
            double *v, x = 1;
            size_t n;
            for (int i = 0; i < (my->flow.index == 1 ? 3 : my->flow.index == 5 ? 5 : 4); i++)
                flow_send(my, &x, 1);
            while (flow_dequeue(my, &v, &n))
                ;
            return 0;
        }
        """)
    flow("build", file, module, "-o", "counts")
    alone = "  reduction r: s[1] has sent 3 elements, s[5] 5, and 4 others between"
    many = "  reduction r: s[1] has sent 3 elements, s[0], s[2], s[3] and 1 other 4"
    for start, lines in (([], [alone]), ([BUILD / "bin/mpirun", "-n", 1, "-nfg", 6], [alone]),
                         ([BUILD / "bin/mpirun", "-n", 3],
                          ["  reduction r: s[1] has sent 3 elements, s[0] 4",
                           "  reduction r: s[2] and s[3] have sent 4 elements each; the 4th of other workers is missing",
                           "  reduction r: s[4] has sent 4 elements, s[5] 5; the 4th of other workers is missing"])):
        said = run(*start, SCRATCH / "counts", code=125 if start else 1)
        for line in lines:
            expect(line in said.err.splitlines(), line, said)
    said = run(SCRATCH / "counts", "-D", "N=5", code=1)
    expect(many in said.err.splitlines(), many, said)


def test_run_ends():
    """Whoever ends it leaves nothing behind."""
    file = write("forever/forever.flow", """\
        Module Main is Root requires Module F { F f; flow: }
        """)
    module = write("forever/F.c", """\
        #include <stdio.h>
        #include <unistd.h>
        #include "F.flow.h"
        int F_run(F *my)
        {
            (void)my;
            printf("here\\n");
            fflush(stdout);
            for (;;)
                pause();
        }
        """)
    for number in (signal.SIGINT, signal.SIGTERM):
        running = harness.start(MILLET, "flow", "run", file, module, env=clean(), cwd=SCRATCH)
        expect(running.stdout.readline() == "here\n", "it runs")
        running.send_signal(number)
        harness.finish(running, 128 + number, limit=LIMIT)
        expect(not list((SCRATCH / "tmp").iterdir()), "nothing is left")


# ---- headers


def test_headers():
    file, _ = pipe()
    folder = SCRATCH / "new"
    flow("headers", file, "-o", folder)
    found = sorted(folder.iterdir())
    expect([p.name for p in found] == ["Print.flow.h", "Source.flow.h", "Square.flow.h"], "the headers", found)
    os.utime(found[0], (1, 1))
    os.utime(found[1], (1, 1))
    found[1].write_text("other")
    os.utime(found[1], (1, 1))
    flow("headers", file, "-o", folder)
    expect(found[0].stat().st_mtime == 1, "what does not change stays")
    expect(found[1].stat().st_mtime > 1 and "Source_run" in found[1].read_text(), "what changes is written")
    flow("headers", operations(), "-o", SCRATCH / "ops_headers")
    expect((SCRATCH / "ops_headers/operations.flow.h").exists(), "operations have one, too")
    says(flow("headers", file, "-o", "/proc/x", code=1), "millet flow headers: the folder '/proc/x' cannot be made: .*")
    here = SCRATCH / "here"
    here.mkdir()
    flow("headers", file, cwd=here)
    expect(len(list(here.iterdir())) == 3, "the current folder")
    said = flow("headers", file, "-o", "/proc/self/fd", code=1)
    expect("cannot be written" in said.err, "a folder that takes no files", said)


# ---- drawings


def drawing(*words, **options):
    out = SCRATCH / "drawing.svg"
    out.unlink(missing_ok=True)
    flow("draw", *words, "-o", out, **options)
    tree = ET.parse(out).getroot()
    expect(tree.tag == SVG + "svg", "SVG")
    return tree


def of_class(tree, name):
    return [g for g in tree.iter(SVG + "g") if g.get("class") == name]


def names(tree):
    return [g.find(SVG + "text").text for g in of_class(tree, "box")]


def boxes_apart(tree):
    """No two boxes that are rectangles overlap, and all are on the paper."""
    width, height = float(tree.get("width")), float(tree.get("height"))
    at = []
    for g in of_class(tree, "box"):
        rects = g.findall(SVG + "rect")
        if rects:
            at.append([float(rects[-1].get(k)) for k in ("x", "y", "width", "height")])
    for i, (x, y, w, h) in enumerate(at):
        expect(0 <= x and x + w <= width and 0 <= y and y + h <= height, "within the paper", at[i])
        for other in at[:i]:
            a, b, c, d = other
            expect(x + w <= a or a + c <= x or y + h <= b or b + d <= y, "two boxes overlap", at[i], other)


def test_draw():
    file, _ = pipe()
    tree = drawing(file)
    expect(sorted(names(tree)) == sorted(["s", "q[0]", "q[1]", "q[2]", "q[3]", "p", "d", "c"]), "a box each", names(tree))
    expect(len(of_class(tree, "link")) == 10, "a line each")
    boxes_apart(tree)
    expect(ET.fromstring(flow("draw", file).out).tag == SVG + "svg", "standard output")
    tree = drawing(file, "-D", "N=100")
    expect(sorted(names(tree)) == sorted(["s", "q[0..99]", "p", "d", "c"]), "a large vector is one", names(tree))
    expect(len(of_class(tree, "link")) == 4, "and so are its lines")
    expect(len(names(drawing(file, "--expand", 3))) == 5 and len(names(drawing(file, "-DN=20", "--expand", 20))) == 24, "--expand")
    boxes_apart(drawing(file, "-DN=300", "--expand", 300))


FIGURE5 = """\
    Module Main is Root requires Module Parallel, Module Reduce {
      void initialize() {
        Parallel p[4];
        Reduce r1, r2;
        flow :
          p ||| r1(sum) ||| p[0], p[2];
          p[1:2].outQueue1 ||| r2(multiply) ||| p[3];
      }
    }
    Declare Module Parallel {
      data_section {
        double *send_buffer1, *send_buffer2;
      }
      Output:
      Output Queue is outQueue1;
    }
    """


def test_draw_figures():
    figure5 = write("figure5.flow", FIGURE5)
    tree = drawing(figure5)
    expect(sorted(names(tree)) == ["p[0]", "p[1]", "p[2]", "p[3]", "r1", "r2"], "Figure 5", names(tree))
    links = of_class(tree, "link")
    dashed = [g for g in links if g.find(SVG + "path").get("stroke-dasharray")]
    expect(len(links) == 9 and len(dashed) == 3, "three lines lead back")
    words = [t.text for t in tree.iter(SVG + "text")]
    expect(words.count("outQueue1") == 2, "queues have their names")
    figure3 = write("figure3.flow", """\
        Module Main is Root requires Module Chemical, Module Reduce {
          void initialize() {
            Chemical c[16];
            Reduce r;
            flow:
              c ||| r(sum);
          }
        }
        """)
    tree = drawing(figure3)
    expect(len(names(tree)) == 17 and len(of_class(tree, "link")) == 32, "Figure 3")
    boxes_apart(tree)
    tree = drawing(figure3, "--expand", 8)
    expect(names(tree) == ["c[0..15]", "r"] and len(of_class(tree, "link")) == 2, "folded", names(tree))
    for figure in (figure3, figure5):
        for words in ([], ["--keep-all"]):
            for workers in (1, 2, 3, 4, 8):
                tree = drawing(figure, "--placed", "-n", workers, *words)
                boxes_apart(tree)
                said = [t.text for t in tree.iter(SVG + "text")]
                expect(all(f"worker {i}" in said for i in range(workers)), "a frame for each worker", said)
    whole = len(names(drawing(figure5, "--placed", "-n", 4, "--keep-all")))
    less = len(names(drawing(figure5, "--placed", "-n", 4)))
    expect(less < whole, "Figure 7: what only hands on is left out")


def test_draw_rounds():
    """The numbers of rounds do not hide each other, also where messages go back."""
    file = write("rounds.flow", """\
        Declare Operation add(long) ordered;
        Module Main is Root requires Module A, Module B { A a[6]; B b; Reduce r; flow: a -> r(add) -> b; }
        """)
    tree = drawing(file, "--placed", "-n", 3)
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in tree.iter(SVG + "circle")]
    expect(len(marks) >= 3, "rounds", marks)
    for i, (x, y) in enumerate(marks):
        for other_x, other_y in marks[:i]:
            expect((x - other_x) ** 2 + (y - other_y) ** 2 > 15 ** 2, "apart", marks)


def test_draw_others():
    chain = write("chain.flow", """\
        const N = 10;
        Declare Module Stage { in double; out double; in double again; out double back; }
        Module Main is Root requires Module Stage, Module Broadcast, Module Inner {
          Stage s[N]; Broadcast b; Inner i[2];
         flow:
          s[0:N-2] => s[1:N-1];
          s[N-1].back -> s[0].again;
          s[5].back -> b -> s[1].again, s[2].again, i;
        }
        Module Inner is Root requires Module Stage {
          in double; Stage q;
         flow:
          in -> q;
        }
        """)
    tree = drawing(chain)
    boxes_apart(tree)
    expect({"i[0].q", "i[1].q", "b", "s[9]"} <= set(names(tree)), "nested ones have long names", names(tree))
    hosts = write("two_hosts", "alpha slots=2\nbeta slots=2\n")
    tree = drawing(chain, "--placed", "-n", 4, "--hostfile", hosts)
    boxes_apart(tree)
    said = [t.text for t in tree.iter(SVG + "text")]
    expect("host alpha" in said and "host beta" in said, "frames for hosts", said)
    for n in (2, 30, 200):
        boxes_apart(drawing(chain, "-D", f"N={max(n, 10)}", "--expand", 250))
    expect("s[0..199]" in names(drawing(chain, "-D", "N=200")), "folded, with lines to itself")


def test_draw_errors():
    file, _ = pipe()
    says(flow("draw", file, "-n", 2, code=2), "millet flow draw: -n, -nfg, --hostfile and --keep-all are for --placed")
    says(flow("draw", file, "--keep-all", code=2), "millet flow draw: -n, -nfg, --hostfile and --keep-all are for --placed")
    says(flow("draw", file, "-o", SCRATCH / "nowhere/x.svg", code=1), "millet flow draw: '.*nowhere/x.svg' cannot be written: .*")
    says(flow("draw", file, "--expand", 0, code=2), "millet flow draw: option --expand is '0', but should be a whole number .*")
    says(flow("draw", file, "-DN=2000", "--expand", 2000, "-o", "big.svg", code=1),
         "millet flow draw: 2,004 boxes and .* cannot be drawn, .*")
    says(flow("draw", file, "-DN=2000", "--placed", "-o", "big.svg", code=1), "millet flow draw: 2,.* cannot be drawn, .*")
    says(flow("draw", file, "--placed", "-n", 65, code=1), "millet flow draw: 65 workers cannot be drawn, up to 64 can")
    expect(not (SCRATCH / "big.svg").exists(), "no drawing")
    says(flow("draw", file, "--placed", "--hostfile", "none", code=1), "millet flow draw: 'none' cannot be read: .*")
    bad = write("bad_hosts", "alpha slots=x\n")
    says(flow("draw", file, "--placed", "--hostfile", bad, code=1), "millet flow draw: .*bad_hosts: .*")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([MILLET, "flow", "draw", file], stdout=full, stderr=subprocess.PIPE, text=True, env=clean())
        expect(done.returncode == 1 and "cannot be written" in done.stderr, "a full disk", done.stderr)


def test_colour():
    file, _ = pipe()
    report = SCRATCH / "report.tsv"
    run(BUILD / "bin/mpirun", "-n", 2, "--set", f"flow_report={report}", built())
    head, *lines = report.read_text().splitlines()
    expect(head.startswith("# queue\tfrom\telements") and len(lines) == 10, "the report", report.read_text())
    for words in ([], ["--placed", "-n", 2]):
        tree = drawing(file, "--colour", report, *words)
        tips = [g.find(SVG + "title").text for g in of_class(tree, "link")]
        expect(sum("blocked" in tip for tip in tips) >= 8, "lines tell what passed them", tips)
        expect(any("senders blocked" in (t.text or "") for t in tree.iter(SVG + "text")), "a legend")
    expect(len(of_class(drawing(file, "--color", report), "link")) == 10, "the other spelling")
    says(flow("draw", file, "--colour", "none.tsv", code=1), "millet flow draw: 'none.tsv' cannot be read: .*")
    for line in ("q", "q\tf\t1\t2\t3\t4\t5", "q\tf\t1\tx\t3\t4\t5\t0", "\tf\t1\t1\t3\t4\t5\t0"):
        bad = write("bad.tsv", f"# head\n{line}\n")
        says(flow("draw", file, "--colour", bad, code=1), "millet flow draw: '.*bad.tsv': line 2 is none of a report of .*")
    drawing(file, "--colour", write("empty.tsv", ""))


# ---- place


def test_place():
    file = write("figure5.flow", FIGURE5)
    said = flow("place", file, "-n", 4).out
    for i in range(4):
        expect(f"worker {i}, weight 1\n  rank {i}: p[{i}]\n" in said, "an instance each", said)
    expect(re.search(r"reduction r1 \(sum\): \d workers, \d+ messages? in \d rounds?\n  round 1: ", said), "rounds", said)
    said = flow("place", file).out
    expect("worker 0, weight 4\n  rank 0: p[0..3]\n" in said and "reduction r1 (sum): on worker 0 alone" in said, "one", said)
    hosts = write("two_hosts", "alpha slots=2\nbeta slots=2\n")
    said = flow("place", file, "-n", 4, "-nfg", 2, "--hostfile", hosts).out
    expect("worker 0 on alpha" in said and "worker 3 on beta" in said and "4 ranks have no instance" in said, "hosts", said)
    said = flow("place", file, "-n", 4, "--reproducible").out
    expect(said.count("alone") == 2, "one part each", said)
    loads = [int(re.search(r"busiest worker: \d+, (\d+) in", flow("place", ROOT / "papers/programs/flow/balance.flow", "-n", 8, *more).out)[1])
             for more in ([], ["--unbalanced"])]
    expect(0 < loads[0] < loads[1], "the busiest worker has less to do if reductions are balanced", loads)
    says(flow("place", file, "-n", 0, code=2), "millet flow place: option -n is '0', but should be a whole number from 1 to .*")
    pinned = write("pinned.flow", """\
        Module Main is Root requires Module A { A a[2]; flow: a[0] -> a[1]; a[0] @ 1; a[1] @ gamma; }
        """)
    said = flow("place", pinned, "-n", 2, "--hostfile", hosts, code=1)
    says(said, "millet flow place: .*pinned.flow.*gamma.*")


# ---- the document


# ---- goal


def proves(program, *options, code=0):
    """What millet goal check says last."""
    return run(MILLET, "goal", "check", program, *options, code=code).out.splitlines()[-1]


def goal_of(file, *options, name="it.goal"):
    flow("goal", file, *options, "-o", SCRATCH / name)
    return SCRATCH / name


def test_goal_figure5():
    """Both reductions of Figure 5 are proven in one program, to the receivers that the file says and to no others."""
    program = goal_of(write("figure5.flow", FIGURE5), "-n", 4)
    head = program.read_text().splitlines()[0]
    expect(re.fullmatch(r"# .*figure5.flow on 4 workers, 1 round, elements of 8 bytes", head), "what it is", head)
    sums = ["--is", "reduce_to", "--op", "sumFloat64", "--in", "p_out", "--out", "r1_out"]
    product = ["--is", "reduce_to", "--op", "prodFloat64", "--in", "p_outQueue1", "--out", "got_r2", "--contributors", "1-2"]
    expect(": right; " in proves(program, *sums, "--receivers", "0,2"), "r1")
    expect(": right; " in proves(program, *product, "--receivers", 3), "r2")
    proves(program, *sums, "--receivers", "0,1", code=1)
    proves(program, *product, "--receivers", "2-3", code=1)
    for option, value, message in (("--receivers", "0-4", "but the ranks are 0 to 3"), ("--receivers", "2-1", "but should be ranks such as 0-3,7"),
                                   ("--contributors", "", "but should be ranks such as 0-3,7"), ("--contributors", "1,", "but should be ranks .*")):
        said = run(MILLET, "goal", "check", program, *sums, option, value, code=2)
        says(said, f"millet goal check: option {option} is '{value}', {message}")
    said = run(MILLET, "goal", "check", program, "--is", "allreduce", "--op", "sumInt32", "--receivers", 1, code=2)
    says(said, "millet goal check: --receivers has no meaning for --is allreduce: leave it out")


def test_goal_rounds():
    """A circle takes its results in the next round; a chain in the same one. Computing takes its time once a round."""
    circle = write("circle.flow", "Declare Module C { in double; out double; weight 2; }\n"
                                  "Module Main is Root requires Module C { C c[16]; Reduce r; flow: c -> r(sum); }\n")
    program = goal_of(circle, "-n", 16)
    expect(": right; " in proves(program, "--is", "allreduce", "--op", "sumFloat64", "--in", "c_out", "--out", "r_out"), "it is an allreduce")
    chain = write("chain.flow", "Declare Module A { in double optional; out double optional; }\n"
                                "Module Main is Root requires Module A { A a, b, c; flow: a -> b -> c; a @ 0; b @ 1; c @ 2; }\n")
    free = write("free.machine", "hosts 16\nbetween-hosts L 0 o 0 g 0 G 0 O 0\nnetwork crossbar\n")
    for file, workers, took in ((circle, 16, 3 * 2000), (chain, 3, 3000 + 2000)):  # a chain's stages overlap
        program = goal_of(file, "-n", workers, "--rounds", 3, "--compute", 1000)
        said = run(MILLET, "goal", "sim", "--machine", free, program).out
        expect(re.search(rf"total +{took:,} ns", said), f"{took} ns", said)
    deal = write("deal.flow", "Declare Module S { out double; }\nDeclare Module Q { in double; out double; }\nDeclare Module P { in double; }\n"
                              "Module Main is Root requires Module S, Module Q, Module P { S s, t[4]; Q q[4]; P p; Deal d; Broadcast b; Reduce r, z;"
                              " flow: s -> d -> q -> r(sum); t, r -> z(max) -> p; }\n".replace(" Broadcast b;", ""))
    for workers in (1, 2, 3, 9):
        expect(proves(goal_of(deal, "-n", workers, "--rounds", 2)) == "no races", "each receiver of a Deal gets one; what others have is not written to")


def test_goal_balance():
    """Figure 12 of the paper, simulated: concurrent reductions take less where each goes around the others' load."""
    machine = write("gigabit.machine", "hosts 8\nbetween-hosts L 20000 o 5000 g 1000 G 8 O 0.5\nexec 0.5\nnetwork crossbar\n"
                                       "link host latency 1000 bandwidth 0.125\n")
    words = [ROOT / "papers/programs/flow/balance.flow", "-n", 8, "--bytes", "64K", "--rounds", 4]
    programs = [goal_of(*words, *more, name=f"balance{len(more)}.goal") for more in ([], ["--unbalanced"])]
    for program in programs:
        expect(proves(program) == "no races", "it is sound")
    said = run(MILLET, "goal", "sim", "--machine", machine, *programs).out
    expect(float(said.splitlines()[-1].split()[4]) >= 1.2, "balancing gains a fifth at least", said)


def test_goal_of_all():
    """Every example on few workers and on many, with each kind of lowering."""
    for file in sorted(ROOT.glob("examples/flow/*/*.flow")):
        if file.parent.name in ("wrong", "many"):
            continue
        for words in (["-n", 3, "-nfg", 2], ["-n", 5, "--reproducible"], ["-n", 4, "--hostfile", write("two_hosts", "a:2\nb:2\n"), "--rounds", 2]):
            expect(proves(goal_of(file, *words)) == "no races", f"{file.name} {words}")


def test_goal_errors():
    file = write("own.flow", """\
        include "own.h";
        Declare Operation pool(struct moments) ordered;
        Declare Module S { in struct moments; out struct moments; }
        Module Main is Root requires Module S { S s[4]; Reduce r; flow: s -> r(pool); }
        """)
    program = goal_of(file, "-n", 4, "--bytes", 24)
    expect(": right; " in proves(program, "--is", "reduce_to", "--user-op", 0, "--in", "s_out", "--out", "r_out"), "an operation of the program's")
    says(flow("goal", write("circle2.flow", """\
        Declare Module S { in double; out double; }
        Module Main is Root requires Module S { S s, t; Broadcast b, c; flow: s, c -> b; b -> c, t; t -> s; }
        """), "-n", 2, code=1), "millet flow goal: .*circle2.flow: . on worker . waits for itself: collectives that lead to each other, with no module "
                                "between, have no rounds")
    says(flow("goal", write("unlike.flow", """\
        Declare Module S { out double; }
        Declare Module P { in double; }
        Module Main is Root requires Module S, Module P { S s[3]; P p; Collect c; Reduce r; flow: s[0:1] -> c; c, s[2] -> r(sum) -> p; }
        """), code=1), r"millet flow goal: .*unlike.flow: in a round reduction r gets 2 elements from c, but 1 from s\[2\]")
    says(flow("goal", write("figure5.flow", FIGURE5), "--bytes", 12, code=1), ".*warning: .*",
         "millet flow goal: .*: elements of 12 bytes are no whole number of values of 8 bytes, which reduction r[12] combines")
    says(flow("goal", write("figure5.flow", FIGURE5), "-o", "/proc/x", code=1), ".*warning: .*", "millet flow goal: .*/proc/x.*")


def test_document():
    """What docs/reference/flow-tool.md shows after `$` is what comes out; standard error stands where it is told."""
    folder = SCRATCH / "document"
    shutil.copytree(ROOT / "examples/flow", folder)
    path = f"{BUILD}/bin:{os.environ['PATH']}"
    commands = 0
    for block in re.findall(r"```\n(\$ .*?)```", (ROOT / "docs/reference/flow-tool.md").read_text(), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, wanted = part.partition("\n")
            done = patience.run(["sh", "-c", f"{command} 2>&1"], LIMIT, cwd=folder, env={**clean(), "PATH": path})
            expect(done.stdout == wanted, f"$ {command}\nshould say\n{wanted}but says\n{done.stdout}")
            commands += 1
    expect(commands >= 10, "there are commands")


# ---- an installed tree


def test_install():
    prefix = SCRATCH / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    file, modules = pipe()
    millet = prefix / "bin/millet"
    expect(run(millet, "flow", "run", file, *modules).out == "385\n", "alone")
    expect(run(millet, "flow", "run", file, *modules, "-n", 2).out == "385\n", "two processes")
    run(millet, "flow", "build", file, *modules, "-o", SCRATCH / "installed", "-v")
    expect(run(SCRATCH / "installed").out == "385\n", "built")
    moved = SCRATCH / "moved"
    prefix.rename(moved)
    expect(run(moved / "bin/millet", "flow", "run", file, *modules).out == "385\n", "moved")
    (moved / "bin/mpicc").unlink()
    says(run(moved / "bin/millet", "flow", "build", file, *modules, "-o", "x", code=1),
         "millet flow build: '.*/mpicc' is missing, which belongs to Millet")


def main():
    global BUILD, SCRATCH, MILLET
    options = harness.options(__doc__)
    BUILD, MILLET = options.build, options.build / "bin/millet"
    with harness.folder("flow-tool") as SCRATCH:
        (SCRATCH / "tmp").mkdir()
        return harness.run_tests(globals(), options.k)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and a test sends it
    sys.exit(main())
