// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/count.h"

#include "base/event.h"
#include "mpi/self.h"
#include "mpi/tool/tool.h"
#include "mpi/win/win.h"
#include "p2p/worker.h"
#include "wire/wire.h"

static uint8_t distance_to(const mlt_worker *worker, uint32_t other)
{
    return other == worker->index ? (uint8_t)MLT_SAME_WORKER
                                  : (uint8_t)mlt_wire_peer(worker->wire, other)->distance;
}

static void count_tell(mlt_rank *me, const mlt_event *event)
{
    if (me->worker->watched)
        mlt_tool_on_event(me->worker, me, event);
}

void mlt_count_one_sided(mlt_rank *me, int op, const mlt_win *win, int target, MPI_Count count,
                         const mlt_type *type)
{
    if (target == MPI_PROC_NULL || !type)
        return;
    mlt_ctl_moves *moves = &mlt_mpi_worker_of(me)->moves;
    const mlt_win_part *part = win->side.part;
    int32_t world = part->world(part->group, target);
    uint8_t distance = distance_to(me->worker, mlt_worker_of_rank(me->worker, world));
    uint64_t bytes = (uint64_t)count * type->size;
    moves->ops[op]++;
    moves->one_sided[distance]++;
    moves->one_sided_bytes[distance] += bytes;
    count_tell(me, &(mlt_event){.kind = MLT_EVENT_ONE_SIDED,
                                .how = distance,
                                .peer = world,
                                .rma_op = op,
                                .bytes = bytes});
}

void mlt_count_partitioned(mlt_rank *me, bool sends, uint32_t other, uint32_t partitions,
                           uint64_t bytes)
{
    mlt_ctl_moves *moves = &mlt_mpi_worker_of(me)->moves;
    uint8_t distance = distance_to(me->worker, other);
    if (sends) {
        moves->partitioned[distance]++;
        moves->partitioned_bytes[distance] += bytes;
        moves->partitions += partitions;
    }
    count_tell(
        me, &(mlt_event){.kind = sends ? MLT_EVENT_PARTITIONED_SEND : MLT_EVENT_PARTITIONED_RECEIVE,
                         .how = distance,
                         .partitions = (int32_t)partitions,
                         .bytes = bytes});
}
