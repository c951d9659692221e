// SPDX-License-Identifier: BSD-3-Clause
// A scheduling policy as a plug-in: whoever could run last runs first. It finds programs that count
// on an order, and it would starve ranks; so one switch in eight takes the oldest.
//
//     mpicc -shared -fPIC lifo.c -o lifo.so
//     mpirun -n 1 -nfg 26 --sched ./lifo.so ./functions
//
// The policies of Millet itself: mpirun --help.
#include <millet/sched.h>
#include <stdlib.h>

enum { TURN = 8 };

// One list a worker, the newest first.
typedef struct queue {
    millet_runnable *newest;
    unsigned takes;
} queue;

static void *init(unsigned ranks)
{
    (void)ranks;
    return calloc(1, sizeof(queue));
}

static void put(void *state, millet_runnable *it, int how)
{
    queue *q = state;
    (void)how; // MILLET_PUT_YIELDED could go to the other end
    it->next = q->newest;
    q->newest = it;
}

static millet_runnable *take(void *state)
{
    queue *q = state;
    millet_runnable **at = &q->newest;
    while (q->takes % TURN == TURN - 1 && (*at)->next)
        at = &(*at)->next;
    q->takes++;
    millet_runnable *it = *at;
    *at = it->next;
    return it;
}

const millet_policy millet_policy_table = {
    .version = MILLET_POLICY_VERSION,
    .init = init,
    .fini = free,
    .put = put,
    .take = take,
};
