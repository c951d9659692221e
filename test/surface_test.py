#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the built mpi.h and libmpi_abi.so.1 with MPI's own tables.

The tables are those of --tables (by default ../shared/facts beside the repository if it is there: the standard's data,
apart from ours; else spec/). Checked: every function is declared, as MPI_ and PMPI_, with its exact type; every function
of the ABI is exported, PMPI_ strong and MPI_ weak, and nothing foreign is; every constant and type has its value and size; the
headers compile alone, as C and C++, without a warning, with each compiler found; removed names are told by the compiler.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT.parent / "shared" / "facts"
WARNINGS = "-Wall -Wextra -pedantic -Werror".split()
FOREIGN = {  # what else the library takes over, see src/host, mpi/yield.c, goal.h
    "fputwc", "fputwc_unlocked", "fputws", "fputws_unlocked", "fwide", "fwprintf", "putwc", "putwc_unlocked", "putwchar", "putwchar_unlocked",
    "vfwprintf", "vwprintf", "wprintf", "__fwprintf_chk", "__vfwprintf_chk", "__vwprintf_chk", "__wprintf_chk",
    "__libc_start_main", "exit", "pthread_exit", "thrd_exit", "strtok", "random", "srandom", "rand", "srand", "drand48", "lrand48", "mrand48", "srand48",
    "seed48", "lcong48", "initstate", "setstate",
    "localtime", "gmtime", "asctime", "ctime", "strerror", "getopt", "getopt_long", "getopt_long_only",
    "pthread_create", "thrd_create", "__posix_getopt", "__cxa_atexit", "__cxa_at_quick_exit", "shm_open", "shm_unlink", "__cxa_thread_atexit_impl", "on_exit", "dl_iterate_phdr", "_dl_find_object",
    "_exit", "_Exit", "quick_exit", "_Fork", "execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe", "fexecve",
    "pthread_key_create", "pthread_key_delete", "pthread_getspecific", "pthread_setspecific", "tss_create", "tss_delete", "tss_get", "tss_set",
    "sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep", "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait",
    "read", "readv", "recv", "recvfrom", "recvmsg", "accept", "accept4", "write", "send",
    "pause", "sigaction", "signal", "bsd_signal", "sysv_signal", "__sysv_signal", "kill", "chdir", "fchdir", "umask", "sched_setaffinity", "sched_getaffinity", "pthread_setaffinity_np", "pthread_getaffinity_np", "syscall", "setlocale", "uselocale", "localeconv", "__poll_chk", "__ppoll_chk", "__read_chk", "__recv_chk", "__recvfrom_chk",
    "__isoc99_scanf", "__isoc99_vscanf", "__isoc99_vwscanf", "__isoc99_wscanf", "__isoc23_scanf", "__isoc23_vscanf", "__isoc23_vwscanf",
    "__isoc23_wscanf", "backtrace_symbols", "backtrace_symbols_fd", "clearenv", "dladdr", "dladdr1", "dlclose", "dlerror",
    "dlopen", "dlsym", "dlvsym", "erand48", "fclose", "ferror", "ferror_unlocked", "fflush", "fflush_unlocked", "fileno", "fileno_unlocked",
    "freopen", "freopen64", "getchar", "getchar_unlocked", "getenv", "getgrgid", "getgrnam", "gethostbyname", "getlogin", "getpwnam", "getpwuid",
    "getwchar", "getwchar_unlocked", "hcreate", "hdestroy", "hsearch", "inet_ntoa", "jrand48", "lgamma", "lgammaf", "lgammal", "mblen", "mbtowc",
    "nrand48", "pclose", "popen", "putenv", "scanf", "secure_getenv", "setbuf", "setbuffer", "setenv", "setlinebuf", "setvbuf", "system", "ttyname",
    "tzset", "unsetenv", "vscanf", "vwscanf", "wctomb", "wscanf",
    "mlt_fortran_attr", "mlt_fortran_arrays", "mlt_fortran_attr_was", "mlt_fortran_elements", "mlt_fortran_handle", "mlt_fortran_keep",
    "mlt_fortran_mark_errhandler", "mlt_fortran_mark_grequest", "mlt_fortran_mark_keyval", "mlt_fortran_mark_op", "mlt_fortran_number", "mlt_fortran_raise",  # for libmpi_fortran
    "MPI_Psend_init_c", "PMPI_Psend_init_c", "MPI_Precv_init_c", "PMPI_Precv_init_c",  # as in the Forum's stubs of the ABI
    "MPIX_Yield", "FGmpiexec_map", "FGmpiexec_lookup", "FGmpiexec_rank",
    "MPIX_Get_collocated_size", "MPIX_Get_collocated_startrank", "MPIX_Get_n_size", "MPIX_Usleep",
} | {name for header in ("goal.h", "coll.h")
     for name in re.findall(r"^(?!typedef)\w[^(/#\n]*\b((?:GOAL|MPIX)_\w+)\(",
                            (ROOT / "include" / "millet" / header).read_text(), re.MULTILINE)} | {
    row.split("\t")[0] for row in (ROOT / "spec" / "mpix_functions.tsv").read_text().splitlines()[1:]}
