# SPDX-License-Identifier: BSD-3-Clause
"""Debian systems in folders, for tests: made by debootstrap from where this machine's own packages come, kept in a cache, entered in namespaces of their own.

    with debian.Cache(folder, 7, logs) as cache:
        with cache.system("trixie", [("tools", ["gcc", "libc6-dev"])]).machine("name", log) as machine:
            machine.run("gcc --version", user=debian.USER)

A system is a stack of folders: the base that debootstrap made, and above it one for each list of packages. A machine is one more folder above them, which takes
all changes (overlayfs). Mounts exist only in the namespace of the command that runs in the machine, so none is left when it ends, whatever ends it, and what is
removed afterwards has none below it. The kernel kills all processes of the machine when the command ends, or when this process does."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

import patience
from harness import Skip, Result, expect

USER = "tester"
# Arguments: the folders below, the folder of the machine, a folder of this machine for /ccache, and the command.
ENTER = """set -e
lower=$1 machine=$2 ccache=$3
shift 3
mount -t overlay -o "lowerdir=$lower,upperdir=$machine/upper,workdir=$machine/work" none "$machine/tree"
cd "$machine/tree"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 none dev/shm
mount --rbind /sys sys
mkdir -p ccache
mount --bind "$ccache" ccache
cp -L /etc/resolv.conf etc/resolv.conf
within=
if pivot_root . . 2>/dev/null; then
    umount -l .
    cd /
else # from where the kernel has started; no user namespace can be made there
    within='chroot .'
fi
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \\
    CCACHE_DIR=/ccache CCACHE_COMPILERCHECK=content CCACHE_UMASK=000 HOME=/root $within "$@"
"""
PRIVATE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
running = set()  # commands, of all threads


def end(process):
    """Ends a command with all that it has started. The first process of its namespace is killed, which the kernel lets go only after all others; then unshare ends."""
    with contextlib.suppress(OSError):
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.wait(30)
    process.kill()
    process.wait()


def end_all():
    """Ends what runs in machines: for the end of the whole."""
    for process in list(running):
        end(process)


def command(words, log, limit, **options):
    """Runs a command whose output goes to the end of a log, and returns its Result. A command that takes too long is killed with all that it has started."""
    began = time.monotonic()
    with open(log, "a") as out:
        start = out.tell()
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **options)
    running.add(process)
    try:
        code, busy = wait_for(process, limit)
    finally:
        end(process)
        running.discard(process)
    with open(log, errors="replace") as text:
        text.seek(start)
        result = Result(" ".join(map(str, words[-1:])), code, text.read(), "", time.monotonic() - began)
    result.busy = busy
    return result


def wait_for(process, limit):
    """A command's exit status, None if it does not end in time; and the seconds of processors that it and its children took."""
    began = time.monotonic()
    while patience.left(began, limit) > 0:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(0.05)
    return None, 0.0


def archive(listed, codename):
    """Debian's own archive among the addresses that `apt-get update --print-uris` lists: not its updates, nor another's."""
    for address, suite in re.findall(r"^'(https?://\S+)/dists/([^/]+)/main/binary-", listed, re.M):
        if suite in (codename, "stable", "testing", "unstable", "sid"):
            return address
    raise Skip("apt's sources on this machine have no archive of Debian that is reached by http")


