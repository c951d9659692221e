// SPDX-License-Identifier: BSD-3-Clause
//
// Offload: while a rank looks at its memory only, and calls nothing, its schedule comes to its end:
// the last action is a function that raises a flag. Where ranks share a worker, one that computes
// holds up the others, but not their schedules.

#define _DEFAULT_SOURCE // setenv, usleep
#include <dirent.h>
#include <fgmpi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { PIECES = 8, PIECE = 50000 };

static void raise_flag(void *buf1, int size1, void *buf2, int size2)
{
    (void)size1, (void)buf2, (void)size2;
    atomic_store((atomic_int *)buf1, 1);
}

// A pipeline from rank 0 along all ranks, and a flag.
static GOAL_Sched pipeline(int rank, int size, unsigned char *buf, atomic_int *flag)
{
    GOAL_Goal g = GOAL_Create();
    GOAL_fid f = CHECK_ID(GOAL_Reg_func(g, raise_flag));
    GOAL_id last[2 * PIECES];
    int n = 0;
    for (int i = 0; i < PIECES; i++) {
        unsigned char *at = buf + i * PIECE;
        GOAL_id recv = -1;
        if (rank > 0)
            recv = last[n++] = CHECK_ID(GOAL_Recv(g, at, PIECE, rank - 1));
        if (rank + 1 < size) {
            last[n] = CHECK_ID(GOAL_Send(g, at, PIECE, rank + 1));
            if (recv >= 0)
                CHECK_OK(GOAL_Requ(g, last[n], recv));
            n++;
        }
    }
    GOAL_id end = CHECK_ID(GOAL_Exec(g, f, flag, sizeof *flag, NULL, 0));
    for (int i = 0; i < n; i++)
        CHECK_OK(GOAL_Requ(g, end, last[i]));
    return compiled(g);
}

static int shares(void)
{
    int ranks;
    CHECK_OK(MPIX_Get_collocated_size(&ranks));
    return ranks > 1;
}

static void drive(int rank, int size)
{
    unsigned char *buf = must_alloc(PIECES * PIECE);
    atomic_int flag = 0;
    GOAL_Sched s = pipeline(rank, size, buf, &flag);
    if (!getenv("MILLET_GOAL_OFFLOAD")) // else all are
        CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    for (unsigned round = 0; round < 10; round++) {
        MPI_Request request;
        memset(buf, 0, PIECES * PIECE);
        if (rank == 0)
            pattern_fill(buf, PIECES * PIECE, round);
        atomic_store(&flag, 0);
        CHECK_OK(GOAL_Sched_start(s, &request));
        while (!shares() && round % 2 == 0 && !atomic_load(&flag))
            sched_yield(); // no call: somebody else must do it
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(atomic_load(&flag), 1);
        CHECK_PATTERN(buf, PIECES * PIECE, round);
        if (round == 4)
            CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1)); // again: nothing changes
        if (round == 6)
            CHECK_OK(GOAL_Sched_run(s)); // blocking
    }
    // Messages of the rank meanwhile, and two at once.
    int out = rank, in = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Sched other = ring_of(WORLD, &out, &in, sizeof in);
    CHECK_OK(GOAL_Sched_set(other, GOAL_OFFLOAD, 1));
    for (int i = 0; i < 200; i++) {
        MPI_Request requests[2];
        int value = -1;
        CHECK_OK(GOAL_Sched_start(s, &requests[0]));
        CHECK_OK(GOAL_Sched_start(other, &requests[1]));
        CHECK_OK(MPI_Sendrecv(&i, 1, MPI_INT, right, 2, &value, 1, MPI_INT, left, 2, WORLD,
                              MPI_STATUS_IGNORE));
        CHECK_INT(value, i);
        CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_INT(in, left);
    }
    CHECK_OK(GOAL_Sched_set(other, GOAL_OFFLOAD, 0));
    CHECK_OK(GOAL_Sched_run(other));
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(GOAL_Sched_free(&other));
    free(buf);
}

static void wait_in_vain(void *buf1, int size1, void *buf2, int size2)
{
    (void)size1, (void)buf2, (void)size2;
    while (!atomic_load((atomic_int *)buf1))
        usleep(1000);
}

