// SPDX-License-Identifier: BSD-3-Clause
// A plug-in with all five functions: whoever is awaited goes before the others.
#include <millet/sched.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct queue {
    millet_runnable *first;
} queue;

static void *init(unsigned ranks)
{
    fprintf(stderr, "policy for %u ranks\n", ranks);
    return calloc(1, sizeof(queue));
}

static void fini(void *state)
{
    fprintf(stderr, "policy ends\n");
    free(state);
}

// The most awaited first; `number` counts.
static void put(void *state, millet_runnable *it, int how)
{
    millet_runnable **at = &((queue *)state)->first;
    while (*at && (how == MILLET_PUT_YIELDED || (*at)->number >= it->number))
        at = &(*at)->next;
    it->next = *at;
    *at = it;
}

static millet_runnable *take(void *state)
{
    queue *q = state;
    millet_runnable *it = q->first;
    q->first = it->next;
    return it;
}

static void park(void *state, millet_runnable *it, millet_runnable *awaited)
{
    if (awaited && awaited->rank >= 0 && awaited->rank != it->rank)
        awaited->number++;
}

const millet_policy millet_policy_table = {MILLET_POLICY_VERSION, init, fini, put, take, park};