CSP = (ROOT / "include" / "millet" / "csp.h").read_text()
CSP_FUNCTIONS = set(re.findall(r"^(?!typedef|inline)\w[^(/#\n]*\b(csp_\w+)\(", CSP, re.MULTILINE))
FLOW = (ROOT / "include" / "millet" / "flow.h").read_text()
FLOW_FUNCTIONS = set(re.findall(r"^(?!typedef|static|inline|template)\w[^(/#\n]*\b(flow_\w+)\(", FLOW, re.MULTILINE))
FLOW_FUNCTIONS |= set(re.findall(r"\bflow_(?:Reduce|Broadcast|Deal|Collect|LineServer|TcpSource|TcpSink|UdpSource|UdpSink)\b", FLOW))
CSP_OPS = set(re.findall(r"\bcsp_(?:sum|max|min)_\w+", CSP))

failures = []


def check(holds, message):
    if not holds:
        failures.append(message)


def read(folder, name):
    """The rows of a table as dictionaries; ours and the standard's have different names for a few columns."""
    path = folder / f"{name}.tsv"
    if not path.exists():
        path = folder / f"{name.replace('mpi_', 'mpi-5.0-abi-').replace('abi-functions', 'functions')}.tsv"
    lines = [line.split("\t") for line in path.read_text().splitlines() if line]
    return [dict(zip(lines[0], row + [""] * len(lines[0]))) for row in lines[1:]]


def run(command, **more):
    return patience.run(command, 110, stderr=subprocess.STDOUT, **more)


def compile_text(compiler, options, text, suffix, folder, out=None):
    path = folder / f"test{suffix}"
    path.write_text(text)
    action = ["-o", str(out)] if out else ["-fsyntax-only"]
    return run([compiler, *options, *action, str(path)])


def functions_of(folder):
    """(name, in the ABI, returned type, parameters)"""
    out = []
    for row in read(folder, "mpi_functions"):
        abi = (row.get("abi") or row.get("in_standard_abi")) in ("yes", "True")
        m = re.match(r"(.*?)\s*(MPI_\w+)\((.*)\);?$", row["signature"])
        out.append((m.group(2), abi, m.group(1), m.group(3)))
    return out


def check_declared(compiler, include, functions, folder):
    lines = ["#include <mpi.h>"]
    for name, _, returns, params in functions:
        for prefix in ("", "P"):
            lines.append(f"{returns} (*const {prefix}{name}_)({params}) = {prefix}{name};")
    done = compile_text(compiler, ["-std=c11", f"-I{include}", "-Werror"], "\n".join(lines) + "\n", ".c", folder)
    check(done.returncode == 0, f"mpi.h declares a function otherwise than the standard:\n{done.stdout}")
    check(len(functions) == 690, f"the table has {len(functions)} functions instead of 690")


