// SPDX-License-Identifier: BSD-3-Clause
#include "boot/job.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "boot/ctl.h"
#include "os/os.h"

// A job of `procs` processes with `each` workers of `fine` ranks.
static mlt_job *make(uint32_t procs, uint32_t each, uint32_t fine, bool launched, int *fd)
{
    uint32_t *workers = calloc(procs, sizeof *workers), *ranks = calloc(procs, sizeof *ranks);
    uint32_t *apps = calloc(procs, sizeof *apps);
    if (!workers || !ranks || !apps)
        exit(1);
    for (uint32_t p = 0; p < procs; p++) {
        workers[p] = each;
        ranks[p] = fine;
        apps[p] = p % 3;
    }
    mlt_job_plan plan = {.procs = procs,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .app_of_proc = apps,
                         .cores = 2,
                         .launched = launched};
    mlt_job *job;
    char why[256] = "";
    mlt_status status = mlt_job_new(&plan, &job, fd, why, sizeof why);
    CHECK((status == MLT_OK) == (job != NULL));
    CHECK((status == MLT_OK) == (why[0] == '\0'));
    free(workers);
    free(ranks);
    free(apps);
    return job;
}

static void check_layout(uint32_t procs, uint32_t each, uint32_t fine)
{
    int fd;
    mlt_job *job = make(procs, each, fine, true, &fd);
    if (!job)
        return;
    uint32_t workers = procs * each;
    CHECK(job->workers == workers && job->ranks == workers * fine && job->procs == procs);
    uint32_t slots = workers == 1 ? 0 : workers <= 16 ? 256 : workers <= 64 ? 128 : 64;
    CHECK(job->ring_slots == slots);
    CHECK(workers == 1 || (job->ring_data & (job->ring_data - 1)) == 0);
    CHECK(job->ring_bytes % MLT_LINE == 0);
    CHECK(workers == 1 ||
          job->ring_bytes >= MLT_LINE + (uint64_t)slots * MLT_SLOT_BYTES + job->ring_data);
    uint64_t page = mlt_os_page_size();
    CHECK(job->pools_at % page == 0 && job->pool_bytes % page == 0 && job->bytes % page == 0);
    CHECK(job->procs_at >= sizeof *job);
    CHECK(job->workers_at >= job->procs_at + procs * sizeof(mlt_job_proc));
    CHECK(job->workers_at % page == 0); // the head has pages of its own
    CHECK(job->news_at >= job->workers_at + workers * sizeof(mlt_job_worker));
    CHECK(job->news_words * 64 >= workers);
    CHECK(job->rings_at >= job->news_at + (uint64_t)workers * job->news_words * 8);
    CHECK(job->rings_at % MLT_LINE == 0);
    CHECK(job->pools_at >= job->rings_at + (uint64_t)workers * workers * job->ring_bytes);
    CHECK(job->callsigs_at >= job->pools_at + workers * job->pool_bytes);
    CHECK((char *)(mlt_job_said(job) + 1) <= (char *)job + job->bytes);
    CHECK(mlt_job_callsig_at(job, UINT16_MAX) + MLT_JOB_CALLSIG_WORDS == mlt_job_said(job));
    uint32_t rank = 0;
    for (uint32_t w = 0; w < workers; w++) {
        const mlt_job_location *worker = mlt_job_location_at(job, w);
        CHECK(worker->first_rank == rank && worker->ranks == fine && worker->proc == w / each);
        CHECK(worker->local == w && mlt_job_is_here(job, w));
        CHECK(mlt_job_worker_at(job, w)->state == MLT_WORKER_UNBORN);
        rank += worker->ranks;
    }
    for (uint32_t p = 0; p < procs; p++) {
        const mlt_job_proc *proc = mlt_job_proc_at(job, p);
        CHECK(proc->first_worker == p * each && proc->workers == each && proc->app == p % 3);
        CHECK(proc->first_rank == p * each * fine && proc->ranks == each * fine && proc->pid == 0);
    }
    // Another process sees the same, and the last byte is there.
    mlt_job *twin;
    char why[256];
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_OK && twin != job);
    ((char *)job)[job->bytes - 1] = 42;
    CHECK(((char *)twin)[twin->bytes - 1] == 42);
    mlt_job_close(twin);
    mlt_job_close(job);
    close(fd);
}

