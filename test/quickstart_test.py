#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""./quickstart on machines that lack something: each gets a working tree, or one line that says what to do. Commands of packages are played by scripts in
a folder that is the whole PATH. And a build without a preset is a user's: no tests, no warning is an error, in any folder.

Prints a line a test, and `N passed, N failed` at the end."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness
from harness import ROOT, Skip, expect

TOOLS = "cat dirname env grep head mkdir printf rm sed sh sort tail touch tr".split()
CMAKE = 'echo "cmake $*" >> "$LOG"; [ "$1" != --version ] || echo "cmake version ${CMAKE_IS:-3.25.1}"'
APT = 'echo "apt-get $*" >> "$LOG"; case $1 in install) [ -z "$NO_NETWORK" ] || { echo "E: Unable to fetch" >&2; exit 100; }; printf "#!/bin/sh\\n" > "$BIN/ninja"; chmod +x "$BIN/ninja" ;; esac'
SUDO = {"may": 'shift $([ "$1" != -n ]; echo $?); echo "sudo $*" >> "$LOG"; exec "$@"',
        "may not": 'echo "Sorry, user may not run sudo on this machine." >&2; exit 1'}


class Machine:
    """A folder with quickstart in it and a PATH of its own: what is there, and who we are."""

    def __init__(self, name, user=1000, folder="millet", **commands):
        self.root = SCRATCH / name / folder
        self.bin, self.log = SCRATCH / name / "bin", SCRATCH / name / "log"
        self.root.mkdir(parents=True)
        self.bin.mkdir()
        self.log.touch()
        for file in ("quickstart", "CMakeLists.txt"):
            shutil.copy(ROOT / file, self.root)
        for tool in [*TOOLS, "chmod", "ldconfig"]:
            if found := shutil.which(tool, path=os.environ["PATH"] + ":/sbin:/usr/sbin"):
                (self.bin / tool).symlink_to(found)
        usual = {"cc": "", "python3": "", "ninja": "", "cmake": CMAKE, "apt-get": APT, "id": f"echo {user}", "ldconfig": "echo '\tlibsodium.so.23 (libc6)'"}
        for command, script in {**usual, **commands}.items():
            if script is not None:
                (self.bin / command).unlink(missing_ok=True)
                (self.bin / command).write_text(f"#!/bin/sh\n{script}\n")
                (self.bin / command).chmod(0o755)

    def quickstart(self, code=0, **env):
        # The header of Lua is looked for by its path; it is this machine's.
        result = harness.run(self.root / "quickstart", "--no-tour", code=code, cwd=SCRATCH,
                             env={"PATH": str(self.bin), "LOG": str(self.log), "BIN": str(self.bin), **env})
        result.calls = self.log.read_text().splitlines()
        return result


def lua():
    if not pathlib.Path("/usr/include/lua5.4/lua.h").exists():
        raise Skip("liblua5.4-dev is not installed, so quickstart would ask for it")


def refuses(result, *parts):
    """It ended with 1 and one line, which has these parts."""
    expect(result.code == 1 and result.err.count("\n") == 1 and all(part in result.err for part in parts), f"one line with {parts} wanted", result)


def test_builds_for_users():
    """Nothing is missing: no package is installed, and CMake is called without a preset. A tree that is there keeps its generator."""
    lua()
    machine = Machine("usual")
    said = machine.quickstart()
    expect(said.calls == ["cmake --version", "cmake -S . -B build -G Ninja", "cmake --build build"], "what was called", said.calls)
    expect(f'export PATH="{machine.root}/build/bin:$PATH"' in said.out and "pkg-config" not in said.out, "what to do next", said)
    (machine.root / "build/CMakeCache.txt").touch()
    expect("cmake -S . -B build" in machine.quickstart().calls, "a generator for a tree that has one")


def test_sudo_without_rights():
    lua()
    said = Machine("sudo", ninja=None, sudo=SUDO["may not"]).quickstart(code=1)
    refuses(said, "You may not install packages here", "apt-get install ninja-build")
    expect(not said.calls, "apt-get or cmake was called", said.calls)


def test_no_sudo():
    lua()
    refuses(Machine("nosudo", ninja=None).quickstart(code=1), "apt-get install ninja-build")


def test_sudo_installs():
    lua()
    said = Machine("maysudo", ninja=None, sudo=SUDO["may"]).quickstart()
    expect("Installing ninja-build with sudo apt-get" in said.out and any(re.match(r"sudo env .*apt-get install .* ninja-build", call) for call in said.calls),
           "ninja is installed by sudo", said, said.calls)


def test_root_installs():
    lua()
    said = Machine("root", user=0, ninja=None).quickstart()
    expect(not said.err and "apt-get install -y -qq --no-install-recommends ninja-build" in said.calls, "ninja is installed", said, said.calls)


