// SPDX-License-Identifier: BSD-3-Clause
#include "boot/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "boot/foreign/adoption.h"
#include "boot/foreign/kvs.h"
#include "os/fd.h"
#include "os/os.h"

_Static_assert(sizeof(mlt_ctl) == 24, "mpirun and the library agree on it");
_Static_assert(sizeof(mlt_ctl_wait) == 96, "mpirun and the library agree on it");
_Static_assert(sizeof(mlt_ctl_call) == MLT_CTL_NAME + 16, "mpirun and the library agree on it");

static const mlt_boot_grain one_rank = {1, 1};

static long number_of(const char *name)
{
    return mlt_launcher_env_number(name);
}

// A number of the environment, 1 if it is none: MPI_Init, which reads all settings, says so.
static uint32_t count_of(const char *variable, long most)
{
    long n = number_of(variable);
    return n >= 1 && n <= most ? (uint32_t)n : 1;
}

mlt_boot_grain mlt_boot_grain_wanted(void)
{
    if (getenv("MILLET_JOB_FD"))
        return (mlt_boot_grain){1, 1};
    return (mlt_boot_grain){.workers = count_of("MILLET_THREADS", MLT_JOB_MAX_WORKERS),
                            .ranks = count_of("MILLET_NFG", MLT_KVS_MOST_RANKS)};
}

static mlt_status check_grain(char *why, size_t why_size)
{
    static const struct {
        const char *name;
        long most;
    } counts[] = {{"MILLET_NFG", MLT_KVS_MOST_RANKS}, {"MILLET_THREADS", MLT_JOB_MAX_WORKERS}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = getenv(counts[i].name);
        long n = number_of(counts[i].name);
        if (!text || (n >= 1 && n <= counts[i].most))
            continue;
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s is '%s', but should be a number from 1 to %ld", counts[i].name, text,
                        counts[i].most);
    }
    return MLT_OK;
}

static mlt_status join_alone(mlt_boot *boot, mlt_boot_grain grain, char *why, size_t why_size)
{
    static const uint32_t zero = 0;
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &grain.workers,
                         .ranks_a_worker = &grain.ranks,
                         .app_of_proc = &zero,
                         .cores = (uint32_t)mlt_os_cores()};
    int fd;
    boot->proc = 0;
    boot->ctl = -1;
    boot->universe = 1;
    mlt_status status = mlt_job_new(&plan, &boot->job, &fd, why, why_size);
    if (!status)
        atomic_store_explicit(&mlt_job_proc_at(boot->job, 0)->pid, (uint32_t)getpid(),
                              memory_order_relaxed);
    return status;
}

// True if mpirun is still there: its end of the control channel is open. For a moment after its
// death a sibling of ours that has not called exec yet may hold that end too; so a launcher that
// cannot be seen gets a few more looks.
static bool launcher_lives(int ctl)
{
    enum { LOOKS = 10, PAUSE_MS = 10 };
    struct pollfd about = {.fd = ctl};
    for (int look = 0; look < LOOKS; look++) {
        if (poll(&about, 1, look ? PAUSE_MS : 0) > 0 &&
            about.revents & (POLLHUP | POLLERR | POLLNVAL))
            return false;
        char state = mlt_os_state_of((pid_t)number_of("MILLET_LAUNCHER"), 0, NULL);
        if (state == 'Z' || state == 'X')
            return false;
        if (state)
            return true;
    }
    return true; // it lives where this process cannot see it
}

static bool is_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static bool is_descendant(pid_t pid, pid_t of)
{
    while (pid > 1 && pid != of)
        (void)mlt_os_state_of(pid, 0, &pid);
    return pid == of;
}

// Takes the place of process `proc` in the job. MLT_ERR_NOT_FOUND: it is taken by a living process.
static mlt_status ctl_take_place(mlt_job *job, long proc, char *why, size_t why_size)
{
    if (proc < 0 || proc >= (long)job->procs)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "MILLET_PROC names no process of this job of %u", job->procs);
    uint32_t holder = 0;
    // relaxed: only the number matters, nothing is published with it.
    if (atomic_compare_exchange_strong_explicit(&mlt_job_proc_at(job, (uint32_t)proc)->pid, &holder,
                                                (uint32_t)getpid(), memory_order_relaxed,
                                                memory_order_relaxed))
        return MLT_OK;
    if (holder != (uint32_t)getpid() && is_descendant((pid_t)holder, getpid()))
        return mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "process %u, which this one started before it called MPI_Init, is an MPI program "
            "too and has taken its place in the job; call MPI_Init first",
            holder);
    if (holder == (uint32_t)getpid() || kill((pid_t)holder, 0) == 0 || errno == EPERM)
        return MLT_ERR_NOT_FOUND;
    return mlt_fail(
        MLT_ERR_INVALID, why, why_size,
        "process %ld of the job has been an MPI program already (pid %u, now gone); a script "
        "under mpirun can run only one, so give each program an mpirun of its own",
        proc, holder);
}

