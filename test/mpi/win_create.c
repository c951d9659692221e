// SPDX-License-Identifier: BSD-3-Clause
//
// Windows of every flavor: what they say of themselves, their groups, hints, and memory; windows
// without memory on some ranks; several windows over the same memory.

#include "win_check.h"

static void attributes(const box *b)
{
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                  MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    void *base = &base;
    MPI_Aint *bytes = NULL;
    int found = 0, model = win_int_attr(b->win, MPI_WIN_MODEL);
    CHECK(model == MPI_WIN_UNIFIED || model == MPI_WIN_SEPARATE);
    CHECK_INT(win_int_attr(b->win, MPI_WIN_CREATE_FLAVOR), flavors[b->flavor]);
    CHECK_INT(win_int_attr(b->win, MPI_WIN_DISP_UNIT), b->unit);
    CHECK_OK(MPI_Win_get_attr(b->win, MPI_WIN_BASE, &base, &found));
    CHECK_INT(found, 1);
    if (base != (b->flavor == DYNAMIC ? MPI_BOTTOM : (void *)b->base) && b->bytes > 0 && STRICT)
        check_fail(__FILE__, __LINE__, "%s: MPI_WIN_BASE is %p, should be %p",
                   flavor_name(b->flavor), base, (void *)b->base);
    CHECK_OK(MPI_Win_get_attr(b->win, MPI_WIN_SIZE, &bytes, &found));
    CHECK_INT(found, 1);
    CHECK_INT(*bytes, b->flavor == DYNAMIC ? 0 : (MPI_Aint)b->bytes);
}

static void group(const box *b)
{
    MPI_Group group, of_comm;
    int result = -1;
    CHECK_OK(MPI_Win_get_group(b->win, &group));
    CHECK_OK(MPI_Comm_group(b->comm, &of_comm));
    CHECK_OK(MPI_Group_compare(group, of_comm, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Group_free(&of_comm));
}

// The window belongs to nobody else: its communicator may go first, and names live with it.
static void life(enum flavor flavor, size_t bytes, int unit)
{
    box b = box_new(flavor, bytes, unit);
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    attributes(&b);
    group(&b);
    CHECK_OK(MPI_Win_get_name(b.win, name, &length));
    CHECK((length == 0 && name[0] == '\0') || !STRICT);
    CHECK_OK(MPI_Win_set_name(b.win, "table"));
    CHECK_OK(MPI_Win_get_name(b.win, name, &length));
    CHECK(length == 5 && strcmp(name, "table") == 0);
    if (b.bytes > 0)
        pattern_fill(b.base, b.bytes, (unsigned)b.rank);
    CHECK_OK(MPI_Barrier(b.comm));
    if (b.bytes > 0)
        CHECK_PATTERN(b.base, b.bytes, (unsigned)b.rank);
    box_free(&b);
}

// Different sizes and units on each rank, none at all on some.
static void uneven(enum flavor flavor)
{
    int rank = world_rank();
    for (int round = 0; round < 3; round++) {
        size_t bytes = (size_t)((rank + round) % 3) * 40;
        life(flavor, bytes, 1 + (rank + round) % 3);
    }
    if (flavor == CREATE) { // no memory needs no address
        MPI_Win win;
        CHECK_OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        CHECK_OK(MPI_Win_free(&win));
    }
}

// An address that fits every element, as of MPI_Alloc_mem.
static void aligned(enum flavor flavor)
{
    box b = box_new(flavor, 64, 1);
    CHECK((uintptr_t)b.base % _Alignof(max_align_t) == 0 || !STRICT);
    box_free(&b);
}

static const char *hint(MPI_Win win, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    MPI_Info info;
    int found = 0;
    CHECK_OK(MPI_Win_get_info(win, &info));
    CHECK(info != MPI_INFO_NULL);
    CHECK_OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    CHECK_OK(MPI_Info_free(&info));
    return found ? value : "";
}

// A hint is as it was said, or as it is if nothing is said, or left out.
static void hints(enum flavor flavor)
{
    static const char *const pairs[][3] = {{"no_locks", "true", "false"},
                                           {"accumulate_ordering", "none", "rar,raw,war,waw"},
                                           {"accumulate_ops", "same_op", "same_op_no_op"},
                                           {"same_size", "true", "false"},
                                           {"same_disp_unit", "true", "false"},
                                           {"mpi_accumulate_granularity", "8", "0"},
                                           {"alloc_shared_noncontig", "true", "false"},
                                           {"no_such", "thing", ""}};
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    for (int i = 0; i < COUNT_OF(pairs); i++)
        CHECK_OK(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
    box b = box_new_with(flavor, 32, 8, info);
    CHECK_OK(MPI_Info_free(&info));
    for (int i = 0; i < COUNT_OF(pairs); i++) {
        const char *got = hint(b.win, pairs[i][0], value);
        if (STRICT && *got && strcmp(got, pairs[i][1]) != 0 && strcmp(got, pairs[i][2]) != 0)
            check_fail(__FILE__, __LINE__, "%s is '%s'", pairs[i][0], got);
    }
    // Nothing that the program says changes how accumulates are done.
    CHECK(!STRICT || strcmp(hint(b.win, "accumulate_ordering", value), "rar,raw,war,waw") == 0);
    CHECK(!STRICT || strcmp(hint(b.win, "mpi_accumulate_granularity", value), "0") == 0);
    CHECK_OK(MPI_Win_fence(0, b.win)); // the window works
    CHECK_OK(MPI_Win_fence(0, b.win));
    box_free(&b);
    b = box_new(flavor, 32, 8);
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "no_locks", "false"));
    CHECK_OK(MPI_Info_set(info, "accumulate_ops", "same_op_no_op"));
    CHECK_OK(MPI_Win_set_info(b.win, info));
    CHECK_OK(MPI_Info_free(&info));
    CHECK(strcmp(hint(b.win, "no_locks", value), "true") != 0);
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    CHECK_OK(MPI_Win_unlock_all(b.win));
    box_free(&b);
}

