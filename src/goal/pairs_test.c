// SPDX-License-Identifier: BSD-3-Clause
// Which message meets which, against counting by hand.
#include "goal/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/unit_test.h"

static bool in_flow(const mlt_goal_action *action, bool send, uint32_t peer, int32_t tag)
{
    return mlt_goal_is_message(action) && (action->kind == MLT_GOAL_SEND) == send &&
           (uint32_t)action->peer == peer && action->tag == tag;
}

// The partner as the definition says: how many of the flow stand before it here, and the one that
// has as many before it there.
static mlt_goal_place partner(const mlt_goal_program *program, uint32_t r, uint32_t a)
{
    const mlt_goal_action *action = &program->rank[r].actions[a];
    mlt_goal_place none = {0, MLT_GOAL_NONE};
    bool send = action->kind == MLT_GOAL_SEND;
    uint32_t nth = 0, peer = (uint32_t)action->peer;
    if (action->peer < 0 || peer >= program->ranks || action->tag < 0)
        return none;
    for (uint32_t b = 0; b < a; b++)
        nth += in_flow(&program->rank[r].actions[b], send, peer, action->tag);
    for (uint32_t b = 0; b < program->rank[peer].count; b++)
        if (in_flow(&program->rank[peer].actions[b], !send, r, action->tag) && !nth--)
            return (mlt_goal_place){peer, b};
    return none;
}

static void check(const mlt_goal_program *program, uint64_t *matched)
{
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(program);
    uint64_t unmatched = 0, number = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        CHECK(pairs->first[r] == number);
        for (uint32_t a = 0; a < program->rank[r].count; a++, number++) {
            mlt_goal_place is = mlt_goal_partner(pairs, r, a);
            if (!mlt_goal_is_message(&program->rank[r].actions[a])) {
                CHECK(is.action == MLT_GOAL_NONE);
                continue;
            }
            mlt_goal_place should = partner(program, r, a);
            CHECK(is.action == should.action);
            if (is.action == MLT_GOAL_NONE) {
                unmatched++;
                continue;
            }
            CHECK(is.rank == should.rank);
            mlt_goal_place back = mlt_goal_partner(pairs, is.rank, is.action);
            CHECK(back.rank == r && back.action == a);
            ++*matched;
        }
    }
    CHECK(pairs->first[program->ranks] == number && pairs->unmatched == unmatched);
    mlt_goal_pairs_free(pairs);
}

static void random_programs(void)
{
    uint64_t matched = 0;
    static const uint8_t kinds[] = {MLT_GOAL_SEND, MLT_GOAL_SEND,      MLT_GOAL_SEND,
                                    MLT_GOAL_RECV, MLT_GOAL_RECV_EXEC, MLT_GOAL_RECV_USER,
                                    MLT_GOAL_CALC, MLT_GOAL_EXEC};
    for (now_seed = 1; now_seed <= 500; now_seed++) {
        random_state = now_seed;
        uint32_t ranks = below(5), count = below(200), odd = now_seed % 3 == 0;
        mlt_goal_program *program = mlt_goal_program_new(ranks);
        for (uint32_t i = 0; ranks && i < count; i++) {
            mlt_goal_action action = {.kind = kinds[below(8)],
                                      .peer = (int32_t)below(ranks),
                                      .tag = (int32_t)(below(3) * (INT32_MAX / 2))};
            if (odd && below(4) == 0) // no rank, any rank, any tag
                action.peer = below(2) ? (int32_t)ranks : MLT_GOAL_ANY;
            if (odd && below(6) == 0 && action.kind != MLT_GOAL_SEND)
                action.tag = MLT_GOAL_ANY;
            mlt_goal_add(program, below(ranks), &action);
        }
        check(program, &matched);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    printf("%" PRIu64 " ends of messages have met theirs\n", matched);
    CHECK(matched > 5000);
    mlt_goal_pairs_free(NULL);
}

// To oneself, and in another order than it is received.
static void by_hand(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_span span = {0, 0, 8};
    mlt_goal_send(program, 0, span, 0, 1); // 0
    mlt_goal_send(program, 0, span, 0, 2); // 1
    mlt_goal_recv(program, 0, span, 0, 2); // 2
    mlt_goal_recv(program, 0, span, 0, 1); // 3
    mlt_goal_send(program, 0, span, 1, 1); // 4: nobody's
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(program);
    CHECK(mlt_goal_partner(pairs, 0, 0).action == 3 && mlt_goal_partner(pairs, 0, 1).action == 2);
    CHECK(mlt_goal_partner(pairs, 0, 2).action == 1 && mlt_goal_partner(pairs, 0, 3).action == 0);
    CHECK(mlt_goal_partner(pairs, 0, 4).action == MLT_GOAL_NONE && pairs->unmatched == 1);
    mlt_goal_pairs_free(pairs);
    mlt_goal_program_free(program);
}

int main(void)
{
    by_hand();
    random_programs();
    return 0;
}
