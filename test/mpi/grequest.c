// SPDX-License-Identifier: BSD-3-Clause
//
// Generalized requests: when each function is called, what becomes of its status and of its error,
// in every call that completes, frees, cancels or looks at requests. With the argument `others`,
// ranks that share a thread complete each other's; with `threads`, a rank of another thread is
// refused.

#include "check.h"

// What the functions of a request saw, and what they return.
typedef struct state {
    MPI_Request handle;
    int started, queried, freed, cancelled; // how often
    int query_code, free_code, cancel_code;
    int complete; // what cancel_fn was told
    int complete_on_cancel;
    int cancel_status;    // query_fn says "cancelled"
    int source, elements; // what query_fn says
} state;

static int on_query(void *extra, MPI_Status *status)
{
    state *s = extra;
    int length = 0;
    char name[MPI_MAX_PROCESSOR_NAME + 1];
    s->queried++;
    CHECK_INT(s->freed, 0);
    CHECK(status != MPI_STATUS_IGNORE);
    CHECK_OK(MPI_Get_processor_name(name, &length)); // MPI may be called
    CHECK_OK(MPI_Status_set_elements(status, MPI_INT, s->elements));
    CHECK_OK(MPI_Status_set_cancelled(status, s->cancel_status));
    status->MPI_SOURCE = s->source;
    status->MPI_TAG = 100 + s->source;
    return s->query_code;
}

static int on_free(void *extra)
{
    state *s = extra;
    s->freed++;
    return s->free_code;
}

static int on_cancel(void *extra, int complete)
{
    state *s = extra;
    s->cancelled++;
    s->complete = complete;
    if (!complete && s->complete_on_cancel) {
        s->cancel_status = 1;
        CHECK_OK(MPI_Grequest_complete(s->handle));
    }
    return s->cancel_code;
}

static void start(state *s)
{
    *s = (state){.source = s->source, .elements = s->elements, .started = s->started + 1};
    CHECK_OK(MPI_Grequest_start(on_query, on_free, on_cancel, s, &s->handle));
    CHECK(s->handle != MPI_REQUEST_NULL);
    CHECK_INT(s->queried + s->freed + s->cancelled, 0);
}

static void check_status_of(MPI_Status *status, const state *s)
{
    int count = -1, cancelled = -1;
    CHECK_INT(status->MPI_SOURCE, s->source);
    CHECK_INT(status->MPI_TAG, 100 + s->source);
    CHECK_OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK_INT(count, s->elements);
    CHECK_OK(MPI_Test_cancelled(status, &cancelled));
    CHECK_INT(!!cancelled, s->cancel_status);
}

static void check_over(const state *s, int queried)
{
    CHECK(s->handle == MPI_REQUEST_NULL);
    CHECK_INT(s->queried, queried);
    CHECK_INT(s->freed, 1);
}

// ---- one

static void check_wait(void)
{
    state s = {.source = 3, .elements = 7};
    MPI_Status status = {.MPI_ERROR = 77};
    start(&s);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_INT(s.queried + s.freed, 0);
    CHECK_OK(MPI_Wait(&s.handle, &status));
    check_over(&s, 1);
    check_status_of(&status, &s);
    CHECK_INT(status.MPI_ERROR, 77);
    start(&s);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_OK(MPI_Wait(&s.handle, MPI_STATUS_IGNORE));
    check_over(&s, 1);
}

