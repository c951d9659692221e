// SPDX-License-Identifier: BSD-3-Clause
//
// Envelope and contents of every combiner, made by the small and by the large function, and what
// the handles in the contents are.

#include "check.h"

enum { MOST = 32 };

struct contents {
    long long integers[MOST], addresses[MOST], counts[MOST];
    int ni, na, nc, nd;
    MPI_Datatype types[MOST];
};

// Envelope and contents by the large functions, and by the small ones if there are no counts.
static void check_contents(MPI_Datatype type, int combiner, const struct contents *want)
{
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1, counts[MOST];
    int ints[MOST], got = -1, i = -1, a = -1, d = -1;
    MPI_Aint addresses[MOST];
    MPI_Datatype types[MOST];
    CHECK_OK(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &got));
    CHECK_INT(got, combiner);
    CHECK_INT(ni, want->ni);
    CHECK_INT(na, want->na);
    CHECK_INT(nc, want->nc);
    CHECK_INT(nd, want->nd);
    CHECK_OK(MPI_Type_get_contents_c(type, ni, na, nc, nd, ints, addresses, counts, types));
    for (int k = 0; k < want->ni; k++)
        CHECK_INT(ints[k], want->integers[k]);
    for (int k = 0; k < want->na; k++)
        CHECK_INT(addresses[k], want->addresses[k]);
    for (int k = 0; k < want->nc; k++)
        CHECK_INT(counts[k], want->counts[k]);
    for (int k = 0; k < want->nd; k++)
        CHECK(types[k] == want->types[k]);
    if (want->nc > 0)
        return;
    CHECK_OK(MPI_Type_get_envelope(type, &i, &a, &d, &got));
    CHECK(i == want->ni && a == want->na && d == want->nd && got == combiner);
    memset(ints, 0, sizeof ints);
    CHECK_OK(MPI_Type_get_contents(type, MOST, MOST, MOST, ints, addresses, types));
    for (int k = 0; k < want->ni; k++)
        CHECK_INT(ints[k], want->integers[k]);
    for (int k = 0; k < want->na; k++)
        CHECK_INT(addresses[k], want->addresses[k]);
    for (int k = 0; k < want->nd; k++)
        CHECK(types[k] == want->types[k]);
}

// Frees it too.
static void check_made(MPI_Datatype type, int combiner, struct contents want)
{
    check_contents(type, combiner, &want);
    CHECK_OK(MPI_Type_free(&type));
}

#define D1 .nd = 1, .types = {MPI_INT}

