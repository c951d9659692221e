// SPDX-License-Identifier: BSD-3-Clause
//
// Every constructor of datatypes, small and large: sizes, bounds and data as the standard's
// examples say; types of enormous size; names, duplicates, addresses.

#include <stddef.h>

#include "type_map.h"

static void check_bounds(MPI_Datatype type, long long size, long long lb, long long extent,
                         long long true_lb, long long true_extent)
{
    MPI_Count got = -1, a = -1, b = -1;
    MPI_Aint c = -1, d = -1;
    CHECK_OK(MPI_Type_size_c(type, &got));
    CHECK_INT(got, size);
    CHECK_OK(MPI_Type_get_extent_c(type, &a, &b));
    CHECK_INT(a, lb);
    CHECK_INT(b, extent);
    CHECK_OK(MPI_Type_get_extent(type, &c, &d));
    CHECK_INT(c, lb);
    CHECK_INT(d, extent);
    CHECK_OK(MPI_Type_get_true_extent_c(type, &a, &b));
    CHECK_INT(a, true_lb);
    CHECK_INT(b, true_extent);
    CHECK_OK(MPI_Type_get_true_extent(type, &c, &d));
    CHECK_INT(c, true_lb);
    CHECK_INT(d, true_extent);
    // The deprecated ones.
    CHECK_OK(MPI_Type_size_x(type, &got));
    CHECK_INT(got, size);
    CHECK_OK(MPI_Type_get_extent_x(type, &a, &b));
    CHECK_INT(b, extent);
    CHECK_OK(MPI_Type_get_true_extent_x(type, &a, &b));
    CHECK_INT(b, true_extent);
}

// Packs one element of bytes that are their own numbers.
static void check_data(MPI_Datatype type, long before, int n, const unsigned char *want)
{
    unsigned char memory[256], packed[256];
    int at = 0;
    for (int i = 0; i < 256; i++)
        memory[i] = (unsigned char)i;
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Pack(memory + before, 1, type, packed, 256, &at, MPI_COMM_WORLD));
    CHECK_INT(at, n);
    CHECK(memcmp(packed, want, (size_t)n) == 0);
}

// The map of a type, by hand: bounds and data.
static void check_map(struct map m)
{
    long first, end, n = map_bytes(&m);
    unsigned char memory[1024], packed[1024], want[1024];
    int at = 0;
    map_check(&m);
    map_span(&m, &first, &end);
    CHECK(end - first <= 1024);
    for (int i = 0; i < 1024; i++)
        memory[i] = (unsigned char)(i * 7 + i / 256);
    map_pack(&m, 1, (char *)memory - first, (char *)want);
    CHECK_OK(MPI_Type_commit(&m.type));
    CHECK_OK(MPI_Pack(memory - first, 1, m.type, packed, 1024, &at, MPI_COMM_WORLD));
    CHECK_INT(at, n);
    CHECK(memcmp(packed, want, (size_t)n) == 0);
    map_free(&m);
    CHECK(m.type == MPI_DATATYPE_NULL || !m.derived);
}

static void all_constructors(bool large)
{
    struct map i = map_basic(INT_KIND), c = map_basic(CHAR_KIND), d = map_basic(DOUBLE_KIND);
    const int lengths[] = {2, 0, 1};
    const long at[] = {3, 90, 0}, bytes[] = {17, 90, -5};
    const struct map *parts[] = {&d, &c, &i};
    struct dim dims[] = {{.size = 3, .start = 1, .count = 2}, {.size = 4, .start = 0, .count = 3}};
    struct dim shares[] = {{.size = 5,
                            .distribution = MPI_DISTRIBUTE_BLOCK,
                            .arg = MPI_DISTRIBUTE_DFLT_DARG,
                            .processes = 2,
                            .coordinate = 1,
                            .block = 3},
                           {.size = 7,
                            .distribution = MPI_DISTRIBUTE_CYCLIC,
                            .arg = 2,
                            .processes = 3,
                            .coordinate = 0,
                            .block = 2}};
    check_map(map_contiguous(&i, 5, large));
    check_map(map_contiguous(&i, 0, large));
    check_map(map_vector(&i, 3, 2, 4, false, large));
    check_map(map_vector(&i, 3, 2, -4, false, large));
    check_map(map_vector(&i, 3, 1, 9, true, large));
    check_map(map_vector(&i, 0, 1, 9, true, large));
    check_map(map_indexed(&i, 3, lengths, 0, at, false, large));
    check_map(map_indexed(&i, 3, lengths, 0, bytes, true, large));
    check_map(map_indexed(&i, 3, NULL, 2, at, false, large));
    check_map(map_indexed(&i, 3, NULL, 1, bytes, true, large));
    check_map(map_struct(3, lengths, bytes, parts, large));
    check_map(map_struct(0, lengths, bytes, parts, large));
    check_map(map_resized(&i, -3, 11, large));
    check_map(map_dup(&i));
    for (int order = 0; order < 2; order++) {
        check_map(map_subarray(&i, 2, dims, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, large));
        check_map(map_darray(&c, 2, shares, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, large));
    }
    map_free(&i);
    map_free(&c);
    map_free(&d);
}

