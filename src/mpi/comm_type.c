// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: ranks that share something.
//
//     MPI_COMM_TYPE_SHARED           memory: the host
//     MPI_COMM_TYPE_HW_GUIDED        an instance of the hardware that the info
//     names (hardware.h) MPI_COMM_TYPE_HW_UNGUIDED      the widest hardware
//     that divides the communicator MPI_COMM_TYPE_RESOURCE_GUIDED  hardware, or
//     a process set, that the info names
//
// A rank that is not restricted to one instance gets MPI_COMM_NULL.
#include <string.h>

#include "mpi/comm_int.h"
#include "mpi/error.h"
#include "mpi/hardware.h"
#include "mpi/info.h"
#include "mpi/pset.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

static const char *const TYPE_KEY = "mpi_hw_resource_type", *const PSET_KEY = "mpi_pset_name";

enum { HARDWARE_TYPES = 16 };

// All ranks of the job are on one host so far.
static int host_color(void)
{
    return 0;
}

static int hardware_color(const char *type)
{
    if (!type)
        return MPI_UNDEFINED;
    if (strcmp(type, "mpi_shared_memory") == 0)
        return host_color();
    int instance = mlt_hardware_instance(type);
    return instance >= 0 ? instance : MPI_UNDEFINED;
}

// A process set is told from others by its first rank and its size; its ranks
// agree on both.
static int pset_color(mlt_rank *me, const char *name)
{
    mlt_map *map = mlt_pset_map(me, name);
    int color = MPI_UNDEFINED;
    if (map && mlt_map_rank(map, me->world) >= 0)
        color = mlt_map_world(map, 0);
    mlt_map_drop(map);
    return color;
}

typedef struct divide_guest {
    mlt_guest guest;
    const char *type; // the answer
} divide_guest;

// Every rank told its instance of each type of hardware. The first type of which not all ranks are
// on the same instance, though some rank is restricted to one; NULL: there is none.
static void finish_dividing(mlt_meet *meet)
{
    const mlt_meet_item *first = mlt_meet_next(meet, NULL);
    bool any[HARDWARE_TYPES] = {false}, differ[HARDWARE_TYPES] = {false};
    const char *found = NULL;
    for (const mlt_meet_item *item = first; item; item = mlt_meet_next(meet, item)) {
        const int *here = mlt_meet_item_data(item), *there = mlt_meet_item_data(first);
        for (size_t t = 0; t < item->bytes / sizeof *here; t++) {
            any[t] |= here[t] >= 0;
            differ[t] |= here[t] != there[t];
        }
    }
    for (size_t t = 0; t < HARDWARE_TYPES && !found; t++)
        if (any[t] && differ[t])
            found = mlt_hardware_type(t);
    for (mlt_guest *g = meet->guests; g; g = g->next)
        ((divide_guest *)g)->type = found;
}

static const char *dividing_type(mlt_rank *me, mlt_comm *comm)
{
    int mine[HARDWARE_TYPES];
    size_t types = 0;
    for (const char *t; types < HARDWARE_TYPES && (t = mlt_hardware_type(types)); types++)
        mine[types] = strncmp(t, "hwloc:", 6) == 0 ? mlt_hardware_instance(t) : MLT_HARDWARE_FREE;
    mlt_meet_place place = mlt_comm_place(comm, false, finish_dividing);
    divide_guest g = {.guest = {.rank = me, .order = mlt_comm_order(comm)}};
    mlt_meet_come(&g.guest, &place, mine, types * sizeof *mine);
    mlt_meet_wait(&g.guest, place.context);
    return g.type;
}

static int unguided_color(mlt_rank *me, mlt_comm *comm, mlt_info *info)
{
    const char *type = dividing_type(me, comm);
    int color = hardware_color(type);
    if (color != MPI_UNDEFINED && info)
        mlt_info_set(info, TYPE_KEY, type);
    return color;
}

int mlt_mpi_Comm_split_type(mlt_rank *me, mlt_comm *comm, int split_type, int key, MPI_Info handle,
                            MPI_Comm *newcomm)
{
    mlt_info *info = handle == MPI_INFO_NULL ? NULL : mlt_info_of(handle);
    if (handle != MPI_INFO_NULL && !info)
        return mlt_bad_info(me, comm, me->fn, handle);
    if (comm->inter)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                             "argument comm is an intercommunicator, but should be one of one "
                             "group");
    const char *type = info ? mlt_info_get(info, TYPE_KEY) : NULL;
    const char *pset = info ? mlt_info_get(info, PSET_KEY) : NULL;
    int color = MPI_UNDEFINED;
    switch (split_type) {
    case MPI_UNDEFINED:
        break;
    case MPI_COMM_TYPE_SHARED:
        color = host_color();
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        color = hardware_color(type);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        color = unguided_color(me, comm, info);
        break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        color = type ? hardware_color(type) : pset ? pset_color(me, pset) : MPI_UNDEFINED;
        break;
    default:
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "split_type", split_type,
                             "one of MPI_COMM_TYPE_SHARED, HW_GUIDED, HW_UNGUIDED, "
                             "RESOURCE_GUIDED or MPI_UNDEFINED");
    }
    mlt_comm *new;
    int code = mlt_comm_split(me, comm, color, key, &new);
    *newcomm = new ? (MPI_Comm) new : MPI_COMM_NULL;
    return code;
}
