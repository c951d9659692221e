// SPDX-License-Identifier: BSD-3-Clause
#include "launch/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/say.h"
#include "os/fd.h"

typedef enum spawn_step { STEP_NONE, STEP_STREAM, STEP_DIR, STEP_EXEC } spawn_step;

// Written by the child while it shares our memory.
static struct {
    spawn_step step;
    int error;
} failure;

static struct {
    sigset_t mask;
    struct sigaction pipe;
    struct rlimit files;
} origin;

static const int watched[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

// Our own descriptors must not take the numbers of standard streams that the caller has closed.
static void fill_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    mlt_os_close(fd);
}

void mlt_spawn_prepare(sigset_t *blocked)
{
    fill_streams();
    sigemptyset(blocked);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction now;
        // What the caller ignores (nohup, a shell's background job) stays ignored; a report is
        // always at hand.
        if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN &&
            watched[i] != SIGQUIT && watched[i] != SIGCHLD)
            continue;
        sigaddset(blocked, watched[i]);
    }
    (void)signal(SIGCHLD, SIG_DFL); // ignored, it would hide how ranks ended
    (void)signal(SIGXFSZ, SIG_IGN); // a small limit of file sizes comes as an error code instead
    (void)sigprocmask(SIG_BLOCK, blocked, &origin.mask);
    // Blocked, it lets mpirun write to a terminal whose foreground another group is.
    sigset_t terminal;
    sigemptyset(&terminal);
    sigaddset(&terminal, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &terminal, NULL);
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &origin.pipe);
    (void)getrlimit(RLIMIT_NOFILE, &origin.files);
    struct rlimit most = {origin.files.rlim_max, origin.files.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

int mlt_spawn_signal_fd(const sigset_t *blocked)
{
    int fd = signalfd(-1, blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "cannot watch signals: %s", mlt_os_no_descriptor(errno));
    return fd;
}

void mlt_spawn_restore(int signal_fd)
{
    // What has come so far was meant for the job; only what comes now is for mpirun itself.
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) > 0)
        ;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static _Noreturn void spawn_fail(spawn_step at, int error)
{
    failure.step = at;
    failure.error = error;
    _exit(at == STEP_EXEC && error == ENOENT ? MLT_EXIT_NOT_FOUND : MLT_EXIT_NOT_EXECUTABLE);
}

// Expands %p and %%; everything else is copied. No library call that could take a lock.
static int open_file(const char *pattern, bool append)
{
    static char path[PATH_MAX];
    size_t n = 0;
    for (const char *at = pattern; *at && n + 24 < sizeof path; at++) {
        if (at[0] == '%' && at[1] == 'p') {
            char digits[24];
            int count = 0;
            for (unsigned pid = (unsigned)getpid(); pid; pid /= 10)
                digits[count++] = (char)('0' + pid % 10);
            while (count)
                path[n++] = digits[--count];
            at++;
        } else {
            path[n++] = *at;
            at += at[0] == '%' && at[1] == '%';
        }
    }
    path[n] = '\0';
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
}

// A descriptor that has the number already would be closed: dup2 does nothing then.
static void inherit(int fd, int as)
{
    if (fd == as)
        (void)fcntl(fd, F_SETFD, 0);
    else if (dup2(fd, as) < 0)
        spawn_fail(STEP_STREAM, errno);
}

static void set_stream(const mlt_spawn_stream *stream, int as)
{
    int fd = stream->fd;
    if (stream->file) {
        fd = open_file(stream->file, stream->append);
        if (fd < 0)
            spawn_fail(STEP_STREAM, errno);
    }
    if (fd >= 0)
        inherit(fd, as);
}

