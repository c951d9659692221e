// SPDX-License-Identifier: BSD-3-Clause
//
// Large counts and displacements in little memory: displacements beyond 2^31 bytes into a mapping
// of which a few pages are touched, counts beyond 2^31 of a datatype without bytes, and (argument
// `huge`) messages above 2^31 bytes in a mapping that repeats one piece of memory.

#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "coll_check.h"

enum { ITEMS = 1000, PIECE = 1 << 20 };

static const MPI_Count STRIDE = (MPI_Count)3 << 29; // 1.5 GiB

static unsigned char *reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

// The same memory again and again.
static unsigned char *repeated(size_t size)
{
    int file = memfd_create("coll_large", 0);
    CHECK(file >= 0 && ftruncate(file, PIECE) == 0);
    unsigned char *base = reserve(size);
    for (size_t at = 0; at < size; at += PIECE)
        CHECK(mmap(base + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
              MAP_FAILED);
    close(file);
    return base;
}

#if MPI_VERSION >= 4

// The blocks of all peers, 1.5 GiB apart, arrive where they should.
static void far_apart(struct coll_test *t, enum coll_kind kind, enum coll_form form)
{
    struct coll_case c = case_plain(t, kind, ITEMS);
    size_t size = (size_t)(STRIDE * t->n + PIECE);
    unsigned char *far = reserve(size), *want = must_alloc(ITEMS * 4);
    int scatters = kind == SCATTERV, direct = kind == ALLTOALLV || kind == ALLTOALLW;
    MPI_Request request;
    c.shape = 0;
    case_build(&c);
    case_prepare(&c);
    for (int j = 0; j < t->n; j++) {
        MPI_Count in_items = kind == ALLTOALLW ? STRIDE * j : STRIDE / 4 * j;
        if (scatters) {
            c.args.sdispls_c[j] = in_items;
            if (t->me == c.root)
                memcpy(far + STRIDE * j, area_base(&c.send) + c.send_slots[j].item * 4,
                       (size_t)c.send_slots[j].chunks * 4);
        } else {
            c.args.rdispls_c[j] = in_items;
        }
    }
    if (scatters)
        c.args.sendbuf = far;
    else
        c.args.recvbuf = far;
    case_start(&c, form, &request);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Request_free(&request));
    if (scatters)
        case_verify(&c);
    for (int j = 0; j < c.recvs && !scatters; j++) {
        MPI_Count items = c.recv_slots[j].chunks;
        coll_put(want, c.rlay, 0, items, coll_key(c.call, j, direct ? t->me : -1));
        CHECK(memcmp(far + STRIDE * j, want, (size_t)items * 4) == 0);
    }
    case_free(&c);
    free(want);
    CHECK(munmap(far, size) == 0);
}

// Counts that no int holds.
static void nothing_often(struct coll_test *t, enum coll_kind kind, enum coll_form form)
{
    struct coll_args a;
    MPI_Datatype empty;
    MPI_Request request;
    int value = 7;
    CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    CHECK_OK(MPI_Type_commit(&empty));
    coll_args_init(&a, t->n);
    a.sendbuf = &value;
    a.recvbuf = &value;
    if (kind != BCAST)
        a.recvbuf = &request;
    a.sendcount = a.recvcount = ((MPI_Count)1 << 33) + 5;
    a.sendtype = a.recvtype = empty;
    for (int j = 0; j < t->n; j++)
        a.sendcounts_c[j] = a.recvcounts_c[j] = a.sendcount;
    a.comm = t->comm;
    CHECK_OK(coll_row_of(kind)->call[form](&a, &request));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Request_free(&request));
    CHECK_INT(value, 7);
    coll_args_free(&a);
    CHECK_OK(MPI_Type_free(&empty));
}

static void body(struct coll_test *t)
{
    static const enum coll_kind far[] = {GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, ALLTOALLW};
    static const enum coll_kind often[] = {BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, ALLGATHERV};
    for (int form = BLOCKING_C; form <= PERSISTENT_C; form++) {
        if (!(t->forms >> form & 1))
            continue;
        for (int i = 0; i < COUNT_OF(far); i++)
            far_apart(t, far[i], (enum coll_form)form);
        for (int i = 0; i < COUNT_OF(often); i++)
            nothing_often(t, often[i], (enum coll_form)form);
    }
}

// More than 2^31 bytes to every rank; the pattern has the period of the repeated memory.
static void huge(struct coll_test *t)
{
    MPI_Count count = ((MPI_Count)1 << 31) + 3 * PIECE;
    unsigned char *buffer = repeated((size_t)count);
    for (int root = 0; root < t->n && root < 2; root++) {
        if (t->me == root)
            pattern_fill(buffer, PIECE, (unsigned)root + 5);
        CHECK_OK(MPI_Bcast_c(buffer, count, MPI_BYTE, root, t->comm));
        CHECK_PATTERN(buffer, PIECE, (unsigned)root + 5);
    }
    CHECK(munmap(buffer, (size_t)count) == 0);
}

#else

static void body(struct coll_test *t)
{
    (void)t;
    (void)STRIDE;
}

static void huge(struct coll_test *t)
{
    (void)t;
    (void)repeated;
}

#endif

int main(int argc, char **argv)
{
    return coll_main(argc, argv, argc > 1 && !strcmp(argv[1], "huge") ? huge : body);
}
