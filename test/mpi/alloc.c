// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Alloc_mem and MPI_Free_mem: every size, alignment by info, memory used for messages, ranks
// that take and free side by side, wrong arguments.

#include "check.h"

static void check_sizes(void)
{
    for (MPI_Aint bytes = 0; bytes < 3000000; bytes = bytes < 20 ? bytes + 1 : bytes * 3 / 2) {
        char *at = NULL;
        CHECK_OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &at));
        CHECK(at != NULL && (uintptr_t)at % 16 == 0);
        pattern_fill(at, (size_t)bytes, 3);
        CHECK_PATTERN(at, (size_t)bytes, 3);
        CHECK_OK(MPI_Free_mem(at));
    }
}

static void check_alignment(void)
{
    MPI_Info info;
    char value[32], *at[2];
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "unknown to MPI", "is ignored"));
    CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "mpi:alloc_mem"));
    for (size_t align = 1; align <= 1 << 21; align *= 2) {
        snprintf(value, sizeof value, "%zu", align);
        CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", value));
        for (int i = 0; i < 2; i++) {
            CHECK_OK(MPI_Alloc_mem(100 + i * 5000, info, &at[i]));
            CHECK((uintptr_t)at[i] % align == 0 && (uintptr_t)at[i] % 16 == 0);
            memset(at[i], i, (size_t)(100 + i * 5000));
        }
        CHECK_OK(MPI_Free_mem(at[0]));
        CHECK_OK(MPI_Free_mem(at[1]));
    }
    CHECK_OK(MPI_Info_free(&info));
}

// Ranks keep some blocks, and nobody else's bytes change theirs.
static void check_many(void)
{
    enum { BLOCKS = 50, STEPS = 2000 };
    uint64_t random = 7 + (uint64_t)world_rank();
    unsigned char *at[BLOCKS] = {NULL};
    size_t bytes[BLOCKS] = {0};
    for (int step = 0; step < STEPS; step++) {
        int i = random_below(&random, BLOCKS);
        if (at[i]) {
            CHECK_PATTERN(at[i], bytes[i], (unsigned)(i + 10 * world_rank()));
            CHECK_OK(MPI_Free_mem(at[i]));
            at[i] = NULL;
            continue;
        }
        bytes[i] = (size_t)random_below(&random, 1 << random_below(&random, 17));
        CHECK_OK(MPI_Alloc_mem((MPI_Aint)bytes[i], MPI_INFO_NULL, &at[i]));
        pattern_fill(at[i], bytes[i], (unsigned)(i + 10 * world_rank()));
        if (step % 100 == 0)
            CHECK_OK(MPI_Barrier(MPI_COMM_SELF));
    }
    for (int i = 0; i < BLOCKS; i++)
        if (at[i])
            CHECK_OK(MPI_Free_mem(at[i]));
}

static void check_messages(void)
{
    enum { BYTES = 1 << 20 };
    int rank = world_rank(), size = world_size();
    char *out, *in;
    CHECK_OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &out));
    CHECK_OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &in));
    pattern_fill(out, BYTES, (unsigned)rank);
    CHECK_OK(MPI_Sendrecv(out, BYTES, MPI_CHAR, (rank + 1) % size, 1, in, BYTES, MPI_CHAR,
                          (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, BYTES, (unsigned)((rank + size - 1) % size));
    CHECK_OK(MPI_Free_mem(out));
    CHECK_OK(MPI_Free_mem(in));
}

static void check_errors(void)
{
    MPI_Info info;
    char *at = NULL, *kept, on_stack;
    CHECK_ERROR(MPI_Alloc_mem(-8, MPI_INFO_NULL, &at), MPI_ERR_ARG, "MPI_Alloc_mem", "-8");
    CHECK_ERROR(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &at), MPI_ERR_NO_MEM,
                "MPI_Alloc_mem", "exhausted");
    CHECK_ERROR(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "MPI_Alloc_mem", "baseptr");
    CHECK_OK(MPI_Info_create(&info));
    const char *wrong[] = {"0", "48", "-64", "many", "", "64 bytes"};
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wrong[i]));
        CHECK_ERROR(MPI_Alloc_mem(8, info, &at), MPI_ERR_INFO_VALUE, "MPI_Alloc_mem", wrong[i]);
    }
    CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "9223372036854775808"));
    CHECK_ERROR(MPI_Alloc_mem(8, info, &at), MPI_ERR_NO_MEM, "MPI_Alloc_mem", "exhausted");
    MPI_Info freed = info;
    CHECK_OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Alloc_mem(8, freed, &at), MPI_ERR_INFO, "MPI_Alloc_mem", "freed");
    CHECK(at == NULL);
    char *heap = must_alloc(64);
    CHECK_ERROR(MPI_Free_mem(heap), MPI_ERR_BASE, "MPI_Free_mem", "MPI_Alloc_mem");
    CHECK_ERROR(MPI_Free_mem(&on_stack), MPI_ERR_BASE, "MPI_Free_mem", "MPI_Alloc_mem");
    free(heap);
    CHECK_OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &kept));
    CHECK_ERROR(MPI_Free_mem(kept + 64), MPI_ERR_BASE, "MPI_Free_mem", "MPI_Alloc_mem");
    CHECK_OK(MPI_Free_mem(kept));
    CHECK_ERROR(MPI_Free_mem(kept), MPI_ERR_BASE, "MPI_Free_mem", "MPI_Alloc_mem");
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_sizes();
    if (STRICT) // MPICH 4.0 ignores the key
        check_alignment();
    check_many();
    check_messages();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); // a rank that frees twice must find nobody in between
    for (int r = 0; r < world_size(); r++) {
        if (STRICT && r == world_rank())
            check_errors();
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
