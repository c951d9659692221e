// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split and MPI_Comm_dup against a naive reference: random colours and keys, splits of
// splits, several alive at a time, freed in any order.
#include "comm.h"

enum { MOST = 64, ALIVE = 6 };

typedef struct known {
    MPI_Comm comm;
    int worlds[MOST], size;
} known;

typedef struct choice {
    int color, key;
} choice;

// What rank r of a communicator chooses in a round: every rank can compute it for all.
static choice choose(int seed, int world)
{
    uint64_t state = (uint64_t)seed * 1000003u + (uint64_t)world;
    choice c = {random_below(&state, 4), random_below(&state, 5) - 2};
    if (random_below(&state, 6) == 0)
        c.color = MPI_UNDEFINED;
    return c;
}

static void expect(const known *old, int seed, int color, known *new)
{
    int keys[MOST];
    new->size = 0;
    for (int r = 0; r < old->size; r++) {
        choice c = choose(seed, old->worlds[r]);
        if (c.color != color)
            continue;
        int at = new->size++; // insertion: stable by rank
        for (; at > 0 && keys[at - 1] > c.key; at--) {
            keys[at] = keys[at - 1];
            new->worlds[at] = new->worlds[at - 1];
        }
        keys[at] = c.key;
        new->worlds[at] = old->worlds[r];
    }
}

static void split(const known *old, int seed, known *new)
{
    choice mine = choose(seed, world_rank());
    CHECK_OK(MPI_Comm_split(old->comm, mine.color, mine.key, &new->comm));
    new->size = 0;
    if (mine.color == MPI_UNDEFINED) {
        CHECK(new->comm == MPI_COMM_NULL);
        return;
    }
    expect(old, seed, mine.color, new);
    check_ring(new->comm, new->worlds, new->size);
}

static void dup(const known *old, known *new)
{
    int result = -1;
    *new = *old;
    CHECK_OK(MPI_Comm_dup(old->comm, &new->comm));
    CHECK(new->comm != old->comm);
    CHECK_OK(MPI_Comm_compare(old->comm, new->comm, &result));
    CHECK_INT(result, MPI_CONGRUENT);
    check_ring(new->comm, new->worlds, new->size);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    known alive[ALIVE] = {{.comm = MPI_COMM_WORLD, .size = world_size()}};
    CHECK(alive[0].size <= MOST);
    for (int r = 0; r < alive[0].size; r++)
        alive[0].worlds[r] = r;
    for (int i = 1; i < ALIVE; i++)
        alive[i] = (known){.comm = MPI_COMM_NULL};
    // All ranks do the same to the same places, as far as they are members of what lies there.
    uint64_t state = 42;
    for (int round = 0; round < rounds; round++) {
        int from = random_below(&state, ALIVE), to = 1 + random_below(&state, ALIVE - 1);
        int duplicate = random_below(&state, 3) == 0;
        known new = {.comm = MPI_COMM_NULL};
        if (alive[from].comm != MPI_COMM_NULL) {
            if (duplicate)
                dup(&alive[from], &new);
            else
                split(&alive[from], round, &new);
        }
        if (alive[to].comm != MPI_COMM_NULL) {
            CHECK_OK(MPI_Comm_free(&alive[to].comm));
            CHECK(alive[to].comm == MPI_COMM_NULL);
        }
        alive[to] = new;
        for (int i = 0; i < ALIVE; i++) // messages of one never show up in another
            if (alive[i].comm != MPI_COMM_NULL)
                check_ring(alive[i].comm, alive[i].worlds, alive[i].size);
    }
    for (int i = 1; i < ALIVE; i++)
        if (alive[i].comm != MPI_COMM_NULL)
            CHECK_OK(MPI_Comm_free(&alive[i].comm));
    MPI_Finalize();
    return 0;
}
