// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of everything about datatypes: each with its class, the name of the function and
// the offending value; freed, uncommitted and null handles in every kind of call.

#include <unistd.h>

#include "check.h"

#define WORLD                   MPI_COMM_WORLD
#define BAD(call, class, value) CHECK_ERROR(call, class, "MPI_", value)

static void counts(void)
{
    MPI_Datatype t;
    int lengths[] = {1, -4}, at[] = {0, 1};
    MPI_Aint bytes[] = {0, 8};
    MPI_Count large[] = {1, -4}, large_at[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    BAD(MPI_Type_contiguous(-5, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_contiguous_c(-5, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_vector(-5, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_vector(1, -6, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength is -6");
    BAD(MPI_Type_create_hvector(-5, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_create_hvector_c(1, -6, 1, MPI_INT, &t), MPI_ERR_ARG, "-6");
    BAD(MPI_Type_indexed(-5, lengths, at, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_indexed(2, lengths, at, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_blocklengths[1] is -4");
    BAD(MPI_Type_indexed_c(2, large, large_at, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_blocklengths[1] is -4");
    BAD(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &t), MPI_ERR_ARG, "[1] is -4");
    BAD(MPI_Type_create_hindexed_c(-2, large, large_at, MPI_INT, &t), MPI_ERR_COUNT, "-2");
    BAD(MPI_Type_create_hindexed_c(2, large, large_at, MPI_INT, &t), MPI_ERR_ARG, "[1] is -4");
    BAD(MPI_Type_create_indexed_block(-5, 1, at, MPI_INT, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_create_indexed_block(1, -6, at, MPI_INT, &t), MPI_ERR_ARG, "-6");
    BAD(MPI_Type_create_indexed_block_c(1, -6, large_at, MPI_INT, &t), MPI_ERR_ARG, "-6");
    BAD(MPI_Type_create_hindexed_block(1, -6, bytes, MPI_INT, &t), MPI_ERR_ARG, "-6");
    BAD(MPI_Type_create_hindexed_block_c(-1, 6, large_at, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    BAD(MPI_Type_create_struct(-5, lengths, bytes, types, &t), MPI_ERR_COUNT, "-5");
    BAD(MPI_Type_create_struct(2, lengths, bytes, types, &t), MPI_ERR_ARG, "[1] is -4");
    BAD(MPI_Type_create_struct_c(2, large, large_at, types, &t), MPI_ERR_ARG, "[1] is -4");
}

static void pointers(void)
{
    int lengths[] = {1, 1}, at[] = {0, 1};
    MPI_Aint bytes[] = {0, 8};
    MPI_Datatype t, types[] = {MPI_INT, MPI_INT};
    BAD(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, "newtype");
    BAD(MPI_Type_indexed(2, NULL, at, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths");
    BAD(MPI_Type_indexed(2, lengths, NULL, MPI_INT, &t), MPI_ERR_ARG, "array_of_displacements");
    BAD(MPI_Type_create_struct(2, lengths, bytes, NULL, &t), MPI_ERR_ARG, "array_of_types");
    BAD(MPI_Type_create_struct(2, lengths, NULL, types, &t), MPI_ERR_ARG, "array_of_displacements");
    BAD(MPI_Type_create_subarray(2, NULL, at, at, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_sizes");
    BAD(MPI_Type_commit(NULL), MPI_ERR_ARG, "datatype");
    BAD(MPI_Type_free(NULL), MPI_ERR_ARG, "datatype");
    BAD(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG, "size");
    BAD(MPI_Get_address(lengths, NULL), MPI_ERR_ARG, "address");
    BAD(MPI_Type_set_name(MPI_INT, NULL), MPI_ERR_ARG, "type_name");
    CHECK_OK(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &t)); // no blocks, no arrays
    CHECK_OK(MPI_Type_free(&t));
}

static void subarrays(void)
{
    MPI_Datatype t;
    int sizes[] = {4, 5}, counts[] = {2, 3}, starts[] = {1, 2};
    int less[] = {4, -1}, many[] = {2, 6}, late[] = {1, 3}, early[] = {-1, 0};
    int none[] = {0, 0};
    MPI_Count large[] = {4, 5}, large_counts[] = {2, 6}, large_starts[] = {1, 2};
    BAD(MPI_Type_create_subarray(0, sizes, counts, starts, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "ndims is 0");
    BAD(MPI_Type_create_subarray(2, sizes, counts, starts, 99, MPI_INT, &t), MPI_ERR_ARG,
        "order is 99");
    BAD(MPI_Type_create_subarray(2, less, counts, starts, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_sizes[1] is -1");
    BAD(MPI_Type_create_subarray(2, sizes, many, starts, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_subsizes[1] is 6");
    BAD(MPI_Type_create_subarray(2, sizes, less, none, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_subsizes[1] is -1");
    BAD(MPI_Type_create_subarray(2, sizes, counts, late, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_starts[1] is 3");
    BAD(MPI_Type_create_subarray(2, sizes, counts, early, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
        "array_of_starts[0] is -1");
    BAD(MPI_Type_create_subarray_c(2, large, large_counts, large_starts, MPI_ORDER_C, MPI_INT, &t),
        MPI_ERR_ARG, "array_of_subsizes[1] is 6");
}

static void darrays(void)
{
    MPI_Datatype t;
    int sizes[] = {4, 9}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3}, zero[] = {4, 0}, wrong[] = {17, 5};
    int none[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE}, few[] = {1, 2}, no_arg[] = {2, -1};
    MPI_Count large_zero[] = {0, 9};
#define DARRAY(size, rank, ndims, sizes, kinds, args, grid, order)                                 \
    MPI_Type_create_darray(size, rank, ndims, sizes, kinds, args, grid, order, MPI_INT, &t)
    BAD(DARRAY(6, 0, 0, sizes, kinds, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "ndims is 0");
    BAD(DARRAY(6, 0, 2, sizes, kinds, args, grid, 5), MPI_ERR_ARG, "order is 5");
    BAD(DARRAY(0, 0, 2, sizes, kinds, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "size is 0");
    BAD(DARRAY(6, 6, 2, sizes, kinds, args, grid, MPI_ORDER_C), MPI_ERR_RANK, "rank is 6");
    BAD(DARRAY(7, 0, 2, sizes, kinds, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "6, but should be 7");
    BAD(DARRAY(5, 0, 2, sizes, kinds, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "6, but should be 5");
    BAD(DARRAY(6, 0, 2, sizes, kinds, args, zero, MPI_ORDER_C), MPI_ERR_ARG, "psizes[1] is 0");
    BAD(DARRAY(6, 0, 2, zero, kinds, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "gsizes[1] is 0");
    BAD(DARRAY(6, 0, 2, sizes, wrong, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "distribs[1] is 5");
    BAD(DARRAY(6, 0, 2, sizes, none, args, grid, MPI_ORDER_C), MPI_ERR_ARG, "psizes[0] is 2");
    BAD(DARRAY(6, 0, 2, sizes, kinds, few, grid, MPI_ORDER_C), MPI_ERR_ARG, "dargs[0] is 1");
    BAD(DARRAY(6, 0, 2, sizes, kinds, no_arg, grid, MPI_ORDER_C), MPI_ERR_ARG, "dargs[1] is -1");
#undef DARRAY
    BAD(MPI_Type_create_darray_c(6, 0, 2, large_zero, kinds, args, grid, MPI_ORDER_C, MPI_INT, &t),
        MPI_ERR_ARG, "gsizes[0] is 0");
}

// Numbers that do not fit into 63 bits.
static void too_large(void)
{
    MPI_Datatype t, big, bigger;
    MPI_Count huge = (MPI_Count)1 << 62, at[] = {huge};
    int in = 0, size = 0;
    char out[8];
    BAD(MPI_Type_contiguous_c(huge, MPI_INT, &t), MPI_ERR_ARG, "63 bits");
    BAD(MPI_Type_vector_c(3, 1, huge, MPI_CHAR, &t), MPI_ERR_ARG, "63 bits");
    BAD(MPI_Type_vector_c(1, 1, huge, MPI_INT, &t), MPI_ERR_ARG, "63 bits");
    BAD(MPI_Type_create_indexed_block_c(1, 1, at, MPI_INT, &t), MPI_ERR_ARG, "63 bits");
    BAD(MPI_Type_create_resized_c(MPI_INT, huge, huge, &t), MPI_ERR_ARG, "63 bits");
    // A count of a large type: checked where data is counted.
    CHECK_OK(MPI_Type_contiguous_c(huge / 8, MPI_CHAR, &big));
    CHECK_OK(MPI_Type_create_resized(big, 0, 1, &bigger));
    CHECK_OK(MPI_Type_commit(&bigger));
    BAD(MPI_Send(&in, 100, bigger, 0, 1, MPI_COMM_SELF), MPI_ERR_COUNT, "100");
    BAD(MPI_Recv(&in, 100, bigger, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "100");
    BAD(MPI_Pack(&in, 100, bigger, out, 8, &size, WORLD), MPI_ERR_COUNT, "100");
    BAD(MPI_Pack_size(100, bigger, WORLD, &size), MPI_ERR_COUNT, "100");
    CHECK_OK(MPI_Type_free(&big));
    CHECK_OK(MPI_Type_free(&bigger));
}

// Every call that moves data wants a committed type; the others do not.
static void uncommitted(void)
{
    MPI_Datatype t, dup;
    MPI_Request r;
    int in[4] = {0}, at = 0, size = -1;
    char out[64];
    MPI_Aint place = 0;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &t));
    BAD(MPI_Send(in, 1, t, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE, "MPI_Type_commit");
    BAD(MPI_Isend(in, 1, t, 0, 1, MPI_COMM_SELF, &r), MPI_ERR_TYPE, "MPI_Type_commit");
    BAD(MPI_Recv(in, 1, t, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "commit");
    BAD(MPI_Irecv(in, 1, t, 0, 1, MPI_COMM_SELF, &r), MPI_ERR_TYPE, "commit");
    BAD(MPI_Send_init(in, 1, t, 0, 1, MPI_COMM_SELF, &r), MPI_ERR_TYPE, "commit");
    BAD(MPI_Sendrecv(in, 1, MPI_INT, 0, 1, in, 1, t, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_ERR_TYPE, "recvtype");
    BAD(MPI_Pack(in, 1, t, out, 64, &at, WORLD), MPI_ERR_TYPE, "commit");
    BAD(MPI_Unpack(out, 64, &at, in, 1, t, WORLD), MPI_ERR_TYPE, "commit");
    BAD(MPI_Pack_external("external32", in, 1, t, out, 64, &place), MPI_ERR_TYPE, "commit");
    BAD(MPI_Unpack_external("external32", out, 64, &place, in, 1, t), MPI_ERR_TYPE, "commit");
    CHECK_OK(MPI_Type_dup(t, &dup));
    BAD(MPI_Send(in, 1, dup, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE, "MPI_Type_commit");
    CHECK_OK(MPI_Type_size(t, &size));
    CHECK_INT(size, 8);
    CHECK_OK(MPI_Type_free(&dup));
    CHECK_OK(MPI_Type_free(&t));
}

// What calls say to a handle that is no datatype.
static void bad_handle(MPI_Datatype bad, const char *value)
{
    MPI_Datatype t, copy = bad, types[] = {MPI_INT, bad};
    MPI_Status status;
    MPI_Request r;
    MPI_Aint lb, extent, place = 0;
    MPI_Count count;
    int n, a, b, c, lengths[] = {1, 1}, one[] = {1}, zero[] = {0}, at = 0, length;
    char text[MPI_MAX_OBJECT_NAME], out[8];
    memset(&status, 0, sizeof status);
    BAD(MPI_Type_commit(&copy), MPI_ERR_TYPE, value);
    BAD(MPI_Type_free(&copy), MPI_ERR_TYPE, value);
    CHECK(copy == bad);
    BAD(MPI_Type_dup(bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_contiguous(1, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_vector(1, 1, 1, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_hvector(1, 1, 1, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_indexed(1, one, zero, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_hindexed(1, one, &place, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_indexed_block(1, 1, zero, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_hindexed_block(1, 1, &place, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_resized(bad, 0, 8, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_subarray(1, one, one, zero, MPI_ORDER_C, bad, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_struct(2, lengths, (MPI_Aint[]){0, 8}, types, &t), MPI_ERR_TYPE, value);
    BAD(MPI_Type_create_struct(2, lengths, (MPI_Aint[]){0, 8}, types, &t), MPI_ERR_TYPE,
        "array_of_types[1]");
    BAD(MPI_Type_size(bad, &n), MPI_ERR_TYPE, value);
    BAD(MPI_Type_get_extent(bad, &lb, &extent), MPI_ERR_TYPE, value);
    BAD(MPI_Type_get_true_extent(bad, &lb, &extent), MPI_ERR_TYPE, value);
    BAD(MPI_Type_get_envelope(bad, &n, &a, &b, &c), MPI_ERR_TYPE, value);
    if (bad != MPI_DATATYPE_NULL) // which has a name
        BAD(MPI_Type_get_name(bad, text, &length), MPI_ERR_TYPE, value);
    BAD(MPI_Type_set_name(bad, "name"), MPI_ERR_TYPE, value);
    BAD(MPI_Get_count(&status, bad, &n), MPI_ERR_TYPE, value);
    BAD(MPI_Get_elements(&status, bad, &n), MPI_ERR_TYPE, value);
    BAD(MPI_Get_elements_c(&status, bad, &count), MPI_ERR_TYPE, value);
    BAD(MPI_Send(out, 1, bad, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE, value);
    BAD(MPI_Irecv(out, 1, bad, 0, 1, MPI_COMM_SELF, &r), MPI_ERR_TYPE, value);
    BAD(MPI_Pack(out, 1, bad, out, 8, &at, WORLD), MPI_ERR_TYPE, value);
    BAD(MPI_Unpack(out, 8, &at, out, 1, bad, WORLD), MPI_ERR_TYPE, value);
    BAD(MPI_Pack_size(1, bad, WORLD, &n), MPI_ERR_TYPE, value);
    BAD(MPI_Pack_external_size("external32", 1, bad, &lb), MPI_ERR_TYPE, value);
    BAD(MPI_Type_get_value_index(bad, MPI_INT, &t), MPI_ERR_TYPE, value);
}

static void freed(void)
{
    MPI_Datatype t, stale;
    char text[32];
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &t));
    CHECK_OK(MPI_Type_commit(&t));
    stale = t;
    CHECK_OK(MPI_Type_free(&t));
    CHECK(t == MPI_DATATYPE_NULL);
    snprintf(text, sizeof text, "%#llx", (unsigned long long)(uintptr_t)stale);
    bad_handle(stale, text);
    BAD(MPI_Type_free(&stale), MPI_ERR_TYPE, "freed"); // twice
    // A handle that is dead, of a type that lives on in another.
    MPI_Datatype outer;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &t));
    CHECK_OK(MPI_Type_contiguous(2, t, &outer));
    stale = t;
    CHECK_OK(MPI_Type_free(&t));
    BAD(MPI_Type_free(&stale), MPI_ERR_TYPE, "freed");
    CHECK_OK(MPI_Type_free(&outer));
    BAD(MPI_Type_free(&stale), MPI_ERR_TYPE, "freed");
}

// Predefined types cannot be freed, whatever they are.
static void predefined(void)
{
    const MPI_Datatype all[] = {MPI_INT, MPI_BYTE, MPI_DOUBLE_INT, MPI_PACKED, MPI_REAL8};
    const char *names[] = {"MPI_INT", "MPI_BYTE", "MPI_DOUBLE_INT", "MPI_PACKED", "MPI_REAL8"};
    for (int i = 0; i < COUNT_OF(all); i++) {
        MPI_Datatype t = all[i];
        BAD(MPI_Type_free(&t), MPI_ERR_TYPE, names[i]);
        CHECK(t == all[i]);
    }
}

// Workers that are threads of one process share memory, and so may meet each other's types.
static void foreign(void)
{
    int rank = world_rank(), size = world_size();
    uint64_t address = 0, pid = (uint64_t)getpid(), theirs[2];
    MPI_Datatype mine;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &mine));
    address = (uint64_t)(uintptr_t)mine;
    uint64_t both[2] = {address, pid};
    CHECK_OK(MPI_Sendrecv(both, 2, MPI_UINT64_T, (rank + 1) % size, 1, theirs, 2, MPI_UINT64_T,
                          (rank + size - 1) % size, 1, WORLD, MPI_STATUS_IGNORE));
    MPI_Datatype other = (MPI_Datatype)(uintptr_t)theirs[0];
    int bytes = -1;
    if (theirs[1] == pid && size > 1) {
        int code = MPI_Type_size(other, &bytes);
        if (code == MPI_SUCCESS) // one worker: its ranks may use it
            CHECK_INT(bytes, 8);
        else
            CHECK_ERROR(code, MPI_ERR_TYPE, "MPI_Type_size", "global variables");
        if (code != MPI_SUCCESS)
            BAD(MPI_Type_free(&other), MPI_ERR_TYPE, "global variables");
    }
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Type_free(&mine));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    counts();
    pointers();
    subarrays();
    darrays();
    too_large();
    uncommitted();
    bad_handle(MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL");
    bad_handle((MPI_Datatype)(uintptr_t)0, "0");
    bad_handle((MPI_Datatype)(uintptr_t)0x3ff, "0x3ff");
    bad_handle((MPI_Datatype)(uintptr_t)0x777, "0x777");
    freed();
    predefined();
    foreign();
    CHECK_OK(MPI_Finalize());
    return 0;
}
