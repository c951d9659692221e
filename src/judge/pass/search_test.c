// SPDX-License-Identifier: BSD-3-Clause
// The searches on a torus and a fat-tree: what they find is faster, the same for the same seed, and
// proven; and the proof refuses what is not the same.
#include "judge/pass/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"

enum { RANKS = 32, DEGREE = 8 };

static const char torus[] = "between-hosts L 500 o 400 g 200 G 0.25 O 0.1\n"
                            "S 8192\n"
                            "network torus 8x4\n"
                            "link switch latency 60 bandwidth 2\n";
static const char tree[] = "hosts 32\n"
                           "between-hosts L 500 o 250 g 100 G 0.08 O 0.02\n"
                           "network fat-tree levels 2 radix 12 oversubscription 3\n"
                           "link switch latency 150 bandwidth 12.5\n";

static mlt_cluster *machine(const char *text)
{
    char why[400];
    mlt_cluster *cluster;
    CHECK(mlt_cluster_read("machine", text, strlen(text), &cluster, why, sizeof why) == MLT_OK);
    return cluster;
}

static void add_message(mlt_goal_program *p, uint32_t from, uint32_t to, uint64_t bytes)
{
    mlt_goal_span span = {MLT_GOAL_NOWHERE, 0, bytes};
    mlt_goal_send(p, from, span, (int32_t)to, 0);
    mlt_goal_recv(p, to, span, (int32_t)from, 0);
}

// Every rank sends to `DEGREE` others, to the lowest first.
static mlt_goal_program *exchange(void)
{
    mlt_goal_program *p = mlt_goal_program_new(RANKS);
    for (uint32_t from = 0; from < RANKS; from++)
        for (uint32_t to = 0; to < RANKS; to++)
            if (to != from && ((to * 29 + from * 13) ^ from) % RANKS < DEGREE)
                add_message(p, from, to, 16384);
    return p;
}

static mlt_search search_of(mlt_cluster *cluster, const mlt_goal_program *p, uint64_t seed)
{
    mlt_search search = {.cluster = cluster, .steps = 300, .seed = seed, .until_s = 1e300};
    char why[400];
    CHECK(mlt_search_judge(&search, p, &search.best, why, sizeof why) == MLT_OK);
    return search;
}

static void check_order(const char *text)
{
    mlt_cluster *cluster = machine(text);
    mlt_goal_program *p = exchange(), *found[2];
    char why[400], said[400];
    for (int again = 0; again < 2; again++) {
        mlt_search search = search_of(cluster, p, 5);
        uint64_t before = search.best.total_ps;
        found[again] = mlt_goal_program_copy(p);
        CHECK(mlt_search_order(&search, found[again], said, sizeof said) > 0);
        CHECK(search.best.total_ps < before - before / 20);
        CHECK(search.tried > 308 && search.tried <= 308 + RANKS && !search.cut);
        mlt_search_cost cost;
        CHECK(mlt_search_judge(&search, found[again], &cost, why, sizeof why) == MLT_OK);
        CHECK(cost.total_ps == search.best.total_ps && cost.sum_ps == search.best.sum_ps);
        CHECK(mlt_search_prove(p, found[again], NULL, why, sizeof why) == MLT_OK);
        CHECK(mlt_search_prove(found[again], p, NULL, why, sizeof why) == MLT_ERR_INVALID);
    }
    CHECK(mlt_goal_program_equal(found[0], found[1]));
    for (int again = 0; again < 2; again++)
        mlt_goal_program_free(found[again]);
    mlt_goal_program_free(p);
    mlt_cluster_free(cluster);
}

