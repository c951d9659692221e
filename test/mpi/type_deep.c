// SPDX-License-Identifier: BSD-3-Clause
//
// Datatypes that are nested without limit: thousands of structs, each around the one before, and
// structs that hold the one before twice. Time and memory follow what the program gave, the stack
// follows nothing.

#include <stdint.h>
#include <sys/resource.h>

#include "check.h"

enum { LEVELS = 10000, TWICE = 40, MOST_KIB = 256 << 10 };

// A struct of an older type and an int behind it.
static void append_int(MPI_Datatype *type, int level)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint at[2] = {0, 8 * (MPI_Aint)level};
    const MPI_Datatype types[2] = {*type, MPI_INT};
    MPI_Datatype next;
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &next));
    if (level > 1)
        CHECK_OK(MPI_Type_free(type));
    *type = next;
}

static long peak_kib(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

static void check_chain(void)
{
    MPI_Datatype type = MPI_INT;
    long before = peak_kib();
    for (int i = 1; i <= LEVELS; i++)
        append_int(&type, i);
    CHECK(peak_kib() - before < MOST_KIB);
    CHECK_OK(MPI_Type_commit(&type));
    int *memory = must_alloc(2 * (LEVELS + 1) * sizeof(int));
    int *packed = must_alloc((LEVELS + 1) * sizeof(int)), bytes = (LEVELS + 1) * 4, position = 0;
    for (int i = 0; i <= LEVELS; i++)
        memory[2 * i] = i;
    CHECK_OK(MPI_Pack(memory, 1, type, packed, bytes, &position, MPI_COMM_SELF));
    for (int i = 0; i <= LEVELS; i++)
        CHECK_INT(packed[i], i);
    MPI_Aint at = 0;
    CHECK_OK(MPI_Pack_external("external32", memory, 1, type, packed, bytes, &at));
    CHECK_INT((int)at, bytes);
    for (int i = 0; i <= LEVELS; i++)
        CHECK_INT((int)__builtin_bswap32((uint32_t)packed[i]), i);
    MPI_Status status;
    int count = -1;
    CHECK_OK(MPI_Status_set_elements(&status, type, LEVELS / 2));
    CHECK_OK(MPI_Get_elements(&status, type, &count));
    CHECK_INT(count, LEVELS / 2);
    CHECK_OK(MPI_Type_free(&type));
    free(memory);
    free(packed);
}

// 2^40 basic elements, of which the first few are asked for. Bytes may lie on each other: nobody
// receives them.
static void check_twice(void)
{
    MPI_Datatype type = MPI_INT;
    for (int i = 0; i < TWICE; i++) {
        const int lengths[2] = {1, 1};
        const MPI_Aint at[2] = {0, 8};
        const MPI_Datatype types[2] = {type, type};
        MPI_Datatype next;
        CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &next));
        if (i > 0)
            CHECK_OK(MPI_Type_free(&type));
        type = next;
    }
    MPI_Status status;
    int count = -1;
    for (int n = 0; n < 70; n += 7) {
        CHECK_OK(MPI_Status_set_elements(&status, type, n));
        CHECK_OK(MPI_Get_elements(&status, type, &count));
        CHECK_INT(count, n);
    }
    // As many basic elements as the type has, times some, would be too many bytes; these are not.
    MPI_Count large = -1;
    CHECK_OK(MPI_Status_set_elements_c(&status, type, (MPI_Count)1 << 40));
    CHECK_OK(MPI_Get_elements_c(&status, type, &large));
    CHECK(large == (MPI_Count)1 << 40);
    CHECK_OK(MPI_Type_free(&type));
}

// Parts that the layout does not dissolve, one of them twice in each level: it must not be copied
// for each time that it comes.
static void check_shared(void)
{
    enum { PARTS = 70, DEEP = 50 };
    int lengths[PARTS];
    MPI_Aint at[PARTS];
    MPI_Datatype types[PARTS], type = MPI_INT;
    long before = peak_kib();
    for (int i = 0; i < DEEP; i++) {
        for (int k = 0; k < PARTS; k++) {
            lengths[k] = 1;
            at[k] = 1000 + 8 * k + k % 3;
            types[k] = k % 2 ? MPI_CHAR : MPI_SHORT;
        }
        at[0] = 0;
        at[PARTS - 1] = 16;
        types[0] = types[PARTS - 1] = type;
        MPI_Datatype next;
        CHECK_OK(MPI_Type_create_struct(PARTS, lengths, at, types, &next));
        if (i > 0)
            CHECK_OK(MPI_Type_free(&type));
        type = next;
    }
    CHECK(peak_kib() - before < MOST_KIB);
    CHECK_OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    if (world_rank() == 0) {
        check_twice();
        check_shared();
        check_chain();
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
