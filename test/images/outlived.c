// SPDX-License-Identifier: BSD-3-Clause
// Threads that live longer than the rank that started them, and go on to use what is a rank's. The
// first rank ends last, and fills the memory that others have left.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void *goes_on(void *unused)
{
    char name[16];
    for (int i = 0;; i++) {
        snprintf(name, sizeof name, "N%d", i % 50);
        setenv(name, "value", 1);
        printf("%s", getenv("N3") ? "" : " ");
        fflush(stdout);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    setenv("N3", "value", 1);
    if (rank > 0 && pthread_create(&thread, NULL, goes_on, NULL) == 0)
        pthread_detach(thread);
    usleep(20000);
    for (int i = 0; rank == 0 && i < 20; i++) {
        char *pieces[1000];
        for (int p = 0; p < 1000; p++)
            memset(pieces[p] = malloc((size_t)p * 4 + 8), p % 2 ? 0 : 64, (size_t)p * 4 + 8);
        for (int p = 0; p < 1000; p++)
            free(pieces[p]);
        usleep(5000);
    }
    printf("rank %d is done\n", rank);
    return 0;
}
