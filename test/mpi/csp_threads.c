// SPDX-License-Identifier: BSD-3-Clause
// Processes and threads: a rank with processes gets MPI_THREAD_SERIALIZED at most; one that has
// MPI_THREAD_MULTIPLE gets no processes; a thread of the program has none either.
#include <millet/csp.h>
#include <pthread.h>

#include "check.h"

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void *makes(void *arg)
{
    (void)arg;
    csp_chan_new("of a thread", 4);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    CHECK(argc == 2);
    if (strcmp(argv[1], "first") == 0) {
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        CHECK(provided == MPI_THREAD_SERIALIZED || provided == MPI_THREAD_FUNNELED);
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_OK(MPI_Finalize());
    } else if (strcmp(argv[1], "multiple") == 0) {
        CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        CHECK_INT(provided, MPI_THREAD_MULTIPLE);
        CSP_PAR({nothing, NULL});
    } else {
        pthread_t thread;
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_INT(pthread_create(&thread, NULL, makes, NULL), 0);
        pthread_join(thread, NULL);
    }
    return 0;
}
