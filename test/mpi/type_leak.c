// SPDX-License-Identifier: BSD-3-Clause
//
// Makes and frees every kind of datatype many times, N in all (10^6): the process's memory does not
// grow. `type_leak N`.

#include "growth.h"
#include <stdbool.h>

enum { KINDS = 25, WARM_UP = 20, ROOM = 1 << 20 };

static MPI_Datatype make(int kind, MPI_Datatype old)
{
    MPI_Datatype t = MPI_DATATYPE_NULL, types[] = {old, MPI_INT, old};
    int lengths[] = {1, 2, 1}, at[] = {0, 9, 4}, size[] = {4, 5}, part[] = {2, 3}, start[] = {1, 1};
    int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, grid[] = {2, 2};
    int args[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Aint bytes[] = {0, 900, 300};
    MPI_Count lc[] = {1, 2, 1}, ac[] = {0, 900, 300}, sc[] = {4, 5}, pc[] = {2, 3}, bc[] = {1, 1};
    switch (kind) {
    case 0:
        return CHECK_OK(MPI_Type_contiguous(3, old, &t)), t;
    case 1:
        return CHECK_OK(MPI_Type_contiguous_c(3, old, &t)), t;
    case 2:
        return CHECK_OK(MPI_Type_vector(3, 2, 5, old, &t)), t;
    case 3:
        return CHECK_OK(MPI_Type_vector_c(3, 2, 5, old, &t)), t;
    case 4:
        return CHECK_OK(MPI_Type_create_hvector(3, 2, 500, old, &t)), t;
    case 5:
        return CHECK_OK(MPI_Type_create_hvector_c(3, 2, 500, old, &t)), t;
    case 6:
        return CHECK_OK(MPI_Type_indexed(3, lengths, at, old, &t)), t;
    case 7:
        return CHECK_OK(MPI_Type_indexed_c(3, lc, ac, old, &t)), t;
    case 8:
        return CHECK_OK(MPI_Type_create_hindexed(3, lengths, bytes, old, &t)), t;
    case 9:
        return CHECK_OK(MPI_Type_create_hindexed_c(3, lc, ac, old, &t)), t;
    case 10:
        return CHECK_OK(MPI_Type_create_indexed_block(3, 2, at, old, &t)), t;
    case 11:
        return CHECK_OK(MPI_Type_create_indexed_block_c(3, 2, ac, old, &t)), t;
    case 12:
        return CHECK_OK(MPI_Type_create_hindexed_block(3, 2, bytes, old, &t)), t;
    case 13:
        return CHECK_OK(MPI_Type_create_hindexed_block_c(3, 2, ac, old, &t)), t;
    case 14:
        return CHECK_OK(MPI_Type_create_struct(3, lengths, bytes, types, &t)), t;
    case 15:
        return CHECK_OK(MPI_Type_create_struct_c(3, lc, ac, types, &t)), t;
    case 16:
        return CHECK_OK(MPI_Type_create_subarray(2, size, part, start, MPI_ORDER_C, old, &t)), t;
    case 17:
        return CHECK_OK(MPI_Type_create_subarray_c(2, sc, pc, bc, MPI_ORDER_FORTRAN, old, &t)), t;
    case 18:
        return CHECK_OK(
                   MPI_Type_create_darray(4, 1, 2, size, kinds, args, grid, MPI_ORDER_C, old, &t)),
               t;
    case 19:
        return CHECK_OK(
                   MPI_Type_create_darray_c(4, 2, 2, sc, kinds, args, grid, MPI_ORDER_C, old, &t)),
               t;
    case 20:
        return CHECK_OK(MPI_Type_create_resized(old, -8, 64, &t)), t;
    case 21:
        return CHECK_OK(MPI_Type_create_resized_c(old, -8, 64, &t)), t;
    default:
        return CHECK_OK(MPI_Type_dup(old, &t)), t;
    }
}

// Two types in each other, with a name, asked for its contents, used; and freed in any order.
static void one(int kind, uint64_t *random)
{
    MPI_Datatype inner = make(random_below(random, KINDS), MPI_INT), outer = make(kind, inner);
    MPI_Datatype found[4];
    MPI_Count ni, na, nc, nd, counts[32];
    MPI_Aint addresses[32];
    int combiner, ints[32];
    char packed[4096];
    static const char data[1] = {0}; // nothing of it is read
    bool early = random_below(random, 2);
    if (early)
        CHECK_OK(MPI_Type_free(&inner));
    CHECK_OK(MPI_Type_set_name(outer, "a name that needs some memory"));
    CHECK_OK(MPI_Type_commit(&outer));
    CHECK_OK(MPI_Type_get_envelope_c(outer, &ni, &na, &nc, &nd, &combiner));
    CHECK_OK(MPI_Type_get_contents_c(outer, ni, na, nc, nd, ints, addresses, counts, found));
    MPI_Count at = 0;
    CHECK_OK(MPI_Pack_c(data, 0, outer, packed, sizeof packed, &at, MPI_COMM_WORLD));
    for (int i = 0; i < nd; i++)
        if (found[i] != MPI_INT)
            CHECK_OK(MPI_Type_free(&found[i]));
    CHECK_OK(MPI_Type_free(&outer));
    if (!early)
        CHECK_OK(MPI_Type_free(&inner));
}

// Types that are made once.
static void unnamed(void)
{
    MPI_Datatype t;
    CHECK_OK(MPI_Type_create_f90_real(10, 20, &t));
    CHECK_OK(MPI_Type_create_f90_complex(10, 20, &t));
    CHECK_OK(MPI_Type_create_f90_integer(5, &t));
    CHECK_OK(MPI_Type_set_name(MPI_INT, "MPI_INT"));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    long objects = argc > 1 ? atol(argv[1]) : 1000000,
         rounds = objects / (2 * KINDS * world_size());
    uint64_t random = (uint64_t)world_rank();
    long before = 0;
    for (long i = 0; i < rounds + WARM_UP; i++) {
        if (i == WARM_UP) {
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
            before = resident_bytes();
        }
        for (int kind = 0; kind < KINDS; kind++)
            one(kind, &random);
        unnamed();
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    long after = resident_bytes();
    if (after > before + ROOM)
        check_fail(__FILE__, __LINE__, "memory grew from %ld to %ld bytes by %ld objects", before,
                   after, objects);
    CHECK_OK(MPI_Finalize());
    return 0;
}
