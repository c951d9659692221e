// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: ranks that share something.
//
//     MPI_COMM_TYPE_SHARED           memory: the host
//     MPI_COMM_TYPE_HW_GUIDED        an instance of the hardware that the info names (hardware.h)
//     MPI_COMM_TYPE_HW_UNGUIDED      the widest hardware that divides the communicator
//     MPI_COMM_TYPE_RESOURCE_GUIDED  hardware, or a process set, that the info names
//
// A rank that is not restricted to one instance gets MPI_COMM_NULL. Of an intercommunicator, ranks
// of both groups that share it make a new one, as with MPI_Comm_split.
#include <string.h>

#include "mpi/comm/new.h"
#include "mpi/comm/pset.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi/topo/hardware.h"
#include "mpi_bodies.h"

static const char *const TYPE_KEY = "mpi_hw_resource_type", *const PSET_KEY = "mpi_pset_name";

static int host_color(const mlt_rank *me)
{
    return (int)me->worker->boot->job->host;
}

static int hardware_color(const mlt_rank *me, const char *type)
{
    if (!type)
        return MPI_UNDEFINED;
    if (strcmp(type, "mpi_shared_memory") == 0)
        return host_color(me);
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

// The ranks of the widest hardware that divides them; the info learns which it was.
static int split_unguided(mlt_rank *me, mlt_comm *comm, int key, mlt_info *info, mlt_comm **new)
{
    int mine[MLT_SPLIT_INSTANCES], divided;
    bool more = true;
    for (size_t t = 0; t < MLT_SPLIT_INSTANCES; t++) {
        const char *type = more ? mlt_hardware_type(t) : NULL;
        more = type != NULL;
        mine[t] = more && strncmp(type, "hwloc:", 6) == 0 ? mlt_hardware_instance(type)
                                                          : MLT_HARDWARE_FREE;
    }
    int code = mlt_comm_split_by(me, comm, mine, key, &divided, new);
    if (*new &&info)
        mlt_info_set(info, TYPE_KEY, mlt_hardware_type((size_t)divided));
    return code;
}

// Of several jobs, no two share anything that is asked for: each splits for itself.
static int split_foreign(mlt_rank *me, mlt_comm *comm, int split_type, int key, MPI_Info handle,
                         MPI_Comm *newcomm)
{
    const mlt_map *map = mlt_comm_group(comm);
    int32_t first = 0, own = (int32_t)me->worker->boot->job->ranks;
    while (mlt_map_world(map, first) >= own)
        first++;
    mlt_comm *part;
    int code = mlt_comm_split(me, comm, first, 0, &part);
    if (!part)
        return code;
    code = mlt_mpi_Comm_split_type(me, part, split_type, key, handle, newcomm);
    mlt_comm_drop(part);
    return code;
}

int mlt_mpi_Comm_split_type(mlt_rank *me, mlt_comm *comm, int split_type, int key, MPI_Info handle,
                            MPI_Comm *newcomm)
{
    mlt_info *info = mlt_info_of(handle);
    if (handle != MPI_INFO_NULL && !info)
        return mlt_bad_info(me, comm, me->fn, handle);
    const char *type = mlt_info_get(info, TYPE_KEY), *pset = mlt_info_get(info, PSET_KEY);
    if (mlt_comm_shared_of(comm)->foreign && !comm->inter)
        return split_foreign(me, comm, split_type, key, handle, newcomm);
    int color = MPI_UNDEFINED, code;
    mlt_comm *new = NULL;
    switch (split_type) {
    case MPI_UNDEFINED:
        break;
    case MPI_COMM_TYPE_SHARED:
        color = host_color(me);
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        color = hardware_color(me, type);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        code = split_unguided(me, comm, key, info, &new);
        *newcomm = new ? (MPI_Comm) new : MPI_COMM_NULL;
        return code;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        color = type ? hardware_color(me, type) : pset ? pset_color(me, pset) : MPI_UNDEFINED;
        break;
    default:
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "split_type", split_type,
                             "one of MPI_COMM_TYPE_SHARED, HW_GUIDED, HW_UNGUIDED, "
                             "RESOURCE_GUIDED or MPI_UNDEFINED");
    }
    code = mlt_comm_split(me, comm, color, key, &new);
    *newcomm = new ? (MPI_Comm) new : MPI_COMM_NULL;
    return code;
}