static void check_test(void)
{
    state s = {.source = 1, .elements = 2};
    MPI_Status status;
    int flag = -1;
    start(&s);
    CHECK_OK(MPI_Test(&s.handle, &flag, &status));
    CHECK(!flag && s.handle != MPI_REQUEST_NULL);
    CHECK_OK(MPI_Request_get_status(s.handle, &flag, &status));
    CHECK(!flag);
    CHECK_INT(s.queried + s.freed, 0);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(MPI_Request_get_status(s.handle, &flag, &status));
        CHECK(flag);
        CHECK_INT(s.queried, i);
        check_status_of(&status, &s);
    }
    CHECK_OK(MPI_Request_get_status(s.handle, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(s.freed, 0);
    s.queried = 0;
    CHECK_OK(MPI_Test(&s.handle, &flag, &status));
    CHECK(flag);
    check_over(&s, 1);
    check_status_of(&status, &s);
}

// The function that frees is called when both calls have come.
static void check_free(void)
{
    state s = {.source = 1};
    start(&s);
    MPI_Request copy = s.handle;
    CHECK_OK(MPI_Request_free(&s.handle));
    CHECK(s.handle == MPI_REQUEST_NULL);
    CHECK_INT(s.freed, 0);
    CHECK_OK(MPI_Grequest_complete(copy));
    check_over(&s, 0);
    start(&s);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_INT(s.freed, 0);
    CHECK_OK(MPI_Request_free(&s.handle));
    check_over(&s, 0);
}

static void check_cancel(void)
{
    state s = {.source = 1, .elements = 4};
    MPI_Status status;
    int flag = -1;
    start(&s);
    CHECK_OK(MPI_Cancel(&s.handle));
    CHECK_INT(s.cancelled, 1);
    CHECK_INT(s.complete, 0);
    CHECK_OK(MPI_Test(&s.handle, &flag, &status));
    CHECK(!flag); // it is up to the user
    s.complete_on_cancel = 1;
    CHECK_OK(MPI_Cancel(&s.handle));
    CHECK_INT(s.cancelled, 2);
    CHECK_OK(MPI_Wait(&s.handle, &status));
    check_status_of(&status, &s);
    check_over(&s, 1);
    start(&s);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_OK(MPI_Cancel(&s.handle));
    CHECK(s.complete != 0);
    CHECK_OK(MPI_Wait(&s.handle, &status));
    check_over(&s, 1);
}

// ---- several, and among messages

enum { SEVERAL = 4 };

static void start_several(state *s, MPI_Request *requests, int completed)
{
    for (int i = 0; i < SEVERAL; i++) {
        s[i] = (state){.source = i, .elements = 10 * i};
        start(&s[i]);
        requests[i] = s[i].handle;
        if (i < completed)
            CHECK_OK(MPI_Grequest_complete(requests[i]));
    }
}

static void check_all(void)
{
    state s[SEVERAL];
    MPI_Request requests[SEVERAL + 3];
    MPI_Status statuses[SEVERAL + 3];
    int flag = -1, in = -1, out = 5, me = world_rank();
    start_several(s, requests, SEVERAL - 1);
    requests[SEVERAL] = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &requests[SEVERAL + 1]));
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &requests[SEVERAL + 2]));
    CHECK_OK(MPI_Testall(SEVERAL + 3, requests, &flag, statuses));
    CHECK(!flag);
    CHECK_INT(s[0].queried, 0);
    CHECK_OK(MPI_Grequest_complete(requests[SEVERAL - 1]));
    CHECK_OK(MPI_Waitall(SEVERAL + 3, requests, statuses));
    CHECK_INT(in, 5);
    for (int i = 0; i < SEVERAL; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK_INT(s[i].freed, 1);
        check_status_of(&statuses[i], &s[i]);
    }
    CHECK_STATUS(&statuses[SEVERAL + 1], me, 1, 4);
    start_several(s, requests, SEVERAL);
    CHECK_OK(MPI_Testall(SEVERAL, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    for (int i = 0; i < SEVERAL; i++)
        CHECK(s[i].queried == 1 && s[i].freed == 1);
}

static void check_any_some(void)
{
    state s[SEVERAL];
    MPI_Request requests[SEVERAL];
    MPI_Status status, statuses[SEVERAL];
    int index = -1, flag = -1, count = -1, indices[SEVERAL];
    start_several(s, requests, 0);
    CHECK_OK(MPI_Testany(SEVERAL, requests, &index, &flag, &status));
    CHECK(!flag);
    CHECK_OK(MPI_Testsome(SEVERAL, requests, &count, indices, statuses));
    CHECK_INT(count, 0);
    CHECK_OK(MPI_Grequest_complete(requests[2]));
    CHECK_OK(MPI_Waitany(SEVERAL, requests, &index, &status));
    CHECK_INT(index, 2);
    check_status_of(&status, &s[2]);
    CHECK_INT(s[2].freed, 1);
    CHECK_OK(MPI_Grequest_complete(requests[1]));
    CHECK_OK(MPI_Testany(SEVERAL, requests, &index, &flag, &status));
    CHECK(flag);
    CHECK_INT(index, 1);
    CHECK_OK(MPI_Grequest_complete(requests[3]));
    CHECK_OK(MPI_Grequest_complete(requests[0]));
    CHECK_OK(MPI_Waitsome(SEVERAL, requests, &count, indices, statuses));
    CHECK_INT(count, 2);
    CHECK(indices[0] == 0 && indices[1] == 3);
    check_status_of(&statuses[0], &s[0]);
    check_status_of(&statuses[1], &s[3]);
    for (int i = 0; i < SEVERAL; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL && s[i].queried == 1 && s[i].freed == 1);
}

// ---- errors

static void check_codes(void)
{
    state s = {.source = 1};
    MPI_Status status;
    int flag = -1;
    start(&s);
    s.query_code = MPI_ERR_TAG;
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_INT(error_class(MPI_Request_get_status(s.handle, &flag, &status)), MPI_ERR_TAG);
    CHECK_INT(error_class(MPI_Wait(&s.handle, &status)), MPI_ERR_TAG);
    check_over(&s, 2);
    start(&s);
    s.query_code = MPI_ERR_TAG; // the last function's counts
    s.free_code = MPI_ERR_TOPOLOGY;
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_INT(error_class(MPI_Test(&s.handle, &flag, &status)), MPI_ERR_TOPOLOGY);
    CHECK(flag);
    check_over(&s, 1);
    start(&s);
    s.cancel_code = MPI_ERR_DIMS;
    s.free_code = MPI_ERR_BUFFER;
    CHECK_INT(error_class(MPI_Cancel(&s.handle)), MPI_ERR_DIMS);
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_INT(error_class(MPI_Request_free(&s.handle)), MPI_ERR_BUFFER);
    start(&s);
    s.free_code = MPI_ERR_BUFFER;
    MPI_Request copy = s.handle;
    CHECK_OK(MPI_Request_free(&s.handle));
    CHECK_INT(error_class(MPI_Grequest_complete(copy)), MPI_ERR_BUFFER);
    check_over(&s, 0);
}

static void check_codes_of_several(void)
{
    state s[SEVERAL];
    MPI_Request requests[SEVERAL];
    MPI_Status statuses[SEVERAL];
    int count = -1, indices[SEVERAL];
    start_several(s, requests, SEVERAL);
    s[1].free_code = MPI_ERR_TOPOLOGY;
    s[2].query_code = MPI_ERR_TAG;
    CHECK_INT(error_class(MPI_Waitall(SEVERAL, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK_INT(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_INT(error_class(statuses[1].MPI_ERROR), MPI_ERR_TOPOLOGY);
    CHECK_INT(error_class(statuses[2].MPI_ERROR), MPI_ERR_TAG);
    CHECK_INT(statuses[3].MPI_ERROR, MPI_SUCCESS);
    start_several(s, requests, SEVERAL);
    s[0].free_code = MPI_ERR_TOPOLOGY;
    CHECK_INT(error_class(MPI_Waitsome(SEVERAL, requests, &count, indices, statuses)),
              MPI_ERR_IN_STATUS);
    CHECK_INT(count, SEVERAL);
    CHECK_INT(error_class(statuses[0].MPI_ERROR), MPI_ERR_TOPOLOGY);
    for (int i = 0; i < SEVERAL; i++)
        CHECK_INT(s[i].freed, 1);
}

static void check_bad(void)
{
    state s = {.source = 1};
    MPI_Request request = MPI_REQUEST_NULL, copy;
    int value = 0;
    CHECK_ERROR(MPI_Grequest_start(NULL, on_free, on_cancel, &s, &request), MPI_ERR_ARG,
                "MPI_Grequest_start", "query_fn");
    CHECK_ERROR(MPI_Grequest_start(on_query, NULL, on_cancel, &s, &request), MPI_ERR_ARG,
                "MPI_Grequest_start", "free_fn");
    CHECK_ERROR(MPI_Grequest_start(on_query, on_free, NULL, &s, &request), MPI_ERR_ARG,
                "MPI_Grequest_start", "cancel_fn");
    CHECK_ERROR(MPI_Grequest_start(on_query, on_free, on_cancel, &s, NULL), MPI_ERR_ARG,
                "MPI_Grequest_start", "request");
    CHECK_ERROR(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST, "MPI_Grequest_complete",
                "MPI_REQUEST_NULL");
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, world_rank(), 9, MPI_COMM_WORLD, &request));
    CHECK_ERROR(MPI_Grequest_complete(request), MPI_ERR_REQUEST, "MPI_Grequest_complete",
                "MPI_Irecv");
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    start(&s);
    CHECK_ERROR(MPI_Start(&s.handle), MPI_ERR_REQUEST, "MPI_Start", "persistent");
    CHECK_OK(MPI_Grequest_complete(s.handle));
    CHECK_ERROR(MPI_Grequest_complete(s.handle), MPI_ERR_REQUEST, "MPI_Grequest_complete",
                "already");
    copy = s.handle;
    CHECK_OK(MPI_Wait(&s.handle, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Grequest_complete(copy), MPI_ERR_REQUEST, "MPI_Grequest_complete", "freed");
}

static void check_lists(void)
{
    state s[SEVERAL];
    MPI_Request requests[SEVERAL];
    MPI_Status status, statuses[SEVERAL];
    int index = -1, flag = -1, count = -1, indices[SEVERAL];
    start_several(s, requests, SEVERAL - 1);
    CHECK_OK(MPI_Request_get_status_all(SEVERAL, requests, &flag, statuses));
    CHECK(!flag);
    CHECK_OK(MPI_Request_get_status_any(SEVERAL, requests, &index, &flag, &status));
    CHECK(flag && index == 0);
    check_status_of(&status, &s[0]);
    CHECK_OK(MPI_Request_get_status_some(SEVERAL, requests, &count, indices, statuses));
    CHECK_INT(count, SEVERAL - 1);
    check_status_of(&statuses[2], &s[2]);
    CHECK_OK(MPI_Grequest_complete(requests[SEVERAL - 1]));
    CHECK_OK(MPI_Request_get_status_all(SEVERAL, requests, &flag, statuses));
    CHECK(flag);
    check_status_of(&statuses[3], &s[3]);
    s[2].query_code = MPI_ERR_OP;
    CHECK_INT(error_class(MPI_Request_get_status_all(SEVERAL, requests, &flag, statuses)),
              MPI_ERR_OP);
    CHECK_INT(
        error_class(MPI_Request_get_status_some(SEVERAL, requests, &count, indices, statuses)),
        MPI_ERR_OP);
    s[2].query_code = MPI_SUCCESS;
    CHECK_INT(s[0].freed, 0);
    CHECK_OK(MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE));
}

// ---- statuses

// Elements of a derived type: {short, double[2]} has three, of 18 bytes together.
static void check_set_derived(void)
{
    MPI_Status status = {.MPI_SOURCE = 1};
    MPI_Datatype types[] = {MPI_SHORT, MPI_DOUBLE}, type, none;
    MPI_Aint at[] = {0, 8};
    int lengths[] = {1, 2}, count = -1;
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, types, &type));
    const int elements[] = {0, 1, 2, 3, 4, 5, 6, 300}, bytes[] = {0, 2, 10, 18, 20, 28, 36, 1800};
    for (int i = 0; i < COUNT_OF(elements); i++) {
        CHECK_OK(MPI_Status_set_elements(&status, type, elements[i]));
        CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_INT(count, bytes[i]);
        CHECK_OK(MPI_Get_elements(&status, type, &count));
        CHECK_INT(count, elements[i]);
    }
    CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &none));
    CHECK_OK(MPI_Status_set_elements(&status, none, 0));
    CHECK_ERROR(MPI_Status_set_elements(&status, none, 1), MPI_ERR_COUNT, "MPI_Status_set_elements",
                "no elements");
    CHECK_ERROR(MPI_Status_set_elements_c(&status, type, INT64_MAX), MPI_ERR_COUNT,
                "MPI_Status_set_elements_c", "63 bits");
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&none));
}

