// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers with requests: waited for and tested in all ways, together with other requests, freed,
// completed by the epoch's end; to nobody; their statuses.

#include "win_check.h"

enum { WORDS = 64 };

static void ways(enum flavor flavor, int way)
{
    box b = box_new(flavor, WORDS * 8, 8);
    int64_t out[WORDS], in[WORDS];
    MPI_Request r[WORDS];
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size, index = -1, flag = 0,
        count = 0, list[WORDS];
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    for (int i = 0; i < WORDS; i++) {
        out[i] = 1000 * b.rank + i;
        CHECK_OK(MPI_Rput(&out[i], 1, MPI_INT64_T, right, box_disp(&b, right, (size_t)i * 8), 1,
                          MPI_INT64_T, b.win, &r[i]));
    }
    if (way == 0)
        CHECK_OK(MPI_Waitall(WORDS, r, MPI_STATUSES_IGNORE));
    for (int i = 0; way == 1 && i < WORDS; i++)
        CHECK_OK(MPI_Waitany(WORDS, r, &index, MPI_STATUS_IGNORE));
    for (int i = 0; way == 2 && i < WORDS; i++)
        for (flag = 0; !flag;)
            CHECK_OK(MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE));
    for (int done = 0; way == 3 && done < WORDS; done += count)
        CHECK_OK(MPI_Waitsome(WORDS, r, &count, list, MPI_STATUSES_IGNORE));
    for (int i = 0; way == 4 && i < WORDS; i++)
        CHECK_OK(MPI_Request_free(&r[i]));
    for (int i = 0; way != 4 && i < WORDS; i++)
        CHECK(r[i] == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Win_unlock_all(b.win));
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    CHECK_OK(MPI_Rget(in, WORDS, MPI_INT64_T, b.rank, box_disp(&b, b.rank, 0), WORDS, MPI_INT64_T,
                      b.win, &r[0]));
    CHECK_OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    for (int i = 0; i < WORDS; i++)
        CHECK_INT(in[i], 1000 * left + i);
    CHECK_OK(MPI_Win_unlock_all(b.win));
    box_free(&b);
}

// Beside a message, in one list.
static void mixed(enum flavor flavor)
{
    box b = box_new(flavor, 8, 8);
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    int64_t out = b.rank, in = -1, fetched = -1, message = -1, one = 1;
    MPI_Request r[4];
    MPI_Status status[4];
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, b.win));
    CHECK_OK(MPI_Irecv(&message, 1, MPI_INT64_T, left, 3, b.comm, &r[0]));
    CHECK_OK(MPI_Raccumulate(&one, 1, MPI_INT64_T, right, box_disp(&b, right, 0), 1, MPI_INT64_T,
                             MPI_SUM, b.win, &r[1]));
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT64_T, right, 3, b.comm, &r[2]));
    CHECK_OK(MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &fetched, 1, MPI_INT64_T, right,
                                 box_disp(&b, right, 0), 1, MPI_INT64_T, MPI_SUM, b.win, &r[3]));
    CHECK_OK(MPI_Waitall(4, r, status));
    CHECK_INT(message, left);
    CHECK_INT(fetched, 1); // accumulates of one origin are in order
    CHECK_STATUS(&status[0], left, 3, 8);
    CHECK_OK(
        MPI_Rget(&in, 1, MPI_INT64_T, right, box_disp(&b, right, 0), 1, MPI_INT64_T, b.win, &r[0]));
    CHECK_OK(MPI_Win_unlock(right, b.win)); // completes it; the request remains
    CHECK_OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    box_free(&b);
}

static void nobody(enum flavor flavor)
{
    box b = box_new(flavor, 8, 8);
    int64_t word = 5, other = 6;
    MPI_Request r[4];
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    CHECK_OK(MPI_Rput(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, b.win, &r[0]));
    CHECK_OK(MPI_Rget(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, b.win, &r[1]));
    CHECK_OK(MPI_Raccumulate(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, MPI_SUM,
                             b.win, &r[2]));
    CHECK_OK(MPI_Rget_accumulate(&word, 1, MPI_INT64_T, &other, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1,
                                 MPI_INT64_T, MPI_SUM, b.win, &r[3]));
    CHECK_OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Win_unlock_all(b.win));
    CHECK(word == 5 && other == 6);
    box_free(&b);
}

// Large ones, whose buffers may be used again when the request is complete.
static void large(enum flavor flavor, size_t bytes)
{
    box b = box_new(flavor, bytes, 1);
    unsigned char *data = must_alloc(bytes);
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    MPI_Request r;
    pattern_fill(data, bytes, (unsigned)b.rank);
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    CHECK_OK(MPI_Rput(data, (int)bytes, MPI_BYTE, right, box_disp(&b, right, 0), (int)bytes,
                      MPI_BYTE, b.win, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    memset(data, 0, bytes);
    CHECK_OK(MPI_Win_flush(right, b.win));
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_OK(MPI_Rget(data, (int)bytes, MPI_BYTE, b.rank, box_disp(&b, b.rank, 0), (int)bytes,
                      MPI_BYTE, b.win, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_PATTERN(data, bytes, (unsigned)left);
    CHECK_OK(MPI_Win_unlock_all(b.win));
    free(data);
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        for (int way = 0; way < 5; way++)
            ways((enum flavor)flavor, way);
        mixed((enum flavor)flavor);
        nobody((enum flavor)flavor);
        large((enum flavor)flavor, 1000);
        large((enum flavor)flavor, 90001);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
