// SPDX-License-Identifier: BSD-3-Clause
//
// Dynamic windows: memory that comes and goes, several pieces of different sizes, addresses sent by
// messages, a distributed list that grows by compare and swap.

#include "win_check.h"

enum { PIECES = 17 };

// Attach, tell, write to, detach, many times over.
static void pieces(void)
{
    MPI_Win win;
    int rank = world_rank(), size = world_size(), right = (rank + 1) % size,
        left = (rank + size - 1) % size;
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int round = 0; round < 5; round++) {
        unsigned char *piece[PIECES], out[64];
        MPI_Aint own[PIECES], there[PIECES];
        for (int i = 0; i < PIECES; i++) {
            size_t bytes = (size_t)(1 + (i * 37 + round) % 64);
            piece[i] = must_alloc(bytes);
            memset(piece[i], 0, bytes);
            CHECK_OK(MPI_Win_attach(win, piece[i], (MPI_Aint)bytes));
            CHECK_OK(MPI_Get_address(piece[i], &own[i]));
        }
        CHECK_OK(MPI_Sendrecv(own, PIECES, MPI_AINT, left, 1, there, PIECES, MPI_AINT, right, 1,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        for (int i = 0; i < PIECES; i++) {
            int bytes = 1 + (i * 37 + round) % 64;
            pattern_fill(out, (size_t)bytes, (unsigned)(rank + i));
            CHECK_OK(MPI_Put(out, bytes, MPI_BYTE, right, there[i], bytes, MPI_BYTE, win));
            CHECK_OK(MPI_Win_flush_local(right, win));
        }
        CHECK_OK(MPI_Win_unlock(right, win));
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        for (int i = 0; i < PIECES; i++)
            CHECK_PATTERN(piece[i], (size_t)(1 + (i * 37 + round) % 64), (unsigned)(left + i));
        CHECK_OK(MPI_Win_unlock(rank, win));
        for (int i = 0; i < PIECES; i++) { // not in the order in which they came
            int k = (i * 5 + round) % PIECES;
            CHECK_OK(MPI_Win_detach(win, piece[k]));
            free(piece[k]);
        }
    }
    CHECK_OK(MPI_Win_free(&win));
}

// Displacements in the middle of a piece, of two pieces that touch, and below the first.
static void middles(void)
{
    MPI_Win win;
    int rank = world_rank(), size = world_size(), right = (rank + 1) % size,
        left = (rank + size - 1) % size;
    int *data = must_alloc(20 * sizeof *data), value = 40 + rank;
    MPI_Aint own, there;
    memset(data, 0, 20 * sizeof *data);
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_OK(MPI_Win_attach(win, data + 10, 10 * sizeof *data));
    CHECK_OK(MPI_Win_attach(win, data, 10 * sizeof *data));
    CHECK_OK(MPI_Get_address(data, &own));
    CHECK_OK(MPI_Sendrecv(&own, 1, MPI_AINT, left, 1, &there, 1, MPI_AINT, right, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, right, MPI_Aint_add(there, 3 * 4), 1, MPI_INT, win));
    CHECK_OK(MPI_Accumulate(&value, 1, MPI_INT, right, MPI_Aint_add(there, 19 * 4), 1, MPI_INT,
                            MPI_SUM, win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < 20; i++)
        CHECK_INT(data[i], i == 3 || i == 19 ? 40 + left : 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_detach(win, data)); // the other piece stays
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, right, MPI_Aint_add(there, 12 * 4), 1, MPI_INT, win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_INT(data[12], 40 + left);
    CHECK_OK(MPI_Win_free(&win)); // with what is attached
    free(data);
}

// A cell of the list: where the next one is. The head is rank 0's.
typedef struct cell {
    int64_t next; // rank << 48 | address, or 0
    int64_t value;
} cell;

enum { CELLS = 6 };

static int64_t link_of(int rank, const cell *c)
{
    MPI_Aint at;
    CHECK_OK(MPI_Get_address(c, &at));
    return (int64_t)(rank + 1) << 48 | (int64_t)at;
}

static void fetch_link(MPI_Win win, int64_t at, int64_t *link)
{
    int rank = (int)(at >> 48) - 1;
    int64_t none = 0;
    CHECK_OK(MPI_Fetch_and_op(&none, link, MPI_INT64_T, rank, (MPI_Aint)(at & 0xffffffffffff),
                              MPI_NO_OP, win));
    CHECK_OK(MPI_Win_flush(rank, win));
}

// All ranks push to the front at once; then rank 0 walks along.
static void list(void)
{
    MPI_Win win;
    int rank = world_rank(), size = world_size();
    cell *own = must_alloc((CELLS + 1) * sizeof *own);
    int64_t head = link_of(rank, own), first = 0;
    memset(own, 0, (CELLS + 1) * sizeof *own);
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_OK(MPI_Win_attach(win, own, (CELLS + 1) * sizeof *own));
    CHECK_OK(MPI_Bcast(&head, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_lock_all(0, win));
    for (int i = 1; i <= CELLS; i++) {
        int64_t found = -1, link = link_of(rank, &own[i]), expected;
        own[i].value = rank * 100 + i;
        fetch_link(win, head, &expected);
        for (;;) {
            own[i].next = expected;
            CHECK_OK(MPI_Win_sync(win));
            CHECK_OK(MPI_Compare_and_swap(&link, &expected, &found, MPI_INT64_T, 0,
                                          (MPI_Aint)(head & 0xffffffffffff), win));
            CHECK_OK(MPI_Win_flush(0, win));
            if (found == expected)
                break;
            expected = found;
        }
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_lock_all(0, win));
    int64_t sum = 0, count = 0;
    fetch_link(win, head, &first);
    while (rank == 0 && first != 0) {
        cell c;
        int owner = (int)(first >> 48) - 1;
        CHECK_OK(MPI_Get(&c, sizeof c, MPI_BYTE, owner, (MPI_Aint)(first & 0xffffffffffff),
                         sizeof c, MPI_BYTE, win));
        CHECK_OK(MPI_Win_flush(owner, win));
        sum += c.value;
        count++;
        first = c.next;
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    if (rank == 0) {
        CHECK_INT(count, (int64_t)CELLS * size);
        CHECK_INT(sum,
                  (int64_t)size * CELLS * (CELLS + 1) / 2 + 100LL * CELLS * size * (size - 1) / 2);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_detach(win, own));
    CHECK_OK(MPI_Win_free(&win));
    free(own);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    pieces();
    middles();
    list();
    CHECK_OK(MPI_Finalize());
    return 0;
}
