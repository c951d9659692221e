// SPDX-License-Identifier: BSD-3-Clause
// Any packets on the control channels of a running job, and any bytes in its segment: mpirun takes
// or drops each packet, asks for hang reports in between, looks for a deadlock, and says only whole
// lines. The packets go through real sockets, as a rank would send them, and the bytes through a
// mapping such as a rank has.
//
// The input: packets, each of a byte (process, whether a hang report is asked for before it,
// whether it is not sent but written into the segment), 2 bytes of length, and that many bytes. In
// the segment, the first 2 bytes say where.
#include "launch/watch/watch.h"

#include <fcntl.h>
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/ctl.h"
#include "launch/loop.h"
#include "os/os.h"

enum {
    PROCS = 2,
    WORKERS = 3,
    RANKS = 12,
    REPORT = 0x80,
    FULL = 0x40,
    SCRIBBLE = 0x20,
    PIPE_MOST = 64
};

typedef struct job {
    mlt_placement plan;
    mlt_job *segment;
    char *ranks_view; // of the segment
    size_t bytes;
    int loop, signals[2];
} job;

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

// Made once: a job of two processes, the second with two workers. No process runs in it.
static job *the_job(void)
{
    static job j;
    static mlt_placement_proc procs[PROCS] = {
        {.first_worker = 0, .workers = 1, .first_rank = 0, .ranks = 1},
        {.first_worker = 1, .workers = 2, .first_rank = 1, .ranks = RANKS - 1}};
    static const uint32_t workers[PROCS] = {1, 2}, ranks[PROCS] = {1, 5}, apps[PROCS] = {0, 0};
    if (j.segment)
        return &j;
    const mlt_job_plan about = {.procs = PROCS,
                                .workers_of_proc = workers,
                                .ranks_a_worker = ranks,
                                .app_of_proc = apps,
                                .cores = 2,
                                .launched = true};
    char why[256];
    int fd = -1;
    static mlt_placement_host here = {
        .host = {.name = "here", .here = true}, .procs = PROCS, .workers = WORKERS, .ranks = RANKS};
    j.plan = (mlt_placement){.procs = procs,
                             .proc_count = PROCS,
                             .workers = WORKERS,
                             .ranks = RANKS,
                             .hosts = &here,
                             .host_count = 1};
    FUZZ_CHECK(mlt_job_new(&about, &j.segment, &fd, why, sizeof why) == MLT_OK);
    j.bytes = j.segment->bytes;
    FUZZ_CHECK((j.ranks_view = mlt_os_map_fd(fd, j.bytes)));
    FUZZ_CHECK(mlt_job_own_head(j.segment) == MLT_OK);
    j.loop = mlt_loop_new();
    FUZZ_CHECK(pipe2(j.signals, O_CLOEXEC | O_NONBLOCK) == 0);
    return &j;
}

static void ask_for_report(job *j)
{
    struct signalfd_siginfo info = {.ssi_signo = SIGQUIT};
    if (write(j->signals[1], &info, sizeof info) == (ssize_t)sizeof info)
        mlt_loop_turn();
}

// A rank writes where it should not, and mpirun looks at it.
static void scribble(job *j, const char *bytes, size_t n)
{
    uint16_t at = 0;
    if (n < sizeof at)
        return;
    memcpy(&at, bytes, sizeof at);
    for (size_t i = sizeof at; i < n; i++)
        j->ranks_view[(at + i) % j->bytes] = bytes[i];
    FUZZ_CHECK(mlt_job_observe(j->segment).ended <= WORKERS);
}

static void play(void *argument)
{
    input *in = argument;
    job *j = the_job();
    int ends[PROCS][2];
    mlt_app app = {.argv = NULL};
    const mlt_options options = {.gdb = -1, .timeout_s = 1, .apps = &app, .app_count = 1};
    mlt_report *report = mlt_report_new(&j->plan);
    mlt_leaks leaks = {NULL, 0, 0};
    mlt_path_map map;
    mlt_path_map_init(&map);
    const mlt_watch_conf conf = {.options = &options,
                                 .map = &map,
                                 .leaks = &leaks,
                                 .plan = &j->plan,
                                 .report = report,
                                 .signal_fd = j->signals[0],
                                 .guard_fd = -1};
    for (uint32_t i = 0; i < WORKERS; i++)
        atomic_store(&mlt_job_worker_at(j->segment, i)->state, MLT_WORKER_AWAKE);
    mlt_watch *watch = mlt_watch_new(&conf);
    const mlt_agent_conf part = {.options = &options,
                                 .plan = &j->plan,
                                 .cores = 2,
                                 .job = j->segment,
                                 .send = mlt_watch_send,
                                 .user = watch};
    mlt_agent *agent = mlt_agent_new(&part);
    mlt_agent_take(agent, &(mlt_frame){.type = MLT_FRAME_KILL}, NULL); // it shall start no process
    mlt_watch_join(watch, agent, NULL);
    for (uint32_t p = 0; p < PROCS; p++) {
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[p]) == 0);
        mlt_agent_started(agent, p, 0, ends[p][0]); // pid 0: no signal can go astray
    }
    while (in->size > 0) {
        uint8_t what;
        uint16_t length;
        fuzz_take(&in->data, &in->size, &what, 1);
        fuzz_take(&in->data, &in->size, &length, sizeof length);
        if (what & REPORT)
            ask_for_report(j);
        // Longer than a packet may be; what the input does not have is 0.
        static char packet[sizeof(mlt_ctl) + MLT_CTL_MAX_BODY + 4096];
        size_t most = what & FULL ? sizeof packet : 4096, n = length % most;
        fuzz_take(&in->data, &in->size, packet, n);
        if (what & SCRIBBLE)
            scribble(j, packet, n);
        else if (send(ends[what % PROCS][1], packet, n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            mlt_loop_turn(); // an empty packet looks like the end of the process
    }
    char drain[PIPE_MOST * sizeof(struct signalfd_siginfo)];
    (void)!read(j->signals[0], drain, sizeof drain);
    mlt_watch_free(watch);
    mlt_agent_free(agent);
    for (uint32_t p = 0; p < PROCS; p++)
        close(ends[p][1]);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    FUZZ_CHECK(out);
    mlt_report_print(report, "./program", &(mlt_texts){NULL, 0}, 1, out);
    mlt_report_advise(report, out);
    mlt_path_map_report(&map, out);
    mlt_path_map_print(&map, "./program", out);
    mlt_path_map_draw(&map, "./program", out);
    mlt_leaks_print(&leaks, out);
    fclose(out);
    fuzz_check_lines(text, size);
    free(text);
    mlt_leaks_free(&leaks);
    mlt_path_map_fini(&map);
    mlt_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)the_job();
    input in = {data, size};
    FUZZ_CHECK(fuzz_run(play, &in));
    size_t said_size;
    const char *said = fuzz_said(&said_size);
    FUZZ_CHECK(said_size == 0 || said[said_size - 1] == '\n');
    FUZZ_CHECK(strlen(said) == said_size);
    fuzz_release();
    return 0;
}
