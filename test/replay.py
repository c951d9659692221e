# SPDX-License-Identifier: BSD-3-Clause
"""Replays the commands of a document and compares what they print with what stands there.

Commands are the lines of code blocks that begin with `$ `; the lines up to the next one are their output, standard error and
output together. All commands of a page run in one shell, in order, so `cd` and `export` work, and `$?` is that of the command
before. In the output

    ...             as a line stands for any number of lines, within a line for any text
    ```measured     begins a block whose numbers may be others, with other units

and lines that ranks print, which begin with `rank` or `[`, may come in any order among themselves."""

import os
import re
import shutil
import subprocess

import patience
from harness import expect

# Commands that name one of these are skipped where it is not there, or what it calls.
TOOLS = {"cmake": ("cmake", "make"), "gdb": ("gdb",), "make": ("make",), "meson": ("meson", "ninja"), "ninja": ("ninja",), "pkg-config": ("pkg-config",)}
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?( (ns|us|ms|s|bytes|[KMG]iB))?(?=\b|\W|$)")
MARK = "@@ the command has ended: "


class Command:
    """A command of a page, the output that the page shows, and how to compare it."""

    def __init__(self, text, wanted, measured):
        self.text, self.wanted, self.measured = text, wanted, measured

    def missing_tool(self):
        named = (tool for name, tools in TOOLS.items() if re.search(rf"\b{name}\b", self.text) for tool in tools)
        return next((tool for tool in named if not shutil.which(tool)), None)


def commands(page):
    found = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if kind not in ("", "measured"):  # source
            continue
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *wanted = part.replace("\\\n", "").splitlines()
            found.append(Command(command, wanted, bool(kind)))
    return found


def pattern(line, measured):
    """The regular expression that a line of the page stands for."""
    parts = line.split("...")
    if measured:
        parts = [re.sub(r" +", " ", NUMBER.sub("#", part)) for part in parts]
    return re.compile(".*".join(map(re.escape, parts)))


def in_order_of_ranks(lines):
    """The same lines, with each stretch of lines that ranks print sorted."""
    sorted_lines, stretch = [], []
    for line in [*lines, None]:
        if line is not None and line.startswith(("rank ", "[")):
            stretch.append(line)
            continue
        sorted_lines += sorted(stretch)
        stretch = []
        if line is not None:
            sorted_lines.append(line)
    return sorted_lines


def same_lines(wanted, got, measured=False, free=()):
    """True if the page's lines stand for these; lines that begin with a text of `free` may go on in any way."""
    wanted = [next((begin + "..." for begin in free if line.startswith(begin)), line) for line in wanted]
    got = in_order_of_ranks(got)
    if measured:
        got = [re.sub(r" +", " ", NUMBER.sub("#", line)) for line in got]
    at = {0}  # how many lines of `got` the lines so far can stand for
    for line in in_order_of_ranks(wanted):
        if line == "...":
            at = set(range(min(at), len(got) + 1)) if at else at
        else:
            fits = pattern(line, measured)
            at = {i + 1 for i in at if i < len(got) and fits.fullmatch(got[i])}
    return len(got) in at


def script(chosen):
    """A script of the shell that runs the commands, marks the end of each, and hands its exit code to the next."""
    lines = ["status=0"]
    for command in chosen:
        lines += [f"(exit $status)\n{{ {command.text}\n}} </dev/null 2>&1", "status=$?", f"printf '\\n%s%d\\n' '{MARK}' $status"]
    return "\n".join(lines)


def replay(page, folder, build, limit=150, free=(), words=lambda command: command, path=""):
    """Replays the page in the folder, with the programs of the build tree in PATH, after those of `path`; how many commands that were, and tools that
    are missing. `words` makes the command line that starts the shell somewhere else."""
    every = commands(page)
    missing = sorted({tool for tool in (command.missing_tool() for command in every) if tool})
    chosen = [command for command in every if not command.missing_tool()]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MILLET_", "MPI", "OMPI_", "PMI", "PKG_CONFIG", "CC", "CFLAGS"))}
    env["PATH"] = ":".join(filter(None, (path, str(build / "bin"), env["PATH"])))
    done = patience.run(words(["bash", "-c", script(chosen)]), limit, cwd=folder, env=env, stdin=subprocess.DEVNULL, stderr=None)
    outputs = re.split(rf"\n{MARK}\d+\n", done.stdout)
    expect(len(outputs) == len(chosen) + 1, f"the shell ended early, in or after: {chosen[min(len(outputs), len(chosen)) - 1].text}", done.stdout)
    for command, output in zip(chosen, outputs):
        got = output.splitlines()
        expect(same_lines(command.wanted, got, command.measured, free), f"{page.name}: $ {command.text}", "--- the page says", *command.wanted,
               "--- it prints", *got)
    return len(chosen), missing
