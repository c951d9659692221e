#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""view_page.py PAGE OUT: a C file with a page of HTML as two arrays of bytes, before and after `<!--runs-->`.

`<!--FILE-->` in the page stands for the contents of a file beside it, a style or a script."""

import pathlib
import re
import sys

TAGS = {".css": "style", ".js": "script"}


def whole(page):
    def included(match):
        file = page.parent / match.group(1)
        tag = TAGS[file.suffix]
        text = re.sub(r"^(//|/\*) SPDX.*\n", "", file.read_text())
        assert f"</{tag}" not in text, f"{file} would end its own element"
        return f"<{tag}>\n{text}</{tag}>"
    return re.sub(r"<!--([\w.]+\.(?:css|js))-->", included, page.read_text())


def array(name, text):
    data = text.encode()
    rows = [", ".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32)]
    return f"const unsigned char {name}[] = {{\n" + ",\n".join(rows) + f"}};\nconst size_t {name}_bytes = {len(data)};\n"


def main():
    page, out = map(pathlib.Path, sys.argv[1:])
    before, after = whole(page).split("<!--runs-->\n")
    out.write_text('#include "tools/view/view.h"\n' + array("mlt_view_before", before) + array("mlt_view_after", after))


if __name__ == "__main__":
    main()
