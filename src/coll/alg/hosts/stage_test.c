// SPDX-License-Identifier: BSD-3-Clause
// Algorithms over hosts: the checker proves them for random layouts (hosts of any sizes, ranks dealt
// out anyhow), in order and in reproducible brackets where they do not refuse; few messages cross
// from host to host; what is refused.
#include "coll/alg/hosts/stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "coll/alg/shape_test.h"
#include "fiber/sanitize.h"
#include "judge/check/check.h"

static uint64_t state = 7;

static mlt_goal_program *program_of(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    mlt_goal_program *program = NULL;
    char why[300] = "";
    if (mlt_coll_program(alg, shape, NULL, NULL, &program, why, sizeof why) != MLT_OK)
        fprintf(stderr, "%s\n", why);
    CHECK(program);
    return program;
}

static void test_map(void)
{
    const uint32_t dealt[] = {9, 4, 9, 4, 9, 4}, rows[] = {2, 2, 2, 2, 0, 0, 0};
    mlt_coll_hosts *map = mlt_coll_hosts_new(6, dealt, 10);
    CHECK(map->hosts == 2 && map->most == 3 && map->fewest == 3 && !map->contiguous);
    CHECK(map->of[0] == 0 && map->of[1] == 1 && map->index[5] == 2 && !map->aligned);
    CHECK(map->rank[1] == 2 && map->rank[3] == 1 && map->first[1] == 3 && map->first[2] == 6);
    mlt_coll_hosts_free(map);
    map = mlt_coll_hosts_new(7, rows, 3);
    CHECK(map->hosts == 2 && map->most == 4 && map->fewest == 3 && map->contiguous && map->aligned);
    mlt_coll_hosts_free(map);
    map = mlt_coll_hosts_new(6, rows + 1, 3); // 3 and 3
    CHECK(map->contiguous && !map->aligned && mlt_coll_hosts_size(map, 1) == 3);
    mlt_coll_hosts_free(map);
}

// ---- proofs

static uint32_t proven, refused;

static void prove(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    snprintf(now_testing, sizeof now_testing, "%s.%s, %u ranks on %u hosts, root %u, keep %u",
             mlt_collective_names[alg->collective], alg->name, shape->ranks, shape->hosts->hosts,
             shape->root, shape->keep);
    if (alg->refuses(shape)) {
        refused++;
        return;
    }
    mlt_goal_program *program = program_of(alg, shape);
    mlt_goal_spec is = mlt_coll_spec(alg, shape);
    CHECK(is.commutes == (shape->keep == MLT_KEEP_NOTHING) ||
          !mlt_collective_reduces(alg->collective));
    mlt_goal_verdict *v = mlt_goal_check(program, &(mlt_goal_check_options){.is = &is, .limit = 3});
    if (!mlt_goal_verdict_ok(v))
        mlt_goal_verdict_print(v, stderr);
    CHECK(mlt_goal_verdict_ok(v));
    mlt_goal_verdict_free(v);
    mlt_goal_program_free(program);
    proven++;
}

static void prove_some(const mlt_coll_alg *alg, uint32_t ranks)
{
    bool reduces = mlt_collective_reduces(alg->collective);
    mlt_coll_shape shape = {.ranks = ranks,
                            .root = (uint32_t)arrays_draw(&state, ranks),
                            .count = arrays_draw(&state, 20),
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_FLOAT64,
                            .segment = arrays_draw(&state, 9),
                            .radix = alg->uses_radix ? 2 + (uint32_t)arrays_draw(&state, 4) : 0,
                            .in_place = alg->in_place && arrays_draw(&state, 2),
                            .center = (uint32_t)arrays_draw(&state, 3),
                            .keep = reduces ? (uint8_t)arrays_draw(&state, 3) : 0};
    if (reduces && arrays_draw(&state, 4) == 0) {
        shape.op = MLT_OPS;
        shape.element = 13;
    }
    arrays a = arrays_new(&shape, alg, alg->uneven && arrays_draw(&state, 2), &state);
    prove(alg, &shape);
    arrays_free(&a, ranks);
}

static void test_proofs(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++)
        for (uint32_t ranks = 2; ranks <= 21 && mlt_coll_algs[i]->uses_hosts; ranks++)
            for (int layout = 0; layout < (MLT_SANITIZED ? 2 : 20); layout++)
                prove_some(mlt_coll_algs[i], ranks);
    CHECK(proven > refused); // else too little was tried
    printf("proved %u programs, %u shapes were refused\n", proven, refused);
}

// ---- messages between hosts

