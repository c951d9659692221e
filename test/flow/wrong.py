#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives every file of test/flow/wrong to `millet flow check` and looks at what it says.

The first line of a file is `// LINE: message`: the error that it must get, and the only one (warnings may stand beside it).
syntax_* are the reader's, and have a column; check_* and root_* are about what the file means.

`wrong.py [--build DIR] [-k WORD]`. The last line is the sum: N passed, N failed. No test looks at a time."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from harness import ROOT, expect  # noqa: E402

FOLDER = ROOT / "test/flow/wrong"
AT_LEAST = 40


def run(command, path, code):
    """What the command says of the file: standard error."""
    result = harness.run(*command, path, code=code, env=harness.environment(asan="detect_leaks=0"))
    expect(not code or not result.out, "nothing should stand in the output", result)
    return result.err


def errors_of(path, text):
    """[(line, column or 0, message)] of what was said; every line must have the form of a message about this file."""
    found = []
    for said in text.splitlines():
        match = re.fullmatch(re.escape(str(path)) + r":(\d+):(?:(\d+):)? (error|warning): (.+)", said)
        expect(match, f"this is no message about the file: {said}")
        if match[3] == "error":
            found.append((int(match[1]), int(match[2] or 0), match[4]))
    return found


def expected_of(text):
    match = re.fullmatch(r"// (\d+): (.+)", text.split("\n", 1)[0])
    expect(match, "the first line is not '// LINE: message'")
    expect(1 <= int(match[1]) <= len(text.splitlines()) + 1, f"the first line speaks of line {match[1]}, which does not exist")
    return int(match[1]), match[2]


def check(command, path):
    line, message = expected_of(path.read_text())
    said = run(command, path, 1)
    errors = errors_of(path, said)
    expect([(at, what) for at, _, what in errors] == [(line, message)], f"expected  {line}: {message}\nbut it says\n{said}")
    expect(errors[0][1] or not path.name.startswith("syntax_"), f"an error of syntax has a column\n{said}")


def right_files(command):
    """The same command finds nothing in right files, so the errors above are the files': the whole programs of the document,
    the paper's Figure 5 among them."""
    text = (ROOT / "docs/reference/flow-language.md").read_text()
    blocks = [block for block in re.findall(r"^```flow\n(.*?)^```", text, re.M | re.S) if "Module Main is Root" in block]
    expect(len(blocks) >= 2, "docs/reference/flow-language.md has at least two whole programs")
    with harness.folder("flow-wrong") as folder:
        path = folder / "right.flow"
        for block in blocks:
            path.write_text(block)
            expect(not errors_of(path, run(command, path, 0)), f"this is right\n{block}")


def enough_files(paths):
    expect(len(paths) >= AT_LEAST, f"{FOLDER} has {len(paths)} files, not {AT_LEAST}")


def main():
    options = harness.options(__doc__)
    command = [options.build / "bin/millet", "flow", "check"]
    paths = sorted(FOLDER.glob("*.flow"))
    total = harness.Sum()
    for path in paths:
        if options.k in path.name:
            total.run(path.name, check, command, path)
    if not options.k:
        total.run("right files", right_files, command)
        total.run("enough files", enough_files, paths)
    return total.end()


if __name__ == "__main__":
    sys.exit(main())
