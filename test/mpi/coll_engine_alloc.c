// SPDX-License-Identifier: BSD-3-Clause
//
// A collective call that was made before allocates nothing: blocking, nonblocking and persistent
// ones, of every kind, on contiguous and derived types.
//
// The program counts what the whole process allocates. A message of medium size that comes before
// its receive needs memory to wait in, which is none of the call's: messages are small or large
// here. What is kept may grow while ranks are late, so a window with some allocations is tried
// again; a call that always allocates does so in every window. Sanitizers have an allocator of
// their own, which is not counted.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "coll_check.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { COUNTED = 1 };

// The process's, on purpose: ranks that share it share the count.
static _Atomic long allocations;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

// Who asked for the last ones, for the message of a failure.
enum { CALLERS = 4 };
static _Atomic(void *) callers[CALLERS];

static void count_one(void *caller)
{
    long n = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_store_explicit(&callers[n % CALLERS], caller, memory_order_relaxed);
}

static void tell_callers(void)
{
    for (long n = atomic_load(&allocations), i = n > CALLERS ? n - CALLERS : 0; i < n; i++) {
        Dl_info about = {.dli_fname = "?"};
        char *caller = atomic_load(&callers[i % CALLERS]);
        (void)dladdr(caller, &about);
        fprintf(stderr, "allocation %ld was asked for at %s+%#tx (%s)\n", i, about.dli_fname,
                caller - (char *)about.dli_fbase, about.dli_sname ? about.dli_sname : "?");
    }
}

