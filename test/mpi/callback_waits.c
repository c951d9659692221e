// SPDX-License-Identifier: BSD-3-Clause
// Functions of the user's that wait or let others run. Those of operations run in the middle of a
// step of their worker, and must not: `callback_waits op HOW` ends with an error message. All
// others may (`callback_waits`): attribute copy and delete functions, error handlers, the functions
// of generalized requests, and an operation that MPI_Reduce_local calls.
#include <millet/csp.h>
#include <millet/goal.h>

#include "check.h"

// What a function does that must not wait. One rank alone need not wait for a barrier of the world,
// so it waits for a value that nobody sends.
static void wait_somehow(const char *how)
{
    int flag, value;
    if (strcmp(how, "yield") == 0)
        csp_yield();
    else if (strcmp(how, "sleep") == 0)
        csp_sleep(csp_after(0));
    else if (strcmp(how, "read") == 0)
        (void)csp_read(csp_chan_in(csp_chan_new("nobody", sizeof value)), &value);
    else if (strcmp(how, "recv") == 0)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(how, "probe") == 0)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    else if (strcmp(how, "nothing") != 0)
        check_fail(__FILE__, __LINE__, "no such way: %s", how);
}

static const char *way; // the same for all ranks

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    wait_somehow(way);
}

static void add_all(void *into, const void *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((int *)into)[i] += ((const int *)with)[i];
    wait_somehow(way);
}

static void add_goal(void *buf1, int size1, void *buf2, int size2)
{
    (void)size2;
    add_all(buf1, buf2, (size_t)size1 / sizeof(int));
}

static void by_goal(void)
{
    int values[2] = {1, 2};
    GOAL_Goal goal = GOAL_Create();
    CHECK(GOAL_Exec(goal, GOAL_Reg_func(goal, add_goal), &values[0], sizeof(int), &values[1],
                    sizeof(int)) >= 0);
    GOAL_Sched sched = GOAL_Compile(goal);
    CHECK_OK(GOAL_Sched_run(sched));
    CHECK_INT(values[0], 3);
    CHECK_OK(GOAL_Sched_free(&sched));
    CHECK_OK(GOAL_Free(&goal));
}

static void by_operation(const char *which)
{
    int mine = 1, sum = 0, size;
    MPI_Op op;
    CHECK_OK(MPI_Op_create(add, 1, &op));
    CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (strcmp(which, "group") == 0) {
        csp_group *group = csp_group_of_nodes("all", 1);
        const csp_op plus = {.combine = add_all, .size = sizeof(int), .commutes = true};
        CHECK(csp_group_allreduce(group, csp_group_first(group), &mine, &sum, 1, &plus) == CSP_OK);
        csp_group_free(group);
    } else if (strcmp(which, "scan") == 0) {
        CHECK_OK(MPI_Scan(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
        sum = size;
    } else if (strcmp(which, "ireduce") == 0) {
        MPI_Request request;
        CHECK_OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
    }
    CHECK_INT(sum, size);
    CHECK_OK(MPI_Op_free(&op));
}

// ---- functions that may wait

typedef struct state {
    int rank, size, calls;
    MPI_Comm quiet; // what they speak through
} state;

static int pass(void *arg)
{
    ++*(int *)arg;
    return 0;
}

// Others run, and messages go round: all ranks are in the same function.
static void live(state *s)
{
    int passed = 0, from = (s->rank + s->size - 1) % s->size, got = -1;
    csp_child *child = csp_fork(pass, &passed, "pass");
    csp_yield();
    csp_sleep(csp_after(0.0001));
    CHECK(csp_join(child) == 0 && passed == 1);
    CHECK_OK(MPI_Sendrecv(&s->rank, 1, MPI_INT, (s->rank + 1) % s->size, 5, &got, 1, MPI_INT, from,
                          5, s->quiet, MPI_STATUS_IGNORE));
    CHECK_INT(got, from);
    CHECK_OK(MPI_Barrier(s->quiet));
    s->calls++;
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    live(extra);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    live(extra);
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    return copy(MPI_COMM_NULL, key, extra, in, out, flag);
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    return delete (MPI_COMM_NULL, key, value, extra);
}

static void by_attributes(state *s)
{
    int key, type_key, before = s->calls;
    MPI_Comm comm, twin;
    MPI_Datatype type, other;
    CHECK_OK(MPI_Comm_create_keyval(copy, delete, &key, s));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_attr(comm, key, s));
    CHECK_OK(MPI_Comm_dup(comm, &twin));
    CHECK_OK(MPI_Comm_free(&twin));
    CHECK_OK(MPI_Comm_set_attr(comm, key, s)); // deletes the old one
    CHECK_OK(MPI_Comm_delete_attr(comm, key));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_INT(s->calls, before + 4);
    CHECK_OK(MPI_Type_create_keyval(copy_type, delete_type, &type_key, s));
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
    CHECK_OK(MPI_Type_set_attr(type, type_key, s));
    CHECK_OK(MPI_Type_dup(type, &other));
    CHECK_OK(MPI_Type_free(&other));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_INT(s->calls, before + 7);
    CHECK_OK(MPI_Comm_free_keyval(&key));
    CHECK_OK(MPI_Type_free_keyval(&type_key));
}

// The handler finds the state behind an address in the communicator's name.
static void handle(MPI_Comm *comm, int *code, ...)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    void *s;
    (void)code;
    CHECK_OK(MPI_Comm_get_name(*comm, name, &length));
    CHECK(sscanf(name, "%p", &s) == 1);
    live(s);
}

