// SPDX-License-Identifier: BSD-3-Clause
//
// Sends elements of a predefined datatype to the right neighbour, few and many, and checks bytes
// and counts.

#pragma once

#include "check.h"

// A datatype without padding, its name for messages, and the size of an element.
struct basic {
    MPI_Datatype type;
    const char *name;
    size_t size;
};

#define BASIC(type, size)                                                                          \
    {                                                                                              \
        type, #type, size                                                                          \
    }

static inline void basic_exchange(const struct basic *b, int count, int tag)
{
    int rank = world_rank(), size = world_size(), got = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    size_t bytes = (size_t)count * b->size;
    unsigned char *out = must_alloc(bytes), *in = must_alloc(bytes + b->size);
    MPI_Status status;
    MPI_Count large = -1;
    pattern_fill(out, bytes, (unsigned)rank);
    memset(in, 0xee, bytes + b->size);
    // Room for one element more than comes.
    CHECK_OK(MPI_Sendrecv(out, count, b->type, right, tag, in, count + 1, b->type, left, tag,
                          MPI_COMM_WORLD, &status));
    CHECK_OK(MPI_Get_count(&status, b->type, &got));
    if (got != count)
        check_fail(__FILE__, __LINE__, "%s: %d elements, should be %d", b->name, got, count);
    CHECK_OK(MPI_Get_count_c(&status, b->type, &large));
    CHECK_INT(large, count);
    if (!pattern_holds(in, bytes, (unsigned)left))
        check_fail(__FILE__, __LINE__, "%s: wrong contents of %d elements", b->name, count);
    for (size_t i = 0; i < b->size; i++)
        if (in[bytes + i] != 0xee)
            check_fail(__FILE__, __LINE__, "%s: wrote behind %d elements", b->name, count);
    free(out);
    free(in);
}

static inline void basic_exchange_all(const struct basic *types, int n)
{
    const int counts[] = {0, 1, 3, 1000, 20000};
    for (int i = 0; i < n; i++) {
        if (types[i].type == MPI_DATATYPE_NULL)
            continue; // an optional type that this library does not have
        for (int k = 0; k < COUNT_OF(counts); k++)
            basic_exchange(&types[i], counts[k], i);
    }
}