// Once rank 0 says so, a message goes round all ranks. Rank 0 computes until it is back, and no other
// rank of its worker can run meanwhile.
static void compute(int rank, int size)
{
    unsigned char *buf = must_alloc(PIECE), *back = must_alloc(PIECE);
    atomic_int go = 0, flag = 0;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    GOAL_fid wait = CHECK_ID(GOAL_Reg_func(g, wait_in_vain)),
             raise = CHECK_ID(GOAL_Reg_func(g, raise_flag));
    GOAL_id recv = CHECK_ID(GOAL_Recv(g, rank ? buf : back, PIECE, before));
    GOAL_id send = CHECK_ID(GOAL_Send(g, buf, PIECE, next));
    GOAL_id end = CHECK_ID(GOAL_Exec(g, raise, &flag, sizeof flag, NULL, 0));
    CHECK_OK(
        GOAL_Requ(g, send, rank ? recv : CHECK_ID(GOAL_Exec(g, wait, &go, sizeof go, NULL, 0))));
    CHECK_OK(GOAL_Requ(g, end, recv));
    CHECK_OK(GOAL_Requ(g, end, send));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    for (unsigned round = 0; round < 20; round++) {
        MPI_Request request;
        memset(back, 0, PIECE);
        if (rank == 0)
            pattern_fill(buf, PIECE, round);
        atomic_store(&flag, 0);
        CHECK_OK(GOAL_Sched_start(s, &request));
        CHECK_OK(MPI_Barrier(WORLD));
        atomic_store(&go, 1);
        while (rank == 0 && !atomic_load(&flag))
            sched_yield();
        atomic_store(&go, 0);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_PATTERN(rank ? buf : back, PIECE, round);
    }
    CHECK_OK(GOAL_Sched_free(&s));
    free(buf);
    free(back);
}

// A rank that sleeps, or waits for a descriptor, lets the others run. The thread goes on.
static void sleep_between(int rank, int size)
{
    unsigned char *buf = must_alloc(PIECES * PIECE);
    atomic_int flag = 0;
    GOAL_Sched s = pipeline(rank, size, buf, &flag);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    for (unsigned round = 0; round < 20; round++) {
        MPI_Request request;
        int pipes[2];
        if (rank == 0)
            pattern_fill(buf, PIECES * PIECE, round);
        CHECK(pipe(pipes) == 0);
        CHECK_OK(GOAL_Sched_start(s, &request));
        usleep(1000 * (unsigned)((rank + round) % 3));
        struct pollfd look = {.fd = pipes[0], .events = POLLIN};
        CHECK_INT(poll(&look, 1, rank % 2 ? 0 : 2), 0);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_PATTERN(buf, PIECES * PIECE, round);
        CHECK(close(pipes[0]) == 0 && close(pipes[1]) == 0);
    }
    CHECK_OK(GOAL_Sched_free(&s));
    free(buf);
}

// Ranks that share a worker have either threads of theirs or the library's.
static void refused_to_threads(int provided)
{
    GOAL_Sched s = compiled(GOAL_Create());
    errors_return();
    if (provided >= MPI_THREAD_SERIALIZED) // not in all builds
        CHECK_ERROR(GOAL_Sched_set(s, GOAL_OFFLOAD, 1), MPI_ERR_UNSUPPORTED_OPERATION,
                    "GOAL_Sched_set", "have asked for MPI_THREAD_SERIALIZED");
    CHECK_OK(GOAL_Sched_free(&s));
}

// The call that calls this is not inside the gate, so there cannot be one yet.
static int first_in_callback(MPI_Comm comm, int key, void *extra, void *value, void *copy,
                             int *flag)
{
    (void)comm, (void)key, (void)value;
    int out = 1, in = -1;
    GOAL_Sched s = ring_of(WORLD, &out, &in, sizeof in);
    *(void **)copy = NULL;
    *flag = 1;
    if (*(int *)extra)
        CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    else
        CHECK_ERROR(GOAL_Sched_set(s, GOAL_OFFLOAD, 1), MPI_ERR_UNSUPPORTED_OPERATION,
                    "GOAL_Sched_set", "in a function that MPI calls");
    for (int i = 0; i < 100; i++)
        CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_free(&s));
    return MPI_SUCCESS;
}

