// SPDX-License-Identifier: BSD-3-Clause
// Workers that sleep for descriptors are woken by their doorbells; no wake-up is lost. Run under TSan
// too.
#include "boot/doorbell.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "os/fd.h"
#include "os/os.h"

static mlt_job *make(int *fd)
{
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &(uint32_t){2},
                         .ranks_a_worker = &(uint32_t){1},
                         .app_of_proc = &(uint32_t){0},
                         .cores = 2,
                         .launched = true};
    mlt_job *job;
    char why[256];
    CHECK(mlt_job_new(&plan, &job, fd, why, sizeof why) == MLT_OK);
    return job;
}

static bool rings(int fd, int timeout_ms)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    return poll(&look, 1, timeout_ms) == 1;
}

// What a program may do that thinks that all descriptors are its own: afterwards connected sockets,
// which take any datagram for their own peer's, have the old numbers.
static void replace_descriptors(void)
{
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0 &&
          getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    for (int i = 0; i < 8; i++) {
        int one = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(connect(one, (struct sockaddr *)&address, size) == 0);
        CHECK(accept(listener, NULL, NULL) >= 0);
    }
}

static void test_ring(void)
{
    int memory, a, b;
    mlt_job *job = make(&memory);
    mlt_job_worker *w = mlt_job_worker_at(job, 0), *v = mlt_job_worker_at(job, 1);
    char why[256];
    mlt_doorbell_ring(w); // it has none: nothing happens
    CHECK(mlt_doorbell_new(w, &a, why, sizeof why) == MLT_OK && w->doorbell != 0);
    CHECK(mlt_doorbell_new(v, &b, why, sizeof why) == MLT_OK && v->doorbell != w->doorbell);
    CHECK(!rings(a, 0) && !rings(b, 0));
    errno = 4711;
    for (int i = 0; i < 1000; i++) // nobody hears it: rings anyway, and does not block
        mlt_doorbell_ring(w);
    CHECK(rings(a, -1) && !rings(b, 0) && errno == 4711);
    // A stranger that rings without end holds nobody: each drain takes a few.
    int drains = 0;
    for (; rings(a, 0) && drains < 1000; drains++)
        mlt_os_doorbell_drain(a);
    CHECK(drains > 1 && drains < 1000 && errno == 4711);
    // Another process rings; and one that has closed all that it had.
    for (int closes = 0; closes < 2; closes++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (closes)
                replace_descriptors();
            mlt_doorbell_ring(w);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(rings(a, 0));
        mlt_os_doorbell_drain(a);
    }
    // Only a worker that listens is rung for, and once.
    static const uint32_t others[] = {MLT_WORKER_AWAKE, MLT_WORKER_ASLEEP, MLT_WORKER_ENDED,
                                      MLT_WORKER_UNBORN};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        w->state = others[i];
        mlt_job_wake(w);
        CHECK(!rings(a, 0));
    }
    w->state = MLT_WORKER_LISTENS;
    w->wakes_itself = 1;
    v->state = MLT_WORKER_ASLEEP;
    CHECK(!mlt_job_observe(job).quiet);
    mlt_job_wake(w);
    CHECK(rings(a, -1) && w->state == MLT_WORKER_AWAKE);
    mlt_os_doorbell_drain(a);
    w->state = MLT_WORKER_LISTENS;
    mlt_job_ask_waits(job);
    CHECK(rings(a, -1) && w->state == MLT_WORKER_AWAKE);
    mlt_os_doorbell_drain(a);
    // One that was to ring is held up: the next one rings.
    w->state = MLT_NAP | MLT_WORKER_RUNG;
    mlt_job_wake(w);
    CHECK(rings(a, 0) && w->state == MLT_WORKER_AWAKE);
    close(a);
    mlt_doorbell_ring(w); // gone: nothing happens
    close(b);
    mlt_job_close(job);
    close(memory);
}

// A worker that can have no doorbell is told.
static void test_refusal(void)
{
    int memory, a;
    mlt_job *job = make(&memory);
    char why[256] = "";
    struct rlimit old, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    mlt_job_worker *w = mlt_job_worker_at(job, 0);
    CHECK(mlt_doorbell_new(w, &a, why, sizeof why) == MLT_ERR_SYSTEM);
    CHECK(a == -1 && w->doorbell == 0 && strstr(why, "socket"));
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    mlt_job_close(job);
    close(memory);
}

