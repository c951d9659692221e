// SPDX-License-Identifier: BSD-3-Clause
// An MPI program whose ranks are networks of processes inside: in each rank workers compute parts
// of an integral and hand them to a collector over a channel. A process may call MPI on behalf of
// its rank, so the collectors of all ranks add up what they have by MPI_Reduce.
//
//     mpicc -O2 mixed.c -o mixed
//     mpirun -n 4 ./mixed            processes
//     mpirun -nfg 1000 ./mixed       a thousand ranks in one, with eight workers each
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>

enum { WORKERS = 8, STEPS = 100000 };

typedef struct worker {
    csp_out *out;
    int first, stride, steps; // every stride-th of steps
} worker;

static int work(void *arg)
{
    worker *my = arg;
    double part = 0;
    csp_hold(my->out);
    for (int i = my->first; i < my->steps; i += my->stride) {
        double x = (i + 0.5) / my->steps;
        part += 4 / (1 + x * x) / my->steps;
    }
    return csp_write(my->out, &part);
}

static int collect(void *arg)
{
    csp_in *in = arg;
    double part, sum = 0, pi;
    while (csp_read(in, &part) == CSP_OK) // until the last worker has retired
        sum += part;
    MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("pi is about %.9f, computed by %d processes of %d ranks\n", pi, size * WORKERS,
               size);
    return rank == 0 && (pi < 3.141592 || pi > 3.141593);
}

int main(int argc, char **argv)
{
    int rank, size, steps = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        steps = STEPS;
    MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);

    csp_chan *parts = csp_chan_new("parts", sizeof(double));
    worker workers[WORKERS];
    csp_proc all[WORKERS + 1];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){csp_chan_out(parts), rank * WORKERS + i, size * WORKERS, steps};
        all[i] = (csp_proc){work, &workers[i], "worker", 0};
    }
    all[WORKERS] = (csp_proc){collect, csp_chan_in(parts), "collector", 0};
    int result = csp_par(all, WORKERS + 1);
    csp_chan_free(parts);
    MPI_Finalize();
    return result;
}