static void callbacks(void)
{
    int key, allowed = 0;
    errors_return();
    CHECK_OK(MPI_Comm_create_keyval(first_in_callback, MPI_COMM_NULL_DELETE_FN, &key, &allowed));
    CHECK_OK(MPI_Comm_set_attr(WORLD, key, NULL));
    for (; allowed < 2; allowed++) {
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_dup(WORLD, &comm));
        CHECK_OK(MPI_Comm_free(&comm));
        GOAL_Sched s = compiled(GOAL_Create());
        CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
        CHECK_OK(GOAL_Sched_free(&s));
    }
    CHECK_OK(MPI_Comm_delete_attr(WORLD, key));
    CHECK_OK(MPI_Comm_free_keyval(&key));
}

static volatile sig_atomic_t signalled;

static void on_signal(int signal)
{
    (void)signal;
    signalled++;
}

// A process that sends SIGUSR1 to this one soon.
static pid_t fork_sender(void)
{
    pid_t us = getpid(), child = fork();
    if (child != 0)
        return child;
    usleep(300000);
    kill(us, SIGUSR1);
    _exit(0);
}

// Ranks have a signal handler, and the library's thread drives while nobody else can: it ends the
// sleeps of ranks to which a signal has come.
static void signals(int rank, int size)
{
    struct sigaction action = {.sa_handler = on_signal};
    unsigned char *buf = must_alloc(PIECES * PIECE);
    atomic_int flag = 0;
    MPI_Request request;
    GOAL_Sched s = pipeline(rank, size, buf, &flag);
    pattern_fill(buf, PIECES * PIECE, rank);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    pid_t sender = rank == 0 ? fork_sender() : 0;
    if (rank > 0) // under way until rank 0 starts it, too
        CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK(sleep(20) > 0 && signalled == 1);
    if (rank == 0)
        CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_PATTERN(buf, PIECES * PIECE, 0);
    CHECK(rank > 0 || (sender > 0 && waitpid(sender, NULL, 0) == sender));
    CHECK_OK(GOAL_Sched_free(&s));
    free(buf);
}

// Libraries end with the attributes of MPI_COMM_SELF, while MPI still works.
static int end_of_library(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    drive(world_rank(), world_size());
    return MPI_SUCCESS;
}

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (const struct dirent *d; (d = readdir(tasks));)
        n += d->d_name[0] != '.';
    closedir(tasks);
    return n;
}

static pthread_t caller;
static int hoped; // functions at once
static atomic_int here, most, on_caller, added;

// Waits, for a while, until as many are inside as the test hopes for.
static void meet(void *buf1, int size1, void *buf2, int size2)
{
    (void)buf1, (void)size1, (void)buf2, (void)size2;
    int now = atomic_fetch_add(&here, 1) + 1;
    for (int i = 0; i < 2000 && atomic_load(&most) < hoped; i++) {
        if (now > atomic_load(&most))
            atomic_store(&most, now);
        usleep(1000);
        now = atomic_load(&here);
    }
    atomic_fetch_sub(&here, 1);
    atomic_fetch_add(&added, 1);
    if (pthread_equal(pthread_self(), caller))
        atomic_store(&on_caller, 1);
}