// More doorbells at once than rings fit into a send buffer: all ring. Without a descriptor to spare, as
// soon as others were heard.
enum { MANY = 600 };

static int many[MANY];

static void *hear_late(void *unused)
{
    mlt_os_sleep(20000000);
    for (int i = 0; i < MANY; i++)
        mlt_os_doorbell_drain(many[i]);
    return NULL;
}

static void test_many(void)
{
    mlt_job_worker *workers = aligned_alloc(MLT_LINE, (MANY + 1) * sizeof *workers);
    char why[256];
    struct rlimit old, now;
    int last;
    CHECK(workers && getrlimit(RLIMIT_NOFILE, &old) == 0);
    memset(workers, 0, (MANY + 1) * sizeof *workers);
    now = (struct rlimit){.rlim_cur = MANY + 64, .rlim_max = old.rlim_max};
    CHECK(old.rlim_max >= now.rlim_cur && setrlimit(RLIMIT_NOFILE, &now) == 0);
    for (int i = 0; i < MANY; i++)
        CHECK(mlt_doorbell_new(&workers[i], &many[i], why, sizeof why) == MLT_OK);
    CHECK(mlt_doorbell_new(&workers[MANY], &last, why, sizeof why) == MLT_OK);
    for (int i = 0; i < MANY; i++)
        mlt_doorbell_ring(&workers[i]);
    for (int i = 0; i < MANY; i++)
        CHECK(rings(many[i], 0));
    now.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, hear_late, NULL) == 0);
    mlt_doorbell_ring(&workers[MANY]);
    CHECK(pthread_join(thread, NULL) == 0 && setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK(rings(last, 0));
    for (int i = 0; i < MANY; i++)
        close(many[i]);
    close(last);
    free(workers);
}

enum { TURNS = 20000 };

typedef struct player {
    mlt_job_worker *own, *other;
    _Atomic uint32_t *inbox, *outbox;
    int doorbell;
    uint64_t random;
    uint32_t naps;
} player;

// Passes a token to and fro. Each sleeps in either way, at random, and sometimes is awake before it
// is rung for, so that the doorbell rings late.
static void *play(void *arg)
{
    player *p = arg;
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        atomic_store_explicit(p->outbox, turn, memory_order_release);
        mlt_job_wake(p->other);
        while (atomic_load_explicit(p->inbox, memory_order_acquire) < turn) {
            p->random = p->random * 6364136223846793005u + 1442695040888963407u;
            uint32_t dice = (uint32_t)(p->random >> 33) % 8;
            bool listens = dice != 0;
            p->naps += MLT_NAP;
            uint32_t how = p->naps | (listens ? MLT_WORKER_LISTENS : MLT_WORKER_ASLEEP);
            atomic_store_explicit(&p->own->state, how, memory_order_seq_cst);
            atomic_thread_fence(memory_order_seq_cst); // pairs with mlt_job_wake
            if (atomic_load_explicit(p->inbox, memory_order_acquire) < turn) {
                if (!listens)
                    mlt_os_futex_wait(&p->own->state, how, -1);
                else if (dice != 1) // else: woken by something else
                    CHECK(rings(p->doorbell, -1));
            }
            atomic_store_explicit(&p->own->state, MLT_WORKER_AWAKE, memory_order_relaxed);
            if (listens)
                mlt_os_doorbell_drain(p->doorbell);
        }
    }
    return NULL;
}

static void test_no_ring_is_lost(void)
{
    int memory;
    mlt_job *job = make(&memory);
    static _Atomic uint32_t boxes[2];
    mlt_job_worker *a = mlt_job_worker_at(job, 0), *b = mlt_job_worker_at(job, 1);
    player sides[2] = {{a, b, &boxes[0], &boxes[1], -1, 1, 0},
                       {b, a, &boxes[1], &boxes[0], -1, 2, 0}};
    pthread_t threads[2];
    char why[256];
    for (int i = 0; i < 2; i++)
        CHECK(mlt_doorbell_new(sides[i].own, &sides[i].doorbell, why, sizeof why) == MLT_OK);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, play, &sides[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 2; i++)
        close(sides[i].doorbell);
    mlt_job_close(job);
    close(memory);
}

int main(void)
{
    test_ring();
    test_refusal();
    test_many();
    test_no_ring_is_lost();
    puts("all right");
    return 0;
}