static void check_set_status(void)
{
    MPI_Status status = {.MPI_SOURCE = 1};
    int count = -1, flag = -1;
    MPI_Count large = -1;
    CHECK_OK(MPI_Status_set_elements(&status, MPI_DOUBLE, 3));
    CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK_INT(count, 3);
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(count, 24);
    CHECK_OK(MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 6));
    CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
    CHECK_INT(count, 3);
    CHECK_OK(MPI_Status_set_elements(&status, MPI_2INT, 5));
    CHECK_OK(MPI_Get_count(&status, MPI_2INT, &count));
    CHECK_INT(count, MPI_UNDEFINED);
    CHECK_OK(MPI_Status_set_elements_x(&status, MPI_INT, 3000000000));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(count, MPI_UNDEFINED);
    CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &large));
    CHECK_INT(large, 3000000000);
    CHECK_OK(MPI_Status_set_cancelled(&status, 5));
    CHECK_OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    CHECK_OK(MPI_Status_set_cancelled(&status, 0));
    CHECK_OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    CHECK_OK(MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 1));
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(count, sizeof(double));
    CHECK_OK(MPI_Status_set_elements(&status, MPI_2DOUBLE_PRECISION, 3));
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(count, 24);
    CHECK_OK(MPI_Status_set_elements_c(&status, MPI_INT, 4000000000));
    CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &large));
    CHECK_INT(large, 4000000000);
    CHECK_OK(MPI_Status_set_source(&status, 12));
    CHECK_OK(MPI_Status_set_tag(&status, 13));
    CHECK_OK(MPI_Status_set_error(&status, MPI_ERR_OP));
    CHECK_INT(status.MPI_SOURCE, 12);
    CHECK_INT(status.MPI_TAG, 13);
    CHECK_INT(status.MPI_ERROR, MPI_ERR_OP);
    CHECK_ERROR(MPI_Status_set_source(NULL, 1), MPI_ERR_ARG, "MPI_Status_set_source", "IGNORE");
    CHECK_ERROR(MPI_Status_set_tag(NULL, 1), MPI_ERR_ARG, "MPI_Status_set_tag", "IGNORE");
    CHECK_ERROR(MPI_Status_set_error(NULL, 1), MPI_ERR_ARG, "MPI_Status_set_error", "IGNORE");
    CHECK_ERROR(MPI_Status_set_cancelled(NULL, 1), MPI_ERR_ARG, "MPI_Status_set_cancelled",
                "IGNORE");
    CHECK_ERROR(MPI_Status_set_elements(NULL, MPI_INT, 1), MPI_ERR_ARG, "MPI_Status_set_elements",
                "IGNORE");
    CHECK_ERROR(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT,
                "MPI_Status_set_elements", "-1");
    CHECK_ERROR(MPI_Status_set_elements(&status, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE,
                "MPI_Status_set_elements", "MPI_DATATYPE_NULL");
    CHECK_ERROR(MPI_Status_set_elements_c(&status, MPI_INT, INT64_MAX / 2), MPI_ERR_COUNT,
                "MPI_Status_set_elements_c", "63 bits");
}

