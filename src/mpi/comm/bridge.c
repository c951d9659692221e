// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/bridge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define MAGIC UINT32_C(0x67644274) // "tBdg"

enum { VERSION = 1 };

typedef struct bridge_head {
    uint32_t magic, version;
    uint32_t jobs, runs;
    uint32_t encrypts, unused;
} bridge_head;

typedef struct bridge_job {
    uint64_t identity;
    char name[MLT_WORLD_NAME];
    uint32_t runs, unused;
} bridge_job;
_Static_assert(sizeof(bridge_job) == 112 && sizeof(mlt_world_run) == 20, "no holes that are sent");

// ---- describing

// The place of that job among the side's; it is added if it is new.
static uint32_t bridge_place_of(mlt_bridge_side *side, const mlt_worlds *worlds, mlt_job *job,
                                int32_t world, uint64_t identity)
{
    for (uint32_t i = 0; i < side->job_count; i++)
        if (side->jobs[i].identity == identity)
            return i;
    side->jobs = mlt_xrealloc(side->jobs, side->job_count + (size_t)1, sizeof *side->jobs);
    mlt_world_shape *shape = &side->jobs[side->job_count];
    if (identity == job->identity) {
        mlt_world_own_shape(job, shape);
    } else {
        *shape = mlt_worlds_of_rank(worlds, world)->shape;
        mlt_world_run *runs = mlt_xcalloc(shape->run_count, sizeof *runs);
        memcpy(runs, shape->runs, shape->run_count * sizeof *runs);
        shape->runs = runs;
    }
    return side->job_count++;
}

static void add_rank(mlt_bridge_side *side, uint32_t *room, uint32_t job, uint32_t rank)
{
    mlt_bridge_run *last = side->run_count ? &side->runs[side->run_count - 1] : NULL;
    if (last && last->job == job && last->count == 1) {
        last->stride = (int32_t)(rank - last->first);
        last->count = 2;
        return;
    }
    if (last && last->job == job &&
        (int64_t)last->first + (int64_t)last->stride * last->count == rank) {
        last->count++;
        return;
    }
    *MLT_ARRAY_ADD(side->runs, side->run_count, *room) = (mlt_bridge_run){job, rank, 1, 1};
}

void mlt_bridge_describe(mlt_bridge_side *side, const mlt_map *group, const mlt_worlds *worlds,
                         mlt_job *job, bool encrypts)
{
    uint32_t room = 0, place = 0;
    uint64_t last = 0;
    *side = (mlt_bridge_side){.encrypts = encrypts, .size = (uint32_t)group->size};
    for (int32_t r = 0; r < group->size; r++) {
        uint64_t identity;
        uint32_t rank;
        int32_t world = mlt_map_world(group, r);
        mlt_worlds_tell(worlds, job, world, &identity, &rank);
        if (!side->job_count || identity != last)
            place = bridge_place_of(side, worlds, job, world, identity);
        last = identity;
        add_rank(side, &room, place, rank);
    }
}

// ---- writing

mlt_text mlt_bridge_write(const mlt_bridge_side *side)
{
    mlt_text all = {0};
    bridge_head head = {.magic = MAGIC,
                        .version = VERSION,
                        .jobs = side->job_count,
                        .runs = side->run_count,
                        .encrypts = side->encrypts};
    mlt_text_put(&all, &head, sizeof head);
    for (uint32_t i = 0; i < side->job_count; i++) {
        const mlt_world_shape *shape = &side->jobs[i];
        bridge_job job = {.identity = shape->identity, .runs = shape->run_count};
        memcpy(job.name, shape->name, sizeof job.name);
        mlt_text_put(&all, &job, sizeof job);
        mlt_text_put(&all, shape->runs, shape->run_count * sizeof *shape->runs);
    }
    mlt_text_put(&all, side->runs, side->run_count * sizeof *side->runs);
    return all;
}

// ---- reading

typedef struct reader {
    const unsigned char *at;
    size_t left;
} reader;

static bool bridge_get(reader *r, void *to, size_t count)
{
    if (count > r->left)
        return false;
    if (count)
        memcpy(to, r->at, count);
    r->at += count;
    r->left -= count;
    return true;
}

