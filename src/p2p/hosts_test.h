// SPDX-License-Identifier: BSD-3-Clause
// A job over several hosts, all of them on this machine: a segment a host, processes by fork, workers
// as threads. The test itself plays the agents: whenever a process wants a connection, it makes one
// and hands both ends out.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "boot/ctl.h"
#include "os/os.h"
#include "p2p/job_test.h"

enum {
    HOSTS_MOST = 4,
    PROCS_MOST = 16,
    HOSTS_LIMIT_MS = 120000, // what takes as long hangs, also on a slow machine
};

typedef struct hosts_shape {
    uint32_t hosts, procs, workers, ranks; // procs: of a host; workers: of a process; ranks: of one
} hosts_shape;

typedef struct hosts_proc {
    pid_t pid;
    int ctl;    // the agent's end; -1: it has ended
    int status; // of its end
} hosts_proc;

typedef struct hosts_job {
    hosts_shape shape;
    uint32_t procs;
    mlt_job *job[HOSTS_MOST];
    int fd[HOSTS_MOST];
    hosts_proc proc[PROCS_MOST];
    int listener;
    bool encrypts;
    uint32_t late_ms;               // all workers but a process's first one begin so much later
    uint32_t links;                 // made
    uint32_t lost;                  // connections that a process reported
    char why[256];                  // the last of these
    void (*linked)(int *a, int *b); // what the test does with both ends before they are given
} hosts_job;

static inline uint32_t hosts_host_of(const hosts_job *j, uint32_t proc)
{
    return proc / j->shape.procs;
}

static inline void hosts_segments(hosts_job *j)
{
    uint32_t workers[PROCS_MOST], ranks[PROCS_MOST], apps[PROCS_MOST], hosts[PROCS_MOST];
    j->procs = j->shape.hosts * j->shape.procs;
    CHECK(j->procs <= PROCS_MOST && j->shape.hosts <= HOSTS_MOST);
    for (uint32_t p = 0; p < j->procs; p++) {
        workers[p] = j->shape.workers;
        ranks[p] = j->shape.ranks;
        apps[p] = 0;
        hosts[p] = hosts_host_of(j, p);
    }
    for (uint32_t h = 0; h < j->shape.hosts; h++) {
        mlt_job_plan plan = {.procs = j->procs,
                             .workers_of_proc = workers,
                             .ranks_a_worker = ranks,
                             .app_of_proc = apps,
                             .host_of_proc = hosts,
                             .hosts = j->shape.hosts,
                             .host = h,
                             .identity = 1,
                             .cores = 2,
                             .launched = true};
        char why[256];
        if (mlt_job_new(&plan, &j->job[h], &j->fd[h], why, sizeof why)) {
            fprintf(stderr, "%s\n", why);
            exit(1);
        }
    }
}

// A process: its workers, to their end.
static inline _Noreturn void hosts_process(hosts_job *j, uint32_t proc, int ctl,
                                           void (*entry)(void *rank), void (*ends)(mlt_worker *))
{
    mlt_job *job = j->job[hosts_host_of(j, proc)];
    const mlt_job_proc *own = mlt_job_proc_at(job, proc);
    test_worker of[TEST_WORKERS];
    CHECK(own->workers <= TEST_WORKERS);
    for (uint32_t i = 0; i < own->workers; i++) {
        of[i] = (test_worker){.boot = {.job = job, .proc = proc, .ctl = ctl},
                              .worker = own->first_worker + i,
                              .fibers = own->ranks,
                              .entry = entry,
                              .ends = ends,
                              .late_ms = i ? j->late_ms : 0};
        if (i)
            CHECK(pthread_create(&of[i].thread, NULL, test_worker_main, &of[i]) == 0);
    }
    test_worker_main(&of[0]);
    for (uint32_t i = 1; i < own->workers; i++)
        CHECK(pthread_join(of[i].thread, NULL) == 0);
    exit(0);
}

static inline void hosts_begin(hosts_job *j, void (*entry)(void *rank), void (*ends)(mlt_worker *))
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    j->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(j->listener, (struct sockaddr *)&here, sizeof here) == 0 &&
          listen(j->listener, 64) == 0);
    hosts_segments(j);
    int theirs[PROCS_MOST];
    for (uint32_t p = 0; p < j->procs; p++) {
        int ends2[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends2) == 0);
        j->proc[p].ctl = ends2[0];
        theirs[p] = ends2[1];
    }
    fflush(NULL);
    for (uint32_t p = 0; p < j->procs; p++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            for (uint32_t q = 0; q < j->procs; q++) {
                close(j->proc[q].ctl);
                if (q != p)
                    close(theirs[q]);
            }
            close(j->listener);
            hosts_process(j, p, theirs[p], entry, ends);
        }
        j->proc[p].pid = pid;
    }
    for (uint32_t p = 0; p < j->procs; p++)
        close(theirs[p]);
}

static inline void hosts_give(hosts_job *j, uint32_t to, uint32_t other, int fd, bool first,
                              const uint8_t keys[2][32])
{
    mlt_ctl_link link = {.proc = other, .encrypts = j->encrypts};
    if (j->encrypts) {
        memcpy(link.send_key, keys[!first], 32);
        memcpy(link.receive_key, keys[first], 32);
    }
    if (j->proc[to].ctl >= 0 && mlt_ctl_give_link(j->proc[to].ctl, &link, fd) == MLT_OK)
        mlt_job_link_came(j->job[hosts_host_of(j, to)], to);
    close(fd);
}

