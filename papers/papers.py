#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeats the experiments of the five papers on this machine: `millet papers`.

Each experiment's result is kept as soon as it is there, so a run that was interrupted goes on where it stopped. The page and papers.json are
written after each."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

import lab
import page
from lab import EXPERIMENTS, NOT_JUDGED, REFUTED

import fine_grain  # noqa: F401
import group_operations  # noqa: F401
import aspen  # noqa: F401
import processes  # noqa: F401
import library  # noqa: F401

SPIN_S = 0.3
ABOUT = ("id", "paper", "where", "claim", "numbers")
KEYS = {*ABOUT, *(field.name for field in dataclasses.fields(lab.Result)), "commands", "busy", "quick", "seconds", "when"}


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return None


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return match.group(1) if match else platform.processor() or "a processor"


def machine(millet):
    """What the page says of this machine."""
    return {"Machine": f"{processor()}, {platform.machine()}, {len(lab.CORES)} cores, Linux {platform.release()}",
            "Millet": first_line(millet, "--version") or "unknown", "Open MPI": first_line("mpirun.openmpi", "--version") or "not installed",
            "Date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M")}


class Progress:
    """One line on a terminal, a line an experiment elsewhere."""

    def __init__(self):
        self.total, self.done, self.name, self.begin, self.live = 0, 0, "", time.monotonic(), sys.stderr.isatty()

    def start(self, name):
        self.done, self.name = self.done + 1, name
        self.say("")

    def say(self, text):
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            line = f"[{self.done}/{self.total}] {self.name}{': ' if text else ''}{text}, {time.monotonic() - self.begin:.0f} s"
            print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)

    def end(self, entry):
        if self.live:
            print("\r\033[K", end="", file=sys.stderr)
        print(f"[{self.done}/{self.total}] {entry['id']:<11} {entry['verdict']:<13} {entry['seconds']:5.1f} s  {entry['why']}", flush=True)


def perform(one, work, progress):
    """Runs one experiment, and judges it. A claim about time that a busy machine had a part in is not judged."""
    work.commands.clear()
    before, begin = lab.spin(SPIN_S), time.monotonic()
    try:
        result = one.run(work)
    except lab.Missing as why:
        result = lab.Result(NOT_JUDGED, f"{why}.", timed=False)
    except lab.Failure as why:
        result = lab.Result(REFUTED, f"{why}.", timed=False)
    busy = max(before, lab.spin(SPIN_S))
    if result.timed and busy > lab.BUSY:
        result.why = f"Other programs took {busy:.0%} of a core; without that, it would be: {result.verdict}. {result.why}"
        result.verdict = NOT_JUDGED
    about = {name: getattr(one, name) for name in ABOUT}
    return {**about, **dataclasses.asdict(result), "commands": list(work.commands), "busy": round(busy, 3), "quick": work.quick,
            "seconds": round(time.monotonic() - begin, 1), "when": datetime.datetime.now().isoformat(timespec="seconds")}


class State:
    """papers.json: what was found. `open` names the experiments that a run has yet to do."""

    def __init__(self, folder, about):
        self.file, self.page = folder / "papers.json", folder / "index.html"
        self.data = {"machine": about, "open": [], "quick": False, "experiments": {}}
        if self.file.exists():
            try:
                read = json.loads(self.file.read_text())
                # What another version wrote, which knew less, is to be run again.
                self.data["experiments"] = {id: entry for id, entry in read["experiments"].items()
                                            if id in EXPERIMENTS and isinstance(entry, dict) and KEYS <= entry.keys()}
                self.data["open"], self.data["quick"] = [id for id in read["open"] if id in EXPERIMENTS], read["quick"]
            except (ValueError, KeyError, TypeError, AttributeError):
                sys.exit(f"millet papers: {self.file} is not what this command wrote; remove it")

    def write(self):
        for file, text in ((self.file, json.dumps(self.data, indent=1) + "\n"), (self.page, page.page(self.data))):
            new = file.with_name(file.name + ".new")
            new.write_text(text)
            new.replace(file)


def chosen(words):
    """The experiments that --only names: ids, or papers."""
    found = []
    for word in words:
        ids = [id for id, one in EXPERIMENTS.items() if word in (id, one.paper)]
        if not ids:
            sys.exit(f"millet papers: there is no experiment '{word}'; --list names them")
        found += ids
    return [id for id in EXPERIMENTS if id in found]


def main():
    parser = argparse.ArgumentParser(prog="millet papers", add_help=False)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--output", default="build/papers")
    for flag in ("quick", "again", "list"):
        parser.add_argument(f"--{flag}", action="store_true")
    args = parser.parse_args()
    if args.list:
        for one in EXPERIMENTS.values():
            print(f"{one.id:<11} {one.claim}")
        return 0
    ids = chosen([word for words in args.only for word in words.split(",")]) or list(EXPERIMENTS)
    folder = pathlib.Path(args.output).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        progress = Progress()
        work = lab.Lab(args.bin, folder, args.quick, progress.say)
        state = State(folder, machine(f"{args.bin}/millet"))
    except OSError as why:
        sys.exit(f"millet papers: {why.filename or folder}: {why.strerror}")
    goes_on = not args.only and not args.again and state.data["open"] and state.data["quick"] == args.quick
    if goes_on:
        ids = state.data["open"]
        print(f"goes on with {len(ids)} experiments that an earlier run left; --again begins anew", flush=True)
    progress.total = len(ids)
    if not args.only:
        state.data.update(open=list(ids), quick=args.quick)
    try:
        for id in ids:
            progress.start(id)
            entry = perform(EXPERIMENTS[id], work, progress)
            state.data["experiments"][id] = entry
            if id in state.data["open"]:
                state.data["open"].remove(id)
            state.write()
            progress.end(entry)
    except KeyboardInterrupt:
        print("\nmillet papers: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(work.scratch, ignore_errors=True)
    counts = {word: sum(state.data["experiments"][id]["verdict"] == word for id in ids) for word in page.LOOKS}
    print(f"{', '.join(f'{count} {word}' for word, count in counts.items())}; {os.path.relpath(state.page)} shows them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
