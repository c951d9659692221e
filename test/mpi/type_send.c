// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between different types of equal signature: of all sizes, so that every protocol comes
// to it; shorter than the receive, with what the status then says; with strides of many pages; with
// absolute addresses; too long for the receive.

#include "check.h"

#define WORLD MPI_COMM_WORLD

// Everybody sends to the right; types and memory are the caller's.
static void shift(const void *out, int count, MPI_Datatype out_type, void *in, int room,
                  MPI_Datatype in_type, MPI_Status *status)
{
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Sendrecv(out, count, out_type, (rank + 1) % size, 7, in, room, in_type,
                          (rank + size - 1) % size, 7, WORLD, status));
}

// A column of a matrix becomes a row, a row a column, a column a column.
static void matrix(int n)
{
    int left = (world_rank() + world_size() - 1) % world_size();
    size_t bytes = (size_t)n * 4 * sizeof(double);
    double *out = must_alloc(bytes), *in = must_alloc(bytes);
    MPI_Datatype column, row, byte_column;
    MPI_Status status;
    int count = -1;
    CHECK_OK(MPI_Type_vector(n, 1, 4, MPI_DOUBLE, &column));
    CHECK_OK(MPI_Type_contiguous(n, MPI_DOUBLE, &row));
    CHECK_OK(MPI_Type_create_hvector(n, 1, 2 * sizeof(double), MPI_DOUBLE, &byte_column));
    CHECK_OK(MPI_Type_commit(&column));
    CHECK_OK(MPI_Type_commit(&row));
    CHECK_OK(MPI_Type_commit(&byte_column));
    for (int i = 0; i < 4 * n; i++)
        out[i] = world_rank() * 1e6 + i;
    for (int way = 0; way < 4; way++) {
        MPI_Datatype from = way & 1 ? row : column, to = way & 2 ? byte_column : row;
        int out_stride = way & 1 ? 1 : 4, in_stride = way & 2 ? 2 : 1;
        for (int i = 0; i < 4 * n; i++)
            in[i] = -1;
        shift(out, 1, from, in, 1, to, &status);
        CHECK_OK(MPI_Get_count(&status, to, &count));
        CHECK_INT(count, n > 0); // of a type without data always 0
        for (int i = 0; i < n; i++)
            CHECK(in[i * in_stride] == left * 1e6 + i * out_stride);
        for (int i = 0; i < n && in_stride == 2; i++)
            CHECK(in[2 * i + 1] == -1);
        for (int i = in_stride * n; i < 4 * n; i++)
            CHECK(in[i] == -1);
    }
    CHECK_OK(MPI_Type_free(&column));
    CHECK_OK(MPI_Type_free(&row));
    CHECK_OK(MPI_Type_free(&byte_column));
    free(out);
    free(in);
}

struct particle {
    double x[3];
    int id;
    char kind;
};

