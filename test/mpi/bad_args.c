// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of every point-to-point function: the right error class, and an error message
// that names the function and the offending value. Nothing is sent or received by a call that
// fails.

#define _GNU_SOURCE // usleep

#include "check.h"

#include <unistd.h>

#include <limits.h>

#define WORLD MPI_COMM_WORLD

struct bad {
    int buf[4], rank, size, me;
    char rank_text[16];
};

// A call with arguments (buf, count, type, rank, tag, comm) and then `...`; `any` is nonzero for
// receives, which accept wildcards.
#define ENVELOPE(fn, b, any, ...)                                                                  \
    do {                                                                                           \
        CHECK_ERROR(fn((b)->buf, -5, MPI_INT, (b)->me, 1, WORLD __VA_ARGS__), MPI_ERR_COUNT, #fn,  \
                    "-5");                                                                         \
        CHECK_ERROR(fn((b)->buf, 1, MPI_DATATYPE_NULL, (b)->me, 1, WORLD __VA_ARGS__),             \
                    MPI_ERR_TYPE, #fn, "MPI_DATATYPE_NULL");                                       \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, (b)->rank, 1, WORLD __VA_ARGS__), MPI_ERR_RANK, #fn,  \
                    (b)->rank_text);                                                               \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, (b)->size, 1, WORLD __VA_ARGS__), MPI_ERR_RANK, #fn,  \
                    "");                                                                           \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, -77, 1, WORLD __VA_ARGS__), MPI_ERR_RANK, #fn,        \
                    "-77");                                                                        \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, (b)->me, -88, WORLD __VA_ARGS__), MPI_ERR_TAG, #fn,   \
                    "-88");                                                                        \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, (b)->me, 1, MPI_COMM_NULL __VA_ARGS__), MPI_ERR_COMM, \
                    #fn, "MPI_COMM_NULL");                                                         \
        CHECK_ERROR(fn(NULL, 1, MPI_INT, (b)->me, 1, WORLD __VA_ARGS__), MPI_ERR_BUFFER, #fn,      \
                    "buf");                                                                        \
        if (any)                                                                                   \
            break;                                                                                 \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD __VA_ARGS__), MPI_ERR_RANK,  \
                    #fn, "");                                                                      \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, (b)->me, MPI_ANY_TAG, WORLD __VA_ARGS__),             \
                    MPI_ERR_TAG, #fn, "");                                                         \
    } while (0)

