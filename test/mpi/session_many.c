// SPDX-License-Identifier: BSD-3-Clause
//
// Many sessions: many at once, and 100,000 one after the other without growth, with groups that are
// freed and groups that are left. With the argument `comm`: communicators of sessions, messages and
// buffered messages on them, their end with MPI_Comm_disconnect or with the session.

#include "growth.h"

enum { AT_ONCE = 100 };

static void one_session(int i, void *state)
{
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Group world = MPI_GROUP_NULL, self = MPI_GROUP_NULL;
    (void)state;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &world));
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://SELF", &self));
    if (i % 3)
        CHECK_OK(MPI_Group_free(&self));
    if (i % 2)
        CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Session_finalize(&s));
}

static void check_at_once(void)
{
    MPI_Session s[AT_ONCE];
    MPI_Group g[AT_ONCE];
    int size = -1;
    for (int i = 0; i < AT_ONCE; i++) {
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s[i]));
        CHECK_OK(MPI_Group_from_session_pset(s[i], "mpi://WORLD", &g[i]));
        for (int j = 0; j < i; j++)
            CHECK(s[i] != s[j] && g[i] != g[j]);
    }
    for (int i = 0; i < AT_ONCE; i += 2)
        CHECK_OK(MPI_Session_finalize(&s[i]));
    for (int i = 1; i < AT_ONCE; i += 2) { // the others still work
        CHECK_OK(MPI_Group_size(g[i], &size));
        CHECK_OK(MPI_Group_free(&g[i]));
        CHECK_OK(MPI_Session_finalize(&s[i]));
    }
}

static MPI_Comm make_comm(MPI_Session s, const char *tag)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &world));
    CHECK_OK(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_OK(MPI_Group_free(&world));
    return comm;
}

// Buffered messages take the communicator's buffer, else the session's; without one they fail.
static void check_buffers(MPI_Session s, MPI_Comm comm)
{
    enum { BYTES = 5000 };
    int rank = -1, size = -1, room = BYTES + MPI_BSEND_OVERHEAD, got = -1;
    char *out = must_alloc(BYTES), *in = must_alloc(BYTES), *buffer = must_alloc((size_t)room);
    void *address = NULL;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    CHECK_ERROR(MPI_Bsend(out, BYTES, MPI_BYTE, to, 1, comm), MPI_ERR_BUFFER, "MPI_Bsend",
                "no buffer");
    CHECK_OK(MPI_Session_attach_buffer(s, buffer, room));
    CHECK_ERROR(MPI_Bsend(out, BYTES + 1, MPI_BYTE, to, 1, comm), MPI_ERR_BUFFER, "MPI_Bsend",
                "the session");
    pattern_fill(out, BYTES, (unsigned)rank);
    CHECK_OK(MPI_Bsend(out, BYTES, MPI_BYTE, to, 1, comm));
    CHECK_OK(MPI_Recv(in, BYTES, MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, BYTES, (unsigned)from);
    CHECK_OK(MPI_Session_detach_buffer(s, &address, &got));
    CHECK(address == buffer && got == room);
    free(buffer);
    free(out);
    free(in);
}

static void check_comms(int use_world)
{
    MPI_Session s = MPI_SESSION_NULL;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    MPI_Comm one = make_comm(s, "one"), two = make_comm(s, "two"), twin = MPI_COMM_NULL;
    int result = -1, rank = -1, size = -1, number = 7;
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Comm_rank(one, &rank));
    CHECK_OK(MPI_Comm_size(one, &size));
    CHECK_OK(MPI_Comm_compare(one, two, &result));
    CHECK_INT(result, MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_dup(one, &twin));
    check_buffers(s, one);
    check_buffers(s, twin);
    // A send that nobody waits for is done when the communicator is disconnected.
    CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 2, twin, &r));
    CHECK_OK(MPI_Request_free(&r));
    CHECK_OK(MPI_Recv(&number, 1, MPI_INT, (rank + size - 1) % size, 2, twin, MPI_STATUS_IGNORE));
    CHECK_INT(number, (rank + size - 1) % size);
    CHECK_OK(MPI_Comm_disconnect(&twin));
    CHECK(twin == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_free(&one));
    MPI_Comm left = two;
    CHECK_OK(MPI_Session_finalize(&s)); // takes the other one along
    if (use_world)
        CHECK_ERROR(MPI_Comm_rank(left, &rank), MPI_ERR_COMM, "MPI_Comm_rank", "freed");
}

static void one_comm(int i, void *state)
{
    MPI_Session s = MPI_SESSION_NULL;
    (void)state;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    MPI_Comm comm = make_comm(s, "again");
    if (i % 3 == 0)
        CHECK_OK(MPI_Comm_disconnect(&comm));
    CHECK_OK(MPI_Session_finalize(&s));
}

// A communicator of a session that was there before MPI_Init and outlives MPI_Finalize.
static void check_outer(MPI_Comm comm)
{
    int rank = -1, size = -1, got = -1;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT,
                          (rank + size - 1) % size, 3, comm, MPI_STATUS_IGNORE));
    CHECK_INT(got, (rank + size - 1) % size);
    CHECK_OK(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    int comm = argc > 1 && strcmp(argv[1], "comm") == 0;
    MPI_Session outer = MPI_SESSION_NULL;
    MPI_Comm outer_comm = MPI_COMM_NULL, outer_copy = MPI_COMM_NULL;
    if (comm) {
        check_comms(0);
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &outer));
        outer_comm = make_comm(outer, "outer");
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (comm) {
        check_outer(outer_comm);
        CHECK_OK(MPI_Comm_dup(outer_comm, &outer_copy));
        check_comms(1);
        check_growth(one_comm, NULL, rounds_of(20000));
    } else {
        check_at_once();
        check_growth(one_session, NULL, rounds_of(1000000));
    }
    CHECK_OK(MPI_Finalize());
    if (comm) {
        check_outer(outer_comm);
        check_outer(outer_copy);
        CHECK_OK(MPI_Comm_free(&outer_comm));
        CHECK_OK(MPI_Session_finalize(&outer));
        check_comms(0);
    } else {
        check_at_once();
    }
    return 0;
}
