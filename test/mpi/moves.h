// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of data-moving collectives share: streams of ints that lie with or without gaps,
// values that tell who sent them to whom, and communicators whose ranks lie unevenly in workers.

#pragma once

#include "check.h"

enum { UNTOUCHED = -77, BLOCKING = 0, NONBLOCKING, PERSISTENT, WAYS };

// A type whose elements are two ints, each with a hole behind it.
static inline MPI_Datatype gaps_new(void)
{
    MPI_Datatype vector, gaps;
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    CHECK_OK(MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &gaps));
    CHECK_OK(MPI_Type_commit(&gaps));
    CHECK_OK(MPI_Type_free(&vector));
    return gaps;
}

// A stream of ints. Elements are MPI_INT, or pairs with gaps.
struct stream {
    int *at;
    int ints, stride; // of memory for each int
};

static inline struct stream stream_new(int ints, int gaps)
{
    struct stream s = {NULL, ints, gaps ? 2 : 1};
    size_t room = (size_t)(ints * s.stride) + 8;
    s.at = must_alloc(room * sizeof *s.at);
    for (size_t i = 0; i < room; i++)
        s.at[i] = UNTOUCHED;
    return s;
}

static inline void stream_put(struct stream s, int first, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        s.at[(first + i) * s.stride] = (from * 131 + to) * 100003 + i;
}

// Many ints are looked at: without a call for each.
static inline void stream_has(struct stream s, int first, int n, int from, int to)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong |= s.at[(first + i) * s.stride] ^ ((from * 131 + to) * 100003 + i);
    for (int i = 0; i < n && wrong; i++)
        CHECK_INT(s.at[(first + i) * s.stride], (from * 131 + to) * 100003 + i);
}

static inline void stream_empty(struct stream s, int first, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(s.at[(first + i) * s.stride], UNTOUCHED);
}

// Nothing was written into gaps, nor behind the end.
static inline void stream_clean(struct stream s)
{
    int wrong = 0;
    for (int i = 0; i < s.ints && s.stride == 2; i++)
        wrong |= s.at[2 * i + 1] ^ UNTOUCHED;
    for (int i = 0; i < s.ints && wrong; i++)
        CHECK_INT(s.at[2 * i + 1], UNTOUCHED);
    for (int i = 0; i < 8; i++)
        CHECK_INT(s.at[s.ints * s.stride + i], UNTOUCHED);
}

static inline MPI_Datatype stream_type(struct stream s, MPI_Datatype gaps)
{
    return s.stride == 2 ? gaps : MPI_INT;
}

static inline int stream_count(struct stream s, int ints)
{
    return ints / s.stride;
}

// Completes what a way has begun; persistent: `starts` times.
static inline void moves_finish(int way, MPI_Request *request, int starts)
{
    if (way == NONBLOCKING)
        CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (way != PERSISTENT)
        return;
    for (int i = 0; i < starts; i++) {
        CHECK_OK(MPI_Start(request));
        CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Request_free(request));
}

// Calls test for the world, its mirror image, the world with even ranks first, even and odd ranks,
// the first two thirds and the rest, all but the first, and oneself.
static inline void moves_everywhere(void (*test)(MPI_Comm comm))
{
    int rank = world_rank(), size = world_size();
    const int colors[] = {0, rank % 2, rank<size * 2 / 3, rank> 0};
    const int keys[] = {-rank, 0, 0, 0};
    test(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT_OF(colors); i++) {
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, colors[i], keys[i], &comm));
        test(comm);
        CHECK_OK(MPI_Comm_free(&comm));
    }
    test(MPI_COMM_SELF);
}
