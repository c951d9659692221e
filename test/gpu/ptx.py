#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""src/gpu/kernels.ptx: is it what nvcc makes of kernels.cu? --write makes it anew.

The file says what it was made of: its first line has a hash of the sources, its second the compiler. It is lowered to the oldest PTX that has
what it uses, so that older drivers take it, too."""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = (ROOT / "src/gpu/kernels.cu", ROOT / "src/gpu/kernels.h")
PTX = ROOT / "src/gpu/kernels.ptx"
OPTIONS = ("-arch=compute_75", "-fmad=false")  # no products and sums in one instruction: they are rounded once
VERSION = "6.3"  # the first one that knows compute_75


def tool(name):
    """One of CUDA's programs; None: it is not installed."""
    found = shutil.which(name) or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", name)
    return found if os.access(found, os.X_OK) else None


def first_line():
    return f"// made of {' and '.join(path.name for path in SOURCES)}, {hashlib.sha256(b''.join(path.read_bytes() for path in SOURCES)).hexdigest()}"


def second_line(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return f"// by nvcc {re.search(r'V([0-9.]+)', said)[1]} {' '.join(OPTIONS)}"


def made(nvcc):
    """The whole text."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "kernels.ptx"
        subprocess.run([nvcc, "-ptx", *OPTIONS, f"-I{ROOT / 'src'}", "-o", out, SOURCES[0]], check=True)
        text = out.read_text()
    text = re.sub(r"^\.version .*", f".version {VERSION}", text, flags=re.M)
    lines = (re.sub(r"\s+", " ", line.split("//")[0]).strip() for line in text.splitlines())
    return "\n".join([first_line(), second_line(nvcc), *filter(None, lines)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    nvcc = tool("nvcc")
    if not nvcc:
        sys.exit("there is no nvcc: neither in PATH nor in CUDA_HOME, which is /usr/local/cuda by default")
    text = made(nvcc)
    if parser.parse_args().write:
        PTX.write_text(text)
    elif text != PTX.read_text():
        sys.exit("kernels.ptx is not what nvcc makes; --write makes it anew")


if __name__ == "__main__":
    main()
