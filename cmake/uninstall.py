#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uninstall.py MANIFEST: `cmake --build build --target uninstall`. Removes the files that the last `cmake --install build` has listed there.

A folder that is empty then goes, too, if its path says that it is Millet's own: lib/millet goes, /usr/local/bin stays."""

import os
import pathlib
import re
import sys


def remove(paths):
    """Removes files and links that are still there; how many."""
    count = 0
    for path in paths:
        if path.is_symlink() or path.exists():
            path.unlink()
            count += 1
    return count


def remove_folders(paths):
    own = {folder for path in paths for folder in path.parents if re.search(r"/millet", str(folder), re.I)}
    for folder in sorted(own, key=lambda folder: len(folder.parts), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def main():
    manifest = pathlib.Path(sys.argv[1])
    if not manifest.exists():
        return f"uninstall: nothing to remove: there is no {manifest}, which `cmake --install` writes"
    # Paths are those of the installed tree; DESTDIR is where a packager has put it, as for `cmake --install`.
    paths = [pathlib.Path(os.environ.get("DESTDIR", "") + line) for line in manifest.read_text().splitlines()]
    try:
        count = remove(paths)
        remove_folders(paths)
    except OSError as error:
        return f"uninstall: {error.filename} stays ({error.strerror}); please run it as the user that has installed it"
    manifest.unlink()
    print(f"uninstalled {count} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