static MPI_Datatype particle_type(void)
{
    struct particle p = {{0, 0, 0}, 0, 0};
    int lengths[] = {3, 1, 1};
    MPI_Datatype type, types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Aint at[3], base;
    CHECK_OK(MPI_Get_address(&p, &base));
    CHECK_OK(MPI_Get_address(p.x, &at[0]));
    CHECK_OK(MPI_Get_address(&p.id, &at[1]));
    CHECK_OK(MPI_Get_address(&p.kind, &at[2]));
    for (int i = 0; i < 3; i++)
        at[i] = MPI_Aint_diff(at[i], base);
    CHECK_OK(MPI_Type_create_struct(3, lengths, at, types, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// Structs with gaps, many of them; nothing is written between the members.
static void particles(int n)
{
    int rank = world_rank(), left = (rank + world_size() - 1) % world_size();
    struct particle *out = must_alloc((size_t)n * sizeof *out);
    struct particle *in = must_alloc((size_t)n * sizeof *in);
    MPI_Datatype type = particle_type();
    MPI_Status status;
    int elements = -1;
    for (int i = 0; i < n; i++)
        out[i] = (struct particle){{rank + i, rank - i, i}, i, (char)(rank + i)};
    memset(in, 0xee, (size_t)n * sizeof *in);
    shift(out, n, type, in, n, type, &status);
    for (int i = 0; i < n; i++) {
        CHECK(in[i].x[0] == left + i && in[i].x[1] == left - i && in[i].x[2] == i);
        CHECK(in[i].id == i && in[i].kind == (char)(left + i));
        CHECK_INT(((unsigned char *)&in[i])[sizeof *in - 1], 0xee);
    }
    CHECK_OK(MPI_Get_elements(&status, type, &elements));
    CHECK_INT(elements, 5 * n);
    CHECK_OK(MPI_Type_free(&type));
    free(out);
    free(in);
}

// What a status says of `sent` doubles and `ints` ints received as particles.
static void partial(int doubles, int ints, int want_elements, int want_count)
{
    struct {
        double d[3];
        int i;
    } out = {{1, 2, 3}, 4};
    struct particle in = {{0, 0, 0}, 0, 0};
    int lengths[] = {doubles, ints}, count = -1, elements = -1;
    MPI_Count large = -1;
    MPI_Aint at[] = {0, 24};
    MPI_Datatype part, types[] = {MPI_DOUBLE, MPI_INT}, type = particle_type();
    MPI_Status status;
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &part));
    CHECK_OK(MPI_Type_commit(&part));
    CHECK_OK(MPI_Sendrecv(&out, 1, part, 0, 3, &in, 1, type, 0, 3, MPI_COMM_SELF, &status));
    CHECK_OK(MPI_Get_elements(&status, type, &elements));
    CHECK_INT(elements, want_elements);
    CHECK_OK(MPI_Get_elements_x(&status, type, &large));
    CHECK_INT(large, want_elements);
    CHECK_OK(MPI_Get_count(&status, type, &count));
    CHECK_INT(count, want_count);
    for (int i = 0; i < 3; i++)
        CHECK(in.x[i] == (i < doubles ? i + 1 : 0));
    CHECK(in.id == (ints ? 4 : 0) && in.kind == 0);
    CHECK_OK(MPI_Type_free(&part));
    CHECK_OK(MPI_Type_free(&type));
}

static void partials(void)
{
    partial(0, 0, 0, 0);
    partial(1, 0, 1, MPI_UNDEFINED);
    partial(3, 0, 3, MPI_UNDEFINED);
    partial(3, 1, 4, MPI_UNDEFINED);
}

// Elements in more than one predefined pair, and bytes that end inside one.
static void pairs(void)
{
    struct {
        double value;
        int index;
    } in[2], out[2] = {{1.5, 1}, {2.5, 2}};
    unsigned char bytes[24] = {0};
    MPI_Status status;
    int elements = -1, count = -1;
    CHECK_OK(MPI_Sendrecv(out, 2, MPI_DOUBLE_INT, 0, 1, in, 2, MPI_DOUBLE_INT, 0, 1, MPI_COMM_SELF,
                          &status));
    CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements));
    CHECK_INT(elements, 4);
    CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
    CHECK_INT(count, 2);
    CHECK_OK(MPI_Sendrecv(bytes, 20, MPI_PACKED, 0, 1, in, 2, MPI_DOUBLE_INT, 0, 1, MPI_COMM_SELF,
                          &status));
    CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements));
    CHECK_INT(elements, 3);
    CHECK_OK(MPI_Sendrecv(bytes, 18, MPI_PACKED, 0, 1, in, 2, MPI_DOUBLE_INT, 0, 1, MPI_COMM_SELF,
                          &status));
    CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements));
    CHECK_INT(elements, MPI_UNDEFINED);
}

