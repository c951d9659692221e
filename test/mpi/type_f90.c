// SPDX-License-Identifier: BSD-3-Clause
//
// Predefined types without a name: Fortran's parametrised ones and pairs of value and index; and
// types by class and size.

#include "check.h"

static int size_of(MPI_Datatype type)
{
    int size = -1;
    CHECK_OK(MPI_Type_size(type, &size));
    return size;
}

static void check_envelope(MPI_Datatype type, int combiner, int n, int first, int second)
{
    int ni = -1, na = -1, nd = -1, got = -1, ints[2] = {-1, -1};
    MPI_Aint address;
    MPI_Datatype none;
    CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &got));
    CHECK(ni == n && na == 0 && nd == 0 && got == combiner);
    CHECK_OK(MPI_Type_get_contents(type, n, 0, 0, ints, &address, &none));
    CHECK_INT(ints[0], first);
    if (n > 1)
        CHECK_INT(ints[1], second);
}

// Committed, the same each time, and not to be freed.
static void check_permanent(MPI_Datatype type, MPI_Datatype again)
{
    char in[64], out[64];
    int size = size_of(type);
    CHECK(type == again);
    pattern_fill(in, sizeof in, 3);
    memset(out, 0, sizeof out);
    CHECK_OK(MPI_Sendrecv(in, 1, type, 0, 1, out, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_PATTERN(out, (size_t)size, 3);
    if (STRICT) // MPICH frees it
        CHECK_ERROR(MPI_Type_free(&again), MPI_ERR_TYPE, "MPI_Type_free", "predefined");
    CHECK_INT(size_of(type), size);
}

static void reals(void)
{
    const struct {
        int p, r, size;
    } all[] = {{6, 37, 4},     {6, MPI_UNDEFINED, 4}, {MPI_UNDEFINED, 30, 4},  {7, 37, 8},
               {6, 38, 8},     {15, 307, 8},          {MPI_UNDEFINED, 100, 8}, {16, 307, 16},
               {18, 4931, 16}, {33, 4931, 16}};
    for (int i = 0; i < COUNT_OF(all); i++) {
        MPI_Datatype real, complex, again;
        if (!STRICT && all[i].size == 16)
            continue; // MPICH knows what its Fortran compiler has
        CHECK_OK(MPI_Type_create_f90_real(all[i].p, all[i].r, &real));
        CHECK_INT(size_of(real), all[i].size);
        CHECK_OK(MPI_Type_create_f90_real(all[i].p, all[i].r, &again));
        check_envelope(real, MPI_COMBINER_F90_REAL, 2, all[i].p, all[i].r);
        check_permanent(real, again);
        CHECK_OK(MPI_Type_create_f90_complex(all[i].p, all[i].r, &complex));
        CHECK_INT(size_of(complex), 2 * all[i].size);
        CHECK_OK(MPI_Type_create_f90_complex(all[i].p, all[i].r, &again));
        check_envelope(complex, MPI_COMBINER_F90_COMPLEX, 2, all[i].p, all[i].r);
        check_permanent(complex, again);
        CHECK(real != complex);
    }
}

static void integers(void)
{
    const int ranges[] = {0, 2, 3, 4, 5, 9, 10, 18, 19, 38};
    const int sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 16, 16};
    for (int i = 0; i < COUNT_OF(ranges); i++) {
        MPI_Datatype type, again;
        if (!STRICT && sizes[i] == 16)
            continue;
        CHECK_OK(MPI_Type_create_f90_integer(ranges[i], &type));
        CHECK_INT(size_of(type), sizes[i]);
        CHECK_OK(MPI_Type_create_f90_integer(ranges[i], &again));
        check_envelope(type, MPI_COMBINER_F90_INTEGER, 1, ranges[i], 0);
        check_permanent(type, again);
    }
}

// In external32, and as part of other types.
static void uses(void)
{
    MPI_Datatype real, integer, both, found[2];
    int lengths[] = {1, 2}, ints[3], elements = -1;
    MPI_Aint at[] = {0, 8}, position = 0, size = -1;
    unsigned char packed[32];
    struct {
        double d;
        int i[2];
    } in = {1.0, {1, 2}}, out = {0, {0, 0}};
    const unsigned char want[] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2};
    MPI_Status status;
    CHECK_OK(MPI_Type_create_f90_real(10, 100, &real));
    CHECK_OK(MPI_Type_create_f90_integer(6, &integer));
    MPI_Datatype types[] = {real, integer};
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &both));
    CHECK_OK(MPI_Type_commit(&both));
    if (STRICT) { // MPICH ends the program
        CHECK_OK(MPI_Pack_external_size("external32", 1, both, &size));
        CHECK_INT(size, 16);
        CHECK_OK(MPI_Pack_external("external32", &in, 1, both, packed, 32, &position));
        CHECK(position == 16 && memcmp(packed, want, 16) == 0);
    }
    CHECK_OK(MPI_Sendrecv(&in, 1, both, 0, 1, &out, 1, both, 0, 1, MPI_COMM_SELF, &status));
    CHECK(out.d == 1.0 && out.i[1] == 2);
    CHECK_OK(MPI_Get_elements(&status, both, &elements));
    CHECK_INT(elements, 3);
    // The parts are as they were, and still not the user's to free.
    CHECK_OK(MPI_Type_get_contents(both, 3, 2, 2, ints, at, found));
    if (STRICT)
        CHECK(found[0] == real && found[1] == integer);
    if (STRICT)
        CHECK_ERROR(MPI_Type_free(&found[0]), MPI_ERR_TYPE, "MPI_Type_free", "predefined");
    CHECK_OK(MPI_Type_free(&both));
}

static void match_size(void)
{
    const struct {
        int class, size;
        MPI_Datatype want;
    } all[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
        {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}, {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    };
    for (int i = 0; i < COUNT_OF(all); i++) {
        MPI_Datatype got = MPI_DATATYPE_NULL;
        CHECK_OK(MPI_Type_match_size(all[i].class, all[i].size, &got));
        if (STRICT)
            CHECK(got == all[i].want);
        CHECK_INT(size_of(got), all[i].size);
    }
}

static void errors(void)
{
    MPI_Datatype type;
    CHECK_ERROR(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG,
                "MPI_Type_create_f90_real", "MPI_UNDEFINED");
    CHECK_ERROR(MPI_Type_create_f90_real(34, 10, &type), MPI_ERR_ARG, "MPI_Type_create_f90_real",
                "34");
    CHECK_ERROR(MPI_Type_create_f90_complex(3, 5000, &type), MPI_ERR_ARG,
                "MPI_Type_create_f90_complex", "5000");
    CHECK_ERROR(MPI_Type_create_f90_real(-3, 10, &type), MPI_ERR_ARG, "MPI_Type_create_f90_real",
                "-3");
    CHECK_ERROR(MPI_Type_create_f90_real(3, -10, &type), MPI_ERR_ARG, "MPI_Type_create_f90_real",
                "-10");
    CHECK_ERROR(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG, "MPI_Type_create_f90_integer",
                "39");
    CHECK_ERROR(MPI_Type_create_f90_integer(-1, &type), MPI_ERR_ARG, "MPI_Type_create_f90_integer",
                "-1");
    CHECK_ERROR(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type), MPI_ERR_ARG,
                "MPI_Type_match_size", "3");
    CHECK_ERROR(MPI_Type_match_size(99, 4, &type), MPI_ERR_ARG, "MPI_Type_match_size", "99");
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    reals();
    integers();
    uses();
    match_size();
    if (STRICT)
        errors();
    CHECK_OK(MPI_Finalize());
    return 0;
}
