// SPDX-License-Identifier: BSD-3-Clause
// Other programs, and folders for what they leave.
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/flow/make.h"

// What mlt_flow_temporary has made, and what is removed at exit.
static char temporary[2][PATH_MAX];

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)remove(path);
    return 0;
}

static void remove_temporary(void)
{
    for (int i = 0; i < 2 && *temporary[i]; i++)
        nftw(temporary[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *mlt_flow_temporary(void)
{
    const char *where = getenv("TMPDIR");
    char *path = temporary[*temporary[0] != '\0'];
    if (!where || !*where)
        where = "/tmp";
    int n = snprintf(path, PATH_MAX, "%s/millet-flow-XXXXXX", where);
    if (n >= PATH_MAX || !mkdtemp(path))
        mlt_args_failed("no temporary folder can be made in '%s': %s", where,
                        n >= PATH_MAX ? "its name is too long" : strerror(errno));
    if (path == temporary[0])
        atexit(remove_temporary);
    return path;
}

// The child, for the handler; 0: none.
static volatile sig_atomic_t child;

static void pass_on(int signal_number)
{
    if (child > 0)
        kill((pid_t)child, signal_number);
}

int mlt_flow_execute(char *const *argv, int err_fd)
{
    // A terminal sends Ctrl-C to the child too; others send SIGTERM to this process alone.
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    enum { SIGNALS = sizeof signals / sizeof *signals };
    struct sigaction old[SIGNALS], passes = {.sa_handler = pass_on};
    sigset_t all, before;
    sigemptyset(&all);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&all, signals[i]);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (err_fd >= 0)
            dup2(err_fd, STDERR_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    int status = -1;
    if (pid > 0) {
        child = pid;
        for (int i = 0; i < SIGNALS; i++) {
            sigaction(signals[i], NULL, &old[i]);
            if (old[i].sa_handler != SIG_IGN)
                sigaction(signals[i], &passes, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        mlt_args_failed("'%s' cannot be started: %s", argv[0], strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &old[i], NULL);
    return status;
}
