// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/hosts/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/alg/part.h"
#include "coll/choose.h"

// What mlt_hierarchy_tell puts into shape.user: the stages say themselves what they are.
typedef struct notes {
    char *text;
    size_t size;
} notes;

// ---- one rank's view

static uint32_t leader_of(const mlt_coll_hosts *map, uint32_t host, mlt_leader leader,
                          uint32_t root)
{
    if (leader == MLT_LEADER_LAST)
        return map->rank[map->first[host + 1] - 1];
    if (leader == MLT_LEADER_ROOT && map->of[root] == host)
        return root;
    return map->rank[map->first[host]];
}

mlt_hierarchy mlt_hierarchy_begin(const mlt_emit *e, mlt_leader leader)
{
    const mlt_coll_hosts *map = e->shape->hosts;
    mlt_assert(map && map->ranks == e->ranks);
    mlt_hierarchy l = {.e = e, .map = map, .host = map->of[e->rank], .own = map->index[e->rank]};
    l.here = mlt_coll_hosts_size(map, l.host);
    l.leaders = mlt_xcalloc(map->hosts, sizeof *l.leaders);
    for (uint32_t h = 0; h < map->hosts; h++)
        l.leaders[h] = leader_of(map, h, leader, e->shape->root);
    l.leader = map->index[l.leaders[l.host]];
    return l;
}

void mlt_hierarchy_end(mlt_hierarchy *l)
{
    free(l->leaders);
}

// ---- stages

// Blocks that turn out to be alike are said so: more algorithms can serve them.
static void simplify(mlt_hierarchy_stage *s, uint32_t ranks)
{
    const uint64_t *starts = s->starts;
    for (uint32_t r = 0; r < ranks && starts; r++)
        if (starts[r + 1] - starts[r] != starts[1])
            return;
    if (!starts)
        return;
    bool weights = s->collective == MLT_COLL_ALLTOALL;
    s->count = weights ? starts[1] * starts[1] * s->count : starts[1];
    s->starts = NULL;
}

static uint64_t stage_mean_of(const mlt_hierarchy_stage *s, uint32_t ranks)
{
    uint64_t mean = s->starts ? s->starts[ranks] / ranks : s->count;
    return s->starts && s->collective == MLT_COLL_ALLTOALL ? mean * mean * s->count : mean;
}

static mlt_coll_question stage_question_of(const mlt_hierarchy *l, const mlt_hierarchy_stage *s,
                                           uint32_t ranks, mlt_coll_reach reach)
{
    const mlt_coll_shape *shape = l->e->shape;
    bool reduces = mlt_collective_reduces(s->collective), here = reach == MLT_REACH_HOST;
    return (mlt_coll_question){
        .collective = s->collective,
        .ranks = ranks,
        .all_ranks = ranks,
        .bytes = stage_mean_of(s, ranks) * l->e->element,
        .op = reduces ? shape->op : MLT_OP_COPY,
        .type = reduces && shape->op != MLT_OPS ? shape->type : MLT_OP_UINT8,
        .element = (uint32_t)l->e->element,
        .commutes = !reduces || shape->keep == MLT_KEEP_NOTHING,
        .reproducible = reduces && shape->keep == MLT_KEEP_BRACKETS,
        .uneven = s->starts != NULL,
        .reach = (uint8_t)reach,
        .crowded = here && l->map->crowded,
        .reads = here && l->map->reads,
        .sharing = here ? l->map->sharing : 1,
        .cores = here ? l->map->cores : 0,
        .comm = "",
    };
}

static void stage_note(const notes *n, const mlt_coll_alg *alg, mlt_coll_reach reach)
{
    char words[96];
    snprintf(words, sizeof words, "%s.%s %s", mlt_collective_names[alg->collective], alg->name,
             reach == MLT_REACH_HOST ? "on each host" : "between hosts");
    size_t length = strlen(n->text);
    if (!strstr(n->text, words) && length < n->size)
        snprintf(n->text + length, n->size - length, "%s%s", length ? ", " : "", words);
}

static uint32_t stage_emit(const mlt_hierarchy *l, mlt_hierarchy_stage s, mlt_coll_reach reach,
                           uint32_t ranks, mlt_coll_part *part)
{
    char why[256];
    mlt_coll_choice choice;
    simplify(&s, ranks);
    mlt_coll_question q = stage_question_of(l, &s, ranks, reach);
    mlt_coll_choose(NULL, &q, &choice, why, sizeof why);
    mlt_assert(choice.alg);
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &choice);
    shape.count = s.count;
    shape.starts = s.starts;
    shape.root = s.root;
    shape.in_place = s.in_place;
    mlt_assert(!s.in_place || choice.alg->in_place);
    if (l->e->shape->user)
        stage_note(l->e->shape->user, choice.alg, reach);
    part->head = NONE;
    part->in = s.in;
    part->out = s.out;
    part->after = s.after;
    return mlt_coll_part_emit(l->e->program, l->e->slot, part, choice.alg, &shape);
}