// A rank's descriptors are close-on-exec. So if they are gone, this is a program that a rank
// started, which is a job for itself. But it may also be the rank, started by a wrapper that closed
// them; silence would then make many jobs of one rank. The launcher still has the segment, which
// knows whether the place is taken.
static mlt_status join_without(mlt_boot *boot, long job_fd, char *why, size_t why_size)
{
    char path[64], ignored[256];
    long proc = number_of("MILLET_PROC");
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", number_of("MILLET_LAUNCHER"), job_fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    mlt_job *job = NULL;
    bool lost = false;
    if (fd >= 0 && mlt_job_open(fd, &job, ignored, sizeof ignored) == MLT_OK)
        lost = job->ranks > 1 && proc >= 0 && proc < (long)job->procs &&
               atomic_load_explicit(&mlt_job_proc_at(job, (uint32_t)proc)->pid,
                                    memory_order_relaxed) == 0;
    mlt_job_close(job);
    mlt_os_close(fd);
    if (!lost)
        return join_alone(boot, one_rank, why, why_size);
    return mlt_fail(
        MLT_ERR_INVALID, why, why_size,
        "this program was started by mpirun through a wrapper that closed the descriptors of "
        "MILLET_JOB_FD and MILLET_CTL_FD; let it keep them (Python: "
        "subprocess.run(..., close_fds=False))");
}

// Becomes a process of the job that a launcher of others has started, as if mpirun had: what it
// would have put into the environment is there then. No launcher, or one that has started this
// process only: boot->launcher stays NULL.
static mlt_status join_foreign(mlt_boot *boot, mlt_boot_grain grain, char *why, size_t why_size)
{
    static mlt_launcher launcher;
    mlt_status status = mlt_launcher_find(&launcher, why, why_size);
    if (status || !launcher.protocol)
        return status;
    status = launcher.protocol->open(&launcher, why, why_size);
    if (!status && launcher.size == 1)
        launcher.protocol->close(&launcher);
    if (status || launcher.size == 1)
        return status;
    boot->launcher = &launcher; // also if it fails: the others wait for this process, and shall end
    return mlt_adoption_join(&launcher, grain.workers, grain.ranks, why, why_size);
}

// A program that may spawn gets an agent of its own. If that fails it is alone, and hears why when it
// asks.
static void join_own_agent(mlt_boot *boot, mlt_boot_grain grain)
{
    static mlt_launcher launcher;
    static char why[512];
    if (!mlt_launcher_singleton(&launcher))
        return;
    if (launcher.protocol->open(&launcher, why, sizeof why) == MLT_OK &&
        mlt_adoption_join(&launcher, grain.workers, grain.ranks, why, sizeof why) == MLT_OK)
        boot->launcher = &launcher;
    else
        boot->lonely = why;
}

void mlt_boot_wait_for_debugger(void)
{
    if (!getenv("MILLET_HELD"))
        return;
    mlt_job *job;
    char ignored[256];
    long fd = number_of("MILLET_JOB_FD"), ctl = number_of("MILLET_CTL_FD");
    if (fd < 0 || ctl < 0 || !is_socket((int)ctl) ||
        mlt_job_open((int)fd, &job, ignored, sizeof ignored) != MLT_OK)
        return; // joining says what is wrong, if it is a rank at all
    mlt_ctl held = {.type = MLT_CTL_HELD, .rank = MLT_CTL_NO_RANK};
    if (mlt_ctl_send((int)ctl, &held, NULL) == MLT_OK)
        mlt_job_debug_gate_wait(job);
    mlt_job_close(job);
}

