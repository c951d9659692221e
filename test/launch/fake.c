// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for an MPI program: it joins the job as the library does and says to mpirun what it is
// told to say. Arguments are verbs, done in order; "@R" before a verb: only if the process's first
// rank is R.
//
//     join init final      the messages of a well-behaved program
//     exit N | _exit N     end; `exit` tells mpirun first, as the library does
//     abort N TEXT | crash SIGNAL TEXT | kill SIGNAL
//     fatal SIGNAL         crash with a message, then die of it
//     want PROC            asks for a connection to that process, and reads nothing of it
//     shared TEXT | note TEXT     as a process whose ranks share globals, or with a note
//     sleep SECONDS | say TEXT | child COMMAND | stats | queues | tell
//     load IDLE SLACK      the numbers of workers that were idle for IDLE % of a second, and had
//                          SLACK other ranks that could run at each of 10 switches
//     inner BITS           what the ranks of `load` consist of (mlt_ctl_inner)
//     wait right|right:N|left|any|barrier|csp|RANK    all ranks are blocked like that for ever;
//                          answers reports; csp: with words about processes
//     busy                 never answers
//     scribble SEED        writes random words into the job's segment, its head too, and asks for a
//                          hang report in between
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "boot/ctl.h"
#include "fiber/wait.h"
#include "os/os.h"

static mlt_boot boot = {.ctl = -1};
static uint32_t first_rank;
static bool initialised, finalised;

static void send_text(mlt_ctl_type type, int32_t rank, int64_t value, const char *text)
{
    mlt_ctl head = {.type = type, .rank = rank, .value = value, .length = (uint32_t)strlen(text)};
    if (mlt_ctl_send(boot.ctl, &head, text) && boot.job && boot.job->launched)
        perror("fake: mlt_ctl_send");
}

static void join(void)
{
    char why[512];
    mlt_boot_wait_for_debugger();
    if (mlt_boot_join(&boot, why, sizeof why)) {
        fprintf(stderr, "fake: %s\n", why);
        exit(3);
    }
    mlt_job_proc *proc = mlt_job_proc_at(boot.job, boot.proc);
    first_rank = proc->first_rank;
    for (uint32_t w = 0; w < proc->workers; w++)
        mlt_job_worker_at(boot.job, proc->first_worker + w)->state = MLT_WORKER_AWAKE;
}

static mlt_ctl_wait wait_of(const char *how, int32_t rank)
{
    int32_t size = (int32_t)boot.job->ranks;
    mlt_ctl_wait w = {
        .rank = rank, .tag = 7, .bytes = 8, .kind = MLT_WAIT_RECV, .all = 1, .open = 1};
    strcpy(w.call, "MPI_Recv");
    if (strncmp(how, "right", 5) == 0) {
        w.peer = (rank + 1) % size;
    } else if (strcmp(how, "left") == 0) {
        w.peer = (rank + size - 1) % size;
    } else if (strcmp(how, "any") == 0) {
        w.peer = MLT_WAIT_ANYONE;
    } else if (strcmp(how, "barrier") == 0) {
        w.peer = -1;
        w.kind = MLT_WAIT_COLLECTIVE;
        strcpy(w.call, "MPI_Barrier");
    } else if (strcmp(how, "csp") == 0) {
        w.peer = -1;
        w.kind = MLT_WAIT_OTHER;
        strcpy(w.call, "csp_par");
    } else {
        w.peer = atoi(how);
    }
    return w;
}

static void answer(uint32_t worker, const char *how)
{
    enum { MOST = MLT_CTL_MAX_BODY / sizeof(mlt_ctl_wait) };
    static mlt_ctl_wait records[MOST];
    const mlt_job_location *own = mlt_job_location_at(boot.job, worker);
    for (uint32_t at = 0; at < own->ranks;) {
        uint32_t n = 0;
        for (; n < MOST && at < own->ranks; n++, at++)
            records[n] = wait_of(how, (int32_t)(own->first_rank + at));
        mlt_ctl head = {.type = MLT_CTL_WAITS,
                        .rank = -1,
                        .value = n,
                        .detail = worker,
                        .length = n * (uint32_t)sizeof *records};
        mlt_ctl_send(boot.ctl, &head, records);
    }
    if (strcmp(how, "csp") == 0) {
        char text[64];
        int n = snprintf(text, sizeof text, "  main: csp_par\n  p[%u]: csp_read\n", worker / 2);
        mlt_ctl procs = {
            .type = MLT_CTL_PROCS, .rank = -1, .detail = worker, .length = (uint32_t)n};
        mlt_ctl_send(boot.ctl, &procs, text);
    }
    mlt_ctl end = {.type = MLT_CTL_WAITS_END, .rank = -1, .detail = worker};
    mlt_ctl_send(boot.ctl, &end, NULL);
}

