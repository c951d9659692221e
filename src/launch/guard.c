// SPDX-License-Identifier: BSD-3-Clause
#include "launch/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/hosts/stage.h"
#include "launch/mpir.h"
#include "launch/say.h"
#include "launch/sweep.h"
#include "os/fd.h"

enum { PASSED_ON = 0x6d6c74, FROM_KEYBOARD = 1 << 30 };

static void guard_pass_on(pid_t watcher, const siginfo_t *info)
{
    bool keyboard = info->si_code == SI_KERNEL;
    union sigval note = {.sival_int = PASSED_ON | (keyboard ? FROM_KEYBOARD : 0)};
    (void)sigqueue(watcher, info->si_signo, note);
}

bool mlt_guard_from_keyboard(const struct signalfd_siginfo *info)
{
    return info->ssi_code == SI_KERNEL ||
           (info->ssi_code == SI_QUEUE && info->ssi_int == (PASSED_ON | FROM_KEYBOARD));
}

static const char *folder_to_remove = "";

void mlt_guard_remove_folder(const char *folder)
{
    folder_to_remove = folder;
}

// Ends the guard as the watcher ended.
static _Noreturn void end_like(int status)
{
    mlt_sweep(); // the watcher has done so, unless it ended early
    mlt_stage_folder_remove(folder_to_remove);
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    int signal_number = WTERMSIG(status);
    if (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP) {
        sigset_t set; // it came through us when nothing but output was left
        sigemptyset(&set);
        sigaddset(&set, signal_number);
        (void)raise(signal_number);
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    } else {
        mlt_say("the process that watched the job was killed by signal %d (%s); the job was ended",
                signal_number, strsignal(signal_number));
        mlt_say_finish(-1);
    }
    _exit(128 + signal_number);
}

static void look_at_children(pid_t watcher, mlt_guard_of of)
{
    int status, stops = of == MLT_GUARD_AGENT ? 0 : WUNTRACED;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | stops)) > 0) {
        if (pid != watcher)
            continue; // what the watcher left behind
        if (!WIFSTOPPED(status))
            end_like(status);
        (void)raise(SIGSTOP); // until SIGCONT
        (void)kill(watcher, SIGCONT);
    }
}

static _Noreturn void guard(pid_t watcher, const sigset_t *blocked, mlt_guard_of of, int fd)
{
    siginfo_t info;
    mlt_say_to(NULL, NULL); // who listens to the watcher does not listen to this process
    for (;;) {
        if (sigwaitinfo(blocked, &info) < 0)
            continue;
        if (info.si_signo == SIGCHLD) {
            look_at_children(watcher, of);
            mlt_mpir_look(fd);
        } else if (of != MLT_GUARD_TERMINAL || info.si_code != SI_KERNEL)
            guard_pass_on(watcher, &info);
    }
}

static pid_t guard_pid;

// A guard that SIGCONT has reached before the watcher finds it stopped, and stops again. It must not
// stay so for ever.
static void wake_guard(void)
{
    if (getppid() == guard_pid)
        (void)kill(guard_pid, SIGCONT);
}

void mlt_guard_split(mlt_guard *g, const sigset_t *blocked, mlt_guard_of of)
{
    int ends[2];
    *g = (mlt_guard){.fd = -1, .group = getpgrp()};
    if (pipe2(ends, O_CLOEXEC) != 0)
        mlt_quit(MLT_EXIT_SYSTEM, "no more descriptors: %s", mlt_os_no_descriptor(errno));
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)fflush(NULL);
    guard_pid = getpid();
    pid_t watcher = fork();
    if (watcher < 0)
        mlt_quit(MLT_EXIT_SYSTEM,
                 "no more processes can be started (%s); see `ulimit -u`, or the limit of "
                 "processes of the container",
                 strerror(errno));
    if (watcher > 0) {
        close(ends[0]);
        guard(watcher, blocked, of, ends[1]);
    }
    close(ends[1]);
    g->fd = ends[0];
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_NAME, "millet-watch");
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT); // a stopped watcher must see the pipe, too
    (void)atexit(wake_guard);
    if (of != MLT_GUARD_TERMINAL)
        (void)setpgid(0, 0);
}
