// SPDX-License-Identifier: BSD-3-Clause
//
// With MPI_THREAD_MULTIPLE, threads of a rank make collective calls at the same time, each on a
// communicator of its own; the argument is the number of calls.

#include "coll_check.h"
#include "threads.h"

enum { THREADS = 4 };

struct shared {
    struct coll_test test;
    MPI_Comm comms[THREADS];
    int calls;
};

static void work(team *of, int index)
{
    struct shared *s = of->data;
    struct coll_test t = s->test;
    coll_use(&t, s->comms[index]);
    t.random += (uint64_t)index;
    for (int i = 0; i < s->calls; i++) {
        struct coll_case c = case_random(&t, (enum coll_kind)(i % (EXSCAN + 1)));
        c.chunks %= 700;
        case_try(&c);
    }
}

int main(int argc, char **argv)
{
    team t = {.work = work};
    struct shared s = {.calls = argc > 1 ? atoi(argv[1]) : 60};
    init_level(MPI_THREAD_MULTIPLE);
    coll_test_init(&s.test);
    coll_need_ops(&s.test);
    t.data = &s;
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &s.comms[i]));
    team_start(&t, THREADS);
    team_join(&t);
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_free(&s.comms[i]));
    coll_test_fini(&s.test);
    CHECK_OK(MPI_Finalize());
    return 0;
}
