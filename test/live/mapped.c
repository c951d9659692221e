// SPDX-License-Identifier: BSD-3-Clause
// A known number of messages, collective calls, puts, and reads and writes of channels, each by its
// name; then all wait for rank 0, which leaves MPI alone until a file is there: `mapped FILE`. Rank 0
// meanwhile has a channel "stuffed", whose buffer is full, with a writer at it.
#include <millet/csp.h>
#include <mpi.h>
#include <unistd.h>

enum { MESSAGES = 10, SUMS = 5, PUTS = 3, VALUES = 4, ROOM = 3 };

static int writes(void *out)
{
    for (int i = 0; i < VALUES; i++)
        csp_write(out, &i);
    return 0;
}

static int reads(void *in)
{
    for (int i = 0, got; i < VALUES; i++)
        if (csp_read(in, &got) != CSP_OK || got != i)
            return 1;
    return 0;
}

// Not a global: ranks share those where a sanitizer runs.
typedef struct late {
    const char *door;
    void *in;
} late;

static int reads_late(void *arg)
{
    const late *l = arg;
    while (access(l->door, F_OK) != 0)
        csp_sleep(csp_after(1e-3));
    return reads(l->in);
}

static void use_channels(const char *door)
{
    csp_chan *numbers = csp_chan_new("numbers", sizeof(int));
    csp_chan *stuffed = csp_chan_buffered("stuffed", sizeof(int), ROOM);
    late last = {door, csp_chan_in(stuffed)};
    if (CSP_PAR({writes, csp_chan_out(numbers)}, {reads, csp_chan_in(numbers)}) ||
        CSP_PAR({writes, csp_chan_out(stuffed)}, {reads_late, &last}))
        MPI_Abort(MPI_COMM_WORLD, 1);
    csp_chan_free(numbers);
    csp_chan_free(stuffed);
}

int main(int argc, char **argv)
{
    int rank, size, token = 0, sum;
    double *at, one = 1;
    MPI_Comm halo, brief;
    MPI_Win grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_set_name(halo, "halo");
    MPI_Comm_rank(halo, &rank);
    MPI_Comm_size(halo, &size);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 7, (rank + size - 1) % size, 7,
                             halo, MPI_STATUS_IGNORE);
    for (int i = 0; i < SUMS; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, halo);
    MPI_Comm_dup(MPI_COMM_WORLD, &brief); // what it did is known after its end
    MPI_Comm_set_name(brief, "brief");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, brief);
    MPI_Comm_free(&brief);
    MPI_Win_allocate(sizeof *at, sizeof *at, MPI_INFO_NULL, halo, &at, &grid);
    MPI_Win_set_name(grid, "grid");
    MPI_Win_fence(0, grid);
    for (int i = 0; i < PUTS; i++)
        MPI_Put(&one, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, grid);
    MPI_Win_fence(0, grid);
    if (rank == 0)
        use_channels(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&grid);
    MPI_Comm_free(&halo);
    MPI_Finalize();
    return 0;
}