static void test_refusals(void)
{
    int fd;
    CHECK(!make(MLT_JOB_MAX_WORKERS + 1, 1, 1, true, &fd));
    CHECK(!make(1, 2, INT32_MAX, true, &fd));
    CHECK(!make(1, 0, 1, true, &fd));
    mlt_job *job = make(2, 1, 1, true, &fd), *twin;
    char why[256];
    if (!job)
        return;
    job->version++;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_ERR_UNSUPPORTED && !twin);
    job->version--;
    job->magic++;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_ERR_NOT_FOUND && !twin);
    job->magic--;
    job->bytes += 4096;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_ERR_INVALID && !twin);
    job->bytes -= 4096;
    // Nobody can cut the segment down under those who map it, or make it larger.
    CHECK(ftruncate(fd, 0) != 0 && ftruncate(fd, (off_t)job->bytes + 4096) != 0);
    uint64_t *const offsets[] = {&job->workers_at, &job->news_at,    &job->rings_at,
                                 &job->pools_at,   &job->ring_bytes, &job->pool_bytes};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        *offsets[i] += MLT_LINE;
        CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_ERR_INVALID && !twin);
        *offsets[i] -= MLT_LINE;
    }
    job->workers = UINT32_MAX;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_ERR_INVALID && !twin);
    job->workers = 2;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_OK);
    mlt_job_close(twin);
    CHECK(mlt_job_open(999, &twin, why, sizeof why) == MLT_ERR_NOT_FOUND);
    int null = open("/dev/null", O_RDWR);
    CHECK(mlt_job_open(null, &twin, why, sizeof why) == MLT_ERR_NOT_FOUND);
    close(null);
    mlt_job_close(job);
    close(fd);
    job = make(1, 1, 1, false, &fd);
    CHECK(job && fd == -1 && !job->launched && job->ring_bytes == 0 && job->pool_bytes == 0);
    mlt_job_close(job);
}

// mpirun's head is its own, whatever a rank writes; a rank cannot write into it by mistake.
static void test_head(void)
{
    int fd;
    mlt_job *job = make(2, 1, 1, true, &fd), *twin;
    char why[256];
    if (!job)
        return;
    CHECK(mlt_job_open(fd, &twin, why, sizeof why) == MLT_OK);
    CHECK(mlt_job_own_head(job) == MLT_OK);
    uint64_t bytes = twin->bytes;
    memset(twin, 0xff, twin->workers_at);
    CHECK(job->workers == 2 && job->procs == 2 && mlt_job_proc_at(job, 1)->first_rank == 1);
    atomic_store(&mlt_job_worker_at(job, 1)->state, MLT_WORKER_ASLEEP);
    CHECK(!mlt_job_observe(job).quiet);
    mlt_os_unmap(twin, bytes);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); // a sanitizer has a handler of its own
        if (mlt_job_protect_head(job) == MLT_OK)
            job->workers = 3;
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    mlt_job_close(job);
    close(fd);
}

static void test_look(void)
{
    int fd;
    mlt_job *job = make(3, 1, 1, true, &fd);
    if (!job)
        return;
    mlt_job_worker *w[3];
    for (uint32_t i = 0; i < 3; i++)
        w[i] = mlt_job_worker_at(job, i);
    CHECK(!mlt_job_observe(job).quiet); // not born
    w[0]->state = MLT_WORKER_ASLEEP;
    w[1]->state = MLT_WORKER_ASLEEP;
    w[2]->state = MLT_WORKER_AWAKE;
    CHECK(!mlt_job_observe(job).quiet);
    w[2]->state = MLT_WORKER_ENDED;
    w[0]->sent = 7;
    w[1]->received = 6;
    mlt_job_observation look = mlt_job_observe(job);
    CHECK(look.quiet && look.asleep == 2 && look.in_flight == 1 && look.ended == 1 &&
          look.epochs == 0);
    w[2]->received = 1;
    w[1]->epoch = 5;
    look = mlt_job_observe(job);
    CHECK(look.quiet && look.in_flight == 0 && look.epochs == 5);
    mlt_job_wake(w[1]);
    CHECK(w[1]->state == MLT_WORKER_AWAKE && !mlt_job_observe(job).quiet);
    mlt_job_wake(w[2]);
    CHECK(w[2]->state == MLT_WORKER_ENDED);
    mlt_job_ask_waits(job);
    CHECK(w[0]->report_wanted == 1 && w[2]->report_wanted == 1 && w[0]->state == MLT_WORKER_AWAKE);
    w[0]->state = w[1]->state = w[2]->state = MLT_WORKER_ENDED;
    CHECK(mlt_job_observe(job).asleep == 0); // the job is over
    mlt_job_close(job);
    close(fd);
}