// Bounds that were set stay with what is built from the type, and new ones replace them.
static void resized(void)
{
    MPI_Datatype narrow, both, wide, again;
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 8};
    CHECK_OK(MPI_Type_create_resized(MPI_INT, -4, 16, &narrow));
    check_bounds(narrow, 4, -4, 16, 0, 4);
    MPI_Datatype types[] = {narrow, MPI_DOUBLE};
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &both));
    if (STRICT) // MPICH counts the double too
        check_bounds(both, 12, -4, 16, 0, 16);
    CHECK_OK(MPI_Type_contiguous(3, narrow, &wide));
    check_bounds(wide, 12, -4, 48, 0, 36);
    CHECK_OK(MPI_Type_create_resized(wide, 0, 36, &again));
    check_bounds(again, 12, 0, 36, 0, 36);
    CHECK_OK(MPI_Type_free(&narrow));
    CHECK_OK(MPI_Type_free(&both));
    CHECK_OK(MPI_Type_free(&wide));
    CHECK_OK(MPI_Type_free(&again));
}

// The extent of a struct is rounded up, as a compiler does.
static void padding(void)
{
    struct padded {
        double value;
        char mark;
    };
    MPI_Datatype type, two;
    int lengths[] = {1, 1};
    MPI_Aint at[] = {offsetof(struct padded, value), offsetof(struct padded, mark)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &type));
    check_bounds(type, 9, 0, sizeof(struct padded), 0, 9);
    CHECK_OK(MPI_Type_contiguous(2, type, &two));
    check_bounds(two, 18, 0, 2 * sizeof(struct padded), 0, sizeof(struct padded) + 9);
    CHECK_OK(MPI_Type_free(&two));
    CHECK_OK(MPI_Type_free(&type));
}

// The parts may be freed as soon as the whole is made.
static void parts_go(void)
{
    MPI_Datatype inner, middle, outer;
    const unsigned char want[] = {0, 1, 4, 5, 12, 13, 16, 17};
    CHECK_OK(MPI_Type_contiguous(2, MPI_CHAR, &inner));
    CHECK_OK(MPI_Type_vector(2, 1, 2, inner, &middle));
    CHECK_OK(MPI_Type_free(&inner));
    CHECK_OK(MPI_Type_vector(2, 1, 2, middle, &outer));
    CHECK_OK(MPI_Type_free(&middle));
    CHECK(inner == MPI_DATATYPE_NULL && middle == MPI_DATATYPE_NULL);
    check_data(outer, 0, 8, want);
    CHECK_OK(MPI_Type_free(&outer));
}

// 10^8 blocks cost bytes, and more than an int can count is counted.
static void enormous(void)
{
    MPI_Datatype rows, cube, many;
    int size = 7;
    MPI_Count large = (MPI_Count)1 << 40;
    CHECK_OK(MPI_Type_vector(100000000, 1, 2, MPI_DOUBLE, &rows));
    check_bounds(rows, 800000000, 0, 1599999992, 0, 1599999992);
    CHECK_OK(MPI_Type_size(rows, &size));
    CHECK_INT(size, 800000000);
    CHECK_OK(MPI_Type_create_hvector(1000, 1, 1600000000, rows, &cube));
    check_bounds(cube, 800000000000, 0, 1599999999992, 0, 1599999999992);
    CHECK_OK(MPI_Type_size(cube, &size));
    CHECK_INT(size, MPI_UNDEFINED);
    CHECK_OK(MPI_Type_contiguous_c(large, MPI_INT, &many));
    check_bounds(many, 4 * large, 0, 4 * large, 0, 4 * large);
    CHECK_OK(MPI_Type_free(&rows));
    CHECK_OK(MPI_Type_free(&cube));
    CHECK_OK(MPI_Type_free(&many));
}