static void wait_for_ever(const char *how)
{
    const mlt_job_proc *proc = mlt_job_proc_at(boot.job, boot.proc);
    uint32_t seen = 0;
    for (;;) {
        for (uint32_t w = proc->first_worker; w < proc->first_worker + proc->workers; w++)
            mlt_job_worker_at(boot.job, w)->state = MLT_WORKER_ASLEEP;
        mlt_job_worker *first = mlt_job_worker_at(boot.job, proc->first_worker);
        while (first->report_wanted == seen)
            mlt_os_futex_wait(&first->state, MLT_WORKER_ASLEEP, 20000000);
        seen = first->report_wanted;
        for (uint32_t w = proc->first_worker; w < proc->first_worker + proc->workers; w++) {
            mlt_job_worker *own = mlt_job_worker_at(boot.job, w);
            own->epoch++;
            own->state = MLT_WORKER_AWAKE;
            answer(w, how);
            own->reported = seen;
        }
    }
}

static void stats(void)
{
    const mlt_job_proc *proc = mlt_job_proc_at(boot.job, boot.proc);
    for (uint32_t w = proc->first_worker; w < proc->first_worker + proc->workers; w++) {
        mlt_ctl_call calls[] = {{"MPI_Send", 1000, 2000000},    {"MPI_Recv", 1000, 7000000},
                                {"MPI_Win_lock", 10, 300000},   {"MPI_Win_unlock_all", 10, 200000},
                                {"MPI_Win_create", 10, 900000}, {"MPI_Parrived", 10, 400000}};
        mlt_ctl head = {
            .type = MLT_CTL_CALLS, .rank = -1, .value = 6, .detail = w, .length = sizeof calls};
        mlt_ctl_send(boot.ctl, &head, calls);
        mlt_ctl_stats all = {.messages = {10, 20, 30, 77},
                             .bytes = {1 << 10, 1 << 20, 1 << 30, 4096},
                             .eager = 50,
                             .rendezvous = 10,
                             .wait_ns = 25000000,
                             .total_ns = 100000000,
                             .switches = 12345,
                             .unexpected_peak = 4096,
                             .stack_size = 65536,
                             .moves = {.ops = {3, 4, 5},
                                       .one_sided = {5, 0, 7, 0},
                                       .one_sided_bytes = {1 << 10, 0, 1 << 20, 0},
                                       .partitioned = {0, 0, 0, 9},
                                       .partitioned_bytes = {0, 0, 0, 1 << 12},
                                       .partitions = 144},
                             .guard = "guard pages",
                             .policy = "direct",
                             .large_thread = "direct",
                             .large_process = "pipelined"};
        head = (mlt_ctl){.type = MLT_CTL_STATS, .rank = -1, .detail = w, .length = sizeof all};
        mlt_ctl_send(boot.ctl, &head, &all);
    }
}

static uint32_t inner;

static void load_of(double idle, double slack)
{
    const mlt_job_proc *proc = mlt_job_proc_at(boot.job, boot.proc);
    for (uint32_t w = proc->first_worker; w < proc->first_worker + proc->workers; w++) {
        mlt_ctl_stats all = {.wait_ns = (uint64_t)(idle * 1e7),
                             .total_ns = 1000000000,
                             .switches = 10,
                             .slack = (uint64_t)(10 * slack),
                             .ranks = proc->ranks / proc->workers,
                             .inner = inner};
        mlt_ctl head = {.type = MLT_CTL_STATS, .rank = -1, .detail = w, .length = sizeof all};
        mlt_ctl_send(boot.ctl, &head, &all);
    }
}

// Of a flow program.
static void queues(void)
{
    mlt_ctl_queue all[] = {{"s.out", "q.in", 4, 1200000, 9600000, 64, 1500000, 0},
                           {"q.out", "", 0, 7, 0, 0, 0, 0}};
    mlt_ctl head = {
        .type = MLT_CTL_QUEUES, .rank = -1, .value = 2, .detail = 12, .length = sizeof all};
    mlt_ctl_send(boot.ctl, &head, all);
}

static void end(int status)
{
    if (status || initialised != finalised) {
        mlt_ctl head = {.type = MLT_CTL_EXIT,
                        .rank = (int32_t)first_rank,
                        .value = status,
                        .detail = initialised && !finalised};
        mlt_ctl_send(boot.ctl, &head, NULL);
    }
    if (boot.job && mlt_job_proc_at(boot.job, boot.proc)->ranks > 1)
        send_text(MLT_CTL_DONE, -1, 0, "");
    exit(status);
}

static void tell(void)
{
    const mlt_job_proc *proc = mlt_job_proc_at(boot.job, boot.proc);
    printf(
        "proc %u of %u, workers %u+%u of %u, ranks %u+%u of %u, app %u, launched %u, profile %u\n",
        boot.proc, boot.job->procs, proc->first_worker, proc->workers, boot.job->workers,
        proc->first_rank, proc->ranks, boot.job->ranks, proc->app, boot.job->launched,
        boot.job->profile);
    fflush(stdout);
}

