// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: made over a peer communicator and from groups, used, duplicated, split,
// created from, merged, compared.
#include "comm.h"

enum { MOST = 64 };

typedef struct sides {
    int local[MOST], remote[MOST], locals, remotes;
} sides;

// Group 0 is the ranks below `cut`, group 1 the others.
static sides sides_of(int cut)
{
    sides s = {.locals = 0};
    int size = world_size(), low = world_rank() < cut;
    for (int r = 0; r < size; r++)
        if ((r < cut) == low)
            s.local[s.locals++] = r;
        else
            s.remote[s.remotes++] = r;
    return s;
}

static MPI_Comm make(int cut, int leader_is_last)
{
    int low = world_rank() < cut, size = world_size();
    MPI_Comm half, inter;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    int leader = leader_is_last ? size_of(half) - 1 : 0;
    int other = low ? (leader_is_last ? size - 1 : cut) : (leader_is_last ? cut - 1 : 0);
    MPI_Comm peer = rank_of(half) == leader ? MPI_COMM_WORLD : MPI_COMM_NULL;
    CHECK_OK(MPI_Intercomm_create(half, leader, peer, other, 9, &inter));
    CHECK_OK(MPI_Comm_free(&half));
    return inter;
}

static void check_groups(MPI_Comm inter, const sides *s)
{
    MPI_Group world, local, remote;
    int ranks[MOST], all[MOST];
    for (int i = 0; i < MOST; i++)
        all[i] = i;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Comm_group(inter, &local));
    CHECK_OK(MPI_Comm_remote_group(inter, &remote));
    CHECK_OK(MPI_Group_translate_ranks(local, s->locals, all, world, ranks));
    CHECK(memcmp(ranks, s->local, (size_t)s->locals * sizeof(int)) == 0);
    CHECK_OK(MPI_Group_translate_ranks(remote, s->remotes, all, world, ranks));
    CHECK(memcmp(ranks, s->remote, (size_t)s->remotes * sizeof(int)) == 0);
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Group_free(&local));
    CHECK_OK(MPI_Group_free(&remote));
}

static void check_merge(MPI_Comm inter, int cut, int high_is_low)
{
    int low = world_rank() < cut, size = world_size(), worlds[MOST], n = 0;
    MPI_Comm merged;
    CHECK_OK(MPI_Intercomm_merge(inter, high_is_low ? low : !low, &merged));
    for (int r = high_is_low ? cut : 0; n < size; r = (r + 1) % size)
        worlds[n++] = r;
    check_ring(merged, worlds, size);
    CHECK_OK(MPI_Comm_free(&merged));
    CHECK_OK(MPI_Intercomm_merge(inter, 1, &merged)); // any order, but one for all
    CHECK_INT(size_of(merged), size);
    CHECK_OK(MPI_Barrier(merged));
    CHECK_OK(MPI_Comm_free(&merged));
}

static void check_dup(MPI_Comm inter, const sides *s)
{
    MPI_Comm copy, later;
    MPI_Request request;
    int result = -1;
    CHECK_OK(MPI_Comm_dup(inter, &copy));
    CHECK_OK(MPI_Comm_idup(inter, &later, &request));
    check_inter(copy, s->remote, s->remotes);
    CHECK_OK(MPI_Comm_compare(inter, copy, &result));
    CHECK_INT(result, MPI_CONGRUENT);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_inter(later, s->remote, s->remotes);
    CHECK_OK(MPI_Comm_free(&copy));
    CHECK_OK(MPI_Comm_free(&later));
}

// Odd and even ranks apart; a colour that only one side has gives nothing.
static void check_split(MPI_Comm inter, const sides *s)
{
    int rank = world_rank(), remote[MOST], n = 0;
    MPI_Comm part;
    CHECK_OK(MPI_Comm_split(inter, rank % 2, -rank, &part));
    for (int i = s->remotes - 1; i >= 0; i--)
        if (s->remote[i] % 2 == rank % 2)
            remote[n++] = s->remote[i];
    if (n == 0) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        check_inter(part, remote, n);
        CHECK_OK(MPI_Comm_free(&part));
    }
    CHECK_OK(MPI_Comm_split(inter, rank, 0, &part));
    CHECK(part == MPI_COMM_NULL);
}

// The first rank of each side.
static void check_create(MPI_Comm inter, const sides *s)
{
    MPI_Group local, first;
    MPI_Comm pair;
    int zero = 0;
    CHECK_OK(MPI_Comm_group(inter, &local));
    CHECK_OK(MPI_Group_incl(local, 1, &zero, &first));
    CHECK_OK(MPI_Comm_create(inter, first, &pair));
    if (rank_of(inter) == 0) {
        check_inter(pair, s->remote, 1);
        CHECK_OK(MPI_Comm_free(&pair));
    } else {
        CHECK(pair == MPI_COMM_NULL);
    }
    CHECK_OK(MPI_Group_free(&local));
    CHECK_OK(MPI_Group_free(&first));
}

static void check_from_groups(int cut, const sides *s)
{
    MPI_Group world, local, remote;
    MPI_Comm inter;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, s->locals, s->local, &local));
    CHECK_OK(MPI_Group_incl(world, s->remotes, s->remote, &remote));
    CHECK_OK(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "org.example.two", MPI_INFO_NULL,
                                              MPI_ERRORS_ARE_FATAL, &inter));
    check_inter(inter, s->remote, s->remotes);
    check_merge(inter, cut, 0);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Group_free(&local));
    CHECK_OK(MPI_Group_free(&remote));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int size = world_size();
    for (int cut = 1; cut < size; cut += 1 + size / 4)
        for (int last = 0; last < 2; last++) {
            sides s = sides_of(cut);
            MPI_Comm inter = make(cut, last);
            CHECK_INT(rank_of(inter), world_rank() < cut ? world_rank() : world_rank() - cut);
            CHECK_INT(size_of(inter), s.locals);
            check_inter(inter, s.remote, s.remotes);
            check_groups(inter, &s);
            check_merge(inter, cut, 0);
            check_merge(inter, cut, 1);
            check_dup(inter, &s);
            check_split(inter, &s);
            check_create(inter, &s);
            CHECK_OK(MPI_Comm_free(&inter));
            if (STRICT)
                check_from_groups(cut, &s);
        }
    MPI_Finalize();
    return 0;
}