// A few ints, 4 MiB apart, forwards and backwards.
static void huge_strides(void)
{
    enum { N = 5, STEP = 4 << 20 };
    char *memory = calloc(N, STEP);
    int values[N] = {0}, rank = world_rank(), left = (rank + world_size() - 1) % world_size();
    MPI_Datatype far, back;
    MPI_Status status;
    CHECK(memory != NULL);
    CHECK_OK(MPI_Type_create_hvector(N, 1, STEP, MPI_INT, &far));
    CHECK_OK(MPI_Type_create_hvector(N, 1, -(MPI_Aint)STEP, MPI_INT, &back));
    CHECK_OK(MPI_Type_commit(&far));
    CHECK_OK(MPI_Type_commit(&back));
    for (int i = 0; i < N; i++)
        *(int *)(memory + (size_t)i * STEP) = rank * 10 + i;
    shift(memory, 1, far, values, N, MPI_INT, &status);
    for (int i = 0; i < N; i++)
        CHECK_INT(values[i], left * 10 + i);
    memset(memory, 0, 4);
    shift(values, N, MPI_INT, memory + (size_t)(N - 1) * STEP, 1, back, &status);
    int second = (left + world_size() - 1) % world_size();
    for (int i = 0; i < N; i++)
        CHECK_INT(*(int *)(memory + (size_t)(N - 1 - i) * STEP), second * 10 + i);
    CHECK_OK(MPI_Type_free(&far));
    CHECK_OK(MPI_Type_free(&back));
    free(memory);
}

// Variables anywhere, by their addresses.
static void bottom(int n)
{
    int lengths[] = {n, n}, rank = world_rank(), left = (rank + world_size() - 1) % world_size();
    int *a = must_alloc((size_t)n * 4), *b = must_alloc((size_t)n * 8);
    int *in = must_alloc((size_t)n * 12);
    double *wide = (double *)(void *)b;
    MPI_Aint at[2];
    MPI_Datatype type, packed, types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Status status;
    for (int i = 0; i < n; i++) {
        a[i] = rank + i;
        wide[i] = rank - i;
    }
    CHECK_OK(MPI_Get_address(a, &at[0]));
    CHECK_OK(MPI_Get_address(wide, &at[1]));
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &type));
    at[0] = 0;
    at[1] = 4 * (MPI_Aint)n;
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &packed));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Type_commit(&packed));
    shift(MPI_BOTTOM, 1, type, in, 1, packed, &status);
    for (int i = 0; i < n; i++)
        CHECK_INT(in[i], left + i);
    // And back into the variables.
    shift(in, 1, packed, MPI_BOTTOM, 1, type, &status);
    int second = (left + world_size() - 1) % world_size();
    for (int i = 0; i < n; i++) {
        CHECK_INT(a[i], second + i);
        CHECK(wide[i] == second - i);
    }
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&packed));
    free(a);
    free(b);
    free(in);
}

// More data than the receive's type has places: only those are filled.
static void truncated(void)
{
    int out[6] = {1, 2, 3, 4, 5, 6}, in[8] = {0};
    MPI_Datatype column;
    CHECK_OK(MPI_Type_vector(2, 1, 3, MPI_INT, &column));
    CHECK_OK(MPI_Type_commit(&column));
    CHECK_ERROR(
        MPI_Sendrecv(out, 6, MPI_INT, 0, 3, in, 1, column, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_ERR_TRUNCATE, "MPI_Sendrecv", "");
    if (STRICT)
        CHECK(in[0] == 1 && in[1] == 0 && in[2] == 0 && in[3] == 2 && in[4] == 0);
    CHECK_OK(MPI_Type_free(&column));
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 2, 5, 100, 1000, 5000, 40000, 150000};
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    for (int i = 0; i < COUNT_OF(sizes) && !too_long(32ll * sizes[i]); i++) {
        matrix(sizes[i]);
        particles(sizes[i]);
        bottom(sizes[i]);
    }
    partials();
    if (STRICT) // MPICH counts a whole pair as one element
        pairs();
    huge_strides();
    truncated();
    CHECK_OK(MPI_Finalize());
    return 0;
}
