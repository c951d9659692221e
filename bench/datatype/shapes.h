// SPDX-License-Identifier: BSD-3-Clause
//
// The noncontiguous data that the datatype benchmarks pack and send, and where it lies, listed
// block by block without MPI's help, so that what arrives can be checked.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct block {
    size_t at, length; // bytes
};

struct shape {
    MPI_Datatype type; // committed; `count` of them hold the data
    int count;
    size_t span; // bytes of memory in which it lies
    struct block *blocks;
    size_t n;
};

// The shapes by name, in the order of the tables; NULL ends them.
extern const char *const shape_names[];

// `bytes` bytes of data in the shape: a power of two, at least 1 KiB.
struct shape shape_new(int which, size_t bytes);
void shape_free(struct shape *shape);

// Writes a pattern into the data and 0xA5 elsewhere, and checks that both are there.
void shape_fill(const struct shape *shape, unsigned char *memory, unsigned seed);
bool shape_holds(const struct shape *shape, const unsigned char *memory, unsigned seed);
