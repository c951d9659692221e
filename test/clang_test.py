#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every C file of a build tree as clang reads it: warnings are errors. Nothing is generated or linked, as clang's code is not what is
looked at here; `cmake --preset clang` builds it.

`clang_test.py [--build DIR] [-j N] [--self-test]`. The last line is the sum: N passed, N failed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# With their argument: what says where the result goes.
PLACES = {"-o", "-MT", "-MF", "-MQ"}


def commands_of(build):
    """{how clang reads a file: the folder where}, of all C files that the tree compiles, each way once."""
    said = subprocess.run(["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    found = {}
    for entry in json.loads(said):
        words = shlex.split(entry["command"])
        if "-c" in words and entry["file"].endswith(".c"):
            found[tuple(as_clang(words, entry["file"]))] = entry["directory"]
    return found


def as_clang(words, file):
    kept, skip = [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in PLACES:
            skip = True
        elif word not in ("-c", "-MD", "-MMD", file) and word.startswith("-"):
            kept.append(word)
        elif kept and kept[-1] in ("-isystem", "-I", "-include"):
            kept.append(word)
    return [*kept, "-O0", "-fsyntax-only", file]


def read(item):
    words, folder = item
    result = subprocess.run(["clang", *words], cwd=folder, capture_output=True, text=True)
    return words[-1], result.returncode, result.stderr


def read_all(commands, jobs):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for file, status, said in pool.map(read, commands.items()):
            if status != 0 or said:
                failed += 1
                print(f"FAILED {file}\n{said}", end="")
    print(f"{len(commands) - failed} passed, {failed} failed")
    return 1 if failed or not commands else 0


def self_test():
    """A file that only clang complains about is found, and a clean one is not."""
    words = shlex.split("cc -Wall -Wextra -Werror -O2 -MD -MT x.o -MF x.d -o x.o -c")
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, text in (("bad.c", "int f(int x);\nint f(int x) { x = x; return x; }\n"), ("good.c", "int f(int x);\nint f(int x) { return x; }\n")):
            path = pathlib.Path(folder) / name
            path.write_text(text)
            results.append(read((as_clang([*words, str(path)], str(path)), folder))[1] != 0)
    good = results == [True, False]
    print(f"{int(good)} passed, {int(not good)} failed")
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(prog="clang_test.py", description=__doc__)
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if not shutil.which("clang"):
        print("SKIPPED there is no clang\n0 passed, 0 failed")
        return 0
    return self_test() if args.self_test else read_all(commands_of(args.build), args.j)


if __name__ == "__main__":
    sys.exit(main())