// Seven processes, whose hosts take turns, as host `host` sees them.
static mlt_job *make_over_hosts(uint32_t host)
{
    static const uint32_t workers[] = {1, 2, 1, 3, 1, 1, 2}, ranks[] = {1, 1, 5, 1, 1, 1, 4},
                          apps[7] = {0}, hosts[] = {0, 1, 2, 0, 1, 0, 0};
    mlt_job_plan plan = {.procs = 7,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .app_of_proc = apps,
                         .host_of_proc = hosts,
                         .hosts = 3,
                         .host = host,
                         .identity = 77,
                         .cores = 2,
                         .launched = true};
    mlt_job *job;
    char why[256];
    int fd;
    CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    mlt_job *again;
    CHECK(mlt_job_open(fd, &again, why, sizeof why) == MLT_OK);
    mlt_job_close(again);
    close(fd);
    return job;
}

// Every host has the same numbers, and words for its own workers only.
static void test_hosts(void)
{
    static const uint32_t host_of[] = {0, 1, 1, 2, 0, 0, 0, 1, 0, 0, 0},
                          local_of[] = {0, 0, 1, 0, 1, 2, 3, 2, 4, 5, 6}, locals[] = {7, 3, 1};
    for (uint32_t host = 0; host < 3; host++) {
        mlt_job *job = make_over_hosts(host);
        CHECK(job->hosts == 3 && job->host == host && job->identity == 77);
        CHECK(job->workers == 11 && job->ranks == 21 && job->local_workers == locals[host]);
        for (uint32_t w = 0; w < job->workers; w++) {
            CHECK(mlt_job_host_of(job, w) == host_of[w]);
            CHECK(mlt_job_location_at(job, w)->local == local_of[w]);
            CHECK(mlt_job_is_here(job, w) == (host_of[w] == host));
        }
        for (uint32_t w = 0; w < job->local_workers; w++)
            atomic_store(&mlt_job_local_at(job, w)->state, MLT_WORKER_LISTENS);
        mlt_job_observation look = mlt_job_observe(job);
        CHECK(look.quiet && look.asleep == locals[host]);
        atomic_store(&mlt_job_local_at(job, 0)->wakes_itself, 1);
        CHECK(!mlt_job_observe(job).quiet);
        mlt_job_close(job);
    }
}

// A connection travels with its descriptor, and raises the word of all workers of its process.
static void test_link(void)
{
    mlt_job *job = make_over_hosts(0);
    int ctl[2], ends[2], fd;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ctl) == 0 && pipe(ends) == 0);
    mlt_ctl_link link = {.proc = 4, .encrypts = 1, .send_key = {1, 2}, .types = {9}}, got;
    CHECK(mlt_ctl_take_link(ctl[1], &got, &fd) == MLT_PENDING && fd == -1);
    CHECK(mlt_ctl_give_link(ctl[0], &link, ends[1]) == MLT_OK);
    mlt_job_link_came(job, 3);
    for (uint32_t w = 0; w < job->local_workers; w++)
        CHECK(atomic_load(&mlt_job_local_at(job, w)->links) == (w >= 1 && w <= 3));
    CHECK(mlt_ctl_take_link(ctl[1], &got, &fd) == MLT_OK && memcmp(&got, &link, sizeof got) == 0);
    char byte = 0;
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    close(fd);
    CHECK(write(ctl[0], "no link", 7) == 7);
    CHECK(mlt_ctl_take_link(ctl[1], &got, &fd) == MLT_ERR_SYSTEM && fd == -1);
    while (mlt_ctl_give_link(ctl[0], &link, ends[1]) == MLT_OK)
        ;
    CHECK(mlt_ctl_give_link(ctl[0], &link, ends[1]) == MLT_PENDING);
    close(ctl[1]);
    CHECK(mlt_ctl_give_link(ctl[0], &link, ends[1]) == MLT_ERR_CLOSED);
    close(ctl[0]);
    CHECK(mlt_ctl_take_link(-1, &got, &fd) == MLT_ERR_CLOSED);
    close(ends[0]);
    close(ends[1]);
    mlt_job_close(job);
}

