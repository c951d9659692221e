// SPDX-License-Identifier: BSD-3-Clause
// Windows in memory of a device, and operations whose buffers are there: all pairs of memories, kinds of
// windows and synchronisation.
#include "on_device.h"

enum { N = 3000, LONG = 40000, TURNS = 5 };

static int rank, size, next, before;

typedef enum made { CREATED, DYNAMIC } made;

typedef struct window {
    MPI_Win win;
    int *base;    // of this rank
    MPI_Aint *at; // of all ranks: where displacements count from
    size_t bytes;
    made made;
    bool device;
} window;

static window window_new(made made, bool device, size_t bytes)
{
    window w = {.base = any_new(device, bytes), .bytes = bytes, .made = made, .device = device};
    w.at = calloc((size_t)size, sizeof *w.at);
    char *zero = calloc(1, bytes);
    device_copy(w.base, zero, bytes);
    free(zero);
    if (made == CREATED) {
        MPI_Win_create(w.base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
        return w;
    }
    MPI_Aint mine;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
    MPI_Win_attach(w.win, w.base, (MPI_Aint)bytes);
    MPI_Get_address(w.base, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, w.at, 1, MPI_AINT, MPI_COMM_WORLD);
    return w;
}

static void window_free(window *w)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (w->made == DYNAMIC)
        MPI_Win_detach(w->win, w->base);
    MPI_Win_free(&w->win);
    any_free(w->device, w->base);
    free(w->at);
}

// What this rank has there.
static int *look(const window *w, size_t count)
{
    int *seen = malloc(count * sizeof *seen);
    device_copy(seen, w->base, count * sizeof *seen);
    return seen;
}

static int *numbers(int from, int count)
{
    int *list = malloc((size_t)count * sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = from + i;
    return list;
}

static bool is_row(const int *list, int from, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i] != from + i)
            return false;
    return true;
}

// ---- put and get

static void test_fence(made made, bool device, bool origin)
{
    window w = window_new(made, device, N * sizeof(int));
    int *mine = numbers(1000 * rank, N), *buf = any_copy(origin, mine, N * sizeof(int));
    int *back = any_new(origin, N * sizeof(int)), *seen;
    MPI_Win_fence(0, w.win);
    MPI_Put(buf, N, MPI_INT, next, w.at[next], N, MPI_INT, w.win);
    MPI_Win_fence(0, w.win);
    seen = look(&w, N);
    CHECK(is_row(seen, 1000 * before, N));
    MPI_Get(back, N, MPI_INT, next, w.at[next], N, MPI_INT, w.win);
    MPI_Win_fence(0, w.win);
    device_copy(seen, back, N * sizeof(int));
    CHECK(is_row(seen, 1000 * rank, N));
    free(seen);
    free(mine);
    any_free(origin, buf);
    any_free(origin, back);
    window_free(&w);
}

// Gaps on both sides, and different ones.
static void test_gaps(made made, bool device, bool origin)
{
    MPI_Datatype vector, pairs;
    int *mine = numbers(rank, 2 * N), *buf = any_copy(origin, mine, 2 * N * sizeof(int)), *seen;
    window w = window_new(made, device, 4 * N * sizeof(int));
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &vector); // N / 2 numbers, every second one
    MPI_Type_commit(&vector);
    MPI_Type_vector(N / 4, 2, 5, MPI_INT, &pairs); // the same as pairs
    MPI_Type_commit(&pairs);
    MPI_Win_lock_all(0, w.win);
    MPI_Put(buf, 1, vector, next, w.at[next], 1, pairs, w.win);
    MPI_Win_flush_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    seen = look(&w, 4 * N);
    for (int i = 0; i < N / 4; i++)
        CHECK(seen[5 * i] == before + 4 * i && seen[5 * i + 1] == before + 4 * i + 2 &&
              seen[5 * i + 2] == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(buf, 1, pairs, next, w.at[next], 1, pairs, w.win);
    MPI_Win_flush(next, w.win);
    device_copy(mine, buf, 2 * N * sizeof(int));
    for (int i = 0; i < N / 4; i++)
        CHECK(mine[5 * i] == rank + 4 * i && mine[5 * i + 1] == rank + 4 * i + 2 &&
              mine[5 * i + 2] == rank + 5 * i + 2);
    MPI_Win_unlock_all(w.win);
    MPI_Type_free(&vector);
    MPI_Type_free(&pairs);
    free(seen);
    free(mine);
    any_free(origin, buf);
    window_free(&w);
}