def source():
    """Where this machine's own packages come from, as apt tells it; and the proxy that apt asks, if there is one."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.M))
    if release.get("ID") != "debian":
        raise Skip(f"packages come from where this machine's come from, and this is not Debian but {release.get('PRETTY_NAME', 'something without a name')}")
    listed = subprocess.run(["apt-get", "update", "--print-uris"], capture_output=True, text=True).stdout
    address = archive(listed, release.get("VERSION_CODENAME"))
    proxy = subprocess.run(["apt-config", "shell", "proxy", f"Acquire::{address.split(':')[0]}::Proxy"], capture_output=True, text=True).stdout
    return address, "".join(re.findall(r"proxy='(.*)'", proxy))


def need(tool, package):
    """Installs a tool of ours where that is allowed: this is for root."""
    if shutil.which(tool):
        return
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", package]):
        subprocess.run(["apt-get", *words], capture_output=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if not shutil.which(tool):
        raise Skip(f"there is no {tool}, and apt-get cannot install the package {package}")


def remove(folder):
    """Removes a folder, never through a mount."""
    if not folder.exists():
        return
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    below = [mount for mount in mounts if mount == str(folder) or mount.startswith(f"{folder}/")]
    expect(not below, f"{folder} is not removed: {' '.join(below)} is mounted there")
    shutil.rmtree(folder)


class Machine:
    """A system with a folder above it that takes all changes."""

    def __init__(self, system, folder, log):
        self.system, self.folder, self.log, self.busy = system, folder, log, 0.0
        remove(folder)
        for part in ("upper", "work", "tree"):
            (folder / part).mkdir(parents=True)
            (folder / part).chmod(0o755)

    def words(self):
        return [*PRIVATE, "sh", "-c", ENTER, "sh", ":".join(map(str, reversed(self.system.layers))), self.folder, self.system.cache.ccache]

    def run(self, script, user=None, code=0, limit=900, folder="/"):
        """Runs a script of bash, as root or as this user, in this folder, and returns its Result: all output is in `out`."""
        as_user = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "env", f"HOME=/home/{user}", f"USER={user}", f"LOGNAME={user}"] if user else []
        with open(self.log, "a") as log:
            log.write(f"\n{user or 'root'}$ {script}\n")
        result = command([*self.words(), *as_user, "bash", "-c", f"cd {folder} || exit\n{script}"], self.log, limit)
        self.busy += result.busy
        if result.code is None:
            raise AssertionError(f"`{script}` did not end within {limit} s\n{last_lines(result.out)}")
        if code is not None and result.code != code:
            raise AssertionError(f"`{script}` ended with {result.code}, not {code}\n{last_lines(result.out)}")
        return result

    def install(self, packages):
        self.run(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {' '.join(packages)}", limit=1800)


def last_lines(text, lines=15):
    """The end of an output, or what a compiler or a test said was wrong."""
    said = text.strip().splitlines()
    wrong = [line for line in said if re.search(r"\berror: |undefined reference|CMake Error|^\s*FAIL|\*\*\*(Failed|Timeout|Exception)|^E: ", line)]
    return "\n".join((wrong or said[-lines:])[:lines])


class System:
    """A Debian with packages: its folders, the lowest first."""

    def __init__(self, cache, layers):
        self.cache, self.layers = cache, layers

    @contextlib.contextmanager
    def machine(self, name, log, keep=False):
        made = Machine(self, self.cache.folder / "machines" / name, log)
        try:
            yield made
        finally:
            if not keep:
                remove(made.folder)


class Cache:
    """The folder in which systems are kept; one process at a time."""

    def __init__(self, folder, days, logs):
        self.folder, self.days, self.logs, self.lock = folder, days, logs, threading.Lock()
        self.ccache = folder / "ccache"

    def __enter__(self):
        self.ccache.mkdir(parents=True, exist_ok=True)
        self.ccache.chmod(0o777)
        self.held = open(self.folder / "lock", "w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Skip(f"another run uses {self.folder}; --cache names another folder") from None
        probe = Machine(System(self, [self.ccache]), self.folder / "machines/probe", self.logs / "probe.log")
        said = command([*PRIVATE, "mount", "-t", "overlay", "-o", f"lowerdir={self.ccache},upperdir={probe.folder}/upper,workdir={probe.folder}/work", "none",
                        probe.folder / "tree"], probe.log, 60)
        remove(probe.folder)
        if said.code != 0:
            raise Skip(f"no overlay can be mounted in {self.folder} (--cache names another folder): {said.out.strip()}")
        return self

    def __exit__(self, *error):
        self.held.close()

    def system(self, suite, added=()):
        """Debian `suite` with these (name, packages), from the cache or made now. Two threads may ask for it."""
        with self.lock:
            home = self.folder / suite
            made = home / "made"
            if made.exists() and time.time() - made.stat().st_mtime > self.days * 86400:
                remove(home)
            if not made.exists():
                self.bootstrap(suite, home)
                made.touch()
            system = System(self, [home / "base"])
            for name, packages in added:
                system = self.grown(system, home / name, packages)
            return system

    def bootstrap(self, suite, home):
        need("debootstrap", "debootstrap")
        address, proxy = source()
        reach(f"{address}/dists/{suite}/InRelease", proxy)
        remove(home)
        home.mkdir(parents=True)
        log = self.logs / f"{suite}-base.log"
        log.unlink(missing_ok=True)
        said = command([*PRIVATE, "debootstrap", "--variant=minbase", "--include=ca-certificates", suite, home / "base", address], log, 1800,
                       env={**os.environ, "LC_ALL": "C", **({"http_proxy": proxy, "https_proxy": proxy} if proxy else {})})
        expect(said.code == 0, f"debootstrap {suite}: {last_lines(said.out)}\n    all of it: {log}")
        base = home / "base"
        base.chmod(0o755)
        # What this machine was told about fetching holds there, too.
        settings = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
        kept = re.findall(r"^Acquire::(?:https?|Check-Valid-Until|Languages|GzipIndexes|Retries)\b.*\n", settings, re.M)
        (base / "etc/apt/apt.conf.d/80fetch").write_text("".join(kept))
        # No package starts a server.
        (base / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (base / "usr/sbin/policy-rc.d").chmod(0o755)
        said = command([*PRIVATE, "chroot", base, "/usr/sbin/useradd", "--create-home", "--shell", "/bin/bash", USER], log, 60)
        expect(said.code == 0, f"useradd in {suite}: {said.out}")

    def grown(self, system, folder, packages):
        """A system with more packages; the list is part of the cache's state."""
        listed = folder.with_suffix(".list")
        if not listed.exists() or listed.read_text().split() != packages:
            log = self.logs / f"{folder.parent.name}-{folder.name}.log"
            log.unlink(missing_ok=True)
            machine = Machine(system, folder.with_suffix(".new"), log)
            machine.install(packages)
            self.keep(machine, folder)
            listed.write_text(" ".join(packages))
        return System(self, [*system.layers, folder])

    @staticmethod
    def keep(machine, folder):
        remove(folder)
        (machine.folder / "upper").rename(folder)
        remove(machine.folder)


def reach(address, proxy):
    handlers = [urllib.request.ProxyHandler({"http": proxy, "https": proxy})] if proxy else []
    try:
        urllib.request.build_opener(*handlers).open(address, timeout=30).close()
    except (urllib.error.URLError, OSError) as error:
        raise Skip(f"packages cannot be fetched: {error}") from error