#define COMMA       ,
#define SEND(fn, b) ENVELOPE(fn, b, 0, )
#define ISEND(fn, b, any)                                                                          \
    do {                                                                                           \
        MPI_Request r = MPI_REQUEST_NULL;                                                          \
        ENVELOPE(fn, b, any, COMMA &r);                                                            \
        CHECK(r == MPI_REQUEST_NULL);                                                              \
        CHECK_ERROR2(fn((b)->buf, 1, MPI_INT, (b)->me, 1, WORLD, NULL), MPI_ERR_ARG,               \
                     MPI_ERR_REQUEST, #fn, "request");                                             \
    } while (0)
#define RECV(fn, b) ENVELOPE(fn, b, 1, COMMA MPI_STATUS_IGNORE)

static void sends(struct bad *b)
{
    SEND(MPI_Send, b);
    SEND(MPI_Send_c, b);
    SEND(MPI_Ssend, b);
    SEND(MPI_Ssend_c, b);
    SEND(MPI_Rsend, b);
    SEND(MPI_Rsend_c, b);
    SEND(MPI_Bsend, b);
    SEND(MPI_Bsend_c, b);
}

static void nonblocking(struct bad *b)
{
    ISEND(MPI_Isend, b, 0);
    ISEND(MPI_Isend_c, b, 0);
    ISEND(MPI_Issend, b, 0);
    ISEND(MPI_Issend_c, b, 0);
    ISEND(MPI_Irsend, b, 0);
    ISEND(MPI_Irsend_c, b, 0);
    ISEND(MPI_Ibsend, b, 0);
    ISEND(MPI_Ibsend_c, b, 0);
    ISEND(MPI_Irecv, b, 1);
    ISEND(MPI_Irecv_c, b, 1);
}

static void persistent(struct bad *b)
{
    ISEND(MPI_Send_init, b, 0);
    ISEND(MPI_Send_init_c, b, 0);
    ISEND(MPI_Ssend_init, b, 0);
    ISEND(MPI_Ssend_init_c, b, 0);
    ISEND(MPI_Rsend_init, b, 0);
    ISEND(MPI_Rsend_init_c, b, 0);
    ISEND(MPI_Bsend_init, b, 0);
    ISEND(MPI_Bsend_init_c, b, 0);
    ISEND(MPI_Recv_init, b, 1);
    ISEND(MPI_Recv_init_c, b, 1);
}

static void receives(struct bad *b)
{
    RECV(MPI_Recv, b);
    RECV(MPI_Recv_c, b);
}

// (buf, count, type, dest, tag) twice, with one wrong value at a time, then (comm, last).
#define SENDRECV(fn, b, last)                                                                      \
    do {                                                                                           \
        int *s = (b)->buf, *d = s + 1, me = (b)->me;                                               \
        CHECK_ERROR(fn(s, -5, MPI_INT, me, 1, d, 1, MPI_INT, me, 1, WORLD, last), MPI_ERR_COUNT,   \
                    #fn, "-5");                                                                    \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, d, -6, MPI_INT, me, 1, WORLD, last), MPI_ERR_COUNT,   \
                    #fn, "-6");                                                                    \
        CHECK_ERROR(fn(s, 1, MPI_DATATYPE_NULL, me, 1, d, 1, MPI_INT, me, 1, WORLD, last),         \
                    MPI_ERR_TYPE, #fn, "MPI_DATATYPE_NULL");                                       \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, d, 1, MPI_DATATYPE_NULL, me, 1, WORLD, last),         \
                    MPI_ERR_TYPE, #fn, "MPI_DATATYPE_NULL");                                       \
        CHECK_ERROR(fn(s, 1, MPI_INT, -77, 1, d, 1, MPI_INT, me, 1, WORLD, last), MPI_ERR_RANK,    \
                    #fn, "-77");                                                                   \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, d, 1, MPI_INT, (b)->rank, 1, WORLD, last),            \
                    MPI_ERR_RANK, #fn, (b)->rank_text);                                            \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, -88, d, 1, MPI_INT, me, 1, WORLD, last), MPI_ERR_TAG,    \
                    #fn, "-88");                                                                   \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, d, 1, MPI_INT, me, -89, WORLD, last), MPI_ERR_TAG,    \
                    #fn, "-89");                                                                   \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, d, 1, MPI_INT, me, 1, MPI_COMM_NULL, last),           \
                    MPI_ERR_COMM, #fn, "MPI_COMM_NULL");                                           \
        CHECK_ERROR(fn(NULL, 1, MPI_INT, me, 1, d, 1, MPI_INT, me, 1, WORLD, last),                \
                    MPI_ERR_BUFFER, #fn, "buf");                                                   \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, NULL, 1, MPI_INT, me, 1, WORLD, last),                \
                    MPI_ERR_BUFFER, #fn, "buf");                                                   \
    } while (0)

#define REPLACE(fn, b, last)                                                                       \
    do {                                                                                           \
        int *s = (b)->buf, me = (b)->me;                                                           \
        CHECK_ERROR(fn(s, -5, MPI_INT, me, 1, me, 1, WORLD, last), MPI_ERR_COUNT, #fn, "-5");      \
        CHECK_ERROR(fn(s, 1, MPI_DATATYPE_NULL, me, 1, me, 1, WORLD, last), MPI_ERR_TYPE, #fn,     \
                    "MPI_DATATYPE_NULL");                                                          \
        CHECK_ERROR(fn(s, 1, MPI_INT, -77, 1, me, 1, WORLD, last), MPI_ERR_RANK, #fn, "-77");      \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, (b)->rank, 1, WORLD, last), MPI_ERR_RANK, #fn,        \
                    (b)->rank_text);                                                               \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, -88, me, 1, WORLD, last), MPI_ERR_TAG, #fn, "-88");      \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, me, -89, WORLD, last), MPI_ERR_TAG, #fn, "-89");      \
        CHECK_ERROR(fn(s, 1, MPI_INT, me, 1, me, 1, MPI_COMM_NULL, last), MPI_ERR_COMM, #fn,       \
                    "MPI_COMM_NULL");                                                              \
        CHECK_ERROR(fn(NULL, 1, MPI_INT, me, 1, me, 1, WORLD, last), MPI_ERR_BUFFER, #fn, "buf");  \
    } while (0)

static void exchanges(struct bad *b)
{
    MPI_Request r = MPI_REQUEST_NULL;
    SENDRECV(MPI_Sendrecv, b, MPI_STATUS_IGNORE);
    SENDRECV(MPI_Sendrecv_c, b, MPI_STATUS_IGNORE);
    SENDRECV(MPI_Isendrecv, b, &r);
    SENDRECV(MPI_Isendrecv_c, b, &r);
    REPLACE(MPI_Sendrecv_replace, b, MPI_STATUS_IGNORE);
    REPLACE(MPI_Sendrecv_replace_c, b, MPI_STATUS_IGNORE);
    REPLACE(MPI_Isendrecv_replace, b, &r);
    REPLACE(MPI_Isendrecv_replace_c, b, &r);
    CHECK(r == MPI_REQUEST_NULL);
}

// (source, tag, comm) and then `...`
#define PROBE(fn, b, ...)                                                                          \
    do {                                                                                           \
        CHECK_ERROR(fn((b)->rank, 1, WORLD, __VA_ARGS__), MPI_ERR_RANK, #fn, (b)->rank_text);      \
        CHECK_ERROR(fn(-77, 1, WORLD, __VA_ARGS__), MPI_ERR_RANK, #fn, "-77");                     \
        CHECK_ERROR(fn((b)->me, -88, WORLD, __VA_ARGS__), MPI_ERR_TAG, #fn, "-88");                \
        CHECK_ERROR(fn((b)->me, 1, MPI_COMM_NULL, __VA_ARGS__), MPI_ERR_COMM, #fn,                 \
                    "MPI_COMM_NULL");                                                              \
    } while (0)

static void probes(struct bad *b)
{
    int flag = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    PROBE(MPI_Probe, b, MPI_STATUS_IGNORE);
    PROBE(MPI_Iprobe, b, &flag, MPI_STATUS_IGNORE);
    PROBE(MPI_Mprobe, b, &message, MPI_STATUS_IGNORE);
    PROBE(MPI_Improbe, b, &flag, &message, MPI_STATUS_IGNORE);
    CHECK_ERROR(MPI_Iprobe(b->me, 1, WORLD, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Iprobe",
                "flag");
    CHECK_ERROR(MPI_Improbe(b->me, 1, WORLD, NULL, &message, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_Improbe", "flag");
}

// A matched receive with wrong arguments leaves the message to be received.
#define MATCHED(fn, b, ...)                                                                        \
    do {                                                                                           \
        MPI_Message message = MPI_MESSAGE_NULL;                                                    \
        MPI_Request send = MPI_REQUEST_NULL;                                                       \
        int value = 17;                                                                            \
        CHECK_ERROR(fn((b)->buf, 1, MPI_INT, &message, __VA_ARGS__), MPI_ERR_REQUEST, #fn,         \
                    STRICT ? "MPI_MESSAGE_NULL" : "");                                             \
        CHECK_OK(MPI_Isend(&value, 1, MPI_INT, (b)->me, 1, WORLD, &send));                         \
        CHECK_OK(MPI_Mprobe((b)->me, 1, WORLD, &message, MPI_STATUS_IGNORE));                      \
        CHECK_ERROR(fn((b)->buf, -5, MPI_INT, &message, __VA_ARGS__), MPI_ERR_COUNT, #fn, "-5");   \
        CHECK_ERROR(fn((b)->buf, 1, MPI_DATATYPE_NULL, &message, __VA_ARGS__), MPI_ERR_TYPE, #fn,  \
                    "MPI_DATATYPE_NULL");                                                          \
        CHECK_ERROR(fn(NULL, 1, MPI_INT, &message, __VA_ARGS__), MPI_ERR_BUFFER, #fn, "buf");      \
        CHECK_OK(MPI_Mrecv((b)->buf, 1, MPI_INT, &message, MPI_STATUS_IGNORE));                    \
        CHECK_INT((b)->buf[0], 17);                                                                \
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));                                              \
    } while (0)

static void matched(struct bad *b)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MATCHED(MPI_Mrecv, b, MPI_STATUS_IGNORE);
    MATCHED(MPI_Mrecv_c, b, MPI_STATUS_IGNORE);
    MATCHED(MPI_Imrecv, b, &r);
    MATCHED(MPI_Imrecv_c, b, &r);
}

#define NULL_REQUEST(call, function)                                                               \
    CHECK_ERROR2(call, MPI_ERR_ARG, MPI_ERR_REQUEST, function, "request")
#define BAD_COUNT(call, function) CHECK_ERROR2(call, MPI_ERR_COUNT, MPI_ERR_ARG, function, "-5")

static void completions(void)
{
    MPI_Request none = MPI_REQUEST_NULL, some[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, statuses[2];
    int flag = -1, index = -1, count = -1, indices[2];
    const char *null_text = STRICT ? "MPI_REQUEST_NULL" : "";
    NULL_REQUEST(MPI_Wait(NULL, &status), "MPI_Wait");
    NULL_REQUEST(MPI_Test(NULL, &flag, &status), "MPI_Test");
    NULL_REQUEST(MPI_Waitany(2, NULL, &index, &status), "MPI_Waitany");
    NULL_REQUEST(MPI_Testany(2, NULL, &index, &flag, &status), "MPI_Testany");
    NULL_REQUEST(MPI_Waitall(2, NULL, statuses), "MPI_Waitall");
    NULL_REQUEST(MPI_Testall(2, NULL, &flag, statuses), "MPI_Testall");
    NULL_REQUEST(MPI_Waitsome(2, NULL, &count, indices, statuses), "MPI_Waitsome");
    NULL_REQUEST(MPI_Testsome(2, NULL, &count, indices, statuses), "MPI_Testsome");
    NULL_REQUEST(MPI_Cancel(NULL), "MPI_Cancel");
    NULL_REQUEST(MPI_Request_free(NULL), "MPI_Request_free");
    NULL_REQUEST(MPI_Start(NULL), "MPI_Start");
    NULL_REQUEST(MPI_Startall(2, NULL), "MPI_Startall");
    CHECK_ERROR(MPI_Cancel(&none), MPI_ERR_REQUEST, "MPI_Cancel", null_text);
    CHECK_ERROR(MPI_Request_free(&none), MPI_ERR_REQUEST, "MPI_Request_free", null_text);
    CHECK_ERROR(MPI_Start(&none), MPI_ERR_REQUEST, "MPI_Start", null_text);
    CHECK_ERROR(MPI_Startall(2, some), MPI_ERR_REQUEST, "MPI_Startall", "");
    BAD_COUNT(MPI_Waitany(-5, some, &index, &status), "MPI_Waitany");
    BAD_COUNT(MPI_Testany(-5, some, &index, &flag, &status), "MPI_Testany");
    BAD_COUNT(MPI_Waitall(-5, some, statuses), "MPI_Waitall");
    BAD_COUNT(MPI_Testall(-5, some, &flag, statuses), "MPI_Testall");
    BAD_COUNT(MPI_Waitsome(-5, some, &count, indices, statuses), "MPI_Waitsome");
    BAD_COUNT(MPI_Testsome(-5, some, &count, indices, statuses), "MPI_Testsome");
    BAD_COUNT(MPI_Startall(-5, some), "MPI_Startall");
    CHECK_ERROR(MPI_Test(&none, NULL, &status), MPI_ERR_ARG, "MPI_Test", "flag");
    CHECK_ERROR(MPI_Testall(2, some, NULL, statuses), MPI_ERR_ARG, "MPI_Testall", "flag");
    CHECK_ERROR(MPI_Waitany(2, some, NULL, &status), MPI_ERR_ARG, "MPI_Waitany", "ind");
    CHECK_ERROR(MPI_Waitsome(2, some, NULL, indices, statuses), MPI_ERR_ARG, "MPI_Waitsome",
                "outcount");
    CHECK_ERROR(MPI_Request_get_status(none, NULL, &status), MPI_ERR_ARG, "MPI_Request_get_status",
                "flag");
    CHECK_ERROR(MPI_Test_cancelled(&status, NULL), MPI_ERR_ARG, "MPI_Test_cancelled", "flag");
}

static void counts(struct bad *b)
{
    MPI_Status status;
    MPI_Count large = -1;
    int count = -1;
    CHECK_OK(
        MPI_Sendrecv(b->buf, 1, MPI_INT, b->me, 1, &count, 1, MPI_INT, b->me, 1, WORLD, &status));
    CHECK_ERROR(MPI_Get_count(&status, MPI_DATATYPE_NULL, &count), MPI_ERR_TYPE, "MPI_Get_count",
                "MPI_DATATYPE_NULL");
    if (STRICT) // more bytes than can be counted
        CHECK_ERROR(MPI_Send_c(&status, (MPI_Count)1 << 61, MPI_DOUBLE, 0, 1, WORLD), MPI_ERR_COUNT,
                    "MPI_Send_c", "2305843009213693952");
    CHECK_ERROR(MPI_Get_count_c(&status, MPI_DATATYPE_NULL, &large), MPI_ERR_TYPE,
                "MPI_Get_count_c", "MPI_DATATYPE_NULL");
    CHECK_ERROR(MPI_Get_count(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_count", "count");
}

// One open request twice in an array: it completes once, and is then no request any more.
static void same_twice(struct bad *b)
{
    int in = -1;
    MPI_Request twice[2];
    CHECK_OK(MPI_Barrier(WORLD));
    if (b->me == 1) {
        usleep(20000); // rank 0 waits by now
        CHECK_OK(MPI_Send(&in, 1, MPI_INT, 0, 77, WORLD));
    } else if (b->me == 0 && b->size > 1) {
        CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, 1, 77, WORLD, &twice[0]));
        twice[1] = twice[0];
        if (STRICT)
            CHECK_ERROR(MPI_Waitall(2, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitall",
                        "array_of_requests[1]");
        else
            CHECK_OK(MPI_Wait(&twice[0], MPI_STATUS_IGNORE));
    }
}

// Starting what is not persistent, or is active already.
static void wrong_start(struct bad *b)
{
    int in = -1;
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, b->me, 2, WORLD, &r));
    CHECK_ERROR(MPI_Start(&r), MPI_ERR_REQUEST, "MPI_Start", "");
    CHECK_OK(MPI_Send(b->buf, 1, MPI_INT, b->me, 2, WORLD));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv_init(&in, 1, MPI_INT, b->me, 2, WORLD, &r));
    CHECK_OK(MPI_Start(&r));
    CHECK_ERROR(MPI_Start(&r), MPI_ERR_REQUEST, "MPI_Start", "");
    CHECK_OK(MPI_Send(b->buf, 1, MPI_INT, b->me, 2, WORLD));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&r));
}

// Tags up to MPI_TAG_UB are right, larger ones are not (if an int can be larger).
static void tag_bound(struct bad *b)
{
    int *bound = NULL, flag = 0, in = -1, out = 5;
    char text[16];
    CHECK_OK(MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &bound, &flag));
    CHECK(flag);
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, b->me, *bound, &in, 1, MPI_INT, b->me, *bound, WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_INT(in, 5);
    if (*bound == INT_MAX)
        return;
    MPI_Request r = MPI_REQUEST_NULL;
    snprintf(text, sizeof text, "%d", *bound + 1);
    CHECK_ERROR(MPI_Send(&out, 1, MPI_INT, b->me, *bound + 1, WORLD), MPI_ERR_TAG, "MPI_Send",
                text);
    CHECK_ERROR(MPI_Isend(&out, 1, MPI_INT, b->me, *bound + 1, WORLD, &r), MPI_ERR_TAG, "MPI_Isend",
                text);
    CHECK_ERROR(MPI_Recv(&in, 1, MPI_INT, b->me, *bound + 1, WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG,
                "MPI_Recv", text);
    CHECK_ERROR(MPI_Probe(b->me, *bound + 1, WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG, "MPI_Probe",
                text);
}

// Ranks are those of the communicator: MPI_COMM_SELF has only rank 0. No buffer is needed for no
// elements.
static void nearly_wrong(struct bad *b)
{
    CHECK_ERROR(MPI_Send(b->buf, 1, MPI_INT, 1, 1, MPI_COMM_SELF), MPI_ERR_RANK, "MPI_Send", "1");
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_INT, b->me, 1, NULL, 0, MPI_INT, b->me, 1, WORLD,
                          MPI_STATUS_IGNORE));
}

// MPI_IN_PLACE is for collective operations; where no data moves it does no harm.
static void in_place(struct bad *b)
{
    MPI_Request r;
    int at = 0;
    if (!STRICT)
        return;
    CHECK_ERROR(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, b->me, 1, WORLD), MPI_ERR_BUFFER, "MPI_Send",
                "argument buf is MPI_IN_PLACE");
    CHECK_ERROR(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, b->me, 1, WORLD, &r), MPI_ERR_BUFFER,
                "MPI_Irecv", "MPI_IN_PLACE");
    CHECK(r == MPI_REQUEST_NULL);
    CHECK_ERROR(MPI_Sendrecv(b->buf, 1, MPI_INT, b->me, 1, MPI_IN_PLACE, 1, MPI_INT, b->me, 1,
                             WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_BUFFER, "MPI_Sendrecv", "recvbuf is MPI_IN_PLACE");
    CHECK_ERROR(MPI_Send_init(MPI_IN_PLACE, 1, MPI_INT, b->me, 1, WORLD, &r), MPI_ERR_BUFFER,
                "MPI_Send_init", "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Pack(MPI_IN_PLACE, 1, MPI_INT, b->buf, 4, &at, WORLD), MPI_ERR_BUFFER,
                "MPI_Pack", "inbuf is MPI_IN_PLACE");
    CHECK_OK(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD));
}

// None of the calls that failed has sent anything.
static void nothing_sent(void)
{
    int flag = -1;
    CHECK_OK(MPI_Barrier(WORLD));
    for (int i = 0; i < 10; i++) {
        CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
}

int main(int argc, char **argv)
{
    struct bad b;
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    memset(b.buf, 0, sizeof b.buf);
    b.me = world_rank();
    b.size = world_size();
    b.rank = b.size + 95;
    snprintf(b.rank_text, sizeof b.rank_text, "%d", b.rank);
    sends(&b);
    receives(&b);
    nonblocking(&b);
    persistent(&b);
    exchanges(&b);
    probes(&b);
    matched(&b);
    completions();
    counts(&b);
    wrong_start(&b);
    same_twice(&b);
    tag_bound(&b);
    nearly_wrong(&b);
    in_place(&b);
    nothing_sent();
    CHECK_OK(MPI_Finalize());
    return 0;
}
