#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls every MPI function with one wrong argument at a time, as spec/mpi_functions.tsv has them.

Each argument takes all values of its type's list below: null, freed and foreign handles, numbers out of range, NULL. The others
are harmless. No call may crash, hang, or end the job; one that fails has an error code whose message names the function, and
leaves null handles in what it should have made. (MPI_T functions return classes, whose messages name no function.) The program
runs alone, as two processes and as two fibers.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What begins or ends MPI or a process, and what is given a variable number of arguments.
LEFT_OUT = {"Init", "Init_thread", "T_finalize", "Finalize", "Abort", "Pcontrol", "Info_create_env"}
# Kinds of handles: the null one, and the others that a call may meet. `s` is the rank's state.
HANDLES = {
    "MPI_Comm": ["MPI_COMM_NULL", "s->freed_comm", "(MPI_Comm)s->type", "s->inter"],
    "MPI_Datatype": ["MPI_DATATYPE_NULL", "s->freed_type", "(MPI_Datatype)s->comm", "s->open_type"],
    "MPI_Group": ["MPI_GROUP_NULL", "s->freed_group", "(MPI_Group)s->comm", "MPI_GROUP_EMPTY"],
    "MPI_Op": ["MPI_OP_NULL", "s->freed_op", "(MPI_Op)s->comm", "MPI_REPLACE", "MPI_MAXLOC"],
    "MPI_Errhandler": ["MPI_ERRHANDLER_NULL", "s->freed_errhandler", "(MPI_Errhandler)s->comm"],
    "MPI_Info": ["s->freed_info", "(MPI_Info)s->comm", "s->info", "MPI_INFO_ENV"],
    "MPI_Session": ["MPI_SESSION_NULL", "(MPI_Session)s->comm"],
    "MPI_Request": ["MPI_REQUEST_NULL", "s->freed_request", "(MPI_Request)s->comm", "s->persistent"],
    "MPI_Message": ["MPI_MESSAGE_NULL", "(MPI_Message)s->comm"],
    "MPI_Win": ["(MPI_Win)s->comm"],
    "MPI_File": ["(MPI_File)s->comm"],
}
HARMLESS = {"MPI_Comm": "s->comm", "MPI_Datatype": "MPI_INT", "MPI_Group": "s->group", "MPI_Op": "MPI_SUM",
            "MPI_Errhandler": "MPI_ERRORS_RETURN", "MPI_Info": "MPI_INFO_NULL", "MPI_Session": "s->session",
            "MPI_Request": "MPI_REQUEST_NULL", "MPI_Message": "MPI_MESSAGE_NO_PROC", "MPI_Win": "MPI_WIN_NULL",
            "MPI_File": "MPI_FILE_NULL"}
NULLS = {f"{kind} *": f"{kind.upper()}_NULL" for kind in HANDLES}
CHANGED = re.compile(r"MPI_(\w+_free$|Comm_disconnect|Session_finalize|File_close|Type_commit|Wait|Test|Start|Cancel)")
NUMBERS = ["-1", "0", "-2147483647 - 1"]
PEERS = ["-5", "99", "MPI_ROOT", "MPI_UNDEFINED"]  # a blocking call must not wait for anybody

TOP = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct state {
    MPI_Comm comm, freed_comm, inter;
    MPI_Datatype type, open_type, freed_type;
    MPI_Group group, freed_group;
    MPI_Op freed_op;
    MPI_Errhandler freed_errhandler;
    MPI_Info info, freed_info;
    MPI_Session session;
    MPI_Request request, freed_request, persistent;
    MPI_Message message;
    void *made[4];
    int ones[64], calls, failed;
    MPI_Aint aints[64];
    MPI_Count counts[64];
    MPI_Datatype types[64];
    MPI_Request requests[64];
    MPI_Status status, statuses[64];
    char *buffer;
} state;

static const char *now_function, *now_argument; // for a crash; ranks write in turn
static int now_value;

static void crashed(int signal)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%s: argument %s, value %d: signal %d\n", now_function, now_argument, now_value, signal);
    (void)!write(2, text, (size_t)n);
    _exit(1);
}

static void add(void *a, void *b, int *n, MPI_Datatype *t)
{
    (void)a, (void)b, (void)n, (void)t;
}

static int on_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

// Fresh objects: the call before may have freed or changed them.
static void refresh(state *s)
{
    if (s->comm == MPI_COMM_NULL) {
        MPI_Comm_dup(MPI_COMM_SELF, &s->comm);
        MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
    }
    for (int i = 0; i < 64; i++) {
        s->ones[i] = 1;
        s->aints[i] = s->counts[i] = 1;
        s->types[i] = MPI_INT;
        s->requests[i] = MPI_REQUEST_NULL;
    }
    if (!s->open_type)
        MPI_Type_contiguous(2, MPI_INT, &s->open_type);
    if (!s->type)
        MPI_Type_contiguous(2, MPI_INT, &s->type);
    memset(&s->status, 0, sizeof s->status);
}