static const char *read_job(mlt_bridge_side *side, reader *r)
{
    bridge_job job;
    mlt_world_shape *shape = &side->jobs[side->job_count];
    if (!bridge_get(r, &job, sizeof job) || job.runs == 0 ||
        job.runs > r->left / sizeof(mlt_world_run))
        return "it ends too early";
    *shape = (mlt_world_shape){.identity = job.identity, .run_count = job.runs};
    memcpy(shape->name, job.name, sizeof shape->name);
    shape->name[sizeof shape->name - 1] = '\0';
    mlt_text_printable(shape->name);
    shape->runs = mlt_xcalloc(job.runs, sizeof *shape->runs);
    side->job_count++;
    (void)bridge_get(r, shape->runs, job.runs * sizeof *shape->runs);
    if (!mlt_world_add_up(shape))
        return "the processes of a job make no sense";
    for (uint32_t i = 0; i + 1 < side->job_count; i++)
        if (side->jobs[i].identity == shape->identity)
            return "a job comes twice";
    return NULL;
}

static const char *check_run(const mlt_bridge_side *side, const mlt_bridge_run *run)
{
    if (run->job >= side->job_count || run->count == 0 || run->count > INT32_MAX)
        return "a part of the group makes no sense";
    int64_t last = (int64_t)run->first + (int64_t)run->stride * (run->count - 1);
    uint32_t ranks = side->jobs[run->job].ranks;
    if (run->first >= ranks || last < 0 || last >= ranks || (run->count > 1 && run->stride == 0))
        return "the group has ranks that the job has not";
    return NULL;
}

static const char *read_all(mlt_bridge_side *side, reader *r)
{
    bridge_head head;
    const char *fault = NULL;
    if (!bridge_get(r, &head, sizeof head) || head.magic != MAGIC)
        return "it does not begin as it should";
    if (head.version != VERSION)
        return "it is of another version";
    if (head.jobs == 0 || head.jobs > MLT_BRIDGE_JOBS || head.runs == 0)
        return "it has no jobs, or too many";
    side->encrypts = head.encrypts != 0;
    side->jobs = mlt_xcalloc(head.jobs, sizeof *side->jobs);
    for (uint32_t i = 0; i < head.jobs && !fault; i++)
        fault = read_job(side, r);
    if (fault)
        return fault;
    if (r->left != (uint64_t)head.runs * sizeof *side->runs)
        return "its length does not fit";
    side->runs = mlt_xcalloc(head.runs, sizeof *side->runs);
    side->run_count = head.runs;
    (void)bridge_get(r, side->runs, r->left);
    uint64_t size = 0;
    for (uint32_t i = 0; i < side->run_count && !fault; i++) {
        fault = check_run(side, &side->runs[i]);
        size += side->runs[i].count;
        if (size > INT32_MAX)
            fault = "its group is too large";
    }
    side->size = (uint32_t)size;
    return fault;
}

const char *mlt_bridge_read(mlt_bridge_side *side, const void *bytes, size_t count)
{
    reader r = {bytes, count};
    *side = (mlt_bridge_side){0};
    const char *fault = read_all(side, &r);
    if (fault)
        mlt_bridge_free(side);
    return fault;
}

void mlt_bridge_free(mlt_bridge_side *side)
{
    for (uint32_t i = 0; i < side->job_count; i++)
        free(side->jobs[i].runs);
    free(side->jobs);
    free(side->runs);
    *side = (mlt_bridge_side){0};
}

mlt_map *mlt_bridge_map(const mlt_bridge_side *side, const mlt_worlds *worlds)
{
    int32_t *world = mlt_xrealloc(NULL, side->size + (size_t)1, sizeof *world), n = 0;
    for (uint32_t i = 0; i < side->run_count; i++) {
        const mlt_bridge_run *run = &side->runs[i];
        int32_t base = mlt_worlds_find(worlds, side->jobs[run->job].identity, 0);
        for (uint32_t k = 0; k < run->count; k++)
            world[n++] = base + (int32_t)run->first + (int32_t)k * run->stride;
    }
    mlt_map *map = mlt_map_new(world, n);
    free(world);
    if (mlt_map_repeated(map) < 0)
        return map;
    mlt_map_drop(map);
    return NULL;
}
