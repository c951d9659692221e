// SPDX-License-Identifier: BSD-3-Clause
// Counts instructions: runs a program step by step between its marks, and tells how many each part took.
//
//     step COUNTS program [argument...]
//
// A mark is a breakpoint instruction in the program (mark.h). The first begins a part, the second ends it,
// and so on. For each part the file COUNTS, with the number of this process behind its name, gets a line `part N`,
// then a line `COUNT FILE OFFSET` for each address that ran. Only the thread that has met the mark runs step by
// step. The exit status is the program's; 2 if it cannot be traced.
//
// The processor's own counter would be faster, but few virtual machines have one. Steps are the same in every run.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE = 1 << 16 }; // addresses of a part; a power of two

typedef struct seen {
    uint64_t address, count;
} seen;

static seen table[TABLE];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
    exit(2);
}

#if defined(__aarch64__)
enum { MARK_BYTES = 4, MARK_BEHIND = 0 }; // it stops at a breakpoint
typedef struct user_regs_struct registers;
#define COUNTER(r) ((r)->pc)
#else
enum { MARK_BYTES = 1, MARK_BEHIND = 1 }; // it stops behind a breakpoint
typedef struct user_regs_struct registers;
#define COUNTER(r) ((r)->rip)
#endif

static registers get(pid_t thread)
{
    registers r;
    struct iovec all = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all))
        fail("the registers cannot be read");
    return r;
}

static void set(pid_t thread, registers r)
{
    struct iovec all = {&r, sizeof r};
    if (ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all))
        fail("the registers cannot be written");
}

static void note(uint64_t address)
{
    for (uint64_t i = address * 0x9E3779B97F4A7C15 >> 48;; i++) {
        seen *s = &table[i % TABLE];
        if (s->count && s->address != address)
            continue;
        s->address = address;
        s->count++;
        return;
    }
}

// Whether the thread stands at a mark; then it steps over.
static int at_mark(pid_t thread, registers *r)
{
    uint64_t at = COUNTER(r) - MARK_BEHIND;
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, thread, (void *)at, 0);
    if (errno)
        return 0;
#if defined(__aarch64__)
    if ((uint32_t)word != 0xd4200000 + (0x4d4c << 5)) // brk #0x4d4c
        return 0;
    COUNTER(r) += MARK_BYTES;
    set(thread, *r);
    return 1;
#else
    return (word & 0xff) == 0xcc;
#endif
}

static void add_place(FILE *out, FILE *maps, seen s)
{
    char line[4096], path[4096] = "?";
    uint64_t from, to, offset, shift = 0;
    rewind(maps);
    while (fgets(line, sizeof line, maps)) {
        char name[4096] = "?";
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &from, &to, &offset, name) < 3 ||
            s.address < from || s.address >= to)
            continue;
        strcpy(path, name);
        shift = s.address - from + offset;
    }
    fprintf(out, "%lu %s %lx\n", s.count, path, shift);
}

static void tell(FILE *out, pid_t process, int part)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/maps", process);
    FILE *maps = fopen(name, "r");
    if (!maps)
        fail(name);
    fprintf(out, "part %d\n", part);
    for (int i = 0; i < TABLE; i++)
        if (table[i].count)
            add_place(out, maps, table[i]);
    fclose(maps);
    memset(table, 0, sizeof table);
}

// Steps from mark to mark. False: the thread has ended.
static int step_part(pid_t thread, int *status)
{
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, thread, 0, 0))
            fail("it cannot run step by step");
        if (waitpid(thread, status, __WALL) < 0)
            fail("waitpid");
        if (!WIFSTOPPED(*status))
            return 0;
        registers r = get(thread);
        if (WSTOPSIG(*status) != SIGTRAP)
            continue; // a timer's or another's: not now
        siginfo_t info;
        if (ptrace(PTRACE_GETSIGINFO, thread, 0, &info) == 0 && info.si_code != TRAP_TRACE &&
            info.si_code != TRAP_HWBKPT && at_mark(thread, &r))
            return 1;
        note(COUNTER(&r));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "step: use: step COUNTS program [argument...]\n");
        return 2;
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[1], getpid());
    FILE *out = fopen(name, "w");
    if (!out)
        fail(name);
    pid_t process = fork();
    if (process == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            fail("this system does not let a process be traced");
        execvp(argv[2], argv + 2);
        fail(argv[2]);
    }
    int status, part = 0;
    if (waitpid(process, &status, 0) < 0)
        fail("waitpid");
    if (!WIFSTOPPED(status))
        return 2;
    ptrace(PTRACE_SETOPTIONS, process, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
    ptrace(PTRACE_CONT, process, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0)
            fail("waitpid");
        if (thread == process && !WIFSTOPPED(status))
            break;
        if (!WIFSTOPPED(status))
            continue;
        int signal = WSTOPSIG(status);
        registers r = get(thread);
        if (status >> 16 || signal == SIGSTOP) {
            signal = 0; // a new thread
        } else if (signal == SIGTRAP && at_mark(thread, &r)) {
            if (!step_part(thread, &status))
                continue;
            tell(out, process, part++);
            signal = 0;
        }
        ptrace(PTRACE_CONT, thread, 0, signal);
    }
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