static void prepare(state *s)
{
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Comm other;
    MPI_Request r;
    memset(s, 0, sizeof *s);
    s->comm = MPI_COMM_NULL;
    s->buffer = calloc(1, 1 << 20);
    refresh(s);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    s->freed_comm = other;
    MPI_Comm_free(&other);
    MPI_Type_contiguous(3, MPI_INT, &s->freed_type);
    MPI_Datatype type = s->freed_type;
    MPI_Type_free(&type);
    MPI_Comm_group(MPI_COMM_SELF, &s->group);
    MPI_Comm_group(MPI_COMM_WORLD, &s->freed_group);
    MPI_Group group = s->freed_group;
    MPI_Group_free(&group);
    MPI_Op_create(add, 1, &op);
    s->freed_op = op;
    MPI_Op_free(&op);
    MPI_Session_create_errhandler((MPI_Session_errhandler_function *)add, &handler);
    s->freed_errhandler = handler;
    MPI_Errhandler_free(&handler);
    MPI_Info_create(&s->freed_info);
    MPI_Info_create(&s->info);
    MPI_Info info = s->freed_info;
    MPI_Info_free(&info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s->session);
    MPI_Recv_init(s->buffer, 1, MPI_INT, MPI_PROC_NULL, 0, s->comm, &s->persistent);
    MPI_Recv_init(s->buffer, 1, MPI_INT, MPI_PROC_NULL, 0, s->comm, &s->freed_request);
    r = s->freed_request;
    MPI_Request_free(&r);
    s->inter = MPI_COMM_NULL;
}

static void report(state *s, const char *what)
{
    fprintf(stderr, "%s: argument %s, value %d: %s\n", now_function, now_argument, now_value, what);
    s->failed++;
}

