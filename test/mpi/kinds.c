// SPDX-License-Identifier: BSD-3-Clause
//
// Data that are received as another basic type of as many bytes, in messages and in collectives.
//
//     differ   they do, everywhere: every call succeeds, and one note is given in the whole job
//     strict   the same under mpirun --strict: every receive is an error
//     fits     they do not: no note, and no error under --strict
//     torn     they are no whole number of the other type: every receive is an error

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 4, RECV, IRECV_WAIT, IRECV_TEST, MRECV, IMRECV, SENDRECV, PERSISTENT, WAITALL, END };

// Sends two doubles to itself, and receives them in that way.
static int receive(int way, void *to, int count, MPI_Datatype type)
{
    double out[2] = {1.5, -2};
    int me = world_rank(), code = MPI_SUCCESS, flag = 0;
    MPI_Request in, send;
    MPI_Message message;
    MPI_Status status;
    if (way == SENDRECV)
        return MPI_Sendrecv(out, 2, MPI_DOUBLE, me, TAG, to, count, type, me, TAG, WORLD, &status);
    if (way == IRECV_WAIT || way == IRECV_TEST || way == WAITALL)
        CHECK_OK(MPI_Irecv(to, count, type, me, TAG, WORLD, &in));
    if (way == PERSISTENT) {
        CHECK_OK(MPI_Recv_init(to, count, type, me, TAG, WORLD, &in));
        CHECK_OK(MPI_Start(&in));
    }
    CHECK_OK(MPI_Isend(out, 2, MPI_DOUBLE, me, TAG, WORLD, &send));
    if (way == MRECV || way == IMRECV)
        CHECK_OK(MPI_Mprobe(me, TAG, WORLD, &message, &status));
    if (way == IMRECV)
        CHECK_OK(MPI_Imrecv(to, count, type, &message, &in));
    if (way == RECV)
        code = MPI_Recv(to, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    else if (way == MRECV)
        code = MPI_Mrecv(to, count, type, &message, &status);
    else if (way == IRECV_TEST)
        while (code == MPI_SUCCESS && !flag)
            code = MPI_Test(&in, &flag, &status);
    else if (way == WAITALL)
        code = MPI_Waitall(1, &in, &status) == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR;
    else
        code = MPI_Wait(&in, &status);
    if (way == PERSISTENT)
        CHECK_OK(MPI_Request_free(&in));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    return code;
}

static void check_message(int strict, int count, MPI_Datatype type)
{
    for (int way = RECV; way < END; way++) {
        double in[4] = {0};
        int code = receive(way, in, count, type);
        if (strict)
            CHECK_ERROR(code, MPI_ERR_TYPE, "sends MPI_DOUBLE", "--strict");
        else
            CHECK_OK(code);
        CHECK(in[0] == 1.5 && in[1] == -2);
    }
}

// Rank 0 has `mine`, all others `theirs`.
static void check_bcast(int strict, int count0, MPI_Datatype mine, int count, MPI_Datatype theirs)
{
    MPI_Comm comm;
    int me = world_rank(), size = world_size(), told = 0, all = 0;
    long long buf[2] = {me == 0 ? 77 : 0, me == 0 ? 78 : 0};
    CHECK_OK(MPI_Comm_dup(WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int code = MPI_Bcast(buf, me ? count : count0, me ? theirs : mine, 0, comm);
    told = code != MPI_SUCCESS;
    if (strict && told)
        CHECK_ERROR(code, MPI_ERR_ARG, "do not agree", "says");
    CHECK_OK(MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_SUM, WORLD));
    CHECK(strict && size > 1 ? all > 0 : all == 0);
    CHECK(strict || (buf[0] == 77 && buf[1] == 78));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void differ(int strict)
{
    int me = world_rank(), last = me == world_size() - 1, one = 1, sum = 0;
    MPI_Datatype pair;
    check_message(strict, 4, MPI_INT);
    check_message(strict, 2, MPI_INT64_T);
    check_message(strict, 16, MPI_BYTE);
    CHECK_OK(MPI_Type_vector(2, 2, 2, MPI_INT, &pair));
    CHECK_OK(MPI_Type_commit(&pair));
    check_message(strict, 1, pair);
    CHECK_OK(MPI_Type_free(&pair));
    check_bcast(strict, 16, MPI_CHAR, 16, MPI_BYTE);
    check_bcast(strict, 2, MPI_LONG, 2, MPI_INT64_T);
    check_bcast(strict, 2, MPI_DOUBLE, 4, MPI_INT);
    if (strict)
        return;
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, last ? MPI_UNSIGNED : MPI_INT, MPI_SUM, WORLD));
    CHECK_INT(sum, world_size());
    long in = me, *out = must_alloc(sizeof *out * (size_t)world_size());
    CHECK_OK(MPI_Allgather(&in, 1, MPI_LONG, out, 1, last ? MPI_DOUBLE : MPI_LONG, WORLD));
    for (int r = 0; r < world_size(); r++)
        CHECK_INT(out[r], r);
    CHECK_OK(MPI_Gather(&in, 1, last ? MPI_INT64_T : MPI_LONG, out, 8, MPI_BYTE, 0, WORLD));
    free(out);
}

// Lists: what one rank sends to another has the type that this one receives, and another way back.
static void check_lists(void)
{
    int me = world_rank(), n = world_size();
    int *counts = must_alloc(sizeof(int) * (size_t)n),
        *displs = must_alloc(sizeof(int) * (size_t)n);
    char *out = must_alloc(8 * (size_t)n), *in = must_alloc(8 * (size_t)n);
    memset(out, me, 8 * (size_t)n);
    for (int r = 0; r < n; r++) {
        counts[r] =
            r % 2 != me % 2; // odd ranks send doubles and receive longs, even ones the others
        displs[r] = r;
    }
    CHECK_OK(MPI_Alltoallv(out, counts, displs, me % 2 ? MPI_DOUBLE : MPI_LONG, in, counts, displs,
                           me % 2 ? MPI_LONG : MPI_DOUBLE, WORLD));
    for (int r = 0; r < n; r++)
        CHECK(!counts[r] || in[8 * r] == r);
    free(counts);
    free(displs);
    free(out);
    free(in);
}

static void fits(void)
{
    MPI_Datatype spread, mixed;
    int lengths[2] = {1, 2};
    MPI_Aint at[2] = {0, 8};
    int me = world_rank(), pair[2] = {3, 4}, in[2];
    check_message(0, 2, MPI_DOUBLE);
    check_message(0, 16, MPI_PACKED);
    CHECK_OK(MPI_Type_create_resized(MPI_DOUBLE, 0, 8, &spread));
    CHECK_OK(MPI_Type_commit(&spread));
    check_message(0, 2, spread);
    CHECK_OK(MPI_Type_free(&spread));
    CHECK_OK(MPI_Sendrecv(pair, 1, MPI_2INT, me, TAG, in, 2, MPI_INT, me, TAG, WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_DOUBLE, me, TAG, in, 2, MPI_INT, me, TAG, WORLD,
                          MPI_STATUS_IGNORE)); // no data
    check_bcast(0, 16, MPI_PACKED, 4, MPI_INT);
    check_bcast(0, 2, MPI_2INT, 4, MPI_INT);
    CHECK_OK(MPI_Type_create_struct(2, lengths, at, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &mixed));
    CHECK_OK(MPI_Type_commit(&mixed));
    check_bcast(0, 1, mixed, 1, mixed);
    CHECK_OK(MPI_Type_free(&mixed));
    check_lists();
}

// Three characters are no ints. Those of a neighbour come from another worker, too.
static void torn(void)
{
    int in[4] = {0}, rank = world_rank(), size = world_size();
    char three[3] = {'a', 'b', 'c'};
    CHECK_ERROR(MPI_Sendrecv(three, 3, MPI_CHAR, (rank + 1) % size, TAG, in, 4, MPI_INT,
                             (rank + size - 1) % size, TAG, WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TYPE, "MPI_Sendrecv", "3 bytes that came are no whole number");
    CHECK_OK(MPI_Sendrecv(three, 3, MPI_CHAR, (rank + 1) % size, TAG, in, 16, MPI_CHAR,
                          (rank + size - 1) % size, TAG, WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    CHECK(argc > 1);
    if (strcmp(argv[1], "fits") == 0)
        fits();
    else if (strcmp(argv[1], "torn") == 0)
        torn();
    else
        differ(strcmp(argv[1], "strict") == 0);
    CHECK_OK(MPI_Finalize());
    return 0;
}
