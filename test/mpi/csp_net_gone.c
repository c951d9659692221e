// SPDX-License-Identifier: BSD-3-Clause
// A node that has nothing to do with processes ends while another one looks for a port there: it
// hears of the end, whenever that is. `csp_net_gone ROUNDS`: how long the other one does something
// else before.
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    csp_target *target;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank != 0)
        return 0;
    for (volatile long i = 0; i < rounds; i++) {
    }
    csp_status status = csp_target_at(1, "nothing", &target, CSP_NEVER);
    printf("the node is %s\n", csp_status_text(status));
    return status != CSP_RETIRED;
}
