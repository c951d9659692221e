#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives every file of test/flow/wrong to `millet flow check` and looks at what it says.

The first line of a file is `// LINE: sentence`: the error that it must get, and the only one (warnings may stand beside it).
syntax_* are the reader's, and have a column; check_* and root_* are about what the file means.

`wrong.py [--build DIR] [-k WORD]`. The last line is the sum: N passed, N failed. No test looks at a time."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "test/flow/wrong"
AT_LEAST = 40
LIMIT = 60  # seconds for one command


class Wrong(Exception):
    pass


def clean():
    env = {k: v for k, v in os.environ.items() if not k.startswith("MILLET_")}
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return env


def errors_of(path, text):
    """[(line, column or 0, sentence)] of what was said; every line must have the form of a message about this file."""
    found = []
    for said in text.splitlines():
        match = re.fullmatch(re.escape(str(path)) + r":(\d+):(?:(\d+):)? (error|warning): (.+)", said)
        if not match:
            raise Wrong(f"this is no message about the file: {said}")
        if match[3] == "error":
            found.append((int(match[1]), int(match[2] or 0), match[4]))
    return found


def expected_of(path, text):
    match = re.fullmatch(r"// (\d+): (.+)", text.split("\n", 1)[0])
    if not match:
        raise Wrong("the first line is not '// LINE: sentence'")
    if not 1 <= int(match[1]) <= len(text.splitlines()) + 1:
        raise Wrong(f"the first line speaks of line {match[1]}, which is none")
    return int(match[1]), match[2]


def check(command, path):
    line, sentence = expected_of(path, path.read_text())
    done = subprocess.run([*command, str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                          env=clean())
    if done.returncode != 1:
        raise Wrong(f"the exit status is {done.returncode}, not 1\n{done.stdout}{done.stderr}")
    if done.stdout:
        raise Wrong(f"nothing should stand in the output, but it has\n{done.stdout}")
    errors = errors_of(path, done.stderr)
    if [(at, what) for at, _, what in errors] != [(line, sentence)]:
        raise Wrong(f"expected  {line}: {sentence}\nbut it says\n{done.stderr}")
    if path.name.startswith("syntax_") and not errors[0][1]:
        raise Wrong(f"an error of syntax has a column\n{done.stderr}")


def test_right(command, _):
    """The same command finds nothing in right files, so the errors above are the files': the whole programs of the document,
    the paper's Figure 5 among them."""
    text = (ROOT / "docs/reference/flow-language.md").read_text()
    blocks = [block for block in re.findall(r"^```flow\n(.*?)^```", text, re.M | re.S) if "Module Main is Root" in block]
    if len(blocks) < 2:
        raise Wrong("docs/reference/flow-language.md has at least two whole programs")
    with tempfile.TemporaryDirectory(prefix="flow-wrong-") as folder:
        path = pathlib.Path(folder) / "right.flow"
        for block in blocks:
            path.write_text(block)
            done = subprocess.run([*command, str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=LIMIT, env=clean())
            if done.returncode != 0 or errors_of(path, done.stderr):
                raise Wrong(f"this is right, but the exit status is {done.returncode}\n{block}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("-k", metavar="WORD", help="only files with this in their name")
    options = parser.parse_args()
    command = [str(options.build.resolve() / "bin/millet"), "flow", "check"]
    paths = sorted(FOLDER.glob("*.flow"))
    tests = [(path.name, check, path) for path in paths if not options.k or options.k in path.name]
    if not options.k:
        tests.append(("right files", test_right, None))
    passed = failed = 0
    if len(paths) < AT_LEAST:
        print(f"{FOLDER} has {len(paths)} files, not {AT_LEAST}")
        failed += 1
    for name, function, path in tests:
        try:
            function(command, path)
            passed += 1
        except (Wrong, OSError, subprocess.TimeoutExpired) as fault:
            failed += 1
            print(f"{name}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