enum { TURNS = 20000 };

typedef struct pair {
    mlt_job_worker *own, *other;
    _Atomic uint32_t *inbox, *outbox;
} pair;

// Passes a token to and fro; each sleeps as a worker does, and the other's mlt_job_wake must never
// be lost.
static void *play(void *arg)
{
    pair *p = arg;
    uint32_t nap = MLT_WORKER_ASLEEP;
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        atomic_store_explicit(p->outbox, turn, memory_order_release);
        mlt_job_wake(p->other);
        while (atomic_load_explicit(p->inbox, memory_order_acquire) < turn) {
            nap += MLT_NAP;
            atomic_store_explicit(&p->own->state, nap, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst); // pairs with mlt_job_wake
            if (atomic_load_explicit(p->inbox, memory_order_acquire) < turn)
                mlt_os_futex_wait(&p->own->state, nap, -1);
            atomic_store_explicit(&p->own->state, MLT_WORKER_AWAKE, memory_order_relaxed);
        }
    }
    return NULL;
}

static void test_wake(void)
{
    int fd;
    mlt_job *job = make(2, 1, 1, true, &fd);
    if (!job)
        return;
    static _Atomic uint32_t boxes[2];
    mlt_job_worker *a = mlt_job_worker_at(job, 0), *b = mlt_job_worker_at(job, 1);
    pair sides[2] = {{a, b, &boxes[0], &boxes[1]}, {b, a, &boxes[1], &boxes[0]}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, play, &sides[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    mlt_job_close(job);
    close(fd);
}

static void *sleep_once(void *worker)
{
    mlt_job_worker *own = worker;
    atomic_store(&own->state, MLT_NAP | MLT_WORKER_ASLEEP);
    while (atomic_load(&own->state) != MLT_WORKER_AWAKE)
        mlt_os_futex_wait(&own->state, MLT_NAP | MLT_WORKER_ASLEEP, -1);
    return NULL;
}

// A waker that has claimed the sleeper is held up before it wakes it: the next one does.
static void test_waker_held_up(void)
{
    int fd;
    mlt_job *job = make(2, 1, 1, true, &fd);
    if (!job)
        return;
    mlt_job_worker *w = mlt_job_worker_at(job, 0);
    pthread_t sleeper;
    CHECK(pthread_create(&sleeper, NULL, sleep_once, w) == 0);
    while (mlt_job_state_of(w) != MLT_WORKER_ASLEEP)
        mlt_os_yield();
    mlt_os_sleep(5000000); // most likely it is in the futex by now, which does not see the claim
    atomic_store(&w->state, MLT_NAP | MLT_WORKER_ROUSED);
    CHECK(!mlt_job_observe(job).quiet);
    mlt_job_wake(w);
    CHECK(pthread_join(sleeper, NULL) == 0);
    mlt_job_close(job);
    close(fd);
}

int main(void)
{
    static const uint32_t shapes[][3] = {{1, 1, 1},  {2, 1, 1},  {1, 2, 500000},
                                         {16, 1, 1}, {17, 1, 3}, {8, 8, 2},
                                         {65, 1, 1}, {4, 64, 1}, {4096, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_layout(shapes[i][0], shapes[i][1], shapes[i][2]);
    test_refusals();
    test_head();
    test_look();
    test_hosts();
    test_link();
    test_wake();
    test_waker_held_up();
    puts("all right");
    return 0;
}
