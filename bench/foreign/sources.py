# SPDX-License-Identifier: BSD-3-Clause
"""Source packages from Debian. Nothing of the system's is changed: apt has its configuration, lists and cache in the caller's folder. Where
a mirror has only the authors' archive without Debian's part, that is enough."""

import os
import pathlib
import re
import shutil
import subprocess

MIRROR = "http://deb.debian.org/debian"


class Cannot(Exception):
    """The text says what could not be got or built."""


def prepare_apt(scratch):
    """The environment for apt-get."""
    folder = scratch / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"deb-src {MIRROR} {release()} main\n")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "/dev/null";\nDir::State::Lists "{folder}/lists";\n'
        f'Dir::Cache "{folder}/cache";\nAPT::Sandbox::User "";\n')
    env = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    if not any((folder / "lists").glob("*_Sources*")):
        shell("apt-get -q update", folder, env, "apt-get update", 300)
    return env


def release():
    text = pathlib.Path("/etc/os-release").read_text()
    name = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.M)
    return name.group(1) if name and re.search(r"^ID=debian$", text, re.M) else "bookworm"


def shell(script, folder, env, what, limit=1800):
    log = folder / "foreign.log"
    with open(log, "a") as out:
        code = subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              timeout=limit, check=False).returncode
    if code != 0:
        last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-1:]
        raise Cannot(f"{what} failed (see {log}): {''.join(last)[:160]}")


def fetch(package, scratch, apt):
    """The folder with the sources."""
    top = scratch / package
    if not (top / "got").exists():
        shutil.rmtree(top, ignore_errors=True)
        (top / "source").mkdir(parents=True)
        shell(f"apt-get -q source --tar-only --download-only {package}", top, apt, f"apt-get source {package}")
        for archive in sorted(top.glob("*.orig.tar.*")):
            if not archive.name.endswith(".asc"):
                shell(f"tar -xf '{archive.name}' -C source", top, apt, f"unpacking {archive.name}")
        (top / "got").touch()
    inside = list((top / "source").iterdir())
    return inside[0] if len(inside) == 1 else top / "source"
