// SPDX-License-Identifier: BSD-3-Clause
// What waits for time or for a descriptor is no deadlock, however long nothing happens; what waits
// for messages only is one, though there were timers and descriptors before.
//
//     csp_io_quiet time|descriptor [deadlock]
#define _GNU_SOURCE
#include <millet/csp.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "check.h"

static void wait_quietly(const char *how)
{
    if (strcmp(how, "time") == 0) {
        csp_sleep(csp_after(1.2)); // the launcher looks several times meanwhile
        return;
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec in = {.it_value = {.tv_sec = 1, .tv_nsec = 200000000}};
    uint64_t times = 0;
    CHECK(timer >= 0 && timerfd_settime(timer, 0, &in, NULL) == 0);
    CHECK(csp_fd_read(timer, &times, sizeof times) == sizeof times && times == 1);
    close(timer);
}

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(argc > 1);
    if (rank == 0)
        wait_quietly(argv[1]);
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD); // the others wait for messages
    if (argc > 2)
        MPI_Recv(&token, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_OK(MPI_Finalize());
    return 0;
}
