# SPDX-License-Identifier: BSD-3-Clause
"""What the runners of test/ share: commands and their results, expectations, scratch folders, and the sum in the last line.

A runner is a script with functions test_*. Its main is a few lines:

    options = harness.options(__doc__)
    with harness.folder("csp") as SCRATCH:
        return harness.run_tests(globals(), options.k)

The output has a line for each test, `ok`, `FAILED` or `skipped: why`; the last line is the sum: N passed, N failed."""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
import traceback

import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
for ignored in (signal.SIGHUP, signal.SIGQUIT):  # under nohup, or in the background of a shell; some tests send them
    signal.signal(ignored, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

OF_JOBS = ("MILLET_", "PMI", "OMPI_", "SLURM_", "MPI")  # how names of variables begin that change what a job does


# ---- commands


class Skip(Exception):
    """This machine cannot run a test; the text says why."""


class Result:
    """How a command ended, and what it printed."""

    def __init__(self, command, code, out, err, seconds=0.0):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds

    def __repr__(self):
        return f"$ {self.command}\nexit code {self.code} after {self.seconds:.2f} s\n--- output\n{self.out}--- errors\n{self.err}---"

    def lines(self):
        return self.out.splitlines()


def environment(extra=(), asan="", without=OF_JOBS):
    """This environment without variables that change what a job does; `asan`: more options of AddressSanitizer."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    if asan:
        env["ASAN_OPTIONS"] = ":".join(filter(None, (env.get("ASAN_OPTIONS"), asan)))
    return {**env, **dict(extra)}


def start(*words, **options):
    """A command that runs; its standard input is empty unless an option says otherwise."""
    for stream, usual in (("stdin", subprocess.DEVNULL), ("stdout", subprocess.PIPE), ("stderr", subprocess.PIPE)):
        options.setdefault(stream, usual)
    process = subprocess.Popen([str(word) for word in words], text=True, errors="replace", **options)
    process.began = time.monotonic()
    return process


def next_line(process):
    """The next line of a command that was started; "" at the end. What follows it stays for finish: Python's own readline would take that, too."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    return line.decode(errors="replace").rstrip("\n")


def finish(process, code=None, text=None, limit=60):
    """The Result of a command that was started; `code` is the exit code that it must have (None: any)."""
    words = " ".join(map(str, process.args))
    try:
        out, err = patience.communicate(process, limit, text)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{words} did not end within {limit} s\n{out}\n{err}") from None
    result = Result(words, process.returncode, out or "", err or "", time.monotonic() - process.began)
    if code is not None:
        expect(result.code == code, f"exit code {code} wanted", result)
    return result


def run(*words, code=0, text=None, limit=60, **options):
    """Runs a command with this text as its standard input."""
    if text is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(*words, **options), code, text, limit)


def heard(process, *words):
    """Standard error of a command that was started has all these words; what follows them stays for finish."""
    text = b""
    while not all(word.encode() in text for word in words):
        byte = os.read(process.stderr.fileno(), 1)
        expect(byte, f"{words} should be said", text)
        text += byte
    return text.decode(errors="replace")


# ---- expectations


def expect(condition, what, *about):
    if not condition:
        raise AssertionError("\n".join([what, *map(str, about)]))


def says(result, *parts, text=None):
    """Standard error, or this text, has all these parts."""
    for part in parts:
        expect(part in (result.err if text is None else text), f"'{part}' should be said", result)
    return result


def only_lines(result, text, lines, sort=False):
    """The text is these lines, which are regular expressions, and nothing else; with `sort` in any order."""
    found = text.splitlines()
    if sort:
        found, lines = sorted(found), sorted(lines)
    expect(len(found) == len(lines) and all(re.fullmatch(line, said) for line, said in zip(lines, found)),
           f"it should say {len(lines)} lines: {list(lines)}", result)
    return result


def wait_until(condition, what, seconds=30):  # only a hang takes so long
    began = time.monotonic()
    while not condition():
        if patience.left(began, seconds) < 0:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.005)


def takes(low, high, do, what):
    """do() gives how many seconds something took: never less than low, and less than high but for a machine's bad moments, so the best of ten counts."""
    took = []
    while not took or (min(took) >= high and len(took) < 10):
        took.append(do())
    expect(low <= min(took) < high, what, took)


def stripped(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def has_fragments(document, languages, files, at_least=10):
    """Each fragment of code of the document is in one of these files, line by line, except lines that are only `...`."""
    text = (ROOT / document).read_text()
    found = [textwrap.dedent(block).strip("\n") for block in re.findall(rf"^```(?:{languages})\n(.*?)^```", text, re.M | re.S)]
    expect(len(found) >= at_least, f"{document} has fragments")
    sources = ["\n".join(stripped(path.read_text())) for path in files]
    for fragment in found:
        parts = ["\n".join(stripped(part)) for part in re.split(r"^\s*\.\.\.\s*$", fragment, flags=re.M)]
        expect(any(all(part in source for part in parts) for source in sources), f"no example has this fragment of {document}:", fragment)


def site_script(site, build, program):
    """The batch script of a section of docs/guide/sites.md, for this tree and program."""
    section = (ROOT / "docs/guide/sites.md").read_text().split(f"## {site}\n")[1]
    script = section.split("```\n")[1]
    expect(script.startswith("#!/bin/sh\n") and "/opt/millet" in script and "./program" in script, f"the script of {site}", script)
    return script.replace("/opt/millet", str(build)).replace("./program", str(program))


# ---- running tests


def parser(doc):
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", type=lambda name: pathlib.Path(name).resolve(), default=ROOT / "build", help="the build tree (build)")
    return made


def options(doc, add=lambda made: None):
    """The options --build and -k, and those that `add` adds."""
    made = parser(doc)
    made.add_argument("-k", default="", metavar="WORD", help="only tests with WORD in their name")
    add(made)
    return made.parse_args()


@contextlib.contextmanager
def folder(name):
    """A scratch folder, removed at the end."""
    made = pathlib.Path(tempfile.mkdtemp(prefix=f"millet-{name}-")).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


class Sum:
    """Runs tests and counts them."""

    def __init__(self):
        self.passed = self.failed = 0

    def run(self, name, test, *args):
        began = time.monotonic()
        try:
            test(*args)
            self.passed += 1
            print(f"ok     {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Skip as why:
            print(f"skipped: {name}: {why}", flush=True)
        except Exception as error:  # a broken test has failed; the others go on
            self.failed += 1
            place = traceback.extract_tb(error.__traceback__)[1:2]  # the test's line
            told = error if isinstance(error, AssertionError) else traceback.format_exc()
            print(f"FAILED {name}{''.join(f' (line {frame.lineno})' for frame in place)}: {told}", flush=True)

    def end(self):
        """The last line; the runner's exit status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def tests_of(names, word):
    """(name, function) of the functions test_* among a runner's globals that have the word in their name."""
    return [(name[5:], test) for name, test in list(names.items()) if name.startswith("test_") and word in name]


def run_tests(names, word):
    total = Sum()
    for name, test in tests_of(names, word):
        total.run(name, test)
    return total.end()