// A connection between these processes; each may have asked for one.
static inline void hosts_connect(hosts_job *j, uint32_t a, uint32_t b)
{
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    uint8_t keys[2][32];
    for (int i = 0; i < 64; i++)
        keys[i / 32][i % 32] = (uint8_t)(i * 7 + (int)j->links);
    CHECK(getsockname(j->listener, (struct sockaddr *)&to, &size) == 0);
    int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(one, (struct sockaddr *)&to, sizeof to) == 0);
    int two = accept4(j->listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(two >= 0);
    j->links++;
    if (j->linked)
        j->linked(&one, &two);
    hosts_give(j, a, b, one, true, (const uint8_t(*)[32])keys);
    hosts_give(j, b, a, two, false, (const uint8_t(*)[32])keys);
}

static inline void hosts_hear(hosts_job *j, uint32_t proc)
{
    struct {
        mlt_ctl head;
        char body[MLT_CTL_MAX_BODY];
    } packet;
    ssize_t n = recv(j->proc[proc].ctl, &packet, sizeof packet, 0);
    if (n <= 0) {
        close(j->proc[proc].ctl);
        j->proc[proc].ctl = -1;
        CHECK(waitpid(j->proc[proc].pid, &j->proc[proc].status, 0) == j->proc[proc].pid);
        return;
    }
    CHECK(n >= (ssize_t)sizeof packet.head);
    if (packet.head.type == MLT_CTL_WANT)
        hosts_connect(j, proc, (uint32_t)packet.head.value);
    if (packet.head.type == MLT_CTL_LOST) {
        j->lost++;
        snprintf(j->why, sizeof j->why, "%.*s", (int)packet.head.length, packet.body);
    }
}

// Serves the processes until all have ended, or for that time. True: all have ended.
static inline bool hosts_serve(hosts_job *j, int64_t timeout_ms)
{
    uint64_t until = mlt_os_now_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        struct pollfd fds[PROCS_MOST];
        uint32_t of[PROCS_MOST];
        nfds_t n = 0;
        for (uint32_t p = 0; p < j->procs; p++)
            if (j->proc[p].ctl >= 0) {
                of[n] = p;
                fds[n++] = (struct pollfd){.fd = j->proc[p].ctl, .events = POLLIN};
            }
        uint64_t now = mlt_os_now_ns();
        if (n == 0)
            return true;
        if (now >= until)
            return false;
        CHECK(poll(fds, n, (int)((until - now) / 1000000) + 1) >= 0 || errno == EINTR);
        for (nfds_t i = 0; i < n; i++)
            if (fds[i].revents)
                hosts_hear(j, of[i]);
    }
}

static inline void hosts_end(hosts_job *j)
{
    for (uint32_t h = 0; h < j->shape.hosts; h++) {
        mlt_job_close(j->job[h]);
        close(j->fd[h]);
    }
    close(j->listener);
}

// Where the threads of a process that does not end are: by a debugger if there is one, else in which
// calls of the system.
static inline void hosts_show(pid_t pid)
{
    char command[160];
    snprintf(
        command, sizeof command,
        "gdb -p %d -batch -ex 'thread apply all bt 20' 2>&1 || head -v /proc/%d/task/*/syscall",
        (int)pid, (int)pid);
    fflush(stderr);
    if (system(command) != 0)
        fprintf(stderr, "the threads of %d cannot be shown\n", (int)pid);
}

static inline void hosts_kill(hosts_job *j)
{
    for (uint32_t p = 0; p < j->procs; p++)
        if (j->proc[p].ctl >= 0)
            kill(j->proc[p].pid, SIGKILL);
    CHECK(hosts_serve(j, HOSTS_LIMIT_MS));
    for (uint32_t p = 0; p < j->procs; p++) {
        char name[32]; // libfabric's provider shm leaves it
        snprintf(name, sizeof name, "/%d:0:0", (int)j->proc[p].pid);
        (void)shm_unlink(name);
    }
}

// A whole job, which must end well.
static inline void hosts_run_with(hosts_job *j, void (*entry)(void *rank))
{
    hosts_begin(j, entry, NULL);
    bool ended = hosts_serve(j, HOSTS_LIMIT_MS);
    for (uint32_t p = 0; p < j->procs; p++)
        if (!ended || j->proc[p].status)
            fprintf(stderr, "process %u: %s %d\n", p, ended ? "status" : "still there",
                    j->proc[p].status);
    for (uint32_t p = 0; p < j->procs && !ended; p++)
        if (j->proc[p].ctl >= 0)
            hosts_show(j->proc[p].pid);
    if (j->lost)
        fprintf(stderr, "%u connections lost: %s\n", j->lost, j->why);
    if (!ended)
        hosts_kill(j);
    CHECK(ended && j->lost == 0);
    for (uint32_t p = 0; p < j->procs; p++)
        CHECK(j->proc[p].status == 0);
    hosts_end(j);
}

static inline void hosts_run(hosts_shape shape, const char *policy, void (*entry)(void *rank))
{
    hosts_job j = {.shape = shape};
    mlt_conf.sched = policy;
    snprintf(now_testing, sizeof now_testing, "%u hosts x %u processes x %u workers x %u ranks, %s",
             shape.hosts, shape.procs, shape.workers, shape.ranks, policy);
    hosts_run_with(&j, entry);
}
