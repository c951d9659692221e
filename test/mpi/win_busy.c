// SPDX-License-Identifier: BSD-3-Clause
//
// A target that computes holds nobody up: rank 1 does not call MPI while it looks at a word of its
// own window, and rank 0 locks, puts, gets, accumulates, flushes and unlocks meanwhile. Only then
// rank 0 sets the word. If a call needed the target's help, neither rank would ever go on.
//
// In memory that MPI allocates, or within a process in any, or between processes if the system lets
// them reach each other's memory; if it does not, the target waits in a receive. Ranks are alone in
// their workers. argv[1]: shared, allocate, create or dynamic; argv[2]: ranks are processes.
// argv[1] flush: see flush_one.

#define _GNU_SOURCE // process_vm_readv
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "win_check.h"

enum { WORDS = 1000 };

// Where word i of rank 1 is.
static MPI_Aint at(const box *b, int i)
{
    return box_disp(b, 1, (size_t)i * 8);
}

// Small puts, of which many may leave together: apart, one after the other, over each other's ends,
// and more than leave at a time.
static void bursts(const box *b)
{
    enum { FIRST = 30 };
    int64_t *want = must_alloc(WORDS * 8), *got = must_alloc(WORDS * 8);
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, b->win));
    for (int i = FIRST; i < WORDS; i++)
        want[i] = 11 * i;
    for (int i = FIRST; i < WORDS; i += 3)
        CHECK_OK(MPI_Put(want + i, 1, MPI_INT64_T, 1, at(b, i), 1, MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_flush(1, b->win));
    for (int i = FIRST; i < WORDS; i++)
        want[i] = i % 3 ? 7 * i : want[i];
    for (int i = FIRST; i < WORDS; i++)
        CHECK_OK(MPI_Put(want + i, 1, MPI_INT64_T, 1, at(b, i), 1, MPI_INT64_T, b->win));
    for (int round = 0; round < 20; round++) // over what is there, and two words more each time
        CHECK_OK(MPI_Put(want + FIRST + 2 * round, 100, MPI_INT64_T, 1, at(b, FIRST + 2 * round),
                         100, MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_flush_all(b->win));
    CHECK_OK(MPI_Get(got + FIRST, WORDS - FIRST, MPI_INT64_T, 1, at(b, FIRST), WORDS - FIRST,
                     MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_unlock(1, b->win));
    for (int i = FIRST; i < WORDS; i++)
        CHECK_INT(got[i], want[i]);
    free(want);
    free(got);
}

static void origin(const box *b)
{
    int64_t *out = must_alloc(WORDS * 8), one = 1, was = -1, got = -1, none = 0;
    for (int i = 0; i < WORDS; i++)
        out[i] = i;
    for (int round = 0; round < 3; round++) {
        CHECK_OK(MPI_Win_lock(round ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, b->win));
        CHECK_OK(
            MPI_Put(out + 1, WORDS - 1, MPI_INT64_T, 1, at(b, 1), WORDS - 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_OK(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 1, at(b, 5), MPI_SUM, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_INT(was, 5);
        CHECK_OK(MPI_Accumulate(out, WORDS - 10, MPI_INT64_T, 1, at(b, 10), WORDS - 10, MPI_INT64_T,
                                MPI_SUM, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, 1, at(b, 20), 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_unlock(1, b->win));
        CHECK_INT(got, 30);
    }
    bursts(b);
    CHECK_OK(MPI_Win_lock_all(0, b->win));
    CHECK_OK(MPI_Compare_and_swap(&one, &none, &was, MPI_INT64_T, 1, at(b, 0), b->win));
    CHECK_OK(MPI_Win_unlock_all(b->win));
    free(out);
}

// Rank 0 can read rank 1's memory.
static int is_reached(const box *b)
{
    long long there[2] = {getpid(), (long long)(uintptr_t)b->base}, got;
    int reached = 1;
    if (b->rank == 1)
        CHECK_OK(MPI_Send(there, 2, MPI_LONG_LONG, 0, 0, b->comm));
    else {
        CHECK_OK(MPI_Recv(there, 2, MPI_LONG_LONG, 1, 0, b->comm, MPI_STATUS_IGNORE));
        struct iovec here = {&got, sizeof got}, far = {(void *)(uintptr_t)there[1], sizeof got};
        reached = there[0] == getpid() ||
                  process_vm_readv((pid_t)there[0], &here, 1, &far, 1, 0) == sizeof got;
    }
    CHECK_OK(MPI_Bcast(&reached, 1, MPI_INT, 0, b->comm));
    return reached;
}

// A window over memory that is not there any more: the flush says so, if not the put. The target
// does not call MPI meanwhile: it would help, and crash.
static void vanished(const box *b)
{
    _Atomic int64_t *over = (_Atomic int64_t *)(void *)b->base + 1;
    int64_t one = 1;
    MPI_Win win;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *base = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    CHECK_OK(MPI_Win_create(base, (MPI_Aint)(2 * page), 1, MPI_INFO_NULL, b->comm, &win));
    CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (b->rank == 1) {
        munmap(base + page, page);
        atomic_store_explicit(over, 0, memory_order_relaxed);
    }
    CHECK_OK(MPI_Barrier(b->comm));
    while (b->rank == 1 && atomic_load_explicit(over, memory_order_acquire) == 0)
        continue;
    if (b->rank == 0) {
        char byte = 1;
        CHECK_OK(MPI_Win_lock_all(0, win));
        CHECK_OK(MPI_Put(&byte, 1, MPI_CHAR, 1, 0, 1, MPI_CHAR, win));
        CHECK_OK(MPI_Win_flush(1, win));
        int code = MPI_Put(&byte, 1, MPI_CHAR, 1, (MPI_Aint)page, 1, MPI_CHAR, win), class = 0;
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(1, win);
        CHECK_OK(MPI_Error_class(code, &class));
        CHECK_INT(class, MPI_ERR_RMA_RANGE);
        CHECK_OK(MPI_Put(&byte, 1, MPI_CHAR, 1, 1, 1, MPI_CHAR, win)); // the window works on
        CHECK_OK(MPI_Win_flush(1, win));
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_lock_all(0, b->win));
        CHECK_OK(MPI_Put(&one, 1, MPI_INT64_T, 1, at(b, 1), 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_unlock_all(b->win));
    }
    CHECK_OK(MPI_Barrier(b->comm));
    CHECK_OK(MPI_Win_free(&win));
    munmap(base, b->rank == 1 ? page : 2 * page);
}

static void target(const box *b)
{
    _Atomic int64_t *flag = (_Atomic int64_t *)(void *)b->base;
    while (atomic_load_explicit(flag, memory_order_acquire) == 0)
        continue;
    CHECK_INT(((int64_t *)(void *)b->base)[20], 30);
}

// A flush waits for its own target: rank 1 does not call MPI before rank 0 has flushed rank 2. The
// window is dynamic and the data have gaps, so between processes operations go by packets.
static void flush_one(void)
{
    box b = box_new(SHARED, 16, 8); // rank 1's: it may go on; it does not call MPI
    MPI_Win win;
    MPI_Datatype gaps;
    int64_t word[3] = {0}, ones[3] = {1, 1, 1};
    MPI_Aint there[3], bytes;
    int unit;
    _Atomic int64_t *flags;
    CHECK_INT(b.size, 3);
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, b.comm, &win));
    CHECK_OK(MPI_Win_attach(win, word, sizeof word));
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT64_T, &gaps));
    CHECK_OK(MPI_Type_commit(&gaps));
    CHECK_OK(MPI_Get_address(word, &there[b.rank]));
    CHECK_OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_AINT, there, 1, MPI_AINT, b.comm));
    CHECK_OK(MPI_Win_shared_query(b.win, 1, &bytes, &unit, &flags));
    if (b.rank == 0) {
        while (atomic_load_explicit(&flags[1], memory_order_acquire) == 0)
            continue;
        CHECK_OK(MPI_Win_lock_all(0, win));
        for (int r = 1; r < 3; r++)
            CHECK_OK(MPI_Put(ones, 1, gaps, r, there[r], 1, gaps, win));
        CHECK_OK(MPI_Win_flush(2, win));
        atomic_store_explicit(&flags[0], 1, memory_order_release);
        CHECK_OK(MPI_Win_unlock_all(win));
    } else if (b.rank == 1) {
        atomic_store_explicit(&flags[1], 1, memory_order_release);
        while (atomic_load_explicit(&flags[0], memory_order_acquire) == 0)
            continue;
    }
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK(word[0] == (b.rank != 0) && word[1] == 0 && word[2] == word[0]);
    CHECK_OK(MPI_Type_free(&gaps));
    CHECK_OK(MPI_Win_detach(win, word));
    CHECK_OK(MPI_Win_free(&win));
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    const char *which = argc > 1 ? argv[1] : "shared";
    if (strcmp(which, "flush") == 0) {
        flush_one();
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    enum flavor flavor = strcmp(which, "create") == 0     ? CREATE
                         : strcmp(which, "dynamic") == 0  ? DYNAMIC
                         : strcmp(which, "allocate") == 0 ? ALLOCATE
                                                          : SHARED;
    box b = box_new(flavor, WORDS * 8, 8);
    CHECK_INT(b.size, 2);
    int reached = (flavor != CREATE && flavor != DYNAMIC) || is_reached(&b);
    if (b.rank == 0)
        origin(&b);
    else if (reached)
        target(&b);
    CHECK_OK(MPI_Barrier(b.comm));
    if (reached && flavor == CREATE && argc > 2)
        vanished(&b);
    CHECK_OK(MPI_Barrier(b.comm));
    box_free(&b);
    CHECK_OK(MPI_Finalize());
    return 0;
}