uint32_t mlt_hierarchy_here(const mlt_hierarchy *l, const mlt_hierarchy_stage *s)
{
    mlt_coll_part part = {.map = l->map->rank + l->map->first[l->host], .self = l->own};
    return stage_emit(l, *s, MLT_REACH_HOST, l->here, &part);
}

uint32_t mlt_hierarchy_between(const mlt_hierarchy *l, const mlt_hierarchy_stage *s)
{
    mlt_coll_part part = {.map = l->leaders, .self = l->host};
    return stage_emit(l, *s, MLT_REACH_NETWORK, l->map->hosts, &part);
}

// ---- blocks

// Elements of a rank's block.
static uint64_t stage_elements(const mlt_hierarchy *l, uint32_t rank)
{
    const uint64_t *starts = l->e->shape->starts;
    return starts ? starts[rank + 1] - starts[rank] : l->e->shape->count;
}

static uint64_t *starts_of(const mlt_hierarchy *l, const uint32_t *ranks, const uint32_t *ends,
                           uint32_t count)
{
    uint64_t *starts = mlt_xcalloc(count + 1ull, sizeof *starts);
    uint32_t at = 0;
    for (uint32_t b = 0; b < count; b++) {
        starts[b + 1] = starts[b];
        for (uint32_t end = ends ? ends[b + 1] : b + 1; at < end; at++)
            starts[b + 1] += stage_elements(l, ranks[at]);
    }
    return starts;
}

uint64_t *mlt_hierarchy_starts(const mlt_hierarchy *l)
{
    return starts_of(l, l->map->rank, l->map->first, l->map->hosts);
}

uint64_t *mlt_hierarchy_starts_here(const mlt_hierarchy *l)
{
    return starts_of(l, l->map->rank + l->map->first[l->host], NULL, l->here);
}

// Runs of ranks that follow each other in both orders are one copy.
static uint32_t reorder(const mlt_hierarchy *l, mlt_goal_span to, mlt_goal_span from, bool to_hosts,
                        uint32_t but, uint32_t after)
{
    const mlt_coll_hosts *map = l->map;
    uint32_t end = mlt_emit_nop(l->e, after);
    uint64_t at = 0;
    for (uint32_t i = 0, next; i < map->ranks; i = next) {
        uint32_t rank = map->rank[i];
        for (next = i + 1; next < map->ranks && map->rank[next] == map->rank[next - 1] + 1 &&
                           rank != but && map->rank[next] != but;)
            next++;
        mlt_goal_span by_rank = mlt_emit_blocks(l->e, to_hosts ? from : to, rank, next - i);
        mlt_goal_span by_host = mlt_emit_part(to_hosts ? to : from, at, by_rank.size);
        at += by_rank.size;
        if (rank != but)
            mlt_emit_after(l->e, end,
                           to_hosts ? mlt_emit_copy(l->e, by_host, by_rank, after)
                                    : mlt_emit_copy(l->e, by_rank, by_host, after));
    }
    return end;
}

uint32_t mlt_hierarchy_to_hosts(const mlt_hierarchy *l, mlt_goal_span to, mlt_goal_span from,
                                uint32_t after)
{
    return reorder(l, to, from, true, NONE, after);
}

uint32_t mlt_hierarchy_to_ranks(const mlt_hierarchy *l, mlt_goal_span to, mlt_goal_span from,
                                uint32_t but, uint32_t after)
{
    return reorder(l, to, from, false, but, after);
}

// ---- the table's

const char *mlt_hierarchy_refuses(const mlt_coll_shape *shape)
{
    const mlt_coll_hosts *map = shape->hosts;
    return !map             ? "it is for ranks on several hosts"
           : map->hosts < 2 ? "all its ranks are on one host"
           : map->most < 2  ? "no host has two of its ranks"
           : shape->keep == MLT_KEEP_ORDER && !map->contiguous
               ? "the ranks of its hosts do not follow each other, and the operation does not "
                 "commute"
           : shape->keep == MLT_KEEP_BRACKETS && !map->aligned
               ? "its brackets would depend on which rank is on which host"
               : NULL;
}

bool mlt_hierarchy_tell(const mlt_coll_alg *alg, const mlt_coll_shape *shape, char *text,
                        size_t size)
{
    if (!alg->uses_hosts || !shape->hosts || (alg->refuses && alg->refuses(shape)))
        return false;
    const mlt_coll_hosts *map = shape->hosts;
    uint32_t host = 0;
    while (mlt_coll_hosts_size(map, host) < map->most)
        host++;
    notes n = {text, size};
    mlt_coll_shape told = *shape;
    told.user = &n;
    told.root = map->rank[map->first[host]];
    text[0] = '\0';
    // A scan is led by the last rank of a host, all others by the first.
    for (int last = 0; last < 2; last++) {
        mlt_goal_program *program = mlt_goal_program_new(1);
        mlt_coll_emit(alg, &told, program,
                      map->rank[last ? map->first[host + 1] - 1 : map->first[host]]);
        mlt_goal_program_free(program);
    }
    return true;
}
