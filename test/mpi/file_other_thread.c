// SPDX-License-Identifier: BSD-3-Clause
//
// Reads that one thread starts and another one waits for (MPI_THREAD_SERIALIZED); with the argument
// "offload" a rank that lets the library's own thread in while it reads. What waits for short reads must
// not need the thread that has asked for them. This program's own preadv2 says of every one that it
// cannot be done at once.

#define _DEFAULT_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "file_check.h"
#include "goal_check.h"

enum { READS = 100, SIZE = 4000 };

typedef struct reads {
    MPI_File fh;
    MPI_Request requests[READS];
    unsigned char room[READS][SIZE];
} reads;

ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    (void)fd, (void)pieces, (void)count, (void)at, (void)flags;
    errno = EAGAIN;
    return -1;
}

static void start(reads *r)
{
    memset(r->room, 0, sizeof r->room);
    for (int i = 0; i < READS; i++)
        CHECK_OK(MPI_File_iread_at(r->fh, 0, r->room[i], SIZE, MPI_BYTE, &r->requests[i]));
}

static void *finish(void *all)
{
    reads *r = all;
    CHECK_OK(MPI_Waitall(READS, r->requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < READS; i++)
        CHECK_PATTERN(r->room[i], SIZE, 7);
    return NULL;
}

// Either is fine: the thread comes in, or the rank is told to wait for its reads first.
static void let_thread_in(reads *r)
{
    GOAL_Sched s = compiled(GOAL_Create());
    start(r);
    int code = GOAL_Sched_set(s, GOAL_OFFLOAD, 1);
    if (code != MPI_SUCCESS)
        CHECK_ERROR(code, MPI_ERR_UNSUPPORTED_OPERATION, "GOAL_Sched_set", "while a file");
    finish(r);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    start(r);
    CHECK_OK(GOAL_Sched_run(s));
    finish(r);
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    unsigned char data[SIZE];
    int level;
    bool offload = argc > 1 && strcmp(argv[1], "offload") == 0;
    CHECK_OK(
        MPI_Init_thread(&argc, &argv, offload ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED, &level));
    errors_return();
    pattern_fill(data, SIZE, 7);
    fresh_path(path);
    reads *r = must_alloc(sizeof *r);
    MPI_File fh = r->fh =
        must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    if (world_rank() == 0)
        CHECK_OK(MPI_File_write_at(fh, 0, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_sync(fh));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    start(r);
    if (level >= MPI_THREAD_SERIALIZED) {
        pthread_t other;
        CHECK(pthread_create(&other, NULL, finish, r) == 0 && pthread_join(other, NULL) == 0);
        start(r);
    }
    finish(r);
    if (offload)
        let_thread_in(r);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    free(r);
    return 0;
}
