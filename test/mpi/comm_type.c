// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Comm_split_type: every type, beside ranks that say MPI_UNDEFINED, and of an
// intercommunicator.
//
// usage: comm_type [own]     own: each rank has a thread of its own, and may pin it

#define _GNU_SOURCE
#include <sched.h>

#include "comm_check.h"

#define WORLD MPI_COMM_WORLD

static MPI_Comm split(MPI_Comm old, int type, const char *key, const char *value)
{
    MPI_Comm comm = WORLD;
    MPI_Info info = MPI_INFO_NULL;
    if (key) {
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, key, value));
    }
    CHECK_OK(MPI_Comm_split_type(old, type, -world_rank(), info, &comm));
    if (key)
        CHECK_OK(MPI_Info_free(&info));
    return comm;
}

// The ranks from `first` on are in it, or those of them that are on this host, the last one first.
static void check_comm(MPI_Comm comm, int first, int everywhere)
{
    int size = world_size(), rank = world_rank(), all = 0, after = 0;
    char *near = ranks_near();
    for (int r = first; r < size; r++) {
        all += everywhere || near[r];
        after += (everywhere || near[r]) && r > rank;
    }
    free(near);
    if (rank < first) {
        CHECK(comm == MPI_COMM_NULL);
        return;
    }
    CHECK_INT(size_of(comm), all);
    CHECK_INT(rank_of(comm), after);
    CHECK_OK(MPI_Comm_free(&comm));
}

// Ranks below `first` say MPI_UNDEFINED.
static void check_types(int first)
{
    int out = world_rank() < first;
    int shared = out ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED;
    int guided = out ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_GUIDED;
    int resource = out ? MPI_UNDEFINED : MPI_COMM_TYPE_RESOURCE_GUIDED;
    check_comm(split(WORLD, shared, NULL, NULL), first, 0);
    check_comm(split(WORLD, guided, "mpi_hw_resource_type", "mpi_shared_memory"), first, 0);
    check_comm(split(WORLD, guided, "mpi_hw_resource_type", "millet://Host"), first, 0);
    check_comm(split(WORLD, resource, "mpi_hw_resource_type", "millet://Host"), first, 0);
    check_comm(split(WORLD, resource, "mpi_pset_name", "mpi://WORLD"), first, 1);
    check_comm(split(WORLD, resource, "mpi_pset_name", "millet://host"), first, 0);
    CHECK(split(WORLD, guided, NULL, NULL) == MPI_COMM_NULL);
    CHECK(split(WORLD, guided, "mpi_hw_resource_type", "hwloc://Toaster") == MPI_COMM_NULL);
}

// The ranks from `first` on are divided, if a part of the machine divides them.
static void check_unguided(int first, int pinned)
{
    char type[64] = "";
    int room = (int)sizeof type, flag = 0, rank = world_rank(), same = 0;
    MPI_Comm comm = WORLD;
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Comm_split_type(WORLD, rank < first ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED, 0,
                                 info, &comm));
    CHECK_OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &room, type, &flag));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_INT(flag, comm != MPI_COMM_NULL);
    char *near = ranks_near();
    int near_all = 0;
    for (int r = first; r < world_size(); r++) {
        near_all += near[r];
        same += near[r];
    }
    int divided = near_all < world_size() - first; // machines divide them
    for (int r = first; r < world_size() && !divided; r++)
        same -= r % 2 != rank % 2;
    free(near);
    if (rank < first || (!pinned && !divided)) {
        CHECK(comm == MPI_COMM_NULL);
        return;
    }
    CHECK(strncmp(type, "hwloc://", 8) == 0);
    CHECK_INT(size_of(comm), same);
    CHECK_OK(MPI_Comm_free(&comm));
}

// The thread may run on one of two processors; false: there are no two.
static int pin(void)
{
    cpu_set_t all, one;
    int left = world_rank() % 2;
    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2)
        return 0;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && left-- == 0)
            CPU_SET(cpu, &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    return 1;
}

// Those of a host are in the new one, each in its group; without others of the far group there is
// none.
static void check_two_groups(void)
{
    MPI_Comm half, inter, new;
    int low = world_rank() < 1, remote = -1, here = 0;
    char *near = ranks_near();
    for (int r = 1; r < world_size(); r++)
        here += near[r];
    int with_first = near[0];
    free(near);
    CHECK_OK(MPI_Comm_split(WORLD, low, 0, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, WORLD, low ? 1 : 0, 1, &inter));
    new = split(inter, MPI_COMM_TYPE_SHARED, NULL, NULL);
    if (here > 0 && with_first) {
        CHECK_INT(size_of(new), low ? 1 : here);
        CHECK_OK(MPI_Comm_remote_size(new, &remote));
        CHECK_INT(remote, low ? here : 1);
        CHECK_OK(MPI_Comm_free(&new));
    } else {
        CHECK(new == MPI_COMM_NULL);
    }
    new = split(inter, low ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, NULL, NULL);
    CHECK(new == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

// Clocks of different hosts do not agree.
static void check_clock(void)
{
    int *global = NULL, flag = 0, together = 1;
    char *near = ranks_near();
    for (int r = 0; r < world_size(); r++)
        together &= near[r];
    free(near);
    CHECK_OK(MPI_Comm_get_attr(WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag));
    CHECK(flag);
    CHECK_INT(*global, together);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    cpu_set_t before;
    check_clock();
    check_types(0);
    check_types(1);
    check_types(world_size());
    check_two_groups();
    CHECK_INT(sched_getaffinity(0, sizeof before, &before), 0);
    int pinned = argc > 1 && pin();
    if (argc > 1 && !pinned)
        exit(77);
    if (pinned || CPU_COUNT(&before) > 1) {
        check_unguided(0, pinned);
        check_unguided(1, pinned);
    }
    check_unguided(world_size(), pinned);
    CHECK_OK(MPI_Finalize());
    return 0;
}