// Runs in the child, on mpirun's memory: it must change nothing there but `failure` and `path`.
static _Noreturn void spawn_child(const mlt_spawn *s, pid_t launcher)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(128 + SIGKILL); // mpirun ended before the line above
    if (s->session)
        (void)setsid();
    else if (s->group != getpgrp())
        (void)setpgid(0, s->group);
    for (int i = 0; i < 3; i++)
        set_stream(&s->streams[i], i);
    if (s->merge)
        (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    if (s->job_fd >= 0)
        (void)fcntl(s->job_fd, F_SETFD, 0);
    if (s->ctl_fd >= 0)
        inherit(s->ctl_fd, s->ctl_as);
    if (s->dir && chdir(s->dir) != 0)
        spawn_fail(STEP_DIR, errno);
    if (s->cpus)
        (void)sched_setaffinity(0, sizeof *s->cpus, (const cpu_set_t *)s->cpus);
    (void)setrlimit(RLIMIT_NOFILE, &origin.files);
    // Ctrl-\ asks mpirun for a report: it must not end the ranks. Dispositions are the child's own,
    // memory is not.
    (void)sigaction(SIGQUIT, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    (void)sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)sigaction(SIGPIPE, &origin.pipe, NULL);
    (void)sigprocmask(SIG_SETMASK, &origin.mask, NULL);
    execve(s->path, s->argv, s->env);
    spawn_fail(STEP_EXEC, errno);
}

static bool is_elf(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, magic, sizeof magic);
    mlt_os_close(fd);
    return n == (ssize_t)sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
}

static pid_t spawn_start(const mlt_spawn *spawn)
{
    pid_t launcher = getpid();
    failure.step = STEP_NONE;
    pid_t pid = vfork();
    if (pid == 0)
        spawn_child(spawn, launcher);
    return pid;
}

// As execvp does: a file that is neither a program nor names its interpreter is for the shell.
static pid_t start_by_shell(const mlt_spawn *spawn)
{
    size_t n = 0;
    while (spawn->argv[n])
        n++;
    char **argv = mlt_xcalloc(n + 2, sizeof *argv);
    static char shell[] = "sh";
    argv[0] = shell;
    argv[1] = (char *)(size_t)spawn->path;
    memcpy(argv + 2, spawn->argv + 1, n * sizeof *argv);
    mlt_spawn by_shell = *spawn;
    by_shell.path = "/bin/sh";
    by_shell.argv = argv;
    return spawn_start(&by_shell); // argv is small, and mpirun is about to wait: not freed
}

pid_t mlt_spawn_start(const mlt_spawn *spawn, int *code, char *why, size_t why_size)
{
    pid_t pid = spawn_start(spawn);
    if (pid > 0 && failure.step == STEP_EXEC && failure.error == ENOEXEC && !is_elf(spawn->path))
        pid = start_by_shell(spawn);
    if (pid > 0 && failure.step == STEP_NONE)
        return pid;
    *code = MLT_EXIT_SYSTEM;
    if (pid < 0) {
        snprintf(why, why_size,
                 "no more processes can be started (%s); see `ulimit -u`, or the limit of "
                 "processes of the container",
                 strerror(errno));
    } else if (failure.step == STEP_DIR) {
        *code = MLT_EXIT_USAGE;
        snprintf(why, why_size, "working directory '%s': %s", spawn->dir, strerror(failure.error));
    } else if (failure.step == STEP_STREAM) {
        const char *file = spawn->streams[1].file ? spawn->streams[1].file : spawn->streams[2].file;
        snprintf(why, why_size, "output file '%s' cannot be opened: %s", file ? file : "(pipe)",
                 strerror(failure.error));
    } else {
        *code = failure.error == ENOENT ? MLT_EXIT_NOT_FOUND : MLT_EXIT_NOT_EXECUTABLE;
        snprintf(why, why_size, "program '%s' cannot be executed: %s%s", spawn->argv[0],
                 strerror(failure.error),
                 failure.error == ENOENT    ? "; the interpreter that it names is not there"
                 : failure.error == ENOEXEC ? "; it is made for another processor"
                                            : "");
    }
    return -1;
}
