// SPDX-License-Identifier: BSD-3-Clause
// Ways out of the process that are not exit (entry.c). Where several ranks share it, _exit, _Exit
// and quick_exit end the calling rank, as exit does. exec would replace all ranks, so it ends the
// job with a message. A rank that leaves by a bare system call takes the process along, and the
// launcher misses the others (MLT_CTL_DONE).
#include <alloca.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/export.h"
#include "base/log.h"
#include "fiber/sanitize.h"
#include "host/entry.h"
#include "host/fork.h"
#include "host/libc/environ.h"
#include "host/libc/libc.h"
#include "host/libc/signals.h"

// A handler may have interrupted anything, so the rank cannot end in it: the process does, and the
// launcher misses its other ranks.
#if !defined(MLT_SANITIZE_ADDRESS) && !defined(MLT_SANITIZE_THREAD)

static bool in_handler(void)
{
    return mlt_signals_inside();
}

#else // handlers are the system's: a mask that is not the usual one tells them

static sigset_t usual_mask; // of the program's first thread, and so of all workers'

__attribute__((constructor)) static void note_mask(void)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, &usual_mask);
}

static bool in_handler(void)
{
    sigset_t now;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signal = 1; signal < NSIG; signal++)
        if (sigismember(&now, signal) != sigismember(&usual_mask, signal))
            return true;
    return false;
}

#endif

MLT_INTERPOSE _Noreturn void _exit(int status)
{
    if (!in_handler())
        mlt_entry_leave(status, "_exit", MLT_END_AT_ONCE);
    mlt_leave(status);
}

MLT_INTERPOSE _Noreturn void _Exit(int status)
{
    if (!in_handler())
        mlt_entry_leave(status, "_Exit", MLT_END_AT_ONCE);
    mlt_leave(status);
}

MLT_INTERPOSE _Noreturn void quick_exit(int status)
{
    if (!in_handler())
        mlt_entry_leave(status, "quick_exit", MLT_END_QUICK);
    MLT_LIBC(quick_exit)(status);
    mlt_leave(status);
}

// ---- exec

MLT_INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
    mlt_entry_refuse_exec("execve");
    return MLT_LIBC(execve)(path, argv, envp);
}

MLT_INTERPOSE int execv(const char *path, char *const argv[])
{
    mlt_entry_refuse_exec("execv");
    return MLT_LIBC(execve)(path, argv, mlt_environ());
}

// libc looks for the file where the environment of the process says, which in a child is the rank's.
static char **environ_for_path(void)
{
    if (mlt_fork_is_child())
        environ = mlt_environ();
    return mlt_environ();
}

MLT_INTERPOSE int execvp(const char *file, char *const argv[])
{
    mlt_entry_refuse_exec("execvp");
    return MLT_LIBC(execvpe)(file, argv, environ_for_path());
}

MLT_INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
    mlt_entry_refuse_exec("execvpe");
    (void)environ_for_path();
    return MLT_LIBC(execvpe)(file, argv, envp);
}

MLT_INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
    mlt_entry_refuse_exec("fexecve");
    return MLT_LIBC(fexecve)(fd, argv, envp);
}

MLT_INTERPOSE int execveat(int dir, const char *path, char *const argv[], char *const envp[],
                           int flags)
{
    mlt_entry_refuse_exec("execveat");
    return MLT_LIBC(execveat)(dir, path, argv, envp, flags);
}

static size_t count_words(va_list words)
{
    size_t n = 1;
    while (va_arg(words, char *))
        n++;
    return n;
}

// The words of execl and its like, with the one that ends them. On the stack: the child of a vfork
// may come here.
#define TAKE_WORDS(argv, first)                                                                    \
    va_list counted, words;                                                                        \
    va_start(counted, first);                                                                      \
    size_t count = count_words(counted);                                                           \
    va_end(counted);                                                                               \
    char **argv = alloca((count + 1) * sizeof *argv);                                              \
    argv[0] = (char *)(uintptr_t)(first);                                                          \
    va_start(words, first);                                                                        \
    for (size_t i = 1; i <= count; i++)                                                            \
    argv[i] = va_arg(words, char *)

MLT_INTERPOSE int execl(const char *path, const char *first, ...)
{
    TAKE_WORDS(argv, first);
    va_end(words);
    mlt_entry_refuse_exec("execl");
    return MLT_LIBC(execve)(path, argv, mlt_environ());
}

MLT_INTERPOSE int execlp(const char *file, const char *first, ...)
{
    TAKE_WORDS(argv, first);
    va_end(words);
    mlt_entry_refuse_exec("execlp");
    return MLT_LIBC(execvpe)(file, argv, environ_for_path());
}

MLT_INTERPOSE int execle(const char *path, const char *first, ...)
{
    TAKE_WORDS(argv, first);
    char *const *envp = va_arg(words, char *const *);
    va_end(words);
    mlt_entry_refuse_exec("execle");
    return MLT_LIBC(execve)(path, argv, envp);
}
