// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/hang_records.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

enum { MOST_HELD = 1 << 16 }; // messages that match no receive

mlt_hang *mlt_hang_new(uint32_t ranks)
{
    mlt_hang *hang = mlt_xcalloc(1, sizeof *hang);
    hang->ranks = ranks;
    hang->state = mlt_xcalloc(ranks, sizeof *hang->state);
    hang->moves = mlt_xcalloc(ranks, sizeof *hang->moves);
    return hang;
}

void mlt_hang_free(mlt_hang *hang)
{
    if (!hang)
        return;
    free(hang->state);
    free(hang->moves);
    free(hang->held);
    free(hang->records);
    free(hang->first);
    free(hang->order);
    free(hang->jobs);
    mlt_hang_procs_fini(&hang->procs);
    free(hang);
}

void mlt_hang_set(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, mlt_hang_state state)
{
    for (uint32_t r = first_rank; r - first_rank < ranks && r < hang->ranks; r++)
        hang->state[r] = (uint8_t)state;
}

void mlt_hang_moves(mlt_hang *hang, uint32_t first_rank, uint32_t ranks)
{
    for (uint32_t r = first_rank; r - first_rank < ranks && r < hang->ranks; r++)
        hang->moves[r] = true;
}

static void add_held(mlt_hang *hang, const mlt_ctl_wait *held)
{
    if (hang->held_count == MOST_HELD)
        return;
    *MLT_ARRAY_ADD(hang->held, hang->held_count, hang->held_room) = *held;
}

void mlt_hang_add(mlt_hang *hang, const mlt_ctl_wait *records, size_t count)
{
    MLT_ARRAY_WANT(hang->records, hang->count + count, hang->room);
    for (size_t i = 0; i < count; i++) {
        if (records[i].rank < 0 || (uint32_t)records[i].rank >= hang->ranks)
            continue;
        if (records[i].kind == MLT_WAIT_HELD) {
            add_held(hang, &records[i]);
            continue;
        }
        mlt_ctl_wait *own = &hang->records[hang->count++];
        *own = records[i];
        mlt_text_close(own->call, sizeof own->call);
        mlt_text_close(own->label, sizeof own->label);
    }
}

void mlt_hang_add_procs(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, const char *text,
                        size_t length)
{
    if (first_rank < hang->ranks && ranks <= hang->ranks - first_rank)
        mlt_hang_procs_add(&hang->procs, first_rank, ranks, text, length);
}

const mlt_ctl_job *mlt_hang_job_of(const mlt_hang *hang, int32_t rank)
{
    for (size_t i = 0; i < hang->job_count; i++)
        if ((uint32_t)rank - hang->jobs[i].first_rank < hang->jobs[i].ranks)
            return &hang->jobs[i];
    return NULL;
}

void mlt_hang_add_jobs(mlt_hang *hang, const mlt_ctl_job *jobs, size_t count)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < count && hang->job_count < MOST; i++) {
        mlt_ctl_job job = jobs[i];
        if (job.first_rank < hang->ranks || mlt_hang_job_of(hang, (int32_t)job.first_rank))
            continue;
        mlt_text_close(job.name, sizeof job.name);
        *MLT_ARRAY_ADD(hang->jobs, hang->job_count, hang->job_room) = job;
    }
}

bool mlt_hang_has_procs(const mlt_hang *hang)
{
    return hang->procs.count > 0;
}

void mlt_hang_sort(mlt_hang *hang)
{
    free(hang->first);
    free(hang->order);
    hang->first = mlt_xcalloc((size_t)hang->ranks + 2, sizeof *hang->first);
    hang->order = mlt_xcalloc(hang->count, sizeof *hang->order);
    for (size_t i = 0; i < hang->count; i++)
        hang->first[hang->records[i].rank + 2]++;
    for (uint32_t r = 0; r < hang->ranks; r++)
        hang->first[r + 2] += hang->first[r + 1];
    for (size_t i = 0; i < hang->count; i++)
        hang->order[hang->first[hang->records[i].rank + 1]++] = i;
    for (size_t i = 0; i < hang->count; i++) {
        const mlt_ctl_wait *w = &hang->records[i];
        hang->state[w->rank] = w->ended ? MLT_HANG_ENDED : MLT_HANG_BLOCKED;
    }
}