static void judge(state *s, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "", words[2 * MPI_MAX_ERROR_STRING];
    int class, length;
    s->calls++;
    if (code == MPI_SUCCESS)
        return;
    if (MPI_Error_class(code, &class) != MPI_SUCCESS || MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        report(s, "what it returned is no error code");
    else if (strncmp(now_function, "MPI_T_", 6) == 0 ? strncmp(text, "MPI_T_ERR_", 10) : !strstr(text, now_function)) {
        snprintf(words, sizeof words, "the message does not name it: %s", text);
        report(s, words);
    }
}
"""

BOTTOM = r"""
int main(void)
{
    state s;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL};
    for (int i = 0; i < 5; i++)
        signal(signals[i], crashed);
    prepare(&s);
    MPI_T_init_thread(MPI_THREAD_SINGLE, s.ones);
    sweep(&s);
    printf("%d calls, %d failed\n", s.calls, s.failed);
    MPI_Session_finalize(&s.session);
    MPI_Finalize();
    return s.failed != 0;
}
"""


def split(signature):
    m = re.match(r"(.*?)\s*(MPI_\w+)\((.*)\)$", signature)
    params = [] if m.group(3) == "void" else [p.strip() for p in m.group(3).split(",")]
    return m.group(1), m.group(2), [re.match(r"(.*?)(\w+)((?:\[\d*\])*)$", p).groups() for p in params]


def values(function, type_, name, array):
    """The harmless value of a parameter, and the others."""
    type_ = type_.strip()
    plain = type_.replace("const ", "").strip()
    if array or (type_.startswith("const") and plain.endswith("*") and plain[:-1].strip() in
                 ("int", "MPI_Aint", "MPI_Count", "MPI_Datatype")):
        kind = plain.rstrip(" *")
        room = {"int": "s->ones", "MPI_Aint": "s->aints", "MPI_Count": "s->counts", "MPI_Datatype": "s->types",
                "MPI_Request": "s->requests", "MPI_Status": "s->statuses", "char": "s->buffer"}.get(kind)
        cast = f"({kind} (*){array[array.index(']') + 1:]})" if array.count("[") > 1 else ""
        return (cast + room if room else "(void *)s->buffer"), ["NULL"]
    if plain in HARMLESS:
        return HARMLESS[plain], HANDLES[plain]
    if plain in NULLS:  # made, or changed
        kind = plain[:-2]
        if CHANGED.match(function) or "mrecv" in function.lower() and kind == "MPI_Message":
            return f"&({kind}){{{HARMLESS[kind]}}}", [f"&({kind}){{{v}}}" for v in HANDLES[kind]] + ["NULL"]
        return "MADE", ["NULL"]
    if plain in ("int", "MPI_Count", "MPI_Aint", "MPI_Offset"):
        if name in ("source", "dest", "rank_source", "rank_dest"):
            return "MPI_PROC_NULL", PEERS
        if name == "root":
            return "0", PEERS + ["1", "MPI_PROC_NULL"]
        return ("0" if name in ("tag", "sendtag", "recvtag", "direction", "local_leader", "remote_leader", "rank") else "1"), NUMBERS
    if plain == "MPI_Status *":
        return "&s->status", ["MPI_STATUS_IGNORE"]
    if plain == "char *":
        return ('"word"' if type_.startswith("const") else "s->buffer"), ["NULL"]
    if plain == "int *":
        return "s->ones", ["NULL"]
    if plain == "void *":
        bottom = "alltoallw" in function.lower()  # where displacements may be addresses
        return "s->buffer", ([] if bottom else ["NULL"]) + (["MPI_IN_PLACE"] if "buf" in name and "attach" not in function and
                                        name != "buffer_addr" else [])
    if plain.endswith("_function"):  # MPI_T's, which are no pointers by name
        return "NULL", []
    if plain.endswith("*"):
        return ("NULL" if "function" in plain or plain.count("*") > 1 else f"(void *)s->buffer"), ["NULL"]
    return f"({plain})0", [f"({plain})1"]


def body(function, params):
    """One C function that makes all calls of an MPI function."""
    lists = [values(function, *p) for p in params]
    made = [i for i, (harmless, _) in enumerate(lists) if harmless == "MADE"]
    out = [f"static void try_{function}(state *s)\n{{\n    now_function = \"{function}\";\n"]
    for i in [None] + list(range(len(params))):
        for number, value in enumerate([None] if i is None else lists[i][1]):
            out.append(f"    refresh(s);\n    now_argument = \"{params[i][1] if i is not None else '-'}\", now_value = {number};\n")
            args = []
            for j, (harmless, _) in enumerate(lists):
                word = value if j == i else harmless
                if word == "MADE":
                    kind = params[j][0].strip()
                    out.append(f"    s->made[{made.index(j)}] = (void *)77;\n")
                    word = f"({kind})&s->made[{made.index(j)}]"
                args.append(word)
            out.append(f"    {{\n        int code = {function}({', '.join(args)});\n        now_function = \"{function}\";\n        judge(s, code);\n")
            if function == "MPI_Session_init":  # an open session is a rank that has not ended
                out.append("        if (code == MPI_SUCCESS)\n            MPI_Session_finalize((MPI_Session *)&s->made[0]);\n")
            for j in made:
                if j != i:
                    null = NULLS[params[j][0].strip()]
                    out.append(f"        if (code != MPI_SUCCESS && s->made[{made.index(j)}] != (void *){null})\n"
                               f"            report(s, \"it failed, and {params[j][1]} is not {null}\");\n")
            out.append("    }\n")
    out.append("}\n\n")
    return "".join(out)


def program():
    rows = [line.split("\t") for line in (ROOT / "spec" / "mpi_functions.tsv").read_text().splitlines()[1:]]
    bodies, names = [], []
    for name, _, _, _, kind, signature in rows:
        returns, function, params = split(signature) if "..." not in signature else ("", "", [])
        if kind == "value" or returns != "int" or name[4:] in LEFT_OUT:
            continue
        bodies.append(body(function, params))
        names.append(function)
    calls = "".join(f"    try_{name}(s);\n" for name in names)
    return TOP + "\n" + "".join(bodies) + f"static void sweep(state *s)\n{{\n{calls}}}\n" + BOTTOM, len(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder: bin/mpicc, bin/mpirun (build)")
    parser.add_argument("--keep", help="write the program here, too")
    options = parser.parse_args()
    build, failures, calls = pathlib.Path(options.build).resolve(), 0, 0
    text, functions = program()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(options.keep or f"{folder}/sweep.c")
        source.write_text(text)
        subprocess.run([build / "bin" / "mpicc", "-w", "-O0", "-g0", "-o", f"{folder}/sweep", source], check=True)
        for words in ([], [build / "bin" / "mpirun", "-n", "2"], [build / "bin" / "mpirun", "-nfg", "2"]):
            done = patience.run([*words, f"{folder}/sweep"], 60, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            sums = re.findall(r"^(\d+) calls, 0 failed$", done.stdout, re.M)
            calls += sum(map(int, sums))
            if done.returncode or len(sums) != (2 if words else 1):
                failures += 1
                print(f"FAIL {' '.join(map(str, words))} sweep: exit status {done.returncode}\n" + done.stdout[-4000:])
    print(f"{functions} functions, {calls} calls in 3 runs, {failures} runs failed")
    sys.exit(failures != 0)


main()