static void test_requests(made made, bool device, bool origin)
{
    window w = window_new(made, device, LONG * sizeof(int));
    int *mine = numbers(7 * rank, LONG), *buf = any_copy(origin, mine, LONG * sizeof(int));
    int *back = any_new(origin, LONG * sizeof(int)), *old = any_new(origin, LONG * sizeof(int));
    MPI_Request requests[2];
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    MPI_Rput(buf, LONG, MPI_INT, next, w.at[next], LONG, MPI_INT, w.win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(next, w.win);
    MPI_Rget(back, LONG, MPI_INT, next, w.at[next], LONG, MPI_INT, w.win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    device_copy(mine, back, LONG * sizeof(int));
    CHECK(is_row(mine, 7 * rank, LONG));
    MPI_Raccumulate(buf, LONG, MPI_INT, next, w.at[next], LONG, MPI_INT, MPI_SUM, w.win,
                    &requests[0]);
    MPI_Rget_accumulate(buf, LONG, MPI_INT, old, LONG, MPI_INT, next, w.at[next], LONG, MPI_INT,
                        MPI_REPLACE, w.win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock(next, w.win);
    device_copy(mine, old, LONG * sizeof(int));
    for (int i = 0; i < LONG; i++)
        CHECK(mine[i] == 2 * (7 * rank + i));
    MPI_Barrier(MPI_COMM_WORLD);
    int *seen = look(&w, LONG);
    CHECK(is_row(seen, 7 * before, LONG));
    free(seen);
    free(mine);
    any_free(origin, buf);
    any_free(origin, back);
    any_free(origin, old);
    window_free(&w);
}

// Everybody to rank 0, by the group's epochs.
static void test_post(made made, bool device, bool origin)
{
    window w = window_new(made, device, (size_t)size * N * sizeof(int));
    MPI_Group world, zero, others;
    int *mine = numbers(rank, N), *buf = any_copy(origin, mine, N * sizeof(int));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){0}, &zero);
    MPI_Group_excl(world, 1, (int[]){0}, &others);
    if (rank == 0) {
        MPI_Win_post(others, 0, w.win);
        MPI_Win_wait(w.win);
        int *seen = look(&w, (size_t)size * N);
        for (int r = 1; r < size; r++)
            CHECK(is_row(seen + r * N, r, N));
        free(seen);
    } else {
        MPI_Win_start(zero, 0, w.win);
        MPI_Put(buf, N, MPI_INT, 0, w.at[0] + (MPI_Aint)(rank * N * (int)sizeof(int)), N, MPI_INT,
                w.win);
        MPI_Win_complete(w.win);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&zero);
    MPI_Group_free(&others);
    free(mine);
    any_free(origin, buf);
    window_free(&w);
}

// ---- accumulates

// Long ones of all ranks at the same memory, with one number at a time between them.
static void test_sums(made made, bool device, bool origin)
{
    window w = window_new(made, device, LONG * sizeof(int));
    int *mine = malloc(LONG * sizeof(int));
    for (int i = 0; i < LONG; i++)
        mine[i] = 1;
    int *buf = any_copy(origin, mine, LONG * sizeof(int));
    MPI_Win_lock_all(0, w.win);
    for (int t = 0; t < TURNS; t++) {
        MPI_Accumulate(buf, LONG, MPI_INT, 0, w.at[0], LONG, MPI_INT, MPI_SUM, w.win);
        MPI_Accumulate(buf, 1, MPI_INT, 0, w.at[0], 1, MPI_INT, MPI_SUM, w.win);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int *seen = look(&w, LONG);
        CHECK(seen[0] == 2 * TURNS * size);
        for (int i = 1; i < LONG; i++)
            CHECK(seen[i] == TURNS * size);
        free(seen);
    }
    free(mine);
    any_free(origin, buf);
    window_free(&w);
}

// Every number is fetched once; then a swap decides whose turn it is.
static void test_fetches(made made, bool device, bool origin)
{
    window w = window_new(made, device, 2 * sizeof(int64_t));
    int64_t one = 1, got = -1, sum = 0, all, words[3];
    int64_t *add = any_copy(origin, &one, sizeof one), *was = any_new(origin, sizeof one);
    int64_t *swap = any_copy(origin, words, sizeof words);
    MPI_Win_lock_all(0, w.win);
    for (int t = 0; t < TURNS; t++) {
        MPI_Fetch_and_op(add, was, MPI_INT64_T, 0, w.at[0], MPI_SUM, w.win);
        MPI_Win_flush(0, w.win);
        device_copy(&got, was, sizeof got);
        sum += got;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == (int64_t)TURNS * size * (TURNS * size - 1) / 2);
    MPI_Fetch_and_op(NULL, was, MPI_INT64_T, 0, w.at[0], MPI_NO_OP, w.win);
    MPI_Win_flush(0, w.win);
    device_copy(&got, was, sizeof got);
    CHECK(got == (int64_t)TURNS * size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < TURNS; t++) // each takes the word from 0 to its own, and adds to it
        for (bool mine = false; !mine;) {
            memcpy(words, (int64_t[]){rank + 1, 0, -1}, sizeof words);
            device_copy(swap, words, sizeof words);
            MPI_Compare_and_swap(swap, swap + 1, swap + 2, MPI_INT64_T, 0,
                                 w.at[0] + (MPI_Aint)sizeof(int64_t), w.win);
            MPI_Win_flush(0, w.win);
            device_copy(words, swap, sizeof words);
            mine = words[2] == 0;
            if (!mine)
                continue;
            MPI_Accumulate(add, 1, MPI_INT64_T, 0, w.at[0], 1, MPI_INT64_T, MPI_SUM, w.win);
            MPI_Win_flush(0, w.win);
            memcpy(words, (int64_t[]){0, rank + 1, -1}, sizeof words);
            device_copy(swap, words, sizeof words);
            MPI_Compare_and_swap(swap, swap + 1, swap + 2, MPI_INT64_T, 0,
                                 w.at[0] + (MPI_Aint)sizeof(int64_t), w.win);
            MPI_Win_flush(0, w.win);
            device_copy(words, swap, sizeof words);
            CHECK(words[2] == rank + 1);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(w.win);
    if (rank == 0) {
        device_copy(words, w.base, 2 * sizeof(int64_t));
        CHECK(words[0] == 2 * (int64_t)TURNS * size && words[1] == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    any_free(origin, add);
    any_free(origin, was);
    any_free(origin, swap);
    window_free(&w);
}

typedef struct short_int {
    short value;
    int index;
} short_int;

// Pairs with a gap inside, of every second place.
static void test_pairs(made made, bool device, bool origin)
{
    window w = window_new(made, device, 16 * sizeof(short_int));
    MPI_Datatype second;
    short_int mine[8], *buf, seen[16], old[8];
    memset(mine, 0x55, sizeof mine);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < 8; i++) {
        mine[i].value = (short)(100 * rank + i);
        mine[i].index = rank;
    }
    buf = any_copy(origin, mine, sizeof mine);
    short_int *was = any_copy(origin, mine, sizeof mine);
    MPI_Type_vector(8, 1, 2, MPI_SHORT_INT, &second);
    MPI_Type_commit(&second);
    MPI_Win_fence(0, w.win);
    MPI_Accumulate(buf, 8, MPI_SHORT_INT, next, w.at[next], 1, second, MPI_MAXLOC, w.win);
    MPI_Win_fence(0, w.win);
    device_copy(seen, w.base, sizeof seen);
    for (int i = 0; i < 8; i++) {
        bool own = before > 0 || i > 0; // otherwise 0 at 0 stays
        CHECK(seen[2 * i].value == 100 * before + i && seen[2 * i].index == (own ? before : 0));
        CHECK(seen[2 * i + 1].value == 0 && seen[2 * i + 1].index == 0);
        CHECK(((const char *)&seen[2 * i])[2] == 0); // the gap
    }
    MPI_Win_fence(0, w.win);
    MPI_Get_accumulate(buf, 8, MPI_SHORT_INT, was, 8, MPI_SHORT_INT, next, w.at[next], 1, second,
                       MPI_REPLACE, w.win);
    MPI_Win_fence(0, w.win);
    device_copy(old, was, sizeof old);
    for (int i = 0; i < 8; i++)
        CHECK(old[i].value == 100 * rank + i && ((const char *)&old[i])[2] == 0x55);
    MPI_Type_free(&second);
    any_free(origin, buf);
    any_free(origin, was);
    window_free(&w);
}

// ---- both memories in one window

static void test_both_memories(void)
{
    MPI_Win win;
    MPI_Aint mine[2], *all = malloc(2 * (size_t)size * sizeof *all);
    int host[4] = {0}, *device = device_new(4 * sizeof(int)), seen[4], back[4];
    int out[4] = {rank + 1, rank + 2, rank + 3, rank + 4}, *buf = any_copy(true, out, sizeof out);
    MPI_Datatype both;
    device_copy(device, host, sizeof host);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, host, sizeof host);
    MPI_Win_attach(win, device, sizeof host);
    MPI_Get_address(host, &mine[0]);
    MPI_Get_address(device, &mine[1]);
    MPI_Allgather(mine, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
    MPI_Type_create_hindexed(2, (int[]){2, 2}, all + 2 * next, MPI_INT, &both);
    MPI_Type_commit(&both);
    for (int origin = 0; origin < 2; origin++) {
        int *from = origin ? buf : out;
        memset(host, 0, sizeof host);
        device_copy(device, host, sizeof host);
        MPI_Win_fence(0, win);
        MPI_Put(from, 4, MPI_INT, next, 0, 1, both, win);
        MPI_Win_fence(0, win);
        device_copy(seen, device, sizeof seen);
        CHECK(is_row(host, before + 1, 2) && is_row(seen, before + 3, 2) && seen[2] == 0);
        MPI_Win_fence(0, win);
        MPI_Accumulate(from, 4, MPI_INT, next, 0, 1, both, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Get(back, 4, MPI_INT, next, 0, 1, both, win);
        MPI_Win_fence(0, win);
        CHECK(back[0] == 2 * (rank + 1) && back[3] == 2 * (rank + 4));
        MPI_Win_fence(0, win);
    }
    MPI_Type_free(&both);
    MPI_Win_detach(win, device);
    MPI_Win_detach(win, host);
    MPI_Win_free(&win);
    device_free(device);
    device_free(buf);
    free(all);
}

// Rank 0 gives device memory, the others that of the host; and nothing at all.
static void test_some_ranks(void)
{
    MPI_Win win;
    bool device = rank == 0;
    int zero = 0, value = rank + 1, *base = any_copy(device, &zero, sizeof zero), got;
    MPI_Aint bytes = rank == size - 1 && size > 1 ? 0 : sizeof(int);
    MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < size && (r < size - 1 || size == 1); r++)
        MPI_Accumulate(&value, 1, MPI_INT, r, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    device_copy(&got, base, sizeof got);
    CHECK(got == (bytes ? size * (size + 1) / 2 : 0));
    MPI_Win_free(&win);
    any_free(device, base);
}

static void test_asking(void)
{
    window w = window_new(CREATED, true, N);
    void *base, *shared;
    int flag, unit, class, code;
    MPI_Aint bytes;
    char byte = 1;
    MPI_Win_get_attr(w.win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == w.base);
    MPI_Win_shared_query(w.win, rank, &bytes, &unit, &shared);
    CHECK(shared == w.base && bytes == N && unit == 1);
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    code = MPI_Put(&byte, 1, MPI_BYTE, next, N, 1, MPI_BYTE, w.win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(next, w.win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RMA_RANGE);
    MPI_Win_unlock(next, w.win);
    window_free(&w);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_begin();
    for (int made = CREATED; made <= DYNAMIC; made++)
        for (int memories = 0; memories < 4; memories++) {
            bool device = memories & 1, origin = memories & 2;
            test_fence(made, device, origin);
            test_gaps(made, device, origin);
            test_requests(made, device, origin);
            test_post(made, device, origin);
            test_sums(made, device, origin);
            test_fetches(made, device, origin);
            test_pairs(made, device, origin);
        }
    test_both_memories();
    test_some_ranks();
    test_asking();
    return device_end();
}