def test_no_network():
    lua()
    said = Machine("offline", user=0, ninja=None).quickstart(code=1, NO_NETWORK="1")
    expect(said.err.splitlines() == ["Could not install ninja-build: E: Unable to fetch", "quickstart: there is still no ninja, and Millet cannot be built without it"],
           "what is missing, and why", said)


def test_names_of_libsodium():
    """Its package is named by its version: the newest that the system has is taken, and either library is enough."""
    lua()
    for known, taken in (("libsodium23", "libsodium23"), ("libsodium26", "libsodium26"), ("nothing", "libsodium23")):
        cache = f'[ "$1 $2" = "show {known}" ]'
        said = Machine(f"sodium {known}", user=0, ldconfig="", **{"apt-cache": cache}).quickstart()
        expect(f"apt-get install -y -qq --no-install-recommends {taken}" in said.calls, f"{taken} is installed", said, said.calls)
        said = Machine(f"told {known}", ldconfig="", **{"apt-cache": cache}).quickstart()
        expect(f"apt-get install {taken}\n" in said.err, f"{taken} is named", said)
    for version in (23, 26):
        said = Machine(f"sodium {version}", ldconfig=f"echo '\tlibsodium.so.{version} (libc6)'").quickstart()
        expect(not said.err and not any(call.startswith("apt-get") for call in said.calls), "libsodium is there", said, said.calls)


def test_no_package_manager():
    lua()
    machine = Machine("foreign", ninja=None, **{"apt-get": None})
    refuses(machine.quickstart(code=1), "Missing: ninja-build", "install them by hand")


def test_cmake_versions():
    """Compared as versions, not as texts."""
    lua()
    machine = Machine("cmake")
    for old in ("3.9.6", "3.20.5", "2.8.12"):
        refuses(machine.quickstart(code=1, CMAKE_IS=old), "CMake 3.21 or newer", f"this is {old}", "pip install cmake")
    expect(not any("-S" in call for call in machine.log.read_text().splitlines()), "an old CMake was used")
    for new in ("3.21", "3.21.0", "3.31.6", "4.1.0-rc1"):
        machine.quickstart(CMAKE_IS=new)


def test_space_says_how():
    lua()
    said = Machine("space", folder="my dir/millet").quickstart()
    expect(said.err == "" and 'eval "cc prog.c $(pkg-config' in said.out, "what pkg-config wants", said)


def test_needs():
    """./check asks for packages by the same script, and goes on without those that it does not get."""
    machine = Machine("need", sudo=SUDO["may not"])
    said = harness.run(machine.root / "quickstart", "--need", "none-such=none-such-package", "cc=gcc", code=1, env={"PATH": str(machine.bin), "LOG": str(machine.log)})
    refuses(said, "apt-get install none-such-package")


# ---- CMake itself


def copy(folder):
    """The files of this tree that are not ignored."""
    names = harness.run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", code=None)
    if names.code:
        raise Skip("there is no git, or this is no clone")
    folder.mkdir(parents=True)
    harness.run("cp", "--parents", "-t", folder, "--", *(name for name in names.out.split("\0") if name and (ROOT / name).exists()), cwd=ROOT)
    return folder


def test_folder_with_a_space():
    """A user's tree in such a folder: what generates files, compiles one layer and Fortran's modules. No test, and no warning is an error."""
    root = copy(SCRATCH / "my dir" / "millet")
    harness.run("cmake", "-S", root, "-B", root / "build", "-G", "Ninja", limit=120)
    commands = [entry["command"] for entry in json.loads((root / "build/compile_commands.json").read_text())]
    expect(len(commands) > 500 and not any("-Werror" in command for command in commands), "warnings are errors for users")
    expect(not any(re.search(r"_(test|fuzz)\.c\b", command) for command in commands), "users compile tests")
    targets = ["mlt_gen", "mlt_gen_fortran", "mlt_os", *(["fortran_modules"] if shutil.which("gfortran") else [])]
    harness.run("cmake", "--build", root / "build", "--target", *targets, limit=300)
    said = harness.run(root / "build/bin/mpicc", "-showme:incdirs").out
    expect("my dir" in said, "mpicc", said)
    said = harness.run("cmake", "--build", root / "build", "--target", "uninstall", code=None)
    expect(said.code and "uninstall: nothing to remove" in said.out + said.err, "nothing was installed", said)


def test_presets_are_for_developers():
    for name in ("release", "debug", "asan", "tsan", "jitter", "clang", "fuzz", "cross-x86_64", "cross-aarch64"):
        said = harness.run("cmake", "-N", "--preset", name, cwd=ROOT).out
        expect('MLT_WERROR="ON"' in said and 'MLT_TESTS="ON"' in said, f"preset {name}", said)


def main():
    global SCRATCH
    options = harness.options(__doc__)
    with harness.folder("quickstart") as SCRATCH:
        return harness.run_tests(globals(), options.k)


if __name__ == "__main__":
    sys.exit(main())
