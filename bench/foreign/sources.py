# SPDX-License-Identifier: BSD-3-Clause
"""Packages from Debian. Nothing of the system's is changed: apt has its configuration, lists and cache in the caller's folder. Where
a mirror has only the authors' archive without Debian's part, that is enough."""

import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

MIRROR = "http://deb.debian.org/debian"


class Cannot(Exception):
    """The text says what could not be got or built."""


def prepare_apt(scratch, kind="deb-src"):
    """The environment for apt-get: for source packages, or with kind "deb" for binary ones."""
    folder = scratch / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"{kind} {MIRROR} {release()} main\n")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "/dev/null";\nDir::State::Lists "{folder}/lists";\n'
        f'Dir::Cache "{folder}/cache";\nAPT::Sandbox::User "";\n')
    env = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    if not any((folder / "lists").glob("*_Sources*" if kind == "deb-src" else "*_Packages*")):
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


def download(address, path):
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            path.write_bytes(answer.read())
    except OSError as why:
        raise Cannot(f"downloading {address} failed: {why}") from why


def fetch(package, scratch, apt, archive=None):
    """The folder with the sources: what the release has, or a certain archive in Debian's pool."""
    top = scratch / package
    if not (top / "got").exists():
        shutil.rmtree(top, ignore_errors=True)
        (top / "source").mkdir(parents=True)
        if archive:
            download(f"{MIRROR}/pool/main/{archive}", top / archive.split("/")[-1])
        else:
            shell(f"apt-get -q source --tar-only --download-only {package}", top, apt, f"apt-get source {package}")
        for archive in sorted(top.glob("*.orig.tar.*")):
            if not archive.name.endswith(".asc"):
                shell(f"tar -xf '{archive.name}' -C source", top, apt, f"unpacking {archive.name}")
        (top / "got").touch()
    inside = list((top / "source").iterdir())
    return inside[0] if len(inside) == 1 else top / "source"


def fetch_binaries(packages, scratch, apt):
    """The folder in which binary packages are unpacked, as they would be in /."""
    top = scratch / "unpacked"
    if not (top / "got").exists():
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir(parents=True)
        shell(f"apt-get -q download {' '.join(packages)}", top, apt, f"apt-get download {' '.join(packages)}")
        for archive in sorted(top.glob("*.deb")):
            shell(f"dpkg-deb -x '{archive.name}' .", top, apt, f"unpacking {archive.name}")
        (top / "got").touch()
    return top
