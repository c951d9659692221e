#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time limits of tests that grow with the machine's load: a busy machine fails no test.

patience.py SECONDS COMMAND...: runs a command. Its exit status is the command's; 124 if it did not end in time. Whatever it started ends with it."""

import os
import signal
import subprocess
import sys
import time

MOST = 20  # times a limit, however busy the machine is


def factor():
    """How many times longer something takes here than on an idle machine, as far as the load of the last minute tells."""
    return min(max(os.getloadavg()[0] / os.cpu_count(), 1), MOST)


def left(began, seconds):
    """Seconds until the limit of something that began at that time (time.monotonic), as the load is now. Not above 0: it is over."""
    return began + seconds * factor() - time.monotonic()


def some(seconds):
    """That many seconds of an idle machine, here and now."""
    return seconds * factor()


def communicate(process, seconds, text=None):
    """What a process writes until it ends, as Popen.communicate; subprocess.TimeoutExpired if its time is over, and it still runs."""
    began = time.monotonic()
    while True:
        try:
            return process.communicate(text, timeout=max(left(began, seconds), 0.001))
        except subprocess.TimeoutExpired:
            if left(began, seconds) <= 0:  # else the load has grown
                raise


def run(words, seconds, text=None, **options):
    """subprocess.run with both streams as text and such a limit."""
    if text is not None:
        options["stdin"] = subprocess.PIPE
    for stream in ("stdout", "stderr"):
        options.setdefault(stream, subprocess.PIPE)
    with subprocess.Popen(words, text=True, errors="replace", **options) as process:
        try:
            out, err = communicate(process, seconds, text)
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)


def wait(process, seconds, began=None):
    """Waits for a subprocess.Popen; False: its time is over, and it still runs."""
    began = began or time.monotonic()
    while (rest := left(began, seconds)) > 0:
        try:
            process.wait(rest)
            return True
        except subprocess.TimeoutExpired:
            pass  # the load may have grown meanwhile
    return process.poll() is not None


def main():
    seconds, *command = sys.argv[1:]
    process = subprocess.Popen(command, process_group=0) if sys.version_info >= (3, 11) else subprocess.Popen(command, preexec_fn=os.setpgrp)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.killpg(process.pid, number))
    if wait(process, float(seconds)):
        return process.returncode if process.returncode >= 0 else 128 - process.returncode
    print(f"no end after {seconds} s, {factor():.1f} times as long as usual being allowed", flush=True)
    os.killpg(process.pid, signal.SIGABRT)
    if not wait(process, 5):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return 124


if __name__ == "__main__":
    sys.exit(main())
