#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""product_sizes.py OUT PRODUCT=LIST...: a C file with the bytes of code and constants that each product has in the library. LIST is a file with its
objects, a line each: 64-bit ELF of any processor. What the linker optimises has no code yet: 0."""

import pathlib
import struct
import sys

WRITE, ALLOC = 1, 2  # SHF_


def code_of(path):
    """Bytes of sections that are loaded and never written."""
    data = pathlib.Path(path).read_bytes()
    at, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = (struct.unpack_from("<IIQQQQ", data, at + size * i) for i in range(count))
    return sum(bytes_ for _, _, flags, _, _, bytes_ in sections if flags & (ALLOC | WRITE) == ALLOC)


def main():
    out, *products = sys.argv[1:]
    rows = []
    for product in products:
        name, _, listed = product.partition("=")
        rows.append(f'    {{"{name}", {sum(map(code_of, pathlib.Path(listed).read_text().split()))}}},\n')
    pathlib.Path(out).write_text('#include "tools/products.h"\n\nconst mlt_product mlt_products[] = {\n' + "".join(rows) + "    {0}};\n")


if __name__ == "__main__":
    main()