static uint64_t crossings(const mlt_coll_alg *alg, uint32_t hosts, uint32_t each, bool in_turn)
{
    uint32_t ranks = hosts * each, *name = arrays_take(ranks, sizeof *name);
    for (uint32_t r = 0; r < ranks; r++)
        name[r] = in_turn ? r % hosts : r / each;
    mlt_coll_hosts *map = mlt_coll_hosts_new(ranks, name, hosts);
    mlt_coll_shape shape = {.ranks = ranks,
                            .root = ranks / 2,
                            .count = 16,
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT32,
                            .hosts = map};
    uint64_t crossed = UINT64_MAX;
    if (!alg->refuses(&shape)) {
        mlt_goal_program *program = program_of(alg, &shape);
        crossed = 0;
        for (uint32_t r = 0; r < ranks; r++)
            for (uint32_t a = 0; a < program->rank[r].count; a++) {
                const mlt_goal_action *action = &program->rank[r].actions[a];
                crossed += action->kind == MLT_GOAL_SEND && map->of[r] != map->of[action->peer];
            }
        mlt_goal_program_free(program);
    }
    mlt_coll_hosts_free(map);
    free(name);
    return crossed;
}

// Those with a root cross once for each other host; no other does more than every host with every
// one.
static void test_crossings(void)
{
    for (uint32_t hosts = 2; hosts <= 6; hosts++)
        for (int i = 0; mlt_coll_algs[i]; i++) {
            const mlt_coll_alg *alg = mlt_coll_algs[i];
            bool rooted = alg->collective == MLT_COLL_BCAST || alg->collective == MLT_COLL_REDUCE ||
                          alg->collective == MLT_COLL_GATHER || alg->collective == MLT_COLL_SCATTER;
            if (!alg->uses_hosts || strcmp(alg->name, "hosts") != 0)
                continue;
            snprintf(now_testing, sizeof now_testing, "messages of %s, %u hosts",
                     mlt_collective_names[alg->collective], hosts);
            for (int in_turn = 0; in_turn < 2; in_turn++) {
                uint64_t crossed = crossings(alg, hosts, 3, in_turn);
                CHECK(crossed == UINT64_MAX || crossed == hosts - 1 ||
                      (!rooted && crossed <= hosts * (hosts - 1ull)));
                CHECK(crossed != UINT64_MAX || in_turn);
            }
        }
}

// ---- refusals, and what is said

static void test_refusals(void)
{
    const uint32_t one[] = {0, 0, 0, 0}, all[] = {0, 1, 2, 3}, turn[] = {0, 1, 0, 1},
                   few[] = {0, 0, 0, 1};
    struct {
        const uint32_t *name;
        const mlt_coll_alg *alg;
        uint8_t keep;
        const char *why;
    } cases[] = {
        {NULL, alg_named("barrier.hosts"), 0, "it is for ranks on several hosts"},
        {one, alg_named("barrier.hosts"), 0, "all its ranks are on one host"},
        {all, alg_named("bcast.hosts"), 0, "no host has two of its ranks"},
        {turn, alg_named("allreduce.hosts"), MLT_KEEP_NOTHING, NULL},
        {turn, alg_named("allreduce.hosts"), MLT_KEEP_ORDER,
         "do not follow each other, and the operation"},
        {few, alg_named("allreduce.hosts"), MLT_KEEP_ORDER, NULL},
        {few, alg_named("allreduce.hosts"), MLT_KEEP_BRACKETS, "which rank is on which host"},
        {few, alg_named("allreduce.leaders"), MLT_KEEP_NOTHING, "a host has only one of its ranks"},
        {turn, alg_named("scan.hosts"), MLT_KEEP_NOTHING, "do not follow each other"},
    };
    snprintf(now_testing, sizeof now_testing, "refusals");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mlt_coll_hosts *map = cases[i].name ? mlt_coll_hosts_new(4, cases[i].name, 4) : NULL;
        mlt_coll_shape shape = {
            .ranks = 4, .count = 1, .op = MLT_OP_SUM, .hosts = map, .keep = cases[i].keep};
        const char *why = cases[i].alg->refuses(&shape);
        CHECK(!why == !cases[i].why && (!why || strstr(why, cases[i].why)));
        mlt_coll_hosts_free(map);
    }
}

static void test_told(void)
{
    const uint32_t name[] = {0, 0, 1, 1};
    mlt_coll_hosts *map = mlt_coll_hosts_new(4, name, 2);
    mlt_coll_shape shape = {.ranks = 4, .count = 1, .op = MLT_OP_SUM, .hosts = map};
    char text[200];
    snprintf(now_testing, sizeof now_testing, "what is told");
    CHECK(mlt_hierarchy_tell(alg_named("allreduce.hosts"), &shape, text, sizeof text));
    CHECK(strcmp(text, "reduce.binomial on each host, allreduce.recursive_doubling between hosts, "
                       "bcast.binomial on each host") == 0);
    CHECK(mlt_hierarchy_tell(alg_named("scan.hosts"), &shape, text, sizeof text));
    CHECK(strstr(text, "exscan.recursive_doubling between hosts"));
    CHECK(!mlt_hierarchy_tell(alg_named("allreduce.ring"), &shape, text, sizeof text));
    mlt_coll_hosts_free(map);
}

int main(void)
{
    test_map();
    test_proofs();
    test_crossings();
    test_refusals();
    test_told();
    return 0;
}