// Thousands of types in each other.
static void deep(void)
{
    MPI_Datatype type, next;
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 1};
    CHECK_OK(MPI_Type_contiguous(1, MPI_CHAR, &type));
    for (int i = 0; i < 10000; i++) {
        CHECK_OK(MPI_Type_dup(type, &next));
        CHECK_OK(MPI_Type_free(&type));
        type = next;
    }
    MPI_Datatype types[] = {type, MPI_CHAR};
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &next));
    check_bounds(next, 2, 0, 2, 0, 2);
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&next));
}

static void check_name(MPI_Datatype type, const char *want)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    CHECK_OK(MPI_Type_get_name(type, name, &length));
    CHECK(strcmp(name, want) == 0);
    CHECK_INT(length, strlen(want));
}

static void names(void)
{
    MPI_Datatype type, other;
    char mine[32], long_name[2 * MPI_MAX_OBJECT_NAME];
    snprintf(mine, sizeof mine, "int of rank %d", world_rank());
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
    check_name(type, "");
    CHECK_OK(MPI_Type_set_name(type, "two"));
    check_name(type, "two");
    CHECK_OK(MPI_Type_dup(type, &other));
    check_name(other, "");
    CHECK_OK(MPI_Type_set_name(type, ""));
    check_name(type, "");
    // A predefined one, and only for this rank.
    check_name(MPI_SHORT, "MPI_SHORT");
    CHECK_OK(MPI_Type_set_name(MPI_SHORT, mine));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    check_name(MPI_SHORT, mine);
    check_name(MPI_LONG, "MPI_LONG");
    CHECK_OK(MPI_Type_set_name(MPI_SHORT, "MPI_SHORT"));
    check_name(MPI_SHORT, "MPI_SHORT");
    // A name that is too long is cut.
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    CHECK_OK(MPI_Type_set_name(type, long_name));
    long_name[MPI_MAX_OBJECT_NAME - 1] = 0;
    check_name(type, long_name);
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&other));
}

// A duplicate is committed if its model was.
static void duplicates(void)
{
    MPI_Datatype type, raw, ready;
    int in[4] = {1, 2, 3, 4}, out[4] = {0};
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    CHECK_OK(MPI_Type_dup(type, &raw));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Type_commit(&type)); // twice is no error
    CHECK_OK(MPI_Type_dup(type, &ready));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(
        MPI_Sendrecv(in, 1, ready, 0, 1, out, 1, ready, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 3 && out[3] == 0);
    CHECK_OK(MPI_Type_commit(&raw));
    CHECK_OK(MPI_Type_free(&raw));
    CHECK_OK(MPI_Type_free(&ready));
    MPI_Datatype ints = MPI_INT;
    CHECK_OK(MPI_Type_commit(&ints)); // so is a predefined one
    CHECK(ints == MPI_INT);
}

static void addresses(void)
{
    int array[10] = {0};
    MPI_Aint first = 0, last = 0;
    CHECK_OK(MPI_Get_address(&array[0], &first));
    CHECK_OK(MPI_Get_address(&array[9], &last));
    CHECK_INT(MPI_Aint_diff(last, first), 9 * sizeof(int));
    CHECK(MPI_Aint_add(first, 9 * sizeof(int)) == last);
    CHECK((void *)first == (void *)array);
    CHECK_OK(MPI_Get_address(MPI_BOTTOM, &first));
    CHECK_INT(first, 0);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    all_constructors(false);
    all_constructors(true);
    resized();
    padding();
    parts_go();
    enormous();
    deep();
    names();
    duplicates();
    addresses();
    CHECK_OK(MPI_Finalize());
    return 0;
}