def check_exported(library, functions):
    found = {}
    for line in run(["nm", "-D", "--defined-only", str(library)]).stdout.splitlines():
        words = line.split()
        found[words[-1]] = words[-2]
    for name, abi, _, _ in functions:
        if not abi:
            continue
        check(found.get("P" + name) == "T", f"P{name} is not exported as a function")
        check(found.get(name) == "W", f"{name} is not exported as a weak function")
    known = {p + f[0] for f in functions for p in ("", "P")} | FOREIGN
    for header, names in (("csp.h", CSP_FUNCTIONS | CSP_OPS), ("flow.h", FLOW_FUNCTIONS)):
        if not (library.parent.parent / "include/millet" / header).exists():
            continue  # a build without it (MILLET_WITH) exports none of its names
        known |= names
        for name in sorted(names - set(found)):
            check(False, f"{name} of millet/{header} is not exported")
    foreign = sorted(set(found) - known)
    check(not foreign, f"foreign names are exported: {' '.join(foreign)}")
    abi = sum(f[1] for f in functions)
    check(abi == 662, f"the table has {abi} functions of the ABI instead of 662")
    check("[libmpi_abi.so.1]" in run(["readelf", "-d", str(library)]).stdout, "the SONAME is not libmpi_abi.so.1")


# By which names libc's headers call functions depends on the standard that a program is compiled for, and on glibc's hardening.
WAYS_TO_CALL = ("-std=gnu89", "-std=gnu99", "-std=gnu17", "-std=gnu2x", "-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64", "-D_POSIX_C_SOURCE=200809L",
                "-O2 -D_FORTIFY_SOURCE=2", "-O2 -D_FORTIFY_SOURCE=3")
CALLS = """
#ifndef _POSIX_C_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
void *functions[] = {(void *)scanf, (void *)vscanf, (void *)wscanf, (void *)vwscanf, (void *)freopen, (void *)fflush, (void *)fclose,
    (void *)setvbuf, (void *)fileno, (void *)nanosleep, (void *)clock_nanosleep, (void *)select, (void *)pselect, (void *)sigaction,
    (void *)signal, (void *)localtime, (void *)gmtime, (void *)ctime, (void *)getopt, (void *)recvmsg, (void *)strtok, (void *)strerror,
    (void *)popen, (void *)system, (void *)exit, (void *)_exit, (void *)pthread_create, (void *)getenv, (void *)write};
int call(int fd, size_t n, va_list more)
{
    char bytes[64];
    struct pollfd polls[4];
    return (int)read(fd, bytes, n) + (int)recv(fd, bytes, n, 0) + (int)recvfrom(fd, bytes, n, 0, NULL, NULL) + poll(polls, n, 0) +
           wctomb(bytes, L'x') + wprintf(L"%d", fd) + vwprintf(L"%d", more) + fwide((FILE *)0, 0);
}
#ifdef _GNU_SOURCE
int call_more(size_t n)
{
    struct pollfd polls[4];
    return ppoll(polls, n, NULL, NULL);
}
#endif
"""


def check_called(compiler, library, folder):
    """A program that is compiled in any of these ways calls the library's functions, not libc's own."""
    exported = {line.split()[-1] for line in run(["nm", "-D", "--defined-only", str(library)]).stdout.splitlines()}
    for way in WAYS_TO_CALL:
        out = folder / "calls.o"
        done = compile_text(compiler, ["-c", "-w", "-fno-stack-protector", *way.split()], CALLS, ".c", folder, out)
        check(done.returncode == 0, f"with {way} calls of libc's functions are not compiled:\n{done.stdout}")
        called = {line.split()[-1] for line in run(["nm", "-u", str(out)]).stdout.splitlines()} if done.returncode == 0 else set()
        lacking = sorted(called - exported - {"_GLOBAL_OFFSET_TABLE_", "stdout", "stdin"})
        check(not lacking, f"with {way} libc's headers call functions of ranks by names that the library does not take over: {' '.join(lacking)}")