static void small_functions(void)
{
    MPI_Datatype t, types[2] = {MPI_INT, MPI_DOUBLE};
    int lengths[] = {1, 3}, at[] = {5, -7}, sizes[] = {4, 5}, counts[] = {2, 3}, starts[] = {1, 2};
    int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    MPI_Aint bytes[] = {40, -56};
    CHECK_OK(MPI_Type_contiguous(7, MPI_INT, &t));
    check_made(t, MPI_COMBINER_CONTIGUOUS, (struct contents){.ni = 1, .integers = {7}, D1});
    CHECK_OK(MPI_Type_vector(7, 2, -3, MPI_INT, &t));
    check_made(t, MPI_COMBINER_VECTOR, (struct contents){.ni = 3, .integers = {7, 2, -3}, D1});
    CHECK_OK(MPI_Type_create_hvector(7, 2, -300, MPI_INT, &t));
    check_made(t, MPI_COMBINER_HVECTOR,
               (struct contents){.ni = 2, .integers = {7, 2}, .na = 1, .addresses = {-300}, D1});
    CHECK_OK(MPI_Type_indexed(2, lengths, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_INDEXED,
               (struct contents){.ni = 5, .integers = {2, 1, 3, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &t));
    check_made(
        t, MPI_COMBINER_HINDEXED,
        (struct contents){.ni = 3, .integers = {2, 1, 3}, .na = 2, .addresses = {40, -56}, D1});
    CHECK_OK(MPI_Type_create_indexed_block(2, 4, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_INDEXED_BLOCK,
               (struct contents){.ni = 4, .integers = {2, 4, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_hindexed_block(2, 4, bytes, MPI_INT, &t));
    check_made(t, MPI_COMBINER_HINDEXED_BLOCK,
               (struct contents){.ni = 2, .integers = {2, 4}, .na = 2, .addresses = {40, -56}, D1});
    CHECK_OK(MPI_Type_create_struct(2, lengths, bytes, types, &t));
    check_made(t, MPI_COMBINER_STRUCT,
               (struct contents){.ni = 3,
                                 .integers = {2, 1, 3},
                                 .na = 2,
                                 .addresses = {40, -56},
                                 .nd = 2,
                                 .types = {MPI_INT, MPI_DOUBLE}});
    CHECK_OK(MPI_Type_create_resized(MPI_INT, -8, 99, &t));
    check_made(t, MPI_COMBINER_RESIZED, (struct contents){.na = 2, .addresses = {-8, 99}, D1});
    CHECK_OK(MPI_Type_create_subarray(2, sizes, counts, starts, MPI_ORDER_FORTRAN, MPI_INT, &t));
    check_made(
        t, MPI_COMBINER_SUBARRAY,
        (struct contents){.ni = 8, .integers = {2, 4, 5, 2, 3, 1, 2, MPI_ORDER_FORTRAN}, D1});
    CHECK_OK(
        MPI_Type_create_darray(6, 4, 2, sizes, distribs, args, grid, MPI_ORDER_C, MPI_INT, &t));
    check_made(
        t, MPI_COMBINER_DARRAY,
        (struct contents){.ni = 12,
                          .integers = {6, 4, 2, 4, 5, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                       MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 3, MPI_ORDER_C},
                          D1});
    CHECK_OK(MPI_Type_dup(MPI_INT, &t));
    check_made(t, MPI_COMBINER_DUP, (struct contents){D1});
}

static void large_functions(void)
{
    MPI_Datatype t, types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Count lengths[] = {1, 3}, at[] = {5, -7}, sizes[] = {4, 5}, counts[] = {2, 3};
    MPI_Count starts[] = {1, 2}, big = (MPI_Count)1 << 33;
    int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    CHECK_OK(MPI_Type_contiguous_c(big, MPI_INT, &t));
    check_made(t, MPI_COMBINER_CONTIGUOUS, (struct contents){.nc = 1, .counts = {big}, D1});
    CHECK_OK(MPI_Type_vector_c(7, 2, -big, MPI_INT, &t));
    check_made(t, MPI_COMBINER_VECTOR, (struct contents){.nc = 3, .counts = {7, 2, -big}, D1});
    CHECK_OK(MPI_Type_create_hvector_c(7, 2, -300, MPI_INT, &t));
    check_made(t, MPI_COMBINER_HVECTOR, (struct contents){.nc = 3, .counts = {7, 2, -300}, D1});
    CHECK_OK(MPI_Type_indexed_c(2, lengths, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_INDEXED, (struct contents){.nc = 5, .counts = {2, 1, 3, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_hindexed_c(2, lengths, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_HINDEXED,
               (struct contents){.nc = 5, .counts = {2, 1, 3, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_indexed_block_c(2, 4, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_INDEXED_BLOCK,
               (struct contents){.nc = 4, .counts = {2, 4, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_hindexed_block_c(2, 4, at, MPI_INT, &t));
    check_made(t, MPI_COMBINER_HINDEXED_BLOCK,
               (struct contents){.nc = 4, .counts = {2, 4, 5, -7}, D1});
    CHECK_OK(MPI_Type_create_struct_c(2, lengths, at, types, &t));
    check_made(t, MPI_COMBINER_STRUCT,
               (struct contents){
                   .nc = 5, .counts = {2, 1, 3, 5, -7}, .nd = 2, .types = {MPI_INT, MPI_DOUBLE}});
    CHECK_OK(MPI_Type_create_resized_c(MPI_INT, -8, 99, &t));
    check_made(t, MPI_COMBINER_RESIZED, (struct contents){.nc = 2, .counts = {-8, 99}, D1});
    CHECK_OK(MPI_Type_create_subarray_c(2, sizes, counts, starts, MPI_ORDER_C, MPI_INT, &t));
    check_made(
        t, MPI_COMBINER_SUBARRAY,
        (struct contents){
            .ni = 2, .integers = {2, MPI_ORDER_C}, .nc = 6, .counts = {4, 5, 2, 3, 1, 2}, D1});
    CHECK_OK(
        MPI_Type_create_darray_c(6, 4, 2, sizes, distribs, args, grid, MPI_ORDER_C, MPI_INT, &t));
    check_made(t, MPI_COMBINER_DARRAY,
               (struct contents){.ni = 10,
                                 .integers = {6, 4, 2, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                              MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 3, MPI_ORDER_C},
                                 .nc = 2,
                                 .counts = {4, 5},
                                 D1});
}

// The derived types in contents are the user's to free; they are there though he freed his own.
static void derived_parts(void)
{
    MPI_Datatype inner, outer, found[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    int ints[4], ni = -1, na = -1, nd = -1, combiner = -1, size = -1;
    MPI_Aint addresses[4];
    CHECK_OK(MPI_Type_vector(3, 1, 2, MPI_SHORT, &inner));
    CHECK_OK(MPI_Type_commit(&inner));
    CHECK_OK(MPI_Type_contiguous(5, inner, &outer));
    // A second handle lives as long as it is not freed, whatever happens to the first.
    CHECK_OK(MPI_Type_get_contents(outer, 1, 0, 1, ints, addresses, &found[0]));
    CHECK_OK(MPI_Type_free(&inner));
    CHECK_OK(MPI_Type_size(found[0], &size));
    CHECK_INT(size, 6);
    CHECK_OK(MPI_Type_free(&found[0]));
    // Nobody has a handle now, but the type is part of another.
    CHECK_OK(MPI_Type_get_contents(outer, 1, 0, 1, ints, addresses, &found[1]));
    CHECK_INT(ints[0], 5);
    CHECK_OK(MPI_Type_free(&outer));
    CHECK_OK(MPI_Type_get_envelope(found[1], &ni, &na, &nd, &combiner));
    CHECK(ni == 3 && na == 0 && nd == 1 && combiner == MPI_COMBINER_VECTOR);
    CHECK_OK(MPI_Type_get_contents(found[1], 3, 0, 1, ints, addresses, &inner));
    CHECK(ints[0] == 3 && ints[1] == 1 && ints[2] == 2 && inner == MPI_SHORT);
    CHECK_OK(MPI_Type_free(&found[1]));
}

static void named(void)
{
    const MPI_Datatype all[] = {MPI_INT, MPI_BYTE, MPI_2INT, MPI_DOUBLE_INT, MPI_REAL, MPI_PACKED};
    for (int i = 0; i < COUNT_OF(all); i++) {
        int ni = -1, na = -1, nd = -1, combiner = -1;
        MPI_Count a = -1, b = -1, c = -1, d = -1;
        CHECK_OK(MPI_Type_get_envelope(all[i], &ni, &na, &nd, &combiner));
        CHECK(ni == 0 && na == 0 && nd == 0 && combiner == MPI_COMBINER_NAMED);
        CHECK_OK(MPI_Type_get_envelope_c(all[i], &a, &b, &c, &d, &combiner));
        CHECK(a == 0 && b == 0 && c == 0 && d == 0 && combiner == MPI_COMBINER_NAMED);
    }
}

static void errors(void)
{
    MPI_Datatype small, large, types[4];
    int ints[4], ni, na, nd, combiner;
    MPI_Aint addresses[4];
    MPI_Count counts[4];
    CHECK_OK(MPI_Type_create_hvector(3, 1, 8, MPI_INT, &small));
    CHECK_OK(MPI_Type_create_hvector_c(3, 1, 8, MPI_INT, &large));
    CHECK_ERROR(MPI_Type_get_contents(MPI_INT, 4, 4, 4, ints, addresses, types), MPI_ERR_TYPE,
                "MPI_Type_get_contents", "MPI_INT");
    CHECK_ERROR(MPI_Type_get_contents_c(MPI_INT, 4, 4, 4, 4, ints, addresses, counts, types),
                MPI_ERR_TYPE, "MPI_Type_get_contents_c", "MPI_INT");
    CHECK_ERROR2(MPI_Type_get_envelope(large, &ni, &na, &nd, &combiner), MPI_ERR_TYPE,
                 MPI_ERR_OTHER, "MPI_Type_get_envelope", "MPI_Type_get_envelope_c");
    CHECK_ERROR2(MPI_Type_get_contents(large, 4, 4, 4, ints, addresses, types), MPI_ERR_TYPE,
                 MPI_ERR_OTHER, "MPI_Type_get_contents", "MPI_Type_get_contents_c");
    CHECK_ERROR2(MPI_Type_get_contents(small, 1, 4, 4, ints, addresses, types), MPI_ERR_ARG,
                 MPI_ERR_OTHER, "MPI_Type_get_contents", "max_integers");
    CHECK_ERROR2(MPI_Type_get_contents(small, 2, 0, 4, ints, addresses, types), MPI_ERR_ARG,
                 MPI_ERR_OTHER, "MPI_Type_get_contents", "max_addresses");
    CHECK_ERROR2(MPI_Type_get_contents(small, 2, 1, 0, ints, addresses, types), MPI_ERR_ARG,
                 MPI_ERR_OTHER, "MPI_Type_get_contents", "max_datatypes");
    CHECK_ERROR2(MPI_Type_get_contents_c(large, 0, 0, 2, 1, ints, addresses, counts, types),
                 MPI_ERR_ARG, MPI_ERR_OTHER, "MPI_Type_get_contents_c", "max_large_counts");
    if (STRICT) {
        CHECK_ERROR(MPI_Type_get_contents(small, -1, 1, 1, ints, addresses, types), MPI_ERR_ARG,
                    "MPI_Type_get_contents", "-1");
        CHECK_ERROR(MPI_Type_get_contents(small, 2, 1, 1, NULL, addresses, types), MPI_ERR_ARG,
                    "MPI_Type_get_contents", "array_of_integers");
    }
    CHECK_OK(MPI_Type_free(&small));
    CHECK_OK(MPI_Type_free(&large));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    small_functions();
    large_functions();
    derived_parts();
    named();
    errors();
    CHECK_OK(MPI_Finalize());
    return 0;
}
