#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual: man_pages.py BIN MAN1. The programs in the folder BIN print their own pages, from the tables that --help
prints; the pages are found by following each one's SEE ALSO. MAN1 is emptied first."""

import pathlib
import re
import subprocess
import sys

ALIASES = {"mpirun": ["mpiexec"], "mpicc": ["mpicxx", "mpic++", "mpiCC", "mpifort", "mpif90", "mpif77"]}


def command(page, bin):
    """What prints a page."""
    if page == "mpirun":  # its page has the library's settings, which millet knows
        return [bin / "millet", "--help=man", "mpirun"]
    if page == "mpicc":  # --help is the compiler's
        return [bin / "mpicc", "-help=man"]
    first, *rest = page.split("-")
    return [bin / first, *rest, "--help=man"]


def main():
    bin, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    pages = ["millet"]
    for page in pages:  # grows
        text = subprocess.run(command(page, bin), check=True, stdout=subprocess.PIPE, text=True).stdout
        (folder / f"{page}.1").write_text(text)
        names = re.findall(r"^\.BR (\S+) \(1\)", text, re.M)
        pages += [name for name in dict.fromkeys(name.replace("\\-", "-") for name in names) if name not in pages]
    for page, aliases in ALIASES.items():
        for alias in aliases:
            (folder / f"{alias}.1").symlink_to(f"{page}.1")


main()
