#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails on a source file that a comment or a document names but that is not there: files move, words stay behind.

A bare name must be that of some file of the repository; a name with folders must be the end of a path. Names of one letter (`x.c`, `x_test.c`) and with
capitals (`x_NAME.c`) stand for any."""

import argparse
import ast
import collections
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
MENTION = re.compile(r'(?<![\w/<"%*.\[-])((?:[\w-]+/)*)([a-z]\w+\.[ch])\b(?!["\w>])')
ELSEWHERE = re.compile(r"(mpi|mpif|mpi_fn|mpi_bodies|mpi_refuse|mpi_error_text|goal_bodies|goal_surface|mpi_surface_\d\d|type_predefined|lua|libdill|x_\w+|stdint|stdio|stdlib|threads|stdatomic|fi_rma|\w+\.flow)\.[ch]")
PYTHON = "#!/usr/bin/env python3"
TEXTS = (".c", ".h", ".md", ".cmake", ".S", ".txt", ".py", ".tsv")
FOLDERS = ("src/", "docs/", "include/", "cmake/", "bench/", "test/", "examples/", "share/", "CMakeLists.txt", "README.md", "CONTRIBUTING.md")


def words_of_python(text):
    """Comments and docstrings, on their lines."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0]
            lines[first.lineno - 1:first.end_lineno] = text.splitlines()[first.lineno - 1:first.end_lineno]
    return "\n".join(lines)


def words_of(name, text):
    """Only comments of code, which names files that it makes."""
    if text.startswith(PYTHON):
        return words_of_python(text)
    if not name.endswith((".c", ".h", ".S")):
        return text
    return "\n".join(line[line.index("//"):] if "//" in line else "" for line in text.splitlines())


def is_text(name):
    path = ROOT / name
    if not name.startswith(FOLDERS) or not path.is_file():
        return False
    return name.endswith(TEXTS) or path.read_bytes().startswith(PYTHON.encode())


def faults_of(name, text, paths):
    for line, words in enumerate(words_of(name, text).splitlines(), 1):
        for match in MENTION.finditer(words):
            folders, file = match.groups()
            if re.search("[A-Z]", file) or ELSEWHERE.fullmatch(file) or words[match.end():].startswith("("):
                continue
            known = any(path.endswith("/" + folders + file) or path == folders + file for path in paths.get(file, ()))
            if file not in paths or (folders and not known and "LAYER" not in folders):
                yield f"{name}:{line}: there is no {folders}{file}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="ignored")
    parser.add_argument("--self-test", action="store_true", help="show that it can fail")
    args = parser.parse_args()
    files = []
    if shutil.which("git"):
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not files:  # a copy without its history
        files = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
        files = [file for file in files if not file.startswith("build")]
    made = [file for patch in (ROOT / "test/recipes").glob("*.patch") for file in re.findall(r"^\+\+\+ b/(.*)", patch.read_text(), re.M)]
    paths = collections.defaultdict(list)
    for file in files + made:  # recipes make files
        paths[pathlib.PurePath(file).name].append(file)
    if args.self_test:
        wrong = ["// see src/nowhere/log.c", "int x; // as in no_such_file.h", "// mpi/log.c",
                 f'{PYTHON}\n"""See no_such_file.c."""\nmade = "made.c"\n', f"{PYTHON}\nx = 1  # as in no_such_file.h\n"]
        right = ["// see src/base/log.c, base/log.h and log.c", '#include "no_such_file.h"', "// x.c, goal_NAME.c, mpi_fn.h"]
        bad = sum(len(list(faults_of("a.c", text, paths))) != 1 for text in wrong)
        bad += sum(bool(list(faults_of("a.c", text, paths))) for text in right)
        print(f"{len(wrong) + len(right) - bad} passed, {bad} failed")
        return bad > 0
    faults = [fault for file in files if is_text(file)
              for fault in faults_of(file, (ROOT / file).read_text(errors="replace"), paths)]
    print("\n".join(faults))
    print(f"{0 if faults else 1} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
