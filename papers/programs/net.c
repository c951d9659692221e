// SPDX-License-Identifier: BSD-3-Clause
// Between two ranks: half a round trip of 8 bytes by MPI, by ports, and by channels, and a write to
// a channel until it is acknowledged, in turns. mpi_before: by MPI before the first call of csp.h.
//
//     mpirun -n 2 net [MS]       MS: how long a repetition takes, about
//
// Prints lines of `key value unit`; values are medians over repetitions.
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPS = 9, WAYS = 4, WRITE = 3 };
static const char *const keys[WAYS] = {"mpi", "port", "chan", "write"};

typedef struct side {
    int rank;
    csp_port *port;
    csp_target *target;
    csp_in *in;
    csp_out *out;
} side;

static void must(csp_status status)
{
    if (status != CSP_OK) {
        fprintf(stderr, "net: %s: %s\n", csp_status_text(status), csp_why());
        exit(1);
    }
}

static void put(side *my, int way, long v)
{
    if (way == 0)
        MPI_Send(&v, 1, MPI_LONG, 1 - my->rank, 0, MPI_COMM_WORLD);
    else if (way == 1)
        must(csp_send(my->target, &v, sizeof(v)));
    else
        must(csp_write(my->out, &v));
}

static void get(side *my, int way, long expected)
{
    long v = -1;
    if (way == 0)
        MPI_Recv(&v, 1, MPI_LONG, 1 - my->rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (way == 1)
        must(csp_receive(my->port, &v, sizeof(v), NULL, NULL));
    else
        must(csp_read(my->in, &v));
    if (v != expected) {
        fprintf(stderr, "net: %s: wrong value\n", keys[way]);
        exit(1);
    }
}

// Nanoseconds of half a round trip, or of a write.
static double trips(side *my, int way, long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < n; i++) {
        if (way == WRITE && my->rank == 0) {
            put(my, way, i);
            put(my, way, i + 1);
        } else if (way == WRITE) {
            get(my, way, i);
            get(my, way, i + 1);
        } else if (my->rank == 0) {
            put(my, way, i);
            get(my, way, i + 1);
        } else {
            get(my, way, i);
            put(my, way, i + 1);
        }
    }
    return (MPI_Wtime() - start) * 1e9 / (double)n / 2;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double ms = argc > 1 ? atof(argv[1]) : 100, values[WAYS][REPS], before[REPS];
    static const char *const names[] = {"to rank 0", "to rank 1"};
    side my;
    MPI_Comm_rank(MPI_COMM_WORLD, &my.rank);
    trips(&my, 0, 10000);
    for (int i = 0; i < REPS; i++)
        before[i] = trips(&my, 0, 10000);
    // What is read is at home here; the ends that are written to are found.
    csp_chan *chan = csp_chan_new("values", sizeof(long));
    my.in = csp_chan_in(chan);
    my.port = csp_port_new("values", 0);
    must(csp_register_chan(names[my.rank], chan));
    must(csp_target_at(1 - my.rank, "values", &my.target, CSP_NEVER));
    must(csp_find_out(names[1 - my.rank], sizeof(long), &my.out, CSP_NEVER));

    long n[WAYS];
    for (int way = 0; way < WAYS; way++) {
        double ns = trips(&my, way, 1000);
        n[way] = (long)(ms * 1e6 / ns / 2) + 1;
        MPI_Bcast(&n[way], 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < REPS; i++)
        for (int way = 0; way < WAYS; way++)
            values[way][i] = trips(&my, way, n[way]);
    qsort(before, REPS, sizeof(double), by_value);
    if (my.rank == 0)
        printf("mpi_before %.6g ns\n", before[REPS / 2]);
    for (int way = 0; way < WAYS && my.rank == 0; way++) {
        qsort(values[way], REPS, sizeof(double), by_value);
        printf("%s %.6g ns\n", keys[way], values[way][REPS / 2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    csp_retire(my.out);
    csp_target_free(my.target);
    MPI_Finalize();
    return 0;
}
