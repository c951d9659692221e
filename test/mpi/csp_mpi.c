// SPDX-License-Identifier: BSD-3-Clause
// MPI calls from several processes of a rank at once: each has its own conversation with its
// counterpart in every other rank. `finalize`: a process ends MPI.
#include <millet/csp.h>

#include "check.h"

enum { PROCS = 8, ROUNDS = 20, LONG = 50000 };

typedef struct talker {
    int number, rank, size;
    csp_barrier *barrier;
    csp_out *out;
    int *running;
    MPI_Comm comm;
} talker;

// Round and round with the next rank, small and large messages.
static int sendrecvs(void *arg)
{
    talker *my = arg;
    int to = (my->rank + 1) % my->size, from = (my->rank + my->size - 1) % my->size;
    int *data = malloc(LONG * sizeof *data), *got = malloc(LONG * sizeof *got);
    for (int i = 0; i < ROUNDS; i++) {
        int n = i % 5 == 4 ? LONG : 1 + i;
        for (int k = 0; k < n; k++)
            data[k] = my->rank * 1000 + my->number * 100 + i + k;
        MPI_Status status;
        CHECK_OK(MPI_Sendrecv(data, n, MPI_INT, to, my->number, got, LONG, MPI_INT, from,
                              my->number, MPI_COMM_WORLD, &status));
        int count;
        CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_INT(count, n);
        for (int k = 0; k < n; k++)
            CHECK_INT(got[k], from * 1000 + my->number * 100 + i + k);
    }
    free(data);
    free(got);
    return 0;
}

// Blocking sends and receives with the rank opposite.
static int pingpongs(void *arg)
{
    talker *my = arg;
    int other = my->rank ^ 1, value;
    if (other >= my->size)
        return 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (my->rank % 2 == 0) {
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, other, 1000 + my->number, MPI_COMM_WORLD));
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, other, 1000 + my->number, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
        } else {
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, other, 1000 + my->number, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
            CHECK_OK(MPI_Send(&value, 1, MPI_INT, other, 1000 + my->number, MPI_COMM_WORLD));
        }
        CHECK_INT(value, i);
    }
    return 0;
}

// Requests that another process of the rank waits for; probes; collectives on an own communicator.
static int waits(void *arg)
{
    talker *my = arg;
    int values[4], sum;
    MPI_Request requests[8];
    for (int i = 0; i < ROUNDS; i++) {
        int to = (my->rank + i) % my->size, from = (my->rank + my->size - i % my->size) % my->size;
        for (int k = 0; k < 4; k++) {
            CHECK_OK(MPI_Irecv(&values[k], 1, MPI_INT, from, 2000 + my->number * 4 + k,
                               MPI_COMM_WORLD, &requests[k]));
            CHECK_OK(MPI_Isend(&my->rank, 1, MPI_INT, to, 2000 + my->number * 4 + k, MPI_COMM_WORLD,
                               &requests[4 + k]));
        }
        CHECK_OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int k = 0; k < 4; k++)
            CHECK_INT(values[k], from);
        CHECK_OK(MPI_Allreduce(&my->rank, &sum, 1, MPI_INT, MPI_SUM, my->comm));
        CHECK_INT(sum, my->size * (my->size - 1) / 2);
        CHECK_OK(MPI_Barrier(my->comm));
    }
    return 0;
}

// Values come through MPI and go on over a channel.
static int forwards(void *arg)
{
    talker *my = arg;
    int value;
    csp_hold(my->out);
    for (int i = 0; i < my->size * ROUNDS; i++) {
        CHECK_OK(
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(csp_write(my->out, &value), CSP_OK);
    }
    return 0;
}

static int sends(void *arg)
{
    talker *my = arg;
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < my->size; k++)
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, k, 3000, MPI_COMM_WORLD));
    return 0;
}

static int adds(void *arg)
{
    csp_in *in = arg;
    int value, sum = 0;
    csp_hold(in);
    while (csp_read(in, &value) == CSP_OK)
        sum += value;
    return sum;
}

static int finalizes(void *arg)
{
    talker *my = arg;
    int other = my->rank ^ 1;
    char *data = calloc(1, 1 << 20);
    if (other < my->size) {
        MPI_Request request;
        CHECK_OK(MPI_Irecv(data, 1 << 20, MPI_CHAR, other, 1, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Send(data + (1 << 19), 1 << 19, MPI_CHAR, other, 1, MPI_COMM_WORLD));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Finalize());
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    talker t[PROCS + 1];
    csp_proc procs[3 * PROCS + 3];
    size_t n = 0;
    for (int i = 0; i <= PROCS; i++) {
        t[i] = (talker){.number = i};
        MPI_Comm_rank(MPI_COMM_WORLD, &t[i].rank);
        MPI_Comm_size(MPI_COMM_WORLD, &t[i].size);
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &t[i].comm));
    }
    csp_chan *c = csp_chan_new("values", sizeof(int));
    t[PROCS].out = csp_chan_out(c);
    for (int i = 0; i < PROCS; i++) {
        procs[n++] = (csp_proc){sendrecvs, &t[i], "sendrecvs", 0};
        procs[n++] = (csp_proc){pingpongs, &t[i], "pingpongs", 0};
        procs[n++] = (csp_proc){waits, &t[i], "waits", 0};
    }
    procs[n++] = (csp_proc){forwards, &t[PROCS], "forwards", 0};
    procs[n++] = (csp_proc){sends, &t[PROCS], "sends", 0};
    procs[n++] = (csp_proc){adds, csp_chan_in(c), "adds", 0};
    CHECK_INT(csp_par(procs, n), t[0].size * ROUNDS * (ROUNDS - 1) / 2);
    for (int i = 0; i <= PROCS; i++)
        CHECK_OK(MPI_Comm_free(&t[i].comm));
    CHECK_INT(csp_node(), t[0].rank);
    CHECK_INT(csp_nodes(), t[0].size);
    if (argc > 1)
        CHECK_INT(CSP_PAR({finalizes, &t[0], "finalizes", 0}), 0);
    else
        CHECK_OK(MPI_Finalize());
    csp_chan_free(c);
    return 0;
}
