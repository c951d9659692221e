#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All places have the version and the date of CMakeLists.txt and CHANGELOG.md, and .ci/release notices each that has not."""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load():
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / ".ci/release"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


def main():
    release, bad, passed = load(), [], 0
    faults, _ = release.faults_of(ROOT)
    bad += faults
    passed += not faults
    places = [(name, pattern) for table in (release.VERSIONS, release.DATES) for name, pattern in table.items()]
    for name, pattern in places:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for other, _ in places:
                (copy / other).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / other, copy / other)
            text = (copy / name).read_text()
            match = re.search(pattern, text, re.M)
            (copy / name).write_text(text[:match.start(1)] + "9.9.9" + text[match.end(1):])
            found, _ = release.faults_of(copy)
            passed += bool(found)
            bad += [] if found else [f"another version or date in {name} is not noticed"]
    for fault in bad:
        print(f"FAIL {fault}")
    print(f"{passed} passed, {len(bad)} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