mlt_status mlt_boot_join(mlt_boot *boot, char *why, size_t why_size)
{
    *boot = (mlt_boot){.ctl = -1};
    if (!getenv("MILLET_JOB_FD")) {
        mlt_boot_grain grain = mlt_boot_grain_wanted();
        mlt_status status = check_grain(why, why_size);
        if (!status)
            status = join_foreign(boot, grain, why, why_size);
        if (!status && !boot->launcher)
            join_own_agent(boot, grain);
        if (status || !boot->launcher)
            return status ? status : join_alone(boot, grain, why, why_size);
    }
    long job_fd = number_of("MILLET_JOB_FD"), ctl = number_of("MILLET_CTL_FD");
    if (job_fd < 0 || ctl < 0 || !is_socket((int)ctl))
        return join_without(boot, job_fd, why, why_size);
    mlt_status status = mlt_job_open((int)job_fd, &boot->job, why, why_size);
    if (status == MLT_ERR_NOT_FOUND)
        return join_without(boot, job_fd, why, why_size);
    if (status)
        return status;
    long proc = number_of("MILLET_PROC");
    status = ctl_take_place(boot->job, proc, why, why_size);
    if (status) {
        mlt_job_close(boot->job);
        boot->job = NULL;
        return status == MLT_ERR_NOT_FOUND ? join_alone(boot, one_rank, why, why_size) : status;
    }
    if (mlt_job_protect_head(boot->job) != MLT_OK)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                        "the head of the job's segment cannot be protected: %s", strerror(errno));
    long universe = number_of("MILLET_UNIVERSE");
    bool single = mlt_launcher_is_single(boot->launcher);
    int otherwise = single ? mlt_os_cores() : (int)boot->job->ranks;
    boot->universe = universe > 0 && universe <= INT32_MAX ? (int)universe : otherwise;
    const char *parent = getenv("MILLET_PARENT");
    boot->parent = parent && *parent ? strdup(parent) : NULL; // lives as long as the process
    boot->proc = (uint32_t)proc;
    boot->ctl = (int)ctl;
    (void)fcntl((int)ctl, F_SETFD, FD_CLOEXEC);
    (void)fcntl((int)job_fd, F_SETFD, FD_CLOEXEC);
    // If the parent ended just before, no signal comes; but then mpirun is gone or about to kill
    // what is left.
    if (!single) // whose parent may be a shell that somebody leaves
        mlt_os_die_with_parent();
    // Those of mpirun are its descendants; whose the others are, nobody knows.
    mlt_os_let_peers_in(boot->launcher ? MLT_OS_ANYBODY : (pid_t)boot->job->launcher);
    if (!launcher_lives(boot->ctl))
        mlt_leave(128 + SIGKILL);
    mlt_ctl hello = {.type = MLT_CTL_HELLO, .rank = MLT_CTL_NO_RANK, .value = getpid()};
    return mlt_ctl_send(boot->ctl, &hello, NULL);
}

mlt_status mlt_ctl_send(int ctl, const mlt_ctl *head, const void *body)
{
    if (ctl < 0)
        return MLT_ERR_CLOSED;
    struct iovec parts[2] = {
        {.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof *head},
        {.iov_base = (void *)(uintptr_t)body, .iov_len = head->length},
    };
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = head->length ? 2 : 1};
    int saved = errno; // a signal handler may call this
    ssize_t n;
    do
        n = sendmsg(ctl, &packet, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    mlt_status status = n >= 0                                  ? MLT_OK
                        : errno == EPIPE || errno == ECONNRESET ? MLT_ERR_CLOSED
                                                                : MLT_ERR_SYSTEM;
    errno = saved;
    return status;
}

// ---- connections

static ssize_t send_with(int ctl, const mlt_ctl *head, const void *body, int fd, bool waits)
{
    struct iovec parts[2] = {{.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof *head},
                             {.iov_base = (void *)(uintptr_t)body, .iov_len = head->length}};
    return mlt_os_send_with(ctl, parts, head->length ? 2 : 1, fd, waits);
}

mlt_status mlt_ctl_send_with(int ctl, const mlt_ctl *head, const void *body, int fd)
{
    if (ctl < 0)
        return MLT_ERR_CLOSED;
    return send_with(ctl, head, body, fd, true) >= 0 ? MLT_OK
           : errno == EPIPE || errno == ECONNRESET   ? MLT_ERR_CLOSED
                                                     : MLT_ERR_SYSTEM;
}

mlt_status mlt_ctl_give_link(int ctl, const mlt_ctl_link *link, int fd)
{
    mlt_ctl head = {
        .type = MLT_CTL_LINK, .rank = MLT_CTL_NO_RANK, .value = link->proc, .length = sizeof *link};
    ssize_t n = send_with(ctl, &head, link, fd, false);
    return n >= 0                                     ? MLT_OK
           : errno == EAGAIN || errno == ETOOMANYREFS ? MLT_PENDING
           : errno == EPIPE || errno == ECONNRESET    ? MLT_ERR_CLOSED
                                                      : MLT_ERR_SYSTEM;
}

mlt_status mlt_ctl_take_link(int ctl, mlt_ctl_link *link, int *fd)
{
    *fd = -1;
    if (ctl < 0)
        return MLT_ERR_CLOSED;
    mlt_ctl head;
    struct iovec parts[2] = {{.iov_base = &head, .iov_len = sizeof head},
                             {.iov_base = link, .iov_len = sizeof *link}};
    ssize_t n = mlt_os_receive_with(ctl, parts, 2, fd);
    if (n <= 0)
        return n < 0 && errno == EAGAIN ? MLT_PENDING : MLT_ERR_CLOSED;
    if (n == (ssize_t)(sizeof head + sizeof *link) && head.type == MLT_CTL_LINK && *fd >= 0)
        return MLT_OK;
    mlt_os_close_once(fd);
    return MLT_ERR_SYSTEM;
}

void mlt_ctl_end_mark(unsigned char mark[MLT_CTL_END_MARK])
{
    enum { KIND_AT = 5, END = 4, FLAGS_AT = 13, ALL_CAME = 1 };
    memset(mark, 0, MLT_CTL_END_MARK);
    mark[KIND_AT] = END;
    mark[FLAGS_AT] = ALL_CAME;
}