static void scribble(unsigned seed)
{
    enum { WORDS = 4000, FIRST_BYTES = 1 << 16 };
    int fd = atoi(getenv("MILLET_JOB_FD"));
    struct stat about;
    if (fstat(fd, &about) != 0 || ftruncate(fd, 0) == 0)
        exit(4); // it could be cut down under mpirun
    char *all = mlt_os_map_fd(fd, (size_t)about.st_size);
    size_t bytes = about.st_size < FIRST_BYTES ? (size_t)about.st_size : FIRST_BYTES;
    for (int i = 0; all && i < WORDS; i++) {
        uint32_t word = (seed = seed * 1103515245 + 12345) >> 16;
        size_t range = word % 3 == 0 ? sizeof(mlt_job) : bytes;
        uint32_t value = word % 5 == 0 ? UINT32_MAX : word % 5 == 1 ? word % 8 : seed;
        memcpy(all + (size_t)(seed >> 8) % (range / 4) * 4, &value, sizeof value);
        if (i % (WORDS / 4) == 0) {
            kill(atoi(getenv("MILLET_LAUNCHER")), SIGQUIT);
            usleep(2000);
        }
    }
}

// Does one verb; returns how many arguments it took.
static int act(const char *verb, const char *a, const char *b)
{
    if (strcmp(verb, "join") == 0) {
        join();
        return 0;
    }
    if (strcmp(verb, "init") == 0 || strcmp(verb, "final") == 0) {
        *(*verb == 'i' ? &initialised : &finalised) = true;
        send_text(*verb == 'i' ? MLT_CTL_INIT : MLT_CTL_FINAL, -1, 0, "");
        return 0;
    }
    if (strcmp(verb, "queues") == 0) {
        queues();
        return 0;
    }
    if (strcmp(verb, "stats") == 0 || strcmp(verb, "tell") == 0) {
        (*verb == 's' ? stats : tell)();
        return 0;
    }
    if (strcmp(verb, "busy") == 0)
        for (;;)
            sleep(1);
    if (strcmp(verb, "exit") == 0)
        end(atoi(a));
    if (strcmp(verb, "_exit") == 0)
        _exit(atoi(a));
    if (strcmp(verb, "wait") == 0)
        wait_for_ever(a);
    if (strcmp(verb, "scribble") == 0)
        scribble((unsigned)atoi(a));
    if (strcmp(verb, "kill") == 0)
        kill(getpid(), atoi(a));
    if (strcmp(verb, "child") == 0 && system(a) != 0)
        fprintf(stderr, "fake: child failed\n");
    if (strcmp(verb, "say") == 0) {
        puts(a);
        fflush(stdout);
    }
    if (strcmp(verb, "sleep") == 0) {
        struct timespec t = {.tv_sec = (time_t)atof(a),
                             .tv_nsec = (long)((atof(a) - (double)(time_t)atof(a)) * 1e9)};
        while (nanosleep(&t, &t) != 0 && errno == EINTR)
            ;
    }
    if (strcmp(verb, "want") == 0)
        send_text(MLT_CTL_WANT, MLT_CTL_NO_RANK, atoi(a), "");
    if (strcmp(verb, "inner") == 0)
        inner = (uint32_t)atoi(a);
    if (strcmp(verb, "load") == 0) {
        load_of(atof(a), atof(b));
        return 2;
    }
    if (strcmp(verb, "shared") == 0 || strcmp(verb, "note") == 0) {
        send_text(*verb == 's' ? MLT_CTL_SHARED : MLT_CTL_NOTE, MLT_CTL_NO_RANK, 0, a);
        return 1;
    }
    if (strcmp(verb, "abort") == 0) {
        send_text(MLT_CTL_ABORT, (int32_t)first_rank, atoi(a), b);
        return 2;
    }
    if (strcmp(verb, "crash") == 0 || strcmp(verb, "fatal") == 0) {
        send_text(MLT_CTL_CRASH, (int32_t)first_rank, atoi(a), b);
        if (*verb == 'f')
            kill(getpid(), atoi(a));
        return 2;
    }
    return 1;
}

static int arguments_of(const char *verb)
{
    static const char *const none[] = {"join", "init", "final", "stats", "queues", "tell", "busy"};
    static const char *const two[] = {"abort", "crash", "fatal", "load"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(verb, none[i]) == 0)
            return 0;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strcmp(verb, two[i]) == 0)
            return 2;
    return 1;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool wanted = true;
        if (argv[i][0] == '@') {
            wanted = (uint32_t)atoi(argv[i] + 1) == first_rank;
            i++;
        }
        if (wanted)
            act(argv[i], i + 1 < argc ? argv[i + 1] : "", i + 2 < argc ? argv[i + 2] : "");
        i += arguments_of(argv[i]);
    }
    end(0);
}
