// SPDX-License-Identifier: BSD-3-Clause
//
// Targets that wait in MPI lend a hand to origins of other processes, and origins manage without:
// accumulates and long copies on memory of the user's, of lengths around those at which they go
// another way. Rank 0 is the origin and the others wait; then each rank is one for its right
// neighbour, at the same time. Data are such that an operation that was done twice, or not at all,
// shows.

#include "win_check.h"

enum { MOST = (1 << 20) + 8, ROUNDS = 3 };

static const size_t lengths[] = {8,     32,    40,     48,     2048,   2056, 65528,
                                 65536, 65544, 262136, 262144, 262152, MOST};

static int64_t value(int rank, size_t i)
{
    return (int64_t)(i * 7 + 1) * (rank + 3);
}

// All operations on so many bytes of that rank; `was`: what is there.
static void change(const box *b, int target, size_t bytes, int64_t *in, int64_t *out,
                   const int64_t *was)
{
    size_t n = bytes / 8;
    int count = (int)n;
    MPI_Aint at = box_disp(b, target, 0);
    for (size_t i = 0; i < n; i++)
        in[i] = value(b->rank, i);
    CHECK_OK(MPI_Get(out, count, MPI_INT64_T, target, at, count, MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
    for (size_t i = 0; i < n; i++)
        CHECK_INT(out[i], was[i]);
    CHECK_OK(
        MPI_Accumulate(in, count, MPI_INT64_T, target, at, count, MPI_INT64_T, MPI_SUM, b->win));
    CHECK_OK(MPI_Get_accumulate(in, count, MPI_INT64_T, out, count, MPI_INT64_T, target, at, count,
                                MPI_INT64_T, MPI_BXOR, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(out[i], was[i] + in[i]);
        out[i] ^= in[i];
        in[i] = ~out[i];
    }
    CHECK_OK(MPI_Compare_and_swap(in, out, out, MPI_INT64_T, target, at, b->win));
    CHECK_OK(MPI_Put(in + 1, count - 1, MPI_INT64_T, target, box_disp(b, target, 8), count - 1,
                     MPI_INT64_T, b->win));
}

// What that origin has made of it.
static void model(int origin, size_t bytes, int64_t *words)
{
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = ~((words[i] + value(origin, i)) ^ value(origin, i));
}

// origins: 1: rank 0 only.
static void round_of(const box *b, size_t bytes, int origins, int64_t *in, int64_t *out,
                     int64_t *was)
{
    int64_t *own = (int64_t *)(void *)b->base;
    int right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size;
    for (size_t i = 0; i < bytes / 8; i++) {
        own[i] = value(b->rank + 10, i);
        was[i] = value(right + 10, i);
    }
    CHECK_OK(MPI_Barrier(b->comm));
    if (b->rank < origins) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, b->win));
        for (int k = 0; k < ROUNDS; k++) {
            change(b, right, bytes, in, out, was);
            CHECK_OK(MPI_Win_flush(right, b->win));
            model(b->rank, bytes, was);
        }
        CHECK_OK(MPI_Win_unlock(right, b->win));
    }
    CHECK_OK(MPI_Barrier(b->comm)); // the others wait here
    for (size_t i = 0; i < bytes / 8; i++)
        was[i] = value(b->rank + 10, i);
    for (int k = 0; k < ROUNDS && left < origins; k++)
        model(left, bytes, was);
    for (size_t i = 0; i < bytes / 8; i++)
        CHECK_INT(own[i], was[i]);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int64_t *in = must_alloc(MOST), *out = must_alloc(MOST), *was = must_alloc(MOST);
    for (int flavor = 0; flavor < 2; flavor++) {
        box b = box_new(flavor ? DYNAMIC : CREATE, MOST, 1);
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            round_of(&b, lengths[i], 1, in, out, was);
            round_of(&b, lengths[i], b.size, in, out, was);
        }
        box_free(&b);
    }
    free(in);
    free(out);
    free(was);
    CHECK_OK(MPI_Finalize());
    return 0;
}
