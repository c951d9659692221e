// SPDX-License-Identifier: BSD-3-Clause
//
// For tests with threads: a team of them, each with an index, in a rank that has asked for a level.

#pragma once

#include <pthread.h>

#include "check.h"

enum { TEAM_MOST = 16 };

typedef struct team team;

typedef struct member {
    team *of;
    int index;
} member;

struct team {
    void (*work)(team *of, int index);
    void *data; // the test's
    int rank, size, count;
    pthread_t threads[TEAM_MOST];
    member members[TEAM_MOST];
};

static inline void *team_run(void *arg)
{
    member *m = arg;
    m->of->work(m->of, m->index);
    return NULL;
}

// Fills in work and data before.
static inline void team_start(team *t, int count)
{
    t->rank = world_rank();
    t->size = world_size();
    t->count = count;
    for (int i = 0; i < count; i++) {
        t->members[i] = (member){t, i};
        CHECK(pthread_create(&t->threads[i], NULL, team_run, &t->members[i]) == 0);
    }
}

static inline void team_join(team *t)
{
    for (int i = 0; i < t->count; i++)
        CHECK(pthread_join(t->threads[i], NULL) == 0);
}

// MPI_Init_thread, which must give that level.
static inline void init_level(int level)
{
    int provided = -1, queried = -1;
    CHECK_OK(MPI_Init_thread(NULL, NULL, level, &provided));
    CHECK_INT(provided, level);
    CHECK_OK(MPI_Query_thread(&queried));
    CHECK_INT(queried, level);
}
