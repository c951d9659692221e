// SPDX-License-Identifier: BSD-3-Clause
//
// Objects that are made and freed many times leave nothing behind: the process does not grow. The
// argument is the number of rounds.

#include "growth.h"

enum { MOST_GROWTH = 4 << 20 };

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static int on_query(void *state, MPI_Status *status)
{
    (void)state;
    return MPI_Status_set_elements(status, MPI_BYTE, 1);
}

static int on_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int on_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void infos(int i)
{
    MPI_Info info, copy;
    char key[32];
    CHECK_OK(MPI_Info_create(&info));
    for (int k = 0; k < 3 + i % 20; k++) {
        snprintf(key, sizeof key, "key %d", k);
        CHECK_OK(MPI_Info_set(info, key, "a value of some length"));
    }
    CHECK_OK(MPI_Info_delete(info, "key 1"));
    CHECK_OK(MPI_Info_dup(info, &copy));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Info_free(&copy));
}

static void handlers(void)
{
    MPI_Errhandler handler, got;
    CHECK_OK(MPI_Comm_create_errhandler(on_comm, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Errhandler_free(&got));
}

static void codes(void)
{
    int class, code;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK_OK(MPI_Add_error_code(class, &code));
    CHECK_OK(MPI_Add_error_string(code, "a string"));
    CHECK_OK(MPI_Remove_error_string(code));
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_class(class));
}

static void grequests(void)
{
    MPI_Request request;
    CHECK_OK(MPI_Grequest_start(on_query, on_free, on_cancel, NULL, &request));
    CHECK_OK(MPI_Grequest_complete(request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void memory(int i)
{
    char *at;
    CHECK_OK(MPI_Alloc_mem((MPI_Aint)1 << i % 12, MPI_INFO_NULL, &at));
    at[0] = 1;
    CHECK_OK(MPI_Free_mem(at));
}

// An error has a message, which must not stay either.
static void errors(void)
{
    MPI_Info info = MPI_INFO_NULL;
    CHECK_INT(error_class(MPI_Info_free(&info)), MPI_ERR_INFO);
}

static void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        infos(i);
        handlers();
        codes();
        grequests();
        memory(i);
        errors();
        if (i % 100 == 0) {
            MPI_Info info;
            CHECK_OK(MPI_Get_hw_resource_info(&info));
            CHECK_OK(MPI_Info_free(&info));
            CHECK_OK(MPI_Abi_get_info(&info));
            CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
            CHECK_OK(MPI_Info_free(&info));
        }
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argc > 1);
    int count = atoi(argv[1]);
    errors_return();
    rounds(count / 10);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = resident_bytes();
    rounds(count);
    long after = resident_bytes();
    if (after > before + MOST_GROWTH)
        check_fail(__FILE__, __LINE__, "%ld bytes grew to %ld in %d rounds", before, after, count);
    CHECK_OK(MPI_Finalize());
    return 0;
}