// Local work that depends on nothing: the start returns before it is done, it runs on other
// threads, two at a time if there are cores, and the rank's own calls go on meanwhile.
static void local_work(int rank, int size)
{
    enum { COUNT = 1 << 16 };
    static double x[2][COUNT], y[2][COUNT];
    atomic_int flag = 0;
    char bytes[8] = {0};
    caller = pthread_self();
    // Ranks side by side have a core each.
    hoped = size == 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 0;
    GOAL_Goal g = GOAL_Create();
    GOAL_fid wait = CHECK_ID(GOAL_Reg_func(g, wait_in_vain));
    CHECK_ID(GOAL_Exec(g, wait, &flag, sizeof flag, NULL, 0));
    GOAL_Sched blocked = compiled(g);
    CHECK_OK(GOAL_Sched_set(blocked, GOAL_OFFLOAD, 1));
    MPI_Request request;
    CHECK_OK(GOAL_Sched_start(blocked, &request)); // it would never return on this thread
    int token = rank, done = 1;
    CHECK_OK(MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0,
                                  (rank + size - 1) % size, 0, WORLD, MPI_STATUS_IGNORE));
    CHECK(token == (rank + size - 1) % size);
    CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    CHECK(!done);
    atomic_store(&flag, 1);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(GOAL_Sched_free(&blocked));

    // Functions that meet, sums of many elements behind them, and a function reversed.
    g = GOAL_Create();
    GOAL_fid both = CHECK_ID(GOAL_Reg_func(g, meet));
    for (int i = 0; i < 2; i++) {
        GOAL_id first = CHECK_ID(GOAL_Exec(g, both, bytes + i, 1, bytes + 4 + i, 1));
        GOAL_id sum = CHECK_ID(GOAL_Exec(g, GOAL_sumFloat64, x[i], sizeof x[i], y[i], sizeof y[i]));
        CHECK_OK(GOAL_Requ(g, sum, first));
        for (int j = 0; j < COUNT; j++) {
            x[i][j] = i + j;
            y[i][j] = 1;
        }
    }
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    for (int round = 0; round < 3; round++)
        CHECK_OK(GOAL_Sched_run(s));
    CHECK(atomic_load(&added) == 6 && !atomic_load(&on_caller));
    CHECK(atomic_load(&most) == hoped);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < COUNT; j++)
            CHECK(x[i][j] == i + j + 3);
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "setting") == 0) // read in MPI_Init, where the process is one rank
        CHECK(setenv("MILLET_GOAL_OFFLOAD", "yes", 1) == 0);
    int provided = MPI_THREAD_SINGLE;
    if (strcmp(what, "threads") == 0)
        CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    else
        CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    if (strcmp(what, "threads") == 0) {
        refused_to_threads(provided);
    } else if (strcmp(what, "sleep") == 0) {
        sleep_between(rank, size);
    } else if (strcmp(what, "signals") == 0) {
        signals(rank, size);
    } else if (strcmp(what, "local") == 0) {
        local_work(rank, size);
    } else if (strcmp(what, "stuck") == 0) { // the report shows the rank's call, not the thread
        int in, out = 1;
        GOAL_Goal g = GOAL_Create();
        GOAL_id recv = CHECK_ID(GOAL_Recv(g, &in, sizeof in, (rank + 1) % size));
        CHECK_OK(
            GOAL_Requ(g, CHECK_ID(GOAL_Send(g, &out, sizeof out, (rank + size - 1) % size)), recv));
        GOAL_Sched s = compiled(g);
        CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
        CHECK_OK(GOAL_Sched_run(s));
    } else if (strcmp(what, "late") == 0) { // the rank sends and receives while the thread sleeps
        int in, value = 0;
        MPI_Request request;
        GOAL_Goal g = GOAL_Create();
        CHECK_ID(GOAL_Recv(g, &in, sizeof in, (rank + 1) % size));
        GOAL_Sched s = compiled(g);
        CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
        CHECK_OK(GOAL_Sched_start(s, &request));
        usleep(300000);
        if (rank == 0)
            CHECK_OK(MPI_Send(&value, 1, MPI_INT, 1, 0, WORLD));
        if (rank == 1)
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); // in vain, and soon proven
    } else if (strcmp(what, "exit") == 0) { // ends with the thread resting, without MPI_Finalize
        drive(rank, size);
        CHECK_OK(MPI_Barrier(WORLD));
        fflush(NULL);
        exit(3);
    } else if (strcmp(what, "callbacks") == 0) {
        callbacks();
    } else if (strcmp(what, "library") == 0) { // nothing is left, whoever used it last
        int key, before = threads(), shared = shares();
        drive(rank, size);
        CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_library, &key, NULL));
        CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
        CHECK_OK(MPI_Finalize());
        for (int i = 0; i < 2000 && threads() != before && !shared; i++)
            usleep(1000); // the system forgets a thread a little later than it ends
        CHECK(shared || threads() == before); // others of the worker may still use it
        return 0;
    } else {
        drive(rank, size);
        compute(rank, size);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
