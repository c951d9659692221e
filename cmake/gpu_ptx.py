#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpu_ptx.py PTX OUT: a C file with the text of the kernels."""

import pathlib
import sys


def main():
    ptx, out = map(pathlib.Path, sys.argv[1:])
    rows = [line.replace("\\", "\\\\").replace('"', '\\"') for line in ptx.read_text().splitlines()]
    out.write_text('#include "gpu/ptx.h"\n\nconst char mlt_gpu_ptx[] =\n' + "\n".join(f'    "{row}\\n"' for row in rows) + ";\n")


if __name__ == "__main__":
    main()