static void check_place(const char *text)
{
    uint32_t list[2][RANKS];
    mlt_goal_program *p = mlt_goal_program_new(RANKS);
    for (uint32_t r = 0; r < RANKS; r++) { // neighbours in a row that is scattered over the hosts
        uint32_t at = r * 13 % RANKS, next = (r + 1) * 13 % RANKS;
        add_message(p, at, next, 100000);
        add_message(p, next, at, 100000);
    }
    for (int again = 0; again < 2; again++) {
        mlt_cluster *cluster = machine(text);
        mlt_search search = search_of(cluster, p, 7);
        uint64_t before = search.best.total_ps;
        char said[400];
        CHECK(mlt_search_place(&search, p, said, sizeof said) > RANKS / 4);
        CHECK(search.best.total_ps < before - before / 5);
        CHECK(cluster->place == MLT_PLACE_LIST && cluster->list_count == RANKS);
        memcpy(list[again], cluster->list, sizeof list[again]);
        mlt_search_cost cost;
        CHECK(mlt_search_judge(&search, p, &cost, said, sizeof said) == MLT_OK);
        CHECK(cost.total_ps == search.best.total_ps);
        mlt_cluster_free(cluster);
    }
    CHECK(memcmp(list[0], list[1], sizeof *list) == 0);
    mlt_goal_program_free(p);
}

// ---- what is left alone

static void check_alone(mlt_goal_program *p, bool place, const char *wanted)
{
    mlt_cluster *cluster = machine("hosts 4\ncores 8\nnetwork crossbar\n");
    mlt_search search = search_of(cluster, p, 1);
    char said[400];
    uint32_t moved = place ? mlt_search_place(&search, p, said, sizeof said)
                           : mlt_search_order(&search, p, said, sizeof said);
    CHECK(moved == 0);
    check_same_text("left alone", said, wanted);
    mlt_cluster_free(cluster);
    mlt_goal_program_free(p);
}

static void check_all_alone(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    add_message(p, 0, 1, 8);
    check_alone(mlt_goal_program_copy(p), false,
                "left alone: no rank has sends that are ready together");
    check_alone(mlt_goal_program_copy(p), true, "left alone: all ranks are on one host");
    p->rank[1].actions[0].peer = MLT_GOAL_ANY;
    check_alone(p, false, "left alone: a receive takes what comes");
}

// The time is up at once: nothing but the starts is tried.
static void check_time(void)
{
    mlt_cluster *cluster = machine(torus);
    mlt_goal_program *p = exchange();
    mlt_search search = search_of(cluster, p, 1);
    char said[400];
    search.until_s = 0;
    mlt_search_order(&search, p, said, sizeof said);
    CHECK(search.cut && search.tried == 8);
    CHECK(strcmp(said, "left alone: no other order was faster") != 0);
    mlt_goal_program_free(p);
    mlt_cluster_free(cluster);
}

// ---- the proof

static void check_not_proven(const mlt_goal_program *before, mlt_goal_program *after,
                             const char *wanted)
{
    char why[400];
    CHECK(mlt_search_prove(before, after, NULL, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("not proven", why, wanted);
    mlt_goal_program_free(after);
}

static void check_proof(void)
{
    static const char other[] = "nothing says what the program should do, and the other one has "
                                "other actions, so they cannot be proven equal";
    char why[400];
    mlt_goal_program *p = exchange(), *q = mlt_goal_program_copy(p);
    CHECK(mlt_search_prove(p, q, NULL, why, sizeof why) == MLT_OK);
    q->rank[3].actions[2].size[0]++;
    check_not_proven(p, q, other);
    q = mlt_goal_program_copy(p);
    mlt_goal_add(q, 0, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    check_not_proven(p, q, other);
    mlt_goal_program_free(p);
    p = mlt_goal_program_new(2); // two that send before they receive: no order may be added
    add_message(p, 0, 1, 8);
    add_message(p, 1, 0, 8);
    q = mlt_goal_program_copy(p);
    mlt_goal_require(q, 0, 0, 1);
    mlt_goal_require(q, 1, 1, 0);
    check_not_proven(p, q,
                     "the checker finds a fault in the other program (deadlock) that this one has "
                     "not");
    mlt_goal_program_free(p);
}

int main(void)
{
    check_order(torus);
    check_order(tree);
    check_place(torus);
    check_place(tree);
    check_all_alone();
    check_time();
    check_proof();
    return 0;
}