def check_marks(compiler, folder):
    """Assembly says that it has landing pads, or the linker marks no library as hardened; and never that it keeps shadow stacks."""
    assemblers = {"aarch64": ["clang", "--target=aarch64-linux-gnu"], "x86_64": ["clang", "--target=x86_64-linux-gnu"]}
    assemblers[os.uname().machine] = [compiler]
    for file in sorted((ROOT / "src/arch").glob("*/*.S")):
        words = assemblers[file.parent.name]
        if not shutil.which(words[0]):
            print(f"no {words[0]} here: {file.relative_to(ROOT)} is not tried")
            continue
        done = run([*words, f"-I{ROOT / 'src'}", "-c", str(file), "-o", str(folder / "marked.o")])
        said = run(["readelf", "-nW", str(folder / "marked.o")]).stdout if done.returncode == 0 else done.stdout
        check(re.search(r"feature: (BTI|IBT)\b", said), f"{file.relative_to(ROOT)} has no mark of landing pads (BTI, IBT):\n{said}")
        check(not re.search(r"GCS|SHSTK", said), f"{file.relative_to(ROOT)} promises shadow stacks, which a switch between stacks breaks")
        pads = len(re.findall(r"\bendbr64\b|\bbti c\b", file.read_text()))
        entries = len(re.findall(r"^\s*\.type\s+(?!mlt_arch_start)\w", file.read_text(), re.MULTILINE))  # which a return enters
        check(pads == entries, f"{file.relative_to(ROOT)} has {entries} functions and {pads} landing pads")