void *malloc(size_t bytes)
{
    count_one(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    count_one(__builtin_return_address(0));
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    count_one(__builtin_return_address(0));
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    count_one(__builtin_return_address(0));
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    count_one(__builtin_return_address(0));
    *out = __libc_memalign(align, bytes);
    return *out ? 0 : ENOMEM;
}

static long count(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}
#else
enum { COUNTED = 0 };
static long count(void)
{
    return 0;
}
static void tell_callers(void)
{
}
#endif

// SMALL: bytes of a message that waits in memory which is kept, if it comes early. LARGE: bytes of
// an allreduce that does not go in pieces of medium size.
enum { CALLS = 4, WINDOWS = 60, CASES = 3, ROOM = 12, SMALL = 64, LARGE = 512 << 10 };

// ways: blocking, nonblocking one by one, nonblocking many at a time, persistent, made persistent.
enum way { ONE_BY_ONE, TOGETHER, STARTED, MADE, WAYS };

static void call(struct coll_case *cases, int n, enum way way, enum coll_form form,
                 MPI_Request *kept)
{
    MPI_Request requests[ROOM];
    for (int i = 0; i < n; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < n; i++) {
        struct coll_case *c = &cases[i];
        if (way == STARTED) {
            CHECK_OK(MPI_Start(&kept[i]));
            CHECK_OK(MPI_Wait(&kept[i], MPI_STATUS_IGNORE));
            continue;
        }
        CHECK_OK(coll_row_of(c->kind)->call[form](&c->args, &requests[i]));
        if (way == ONE_BY_ONE)
            CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        if (way != MADE)
            continue;
        CHECK_OK(MPI_Start(&requests[i]));
        CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Request_free(&requests[i]));
    }
    if (way == TOGETHER)
        CHECK_OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

// All ranks look at the count while none of them does anything else.
static long count_quietly(MPI_Comm comm)
{
    CHECK_OK(MPI_Barrier(comm));
    CHECK_OK(MPI_Barrier(comm));
    long now = count();
    CHECK_OK(MPI_Barrier(comm));
    return now;
}

static void look(struct coll_test *t, struct coll_case *cases, int n, enum way way,
                 enum coll_form form)
{
    MPI_Request kept[ROOM];
    long least = 1 << 30, own = 0;
    char text[512];
    for (int i = 0; i < n && way == STARTED; i++)
        CHECK_OK(coll_row_of(cases[i].kind)->call[form](&cases[i].args, &kept[i]));
    for (int i = 0; i < 2; i++)
        call(cases, n, way, form, kept);
    for (int w = 0; w < WINDOWS && least > 0; w++) {
        long before = count_quietly(t->comm), most;
        for (int i = 0; i < CALLS; i++)
            call(cases, n, way, form, kept);
        own = count_quietly(t->comm) - before;
        CHECK_OK(MPI_Allreduce(&own, &most, 1, MPI_LONG, MPI_MAX, t->comm));
        least = most < least ? most : least;
    }
    cases[0].form = form;
    if (least > 0) {
        if (own > 0)
            tell_callers();
        MPI_Barrier(t->comm); // all have told
        check_fail(__FILE__, __LINE__, "%d times %d calls allocate at least %ld times (way %d): %s",
                   CALLS, n, least, (int)way, case_text(&cases[0], text));
    }
    for (int i = 0; i < n && way == STARTED; i++)
        CHECK_OK(MPI_Request_free(&kept[i]));
}

static void try(struct coll_test *t, struct coll_case *cases, int n)
{
    look(t, cases, n, ONE_BY_ONE, BLOCKING);
    look(t, cases, n, ONE_BY_ONE, NONBLOCKING);
    look(t, cases, n, TOGETHER, NONBLOCKING);
#if MPI_VERSION >= 4
    look(t, cases, n, STARTED, PERSISTENT);
    look(t, cases, n, MADE, PERSISTENT);
#endif
}

// The blocks that the ranks of a worker have for those of another go as one message. Where workers
// share a core, such a message comes before its receive every time.
static void keep_small(struct coll_case *c, const struct coll_test *t)
{
    int together = t->n / 2 * (t->n / 2);
    int block = layout_bytes(c->slay) * (c->slay->units == c->rlay->units ? 1 : c->rlay->units);
    if (c->kind == ALLTOALL && together * block > SMALL)
        c->slay = c->rlay = &t->basic[L_INT];
}

static void build(struct coll_case *c, struct coll_test *t, enum coll_kind kind, bool large)
{
    *c = case_random(t, kind);
    keep_small(c, t);
    // Of kinds where all blocks are as large, and nobody runs ahead of the others with pieces.
    c->chunks = 1;
    if (large && t->n <= 6 && kind == ALLREDUCE)
        c->chunks = LARGE / layout_bytes(c->slay);
    else if (large && t->n <= 6 && (kind == ALLGATHER || kind == ALLTOALL))
        c->chunks = 20000;
    case_build(c);
    case_prepare(c);
}

// Every rank is the root in turn: more roots than shapes are kept, but not more workers.
static void turns(struct coll_test *t)
{
    long least = 1 << 30, out = 1, in = 0, data[4] = {0};
    for (int w = 0; w < WINDOWS && least > 0; w++) {
        long before = count_quietly(t->comm), most;
        for (int root = 0; root < t->n; root++) {
            CHECK_OK(MPI_Bcast(data, COUNT_OF(data), MPI_LONG, root, t->comm));
            CHECK_OK(MPI_Reduce(&out, &in, 1, MPI_LONG, MPI_SUM, root, t->comm));
            CHECK(t->me != root || in == t->n);
        }
        long own = count_quietly(t->comm) - before;
        CHECK_OK(MPI_Allreduce(&own, &most, 1, MPI_LONG, MPI_MAX, t->comm));
        least = most < least ? most : least;
    }
    CHECK_INT(least, 0);
}

static void body(struct coll_test *t)
{
    if (COUNTED && t->n > 64) {
        turns(t);
        return;
    }
    struct coll_case cases[ROOM];
    for (int kind = BARRIER; COUNTED && kind <= EXSCAN; kind++) {
        for (int i = 0; i < CASES; i++) {
            build(&cases[0], t, (enum coll_kind)kind, i == CASES - 1);
            try(t, cases, 1);
            case_free(&cases[0]);
        }
        // As many at a time as nobody keeps by accident.
        for (int i = 0; i < ROOM; i++)
            build(&cases[i], t, (enum coll_kind)kind, false);
        look(t, cases, ROOM, TOGETHER, NONBLOCKING);
        for (int i = 0; i < ROOM; i++)
            case_free(&cases[i]);
    }
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
