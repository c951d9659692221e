// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers of a session: attached, flushed and detached. No communicator is derived from the session
// here, so no message goes through them.

#include "check.h"

static void check_detached(MPI_Session session, int large, void *want, int want_size)
{
    void *address = NULL;
    int size = -1;
    MPI_Count large_size = -1;
    if (large)
        CHECK_OK(MPI_Session_detach_buffer_c(session, &address, &large_size));
    else
        CHECK_OK(MPI_Session_detach_buffer(session, &address, &size));
    CHECK(address == want);
    if (want_size >= 0)
        CHECK_INT(large ? large_size : size, want_size);
}

int main(int argc, char **argv)
{
    char memory[4000], of_process[1000];
    MPI_Session one = MPI_SESSION_NULL, two = MPI_SESSION_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    void *address = NULL;
    int size = -1;
    MPI_Count large = -1;
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &two));
    CHECK(one != MPI_SESSION_NULL && two != MPI_SESSION_NULL && one != two);

    check_detached(one, 0, NULL, 0);
    CHECK_OK(MPI_Buffer_attach(of_process, sizeof of_process));
    CHECK_OK(MPI_Session_attach_buffer(one, memory, 2000));
    CHECK_OK(MPI_Session_attach_buffer_c(two, memory + 2000, 2000));
    CHECK_ERROR2(MPI_Session_attach_buffer(one, memory, 2000), MPI_ERR_BUFFER, MPI_ERR_OTHER,
                 "MPI_Session_attach_buffer", "");
    CHECK_OK(MPI_Session_flush_buffer(one));
    CHECK_OK(MPI_Session_iflush_buffer(two, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK(r == MPI_REQUEST_NULL);
    check_detached(two, 0, memory + 2000, 2000);
    check_detached(one, 1, memory, 2000);
    CHECK_OK(MPI_Session_attach_buffer(one, MPI_BUFFER_AUTOMATIC, 0));
    CHECK_OK(MPI_Session_flush_buffer(one));
    check_detached(one, 0, MPI_BUFFER_AUTOMATIC, -1);
    CHECK_OK(MPI_Session_attach_buffer_c(one, MPI_BUFFER_AUTOMATIC, 0));
    check_detached(one, 1, MPI_BUFFER_AUTOMATIC, -1);
    CHECK_OK(MPI_Buffer_detach(&address, &size));
    CHECK(address == of_process);
    CHECK_INT(size, sizeof of_process);

    CHECK_ERROR(MPI_Session_attach_buffer(MPI_SESSION_NULL, memory, 10), MPI_ERR_SESSION,
                "MPI_Session_attach_buffer", "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_attach_buffer_c(MPI_SESSION_NULL, memory, 10), MPI_ERR_SESSION,
                "MPI_Session_attach_buffer_c", "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_detach_buffer(MPI_SESSION_NULL, &address, &size), MPI_ERR_SESSION,
                "MPI_Session_detach_buffer", "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_detach_buffer_c(MPI_SESSION_NULL, &address, &large), MPI_ERR_SESSION,
                "MPI_Session_detach_buffer_c", "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_flush_buffer(MPI_SESSION_NULL), MPI_ERR_SESSION,
                "MPI_Session_flush_buffer", "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_iflush_buffer(MPI_SESSION_NULL, &r), MPI_ERR_SESSION,
                "MPI_Session_iflush_buffer", "MPI_SESSION_NULL");

    CHECK_OK(MPI_Session_finalize(&one));
    CHECK_OK(MPI_Session_finalize(&two));
    CHECK(one == MPI_SESSION_NULL && two == MPI_SESSION_NULL);
    CHECK_OK(MPI_Finalize());
    return 0;
}