// ---- ranks of one process: the handle is an address that both know

static void check_others(int shares_thread)
{
    int me = world_rank(), peer = me ^ 1;
    state s = {.source = me, .elements = 3};
    MPI_Status status;
    MPI_Request theirs = MPI_REQUEST_NULL;
    for (int round = 0; round < 20; round++) {
        start(&s);
        CHECK_OK(MPI_Sendrecv(&s.handle, sizeof s.handle, MPI_BYTE, peer, 1, &theirs, sizeof theirs,
                              MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (!shares_thread) {
            CHECK_ERROR(MPI_Grequest_complete(theirs), MPI_ERR_REQUEST, "MPI_Grequest_complete",
                        "another thread");
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); // both have tried
            CHECK_OK(MPI_Grequest_complete(s.handle));
        } else if ((me + round) % 2) { // one waits first
            CHECK_OK(MPI_Grequest_complete(theirs));
        }
        if (round % 3 == 0)
            CHECK_OK(MPI_Waitall(1, &s.handle, &status));
        else
            CHECK_OK(MPI_Wait(&s.handle, &status));
        check_status_of(&status, &s);
        check_over(&s, 1);
        if (shares_thread && (me + round) % 2 == 0)
            CHECK_OK(MPI_Grequest_complete(theirs));
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (argc > 1) {
        check_others(strcmp(argv[1], "others") == 0);
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    check_wait();
    check_test();
    check_free();
    check_cancel();
    check_all();
    check_any_some();
    check_codes();
    check_codes_of_several();
    check_bad();
    check_lists();
    check_set_status();
    if (STRICT)
        check_set_derived();
    CHECK_OK(MPI_Finalize());
    return 0;
}
