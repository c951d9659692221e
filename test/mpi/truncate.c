// SPDX-License-Identifier: BSD-3-Clause
//
// Messages longer than their receive: the class is MPI_ERR_TRUNCATE, the error message shows the
// length of the message and the room for it, nothing is written behind the buffer, and everything
// goes on as before.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

enum { GUARD = 32, TAG = 6 };

// The error message of an error code holds both numbers.
static void check_text(int code, int sent, int room)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "", number[2][16];
    int length = -1;
    CHECK_INT(error_class(code), MPI_ERR_TRUNCATE);
    CHECK_OK(MPI_Error_string(code, text, &length));
    snprintf(number[0], sizeof number[0], "%d", sent);
    snprintf(number[1], sizeof number[1], "%d", room);
    if (STRICT && (!strstr(text, number[0]) || !strstr(text, number[1])))
        check_fail(__FILE__, __LINE__, "no %d or no %d in: %s", sent, room, text);
}

// After the error: the guard is untouched, the message is gone, and the next one arrives.
static void check_after(int peer, const unsigned char *buf, int room)
{
    int flag = -1;
    char next[16];
    MPI_Status status;
    for (int i = 0; i < GUARD; i++)
        CHECK_INT(buf[room + i], 0xee);
    CHECK_OK(MPI_Iprobe(peer, TAG, WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    ask(peer, TAG, 16);
    CHECK_OK(MPI_Recv(next, 16, MPI_BYTE, peer, TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, TAG, 16);
    CHECK_PATTERN(next, 16, TAG);
}

enum { RECV, RECV_C, IRECV_WAIT, IRECV_TEST, MRECV, IMRECV, SENDRECV, WAITANY, PERSISTENT, WAYS };

static int receive(int way, int peer, void *buf, int room, int sent)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int code = MPI_SUCCESS, flag = 0, index = -1;
    if (way == MRECV || way == IMRECV) {
        ask(peer, TAG, sent);
        CHECK_OK(MPI_Mprobe(peer, TAG, WORLD, &message, &status));
    }
    if (way == IRECV_WAIT || way == IRECV_TEST || way == WAITANY)
        CHECK_OK(MPI_Irecv(buf, room, MPI_BYTE, peer, TAG, WORLD, &r));
    if (way == IMRECV)
        CHECK_OK(MPI_Imrecv(buf, room, MPI_BYTE, &message, &r));
    if (way == PERSISTENT) {
        CHECK_OK(MPI_Recv_init(buf, room, MPI_BYTE, peer, TAG, WORLD, &r));
        CHECK_OK(MPI_Start(&r));
    }
    if (way != MRECV && way != IMRECV)
        ask(peer, TAG, sent);
    switch (way) {
    case RECV:
        return MPI_Recv(buf, room, MPI_BYTE, peer, TAG, WORLD, &status);
    case RECV_C:
        return MPI_Recv_c(buf, room, MPI_BYTE, MPI_ANY_SOURCE, TAG, WORLD, &status);
    case MRECV:
        return MPI_Mrecv(buf, room, MPI_BYTE, &message, &status);
    case SENDRECV:
        return MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, buf, room, MPI_BYTE, peer, TAG,
                            WORLD, &status);
    case IRECV_TEST:
        while (code == MPI_SUCCESS && !flag)
            code = MPI_Test(&r, &flag, &status);
        break;
    case WAITANY:
        code = MPI_Waitany(1, &r, &index, &status);
        break;
    default:
        code = MPI_Wait(&r, &status);
        break;
    }
    if (way == PERSISTENT)
        CHECK_OK(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL);
    return code;
}

static void each_way(int peer)
{
    const int sent[] = {17, 72, 1111, 4321, 9999, 70001, 1234567};
    const int room[] = {5, 64, 1003, 4096, 0, 60007, 7};
    unsigned char *buf = must_alloc(70000);
    for (int i = 0; i < COUNT_OF(sent) && !too_long(sent[i]); i++) {
        for (int way = 0; way < WAYS; way++) {
            memset(buf, 0xee, 70000);
            int code = receive(way, peer, buf, room[i], sent[i]);
            check_text(code, sent[i], room[i]);
            check_after(peer, buf, room[i]);
        }
    }
    free(buf);
}

// In elements: the numbers may be counts or bytes, and either is the other times four.
static void of_integers(void)
{
    int me = world_rank(), out[100] = {0}, in[40], code;
    MPI_Request r = MPI_REQUEST_NULL;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = -1;
    CHECK_OK(MPI_Isend(out, 100, MPI_INT, me, TAG, WORLD, &r));
    code = MPI_Recv(in, 40, MPI_INT, me, TAG, WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(error_class(code), MPI_ERR_TRUNCATE);
    CHECK_OK(MPI_Error_string(code, text, &length));
    CHECK(!STRICT || (strstr(text, "400") && strstr(text, "160")) ||
          (strstr(text, "100") && strstr(text, "40")));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

enum { LIST = 4 };

// One of four receives is too short: MPI_ERR_IN_STATUS, and each status has its own code.
static void in_a_list(int peer, int sent, int waiting)
{
    unsigned char *bufs[LIST];
    MPI_Request requests[LIST];
    MPI_Status statuses[LIST];
    int code = MPI_SUCCESS, flag = 0;
    for (int i = 0; i < LIST; i++) {
        bufs[i] = must_alloc((size_t)sent + GUARD);
        memset(bufs[i], 0xee, (size_t)sent + GUARD);
        CHECK_OK(MPI_Irecv(bufs[i], i == 2 ? 10 : sent, MPI_BYTE, peer, i, WORLD, &requests[i]));
    }
    for (int i = 0; i < LIST; i++)
        ask(peer, i, sent);
    if (waiting)
        code = MPI_Waitall(LIST, requests, statuses);
    while (!waiting && code == MPI_SUCCESS && !flag)
        code = MPI_Testall(LIST, requests, &flag, statuses);
    CHECK_INT(error_class(code), MPI_ERR_IN_STATUS);
    for (int i = 0; i < LIST; i++) {
        if (i == 2) {
            check_text(statuses[i].MPI_ERROR, sent, 10);
            CHECK(requests[i] == MPI_REQUEST_NULL);
            continue;
        }
        // The others are complete, or say that they are not yet.
        if (statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
            CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
        } else {
            CHECK_INT(statuses[i].MPI_ERROR, MPI_SUCCESS);
            CHECK(requests[i] == MPI_REQUEST_NULL);
        }
        CHECK_STATUS(&statuses[i], peer, i, sent);
        CHECK_PATTERN(bufs[i], (size_t)sent, (unsigned)i);
    }
    check_after(peer, bufs[2], 10);
    for (int i = 0; i < LIST; i++)
        free(bufs[i]);
}

// MPI_Waitsome and MPI_Testsome report it in the status too.
static void in_some(int peer, int sent, int waiting)
{
    unsigned char *buf = must_alloc((size_t)sent + GUARD);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int code = MPI_SUCCESS, count = 0, indices[2] = {-1, -1};
    memset(buf, 0xee, (size_t)sent + GUARD);
    CHECK_OK(MPI_Irecv(buf, 10, MPI_BYTE, peer, TAG, WORLD, &requests[1]));
    ask(peer, TAG, sent);
    if (waiting)
        code = MPI_Waitsome(2, requests, &count, indices, statuses);
    while (!waiting && code == MPI_SUCCESS && count == 0)
        code = MPI_Testsome(2, requests, &count, indices, statuses);
    CHECK_INT(error_class(code), MPI_ERR_IN_STATUS);
    CHECK_INT(count, 1);
    CHECK_INT(indices[0], 1);
    check_text(statuses[0].MPI_ERROR, sent, 10);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    check_after(peer, buf, 10);
    free(buf);
}

static void drive(int peer)
{
    each_way(peer);
    for (int waiting = 0; waiting < 2; waiting++) {
        in_a_list(peer, 55, waiting);
        in_a_list(peer, 70001, waiting);
        in_some(peer, 55, waiting);
        in_some(peer, 70001, waiting);
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    for_each_pair(drive);
    of_integers();
    CHECK_OK(MPI_Finalize());
    return 0;
}