static void by_error(state *s)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    char name[MPI_MAX_OBJECT_NAME];
    int before = s->calls;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    snprintf(name, sizeof name, "%p", (void *)s);
    CHECK_OK(MPI_Comm_set_name(comm, name));
    CHECK_OK(MPI_Comm_create_errhandler(handle, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
    CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, comm) != MPI_SUCCESS);
    CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK_INT(s->calls, before + 2);
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Comm_free(&comm));
}

static int query(void *extra, MPI_Status *status)
{
    live(extra);
    CHECK_OK(MPI_Status_set_elements(status, MPI_INT, 3));
    CHECK_OK(MPI_Status_set_cancelled(status, 0));
    return MPI_SUCCESS;
}

static int freed(void *extra)
{
    live(extra);
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    (void)complete;
    live(extra);
    return MPI_SUCCESS;
}

static void by_request(state *s)
{
    MPI_Request requests[3];
    int before = s->calls, flag = 0, count;
    MPI_Status status;
    for (int i = 0; i < 3; i++)
        CHECK_OK(MPI_Grequest_start(query, freed, cancelled, s, &requests[i]));
    CHECK_OK(MPI_Cancel(&requests[0]));
    for (int i = 0; i < 3; i++)
        CHECK_OK(MPI_Grequest_complete(requests[i]));
    CHECK_OK(MPI_Wait(&requests[0], &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(count, 3);
    CHECK_OK(MPI_Test(&requests[1], &flag, &status));
    CHECK(flag);
    CHECK_OK(MPI_Waitall(1, &requests[2], MPI_STATUSES_IGNORE));
    CHECK_INT(s->calls, before + 7);
}

static void by_local_reduction(void)
{
    int a = 1, b = 2;
    MPI_Op op;
    CHECK_OK(MPI_Op_create(add, 1, &op));
    CHECK_OK(MPI_Reduce_local(&a, &b, 1, MPI_INT, op));
    CHECK_INT(b, 3);
    CHECK_OK(MPI_Op_free(&op));
}

int main(int argc, char **argv)
{
    way = argc > 2 ? argv[2] : "yield";
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 2 && strcmp(argv[1], "goal") == 0) {
        by_goal();
    } else if (argc > 2) {
        by_operation(argv[1]);
    } else {
        state s = {0};
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &s.quiet));
        CHECK_OK(MPI_Comm_rank(s.quiet, &s.rank));
        CHECK_OK(MPI_Comm_size(s.quiet, &s.size));
        by_attributes(&s);
        by_error(&s);
        by_request(&s);
        by_local_reduction();
        CHECK_OK(MPI_Comm_free(&s.quiet));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