def check_loads_late(library):
    """An interpreter loads the library when it runs: its thread-local memory must fit in what libc keeps for that."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).MPI_Get_version(ctypes.byref(ctypes.c_int()), " \
           "ctypes.byref(ctypes.c_int()))"
    done = run([sys.executable, "-c", code, str(library)])
    check(done.returncode == 0, f"the library cannot be loaded by a running program:\n{done.stdout}")


def check_values(compiler, include, constants, types, folder):
    lines = ["#include <mpi.h>", "#include <stdint.h>", "#include <stdio.h>", "int main(void) {"]
    for row in constants:
        type_ = (row.get("type") or row["c_type"]).replace(" (enum)", "")
        lines.append(f'{{ {type_} v = {row["name"]}; printf("{row["name"]} %lld\\n", (long long)(intptr_t)v); }}')
    sizes = {"MPI_Aint": "intptr_t", "MPI_Offset": "int64_t", "MPI_Count": "int64_t", "MPI_Fint": "int"}
    for row in types:
        name = row["name"]
        definition = row.get("definition") or row.get("C definition", "")
        if definition.startswith("struct MPI_ABI"):
            sizes[name] = "void *"
        elif definition == "enum":
            sizes[name] = "int"
        elif re.match(r"(int|void) \(", definition):  # a callback
            lines.append(f"{{ {definition.replace('(', '(*f)(', 1)} = ({name} *)0; (void)f; }}")
    for name, same in sizes.items():
        lines.append(f'_Static_assert(sizeof({name}) == sizeof({same}), "{name}");')
    lines.append("_Static_assert(sizeof(MPI_Status) == 32 && _Alignof(MPI_Status) == 4, \"MPI_Status\");")
    lines.append("return 0; }")
    program = folder / "values"
    done = compile_text(compiler, ["-std=c11", f"-I{include}", "-Werror"], "\n".join(lines) + "\n", ".c", folder,
                        program)
    check(done.returncode == 0, f"constants and types do not compile:\n{done.stdout}")
    if done.returncode:
        return
    got = dict(line.split() for line in run([str(program)]).stdout.splitlines())
    for row in constants:
        want = int(row["value"], 0)
        check(int(got[row["name"]]) == want, f"{row['name']} is {got[row['name']]} instead of {want}")


FG_USE = """
#include <fgmpi.h>
static int work(int argc, char **argv) { return argv ? argc : 0; }
static FG_ProcessPtr_t map(int argc, char **argv, int rank) { return argc && argv && rank ? work : 0; }
static FG_MapPtr_t lookup(int argc, char **argv, char *name) { return argc && argv && *name ? map : 0; }
static FG_ProcessPtr_t by_rank(int rank) { return rank ? work : 0; }
int main(int argc, char **argv)
{
    return FGmpiexec(&argc, &argv, map) + FGmpiexec(&argc, &argv, &lookup) + FGmpiexec(&argc, &argv, by_rank);
}
"""


def check_compiles(include, folder):
    """The headers alone, with every compiler of this machine."""
    include_dirs = [f"-I{include}", f"-I{ROOT / 'include'}"]
    for compiler, standards, suffix in (("gcc", ("c99", "c11", "c17"), ".c"), ("clang", ("c99", "c11", "c17"), ".c"),
                                        ("g++", ("c++11", "c++17"), ".cc"), ("clang++", ("c++11", "c++17"), ".cc")):
        if not shutil.which(compiler):
            print(f"no {compiler} here: not tried")
            continue
        for standard in standards:
            texts = ["#include <mpi.h>\n", "#define MILLET_ABI_ONLY\n#include <mpi.h>\n"]
            texts.append("#include <mpi-ext.h>\nint main(void) { return MPIX_Query_cuda_support() + MPIX_Query_rocm_support() + MPIX_CUDA_AWARE_SUPPORT; }\n")
            if standard != "c99":
                texts.append(FG_USE)
            for text in texts:
                done = compile_text(compiler, [f"-std={standard}", *WARNINGS, *include_dirs], text, suffix, folder)
                check(done.returncode == 0, f"{compiler} -std={standard} objects to the headers:\n{done.stdout[:2000]}")


def check_removed(include, folder):
    """Names that MPI 3.0 removed: the compiler says what to write instead, unless the program has its own macros."""
    rows = read(ROOT / "spec", "mpi_removed")
    for compiler, suffix in (("gcc", ".c"), ("clang", ".c"), ("g++", ".cc"), ("clang++", ".cc")):
        if not shutil.which(compiler):
            continue
        lines = "".join(f"void *use_{row['name']}(void) {{ return (void *)&{row['name']}; }}\n" if "typedef" not in row["declaration"]
                        else f"{row['name']} *use_{row['name']};\n" for row in rows)
        done = compile_text(compiler, [f"-I{include}"], f"#include <mpi.h>\n{lines}", suffix, folder)
        for row in rows:
            check(f"{row['name']} was removed in MPI 3.0; write {row['instead']} instead" in done.stdout,
                  f"{compiler} does not say what to write instead of {row['name']}")
        macros = [f"-D{row['name']}={row['instead']}" for row in rows if row["declaration"].startswith("int ")]
        done = compile_text(compiler, [*WARNINGS, *macros, f"-I{include}"], "#include <mpi.h>\n", suffix, folder)
        check(done.returncode == 0, f"{compiler} refuses a program that renames removed functions:\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--tables", type=pathlib.Path, default=FACTS if FACTS.exists() else ROOT / "spec")
    parser.add_argument("--sanitized", action="store_true", help="the library needs a sanitizer's, so do not load it")
    args = parser.parse_args()
    include, library = args.build / "include", args.build / "lib" / "libmpi_abi.so.1"
    compiler = os.environ.get("CC", "cc")
    functions = functions_of(args.tables)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_declared(compiler, include, functions, folder)
        check_exported(library, functions)
        check_marks(compiler, folder)
        if not args.sanitized:
            check_loads_late(library)
            check_called(compiler, library, folder)
        check_values(compiler, include, read(args.tables, "mpi_constants"), read(args.tables, "mpi_types"), folder)
        check_compiles(include, folder)
        check_removed(include, folder)
    for message in failures:
        print(message)
    print(f"{len(functions)} functions against {args.tables}: {len(failures)} faults")
    return 1 if failures else 0


sys.exit(main())
