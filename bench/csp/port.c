// SPDX-License-Identifier: BSD-3-Clause
// Half round trips of 8 bytes between two nodes: MPI, ports, and a network channel, in turns.
//
//     mpirun -n 2 ./port [bytes]
//
// Prints the best of all turns of each, in ns, and the ratio to MPI's. A value on a channel is a
// message and its acknowledgement, so a channel each way costs as much as two messages each way.
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 15, ROUNDS = 20000 };

static void by_mpi(int me, char *data, int bytes)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int turn = 0; turn < 2; turn++)
            if (turn == me)
                MPI_Send(data, bytes, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(data, bytes, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_port(int me, char *data, int bytes, csp_port *port, csp_target *target)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int turn = 0; turn < 2; turn++)
            if (turn == me)
                csp_send(target, data, (size_t)bytes);
            else
                csp_receive(port, data, (size_t)bytes, NULL, NULL);
}

// A value to the other node, which has the channel's home: the write ends with the acknowledgement.
static void by_chan(int me, char *data, csp_in *in, csp_out *out)
{
    for (int i = 0; i < 2 * ROUNDS; i++)
        if (me == 0)
            csp_write(out, data);
        else
            csp_read(in, data);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"MPI_Send, MPI_Recv", "csp_send, csp_receive",
                                        "csp_write, csp_read"};
    double best[3] = {1e9, 1e9, 1e9}, bare = 1e9;
    int me, n, bytes = argc > 1 ? atoi(argv[1]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (n != 2) {
        if (me == 0)
            fprintf(stderr, "two nodes, please: mpirun -n 2\n");
        MPI_Finalize();
        return 1;
    }
    char *data = calloc(1, (size_t)bytes + 1);
    for (int i = 0; i < TURNS; i++) { // before the ranks are members of a crew
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        by_mpi(me, data, bytes);
        double ns = (MPI_Wtime() - start) * 1e9 / (2.0 * ROUNDS);
        bare = ns < bare ? ns : bare;
    }
    csp_port *port = csp_port_new("ping", 0);
    csp_target *target;
    csp_chan *chan = me == 1 ? csp_chan_new("pong", (size_t)bytes) : NULL;
    csp_in *in = chan ? csp_chan_in(chan) : NULL;
    csp_out *out = NULL;
    if (csp_target_at(1 - me, "ping", &target, CSP_NEVER) != CSP_OK ||
        (chan && csp_register_chan("pong", chan) != CSP_OK) ||
        (!chan && csp_find_out("pong", (size_t)bytes, &out, CSP_NEVER) != CSP_OK)) {
        fprintf(stderr, "%s\n", csp_why());
        return 1;
    }
    for (int i = 0; i < 3 * TURNS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        csp_time start = csp_now();
        if (i % 3 == 0)
            by_mpi(me, data, bytes);
        else if (i % 3 == 1)
            by_port(me, data, bytes, port, target);
        else
            by_chan(me, data, in, out);
        double ns = (double)(csp_now() - start) / (2.0 * ROUNDS);
        if (ns < best[i % 3])
            best[i % 3] = ns;
    }
    if (me == 0)
        printf("%-22s %7.1f ns one way, before the first call of csp.h\n", names[0], bare);
    for (int i = 0; me == 0 && i < 3; i++)
        printf("%-22s %7.1f ns %s %5.2f\n", names[i], best[i],
               i < 2 ? "one way       " : "with its acknowledgement", best[i] / best[0]);
    if (out)
        csp_retire(out);
    MPI_Barrier(MPI_COMM_WORLD);
    csp_target_free(target);
    MPI_Barrier(MPI_COMM_WORLD);
    csp_port_free(port);
    csp_chan_free(chan);
    free(data);
    MPI_Finalize();
    return 0;
}
