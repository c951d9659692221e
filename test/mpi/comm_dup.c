// SPDX-License-Identifier: BSD-3-Clause
// Duplicates: messages of the original stay out, hints are not copied but given, a duplicate of the
// world and of self, many at a time, and MPI_Comm_idup: several under way, in order with blocking
// calls, with computing between, freed with requests under way.
#include <threads.h>
#include <time.h>

#include "comm_check.h"

enum { MANY = 50, TAG = 3 };

static void check_apart(MPI_Comm a, MPI_Comm b)
{
    int rank = rank_of(a), size = size_of(a), one = 1, two = 2, got = 0;
    MPI_Request requests[2];
    CHECK_OK(MPI_Isend(&one, 1, MPI_INT, (rank + 1) % size, TAG, a, &requests[0]));
    CHECK_OK(MPI_Isend(&two, 1, MPI_INT, (rank + 1) % size, TAG, b, &requests[1]));
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, MPI_STATUS_IGNORE));
    CHECK_INT(got, 2);
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, a, MPI_STATUS_IGNORE));
    CHECK_INT(got, 1);
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void check_many(void)
{
    MPI_Comm comms[MANY];
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_Comm_dup(i ? comms[i / 2] : MPI_COMM_WORLD, &comms[i]));
    for (int i = 1; i < MANY; i++)
        check_apart(comms[i - 1], comms[i]);
    for (int i = 0; i < MANY; i += 2)
        CHECK_OK(MPI_Comm_free(&comms[i]));
    for (int i = 1; i < MANY; i += 2) {
        CHECK_OK(MPI_Barrier(comms[i]));
        CHECK_OK(MPI_Comm_free(&comms[i]));
    }
}

static void check_self(void)
{
    MPI_Comm comm, again;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Comm_dup(comm, &again));
    CHECK_INT(size_of(comm), 1);
    check_apart(comm, again);
    check_apart(MPI_COMM_SELF, comm);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&again));
}

static void check_idup(void)
{
    MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL, third = MPI_COMM_NULL, half;
    MPI_Request requests[3];
    int rank = world_rank(), flag = 0;
    CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &first, &requests[0]));
    CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &second, &requests[1]));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half)); // blocking, between them
    CHECK_OK(MPI_Comm_idup(half, &third, &requests[2]));
    CHECK_OK(MPI_Comm_free(&half)); // it stays until the duplicate is there
    while (!flag)
        CHECK_OK(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE));
    check_apart(first, second);
    CHECK_INT(size_of(third), (world_size() + !(rank % 2)) / 2);
    CHECK_OK(MPI_Barrier(third));
    CHECK_OK(MPI_Comm_free(&first));
    CHECK_OK(MPI_Comm_free(&second));
    CHECK_OK(MPI_Comm_free(&third));
}

// A freed communicator serves the operations that are under way.
static void check_free(void)
{
    MPI_Comm comm;
    int rank = world_rank(), size = world_size(), out = rank, in = -1;
    MPI_Request requests[2];
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % size, TAG, comm, &requests[0]));
    CHECK_OK(MPI_Issend(&out, 1, MPI_INT, (rank + size - 1) % size, TAG, comm, &requests[1]));
    CHECK_OK(MPI_Comm_free(&comm));
    for (int i = 0; i < 3; i++) { // others take its place, if they can
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(in, (rank + 1) % size);
}

static void check_hint(MPI_Comm comm, const char *key, const char *want)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag = 0, room = (int)sizeof value;
    CHECK_OK(MPI_Comm_get_info(comm, &info));
    CHECK_OK(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK(flag);
    if (strcmp(value, want) != 0)
        check_fail(__FILE__, __LINE__, "%s is '%s', should be '%s'", key, value, want);
    CHECK_OK(MPI_Info_free(&info));
}

static void check_hints(void)
{
    const char *key = "mpi_assert_no_any_tag", *other = "mpi_assert_exact_length";
    MPI_Info info;
    MPI_Comm comm, copy, replaced, later;
    MPI_Request request;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, key, "true"));
    CHECK_OK(MPI_Info_set(info, "no_such_hint", "1"));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check_hint(comm, key, "false");
    CHECK_OK(MPI_Comm_set_info(comm, info));
    check_hint(comm, key, "true");
    CHECK_OK(MPI_Comm_dup(comm, &copy));
    check_hint(copy, key, "false");
    CHECK_OK(MPI_Info_delete(info, key));
    CHECK_OK(MPI_Info_set(info, other, "true"));
    CHECK_OK(MPI_Comm_dup_with_info(comm, info, &replaced));
    check_hint(replaced, key, "false");
    check_hint(replaced, other, "true");
    CHECK_OK(MPI_Comm_idup_with_info(comm, info, &later, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_hint(later, key, "false");
    check_hint(later, other, "true");
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&copy));
    CHECK_OK(MPI_Comm_free(&replaced));
    CHECK_OK(MPI_Comm_free(&later));
}

static void check_name(MPI_Comm comm, const char *want)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;
    CHECK_OK(MPI_Comm_get_name(comm, name, &length));
    CHECK_INT(length, (int)strlen(want));
    CHECK(strcmp(name, want) == 0);
}

static void check_names(void)
{
    MPI_Comm comm, copy;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check_name(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    check_name(MPI_COMM_SELF, "MPI_COMM_SELF");
    check_name(comm, "");
    CHECK_OK(MPI_Comm_set_name(comm, "mine"));
    CHECK_OK(MPI_Comm_dup(comm, &copy));
    check_name(comm, "mine");
    check_name(copy, "");
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&copy));
}

// extra: the code to return.
static int copy_value(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    *(void **)out = in;
    *flag = 1;
    return *(int *)extra;
}

// A copy function fails on the ranks below `failing`: they get an error, and neither communicator
// nor request; the others are not held up.
static void check_failing_copy(int failing)
{
    MPI_Comm comm, copy = MPI_COMM_WORLD, later = MPI_COMM_WORLD;
    MPI_Request request;
    int fails = world_rank() < failing, code = fails ? MPI_ERR_INTERN : MPI_SUCCESS, key;
    CHECK_OK(MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &key, &code));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_attr(comm, key, &code));
    CHECK_INT(MPI_Comm_idup(comm, &later, &request), code);
    CHECK((request == MPI_REQUEST_NULL) >= fails);
    CHECK_INT(MPI_Comm_dup(comm, &copy), code);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Barrier(comm));
    CHECK((copy == MPI_COMM_NULL) == fails);
    CHECK((later == MPI_COMM_NULL) == fails);
    if (!fails) {
        CHECK_INT(size_of(later), world_size());
        CHECK_OK(MPI_Comm_free(&copy));
        CHECK_OK(MPI_Comm_free(&later));
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free_keyval(&key));
}

// A barrier of the same communicator meets ranks that have not begun with the duplicate. Called
// first: the first collective calls of the world are what the barrier's messages could be taken
// for.
static void check_barrier_meanwhile(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Comm copy;
        MPI_Request request;
        if (world_rank() % 3 != i)
            thrd_sleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request));
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(size_of(copy), world_size());
        CHECK_OK(MPI_Barrier(copy));
        CHECK_OK(MPI_Comm_free(&copy));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_barrier_meanwhile();
    check_many();
    check_self();
    for (int i = 0; i < 20; i++)
        check_idup();
    check_free();
    check_hints();
    check_names();
    for (int failing = 0; failing <= world_size(); failing++)
        check_failing_copy(failing);
    MPI_Finalize();
    return 0;
}