// Large displacement units, the forms that take them, and handles as integers.
static void large(void)
{
    char *base = NULL;
    MPI_Win win;
#if MPI_VERSION >= 4
    CHECK_OK(MPI_Win_allocate_c(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    CHECK_INT(win_int_attr(win, MPI_WIN_DISP_UNIT), 8);
    CHECK_OK(MPI_Win_free(&win));
    base = must_alloc(64);
    CHECK_OK(MPI_Win_create_c(base, 64, 16, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_INT(win_int_attr(win, MPI_WIN_DISP_UNIT), 16);
    CHECK_OK(MPI_Win_free(&win));
    free(base);
    MPI_Comm comm = flavor_comm(MPI_COMM_WORLD, SHARED);
    CHECK_OK(MPI_Win_allocate_shared_c(64, 4, MPI_INFO_NULL, comm, &base, &win));
    CHECK_INT(win_int_attr(win, MPI_WIN_DISP_UNIT), 4);
    CHECK_OK(MPI_Win_free(&win));
    CHECK_OK(MPI_Comm_free(&comm));
#endif
    CHECK_OK(MPI_Win_allocate(1 << 21, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    pattern_fill(base, 1 << 21, 7);
    CHECK_PATTERN(base, 1 << 21, 7);
#ifndef PEER
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
#endif
    CHECK_OK(MPI_Win_free(&win));
}

// Two windows over the same memory, and one that goes while another stays.
static void overlapping(void)
{
    int rank = world_rank(), size = world_size(), right = (rank + 1) % size,
        left = (rank + size - 1) % size;
    int *data = must_alloc(4 * sizeof *data), value = 100 + rank, got = -1;
    MPI_Win all, part;
    for (int i = 0; i < 4; i++)
        data[i] = -1;
    CHECK_OK(
        MPI_Win_create(data, 4 * sizeof *data, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &all));
    CHECK_OK(MPI_Win_create(data + 2, sizeof *data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part));
    CHECK_OK(MPI_Win_fence(0, part));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, part));
    CHECK_OK(MPI_Win_fence(0, part));
    CHECK_INT(data[2], 100 + left);
    CHECK_OK(MPI_Win_free(&part));
    CHECK_OK(MPI_Win_fence(0, all));
    CHECK_OK(MPI_Get(&got, 1, MPI_INT, right, 2, 1, MPI_INT, all));
    CHECK_OK(MPI_Win_fence(0, all));
    CHECK_INT(got, 100 + rank);
    CHECK_OK(MPI_Win_free(&all));
    free(data);
}

// The communicator may be freed before the window.
static void outlives(void)
{
    MPI_Comm comm;
    MPI_Win win;
    int *base, value = world_rank();
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -value, &comm));
    CHECK_OK(MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, comm, &base, &win));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, value, 0, 1, MPI_INT, win)); // its ranks count backwards
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_INT(*base, world_size() - 1 - value);
    CHECK_OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        life((enum flavor)flavor, 128, 1);
        life((enum flavor)flavor, 4096, 8);
        life((enum flavor)flavor, 0, 4);
        uneven((enum flavor)flavor);
        hints((enum flavor)flavor);
        aligned((enum flavor)flavor);
    }
    large();
    overlapping();
    outlives();
    CHECK_OK(MPI_Finalize());
    return 0;
}
