// SPDX-License-Identifier: BSD-3-Clause
// What algorithms cost: as many messages and rounds as each is known for
// (docs/reference/goal-algorithms.md), bytes, actions of the most used ones, and the paper's
// Listing 2 word for word.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/alg.h"
#include "coll/alg/machine_test.h"
#include "coll/alg/shape_test.h"

// ---- messages, and rounds if a rank sends one and receives one at a time

static void settle(machine *m) // local actions take no time
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < m->ready_count; i++) {
            uint32_t rank = m->ready[i].rank, action = m->ready[i].action;
            if (mlt_goal_is_message(&m->program->rank[rank].actions[action]))
                continue;
            m->ready[i] = m->ready[--m->ready_count];
            finish(m, rank, action);
            moved = true;
            break;
        }
    }
}

// The first message action of that kind of the rank that is ready, and whose partner is ready and
// not busy; NONE: none.
static uint32_t ready_message(const machine *m, uint32_t rank, uint8_t kind, const bool *busy)
{
    for (uint32_t a = 0; a < m->program->rank[rank].count; a++) {
        if (m->program->rank[rank].actions[a].kind != kind || m->state[rank][a] != READY)
            continue;
        mlt_goal_place to = mlt_goal_partner(m->pairs, rank, a);
        if (!busy[to.rank] && m->state[to.rank][to.action] == READY)
            return a;
    }
    return MLT_GOAL_NONE;
}

// Rounds if senders choose (kind SEND), or receivers do.
static uint32_t rounds_by(const mlt_goal_program *program, uint8_t kind)
{
    machine *m = machine_new(program, BYTES);
    uint32_t rounds = 0, ranks = program->ranks;
    bool *busy = zeroed(ranks * sizeof *busy);
    uint32_t *chosen = zeroed(ranks * sizeof *chosen);
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++)
            if (!m->waits[r][a])
                start(m, r, a);
    settle(m);
    while (m->left) {
        memset(busy, 0, ranks * sizeof *busy);
        for (uint32_t r = 0; r < ranks; r++) {
            chosen[r] = ready_message(m, r, kind, busy);
            if (chosen[r] != MLT_GOAL_NONE)
                busy[mlt_goal_partner(m->pairs, r, chosen[r]).rank] = true;
        }
        for (uint32_t r = 0; r < ranks; r++) {
            if (chosen[r] == MLT_GOAL_NONE)
                continue;
            mlt_goal_place to = mlt_goal_partner(m->pairs, r, chosen[r]);
            finish(m, r, chosen[r]);
            finish(m, to.rank, to.action);
        }
        settle(m);
        CHECK(++rounds < 100000);
    }
    free(busy);
    free(chosen);
    machine_free(m);
    return rounds;
}

static uint32_t rounds_of(const mlt_goal_program *program)
{
    uint32_t one = rounds_by(program, MLT_GOAL_SEND), other = rounds_by(program, MLT_GOAL_RECV);
    return one < other ? one : other;
}

typedef struct numbers { // of P
    uint32_t p, log, power, log_power, rest;
} numbers;

enum { SEGMENTS = 5 }; // of those that have some

static uint64_t doubling(numbers n) // exchanges of those that stay, and to and from the folded
{
    return (uint64_t)n.power * n.log_power + 2 * n.rest;
}

static uint64_t shifts(numbers n) // P - 1 and P - 2 and P - 4 and so on
{
    uint64_t sum = 0;
    for (uint32_t step = 1; step < n.p; step *= 2)
        sum += n.p - step;
    return sum;
}

static uint64_t pieces(numbers n) // of a ring that spares each rank its subtree's
{
    uint64_t sum = n.p - 1;
    for (uint32_t v = 0; v < n.p; v++) {
        uint32_t size = v ? v & -v : n.p;
        sum += n.p - (size < n.p - v ? size : n.p - v);
    }
    return sum;
}

static uint64_t doubled_pieces(numbers n) // P a power of two: those that come with the scatter
{
    uint64_t sum = n.p - 1;
    for (uint32_t v = 1; v < n.p; v++)
        sum += n.log - (uint32_t)__builtin_ctz(v);
    return sum;
}

static uint64_t multiplying(numbers n) // by 4, and by what is left
{
    uint64_t stay = 1, each = 0;
    for (uint32_t left = n.p; left > 1; left /= left < 4 ? left : 4) {
        each += (left < 4 ? left : 4) - 1;
        stay *= left < 4 ? left : 4;
    }
    return stay * each + 2 * (n.p - stay);
}

static uint64_t runs(numbers n) // of powers of two, each joined with the tail behind it
{
    uint64_t sum = 0, left = n.p;
    for (uint32_t bit = 31; left; bit--) {
        if (!(left >> bit & 1))
            continue;
        left -= UINT64_C(1) << bit;
        sum += (UINT64_C(1) << bit) * bit + (left ? (UINT64_C(1) << bit) + left : 0);
    }
    return sum;
}

static uint64_t butterfly(numbers n) // down only from groups that have ranks behind them
{
    uint64_t sum = 0;
    for (uint32_t step = 1; step < n.p; step *= 2)
        for (uint32_t r = 0; r < n.p; r++)
            sum += r & step ? (r | (2 * step - 1)) + 1 < n.p : r + step < n.p;
    return sum;
}

// What each algorithm but those over hosts is known for. For P ranks, of which p = 2^k, the largest
// power of two, stay when they fold, and S segments:
//
//     0  not looked at         1  P - 1                   2  2 (P - 1)
//     S  S (P - 1)             s  P - 1 + S - 1           U  2 S (P - 1)          6  (S + 1) (P - 1)
//     P  P (P - 1)             Q  2 P (P - 1)             K  Q for each segment of a piece
//     L  P ceil(log2 P)        l  ceil(log2 P)            t  2 ceil(log2 P)       O  2 P - 1
//     N  P P/2                 n  P/2                     W  L there and back, and where pieces wrap
//     D  p k, to and from the folded                      d  k, and 2 if ranks fold
//     B  D there and back                                 b  2 k, and 2 if ranks fold
//     R  D without the way back to the folded, and p - 1  r  2 k, and 1 if ranks fold
//     H  shifts()   A  pieces()   G  doubled_pieces()   M  multiplying()   C  runs()   F  butterfly()
static const struct {
    const char *name;
    char messages, rounds;
} known[] = {
    {"barrier.dissemination", 'L', 'l'},
    {"barrier.linear", '2', '2'},
    {"barrier.tree", '2', 0},
    {"barrier.recursive_doubling", 'D', 'd'},
    {"barrier.double_ring", 'O', 'O'},
    {"bcast.binomial", '1', 'l'},
    {"bcast.knomial", '1', 0},
    {"bcast.linear", '1', '1'},
    {"bcast.chain", 'S', 's'},
    {"bcast.binary", 'S', 0},
    {"bcast.scatter_allgather", 'A', 0},
    {"bcast.scatter_doubling", 'G', 't'},
    {"bcast.knomial_pipelined", 'S', 0},
    {"bcast.split_binary", '6', 0},
    {"bcast.double_binary", 'S', 0},
    {"bcast.circulant", 'S', 0},
    {"reduce.binomial", '1', 'l'},
    {"reduce.knomial", '1', 0},
    {"reduce.linear", '1', '1'},
    {"reduce.chain", 'S', 's'},
    {"reduce.in_order_binary", 'S', 0},
    {"reduce.rabenseifner", 'R', 'r'},
    {"reduce.binomial_pipelined", 'S', 0},
    {"reduce.knomial_pipelined", 'S', 0},
    {"reduce.gather", '1', '1'},
    {"reduce.arrival", '1', 'l'},
    {"reduce.double_binary", 'S', 0},
    {"reduce.circulant", 'S', 0},
    {"allreduce.recursive_doubling", 'D', 'd'},
    {"allreduce.dissemination", 'L', 'l'},
    {"allreduce.rabenseifner", 'B', 'b'},
    {"allreduce.ring", 'Q', '2'},
    {"allreduce.reduce_bcast", '2', 't'},
    {"allreduce.recursive_multiplying", 'M', 0},
    {"allreduce.canonical", 'C', 0},
    {"allreduce.halving_doubling", 'B', 'b'},
    {"allreduce.circulant", 'W', 0},
    {"allreduce.ring_segmented", 'K', 0},
    {"allreduce.binomial", 'U', 0},
    {"allreduce.binary", 'U', 0},
    {"allreduce.double_binary", 'U', 0},
    {"allreduce.chain", 'U', 0},
    {"allreduce.allgather", 'P', '1'},
    {"gather.linear", '1', '1'},
    {"gather.binomial", '1', 'l'},
    {"scatter.linear", '1', '1'},
    {"scatter.binomial", '1', 'l'},
    {"allgather.ring", 'P', '1'},
    {"allgather.bruck", 'L', 'l'},
    {"allgather.recursive_doubling", 'L', 'l'},
    {"allgather.neighbour_exchange", 'N', 'n'},
    {"allgather.linear", 'P', '1'},
    {"allgather.gather_bcast", '2', '2'},
    {"alltoall.linear", 'P', '1'},
    {"alltoall.pairwise", 'P', '1'},
    {"alltoall.bruck", 'L', 'l'},
    {"reduce_scatter.recursive_halving", 'D', 'd'},
    {"reduce_scatter.ring", 'P', '1'},
    {"reduce_scatter.pairwise", 'P', '1'},
    {"reduce_scatter.canonical", '2', 't'},
    {"scan.linear", '1', '1'},
    {"scan.recursive_doubling", 'H', 'l'},
    {"scan.butterfly", 'F', 'l'},
    {"exscan.linear", '1', '1'},
    {"exscan.recursive_doubling", 'H', 'l'},
    {"exscan.butterfly", 'F', 'l'},
    {"gather.knomial", '1', 0},
    {"gather.linear_sync", '2', 0},
    {"scatter.knomial", '1', 0},
    {"allgather.sparbit", 'P', '1'},
    {"alltoall.scattered", 'P', '1'},
    {"reduce_scatter.recursive_doubling", 'D', 'd'},
    {"reduce_scatter.butterfly", 'D', 'd'},
    {"exchange.linear", 'P', '1'},
    {"exchange.scattered", 'P', '1'},
    {"exchange.pairwise", 'P', '1'},
    {"reduce_to.aspen", 'D', 'd'},
    {"reduce_to.binomial", '2', 't'},
    {"reduce_to.linear", 'P', '1'},
};

static uint64_t known_number(char what, numbers n)
{
    uint64_t p = n.p;
    switch (what) {
    case '1':
        return p - 1;
    case '2':
        return 2 * (p - 1);
    case 'S':
        return SEGMENTS * (p - 1);
    case 's':
        return p > 1 ? p - 1 + SEGMENTS - 1 : 0;
    case 'P':
        return p * (p - 1);
    case 'Q':
        return 2 * p * (p - 1);
    case 'N':
        return p > 1 ? p * (p / 2) : 0;
    case 'n':
        return p / 2;
    case 'L':
        return p * n.log;
    case 'l':
        return n.log;
    case 't':
        return 2 * n.log;
    case 'D':
        return doubling(n);
    case 'd':
        return n.log_power + (n.rest ? 2 : 0);
    case 'B':
        return 2 * doubling(n) - 2 * n.rest;
    case 'b':
        return 2 * n.log_power + (n.rest ? 2 : 0);
    case 'R':
        return doubling(n) - n.rest + n.power - 1;
    case 'r':
        return 2 * n.log_power + (n.rest ? 1 : 0);
    case 'H':
        return shifts(n);
    case 'A':
        return pieces(n);
    case 'O':
        return p > 1 ? 2 * p - 1 : 0;
    case '6': // either half has three
        return (SEGMENTS + 1) * (p - 1);
    case 'G':
        return doubled_pieces(n);
    case 'M':
        return multiplying(n);
    case 'C':
        return runs(n);
    case 'W': // a message where the pieces of a range wrap around more
        return 2 * (p * n.log + p - 1 - n.log);
    case 'K': // 200 elements, 40 in a segment
        return 2 * p * (p - 1) * ((200 + 40 * p - 1) / (40 * p));
    case 'U':
        return 2 * SEGMENTS * (p - 1);
    case 'F':
        return butterfly(n);
    default:
        failed(__FILE__, __LINE__, "a letter");
    }
}

static numbers numbers_of(uint32_t p)
{
    numbers n = {.p = p, .power = 1};
    while (1u << n.log < p)
        n.log++;
    while (2 * n.power <= p) {
        n.power *= 2;
        n.log_power++;
    }
    n.rest = p - n.power;
    return n;
}

// hosts/stage_test.c counts those over hosts.
static void check_listed(const mlt_coll_alg *alg)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", mlt_collective_names[alg->collective], alg->name);
    snprintf(now_testing, sizeof now_testing, "that known[] has a row for %s", name);
    bool listed = alg->uses_hosts;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        listed |= strcmp(known[i].name, name) == 0;
    CHECK(listed);
}

static void test_known(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++)
        check_listed(mlt_coll_algs[i]);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (uint32_t p = 1; p <= 33; p += p < 20 ? 1 : p < 32 ? 3 : 1) { // 32 and 33, too
            const mlt_coll_alg *alg = alg_named(known[i].name);
            mlt_coll_shape shape = {
                .ranks = p, .count = 200, .type = MLT_OP_INT32, .op = MLT_OP_SUM};
            shape.segment = 200 / SEGMENTS;
            if (alg->refuses && alg->refuses(&shape))
                continue;
            snprintf(now_testing, sizeof now_testing, "numbers of %s.%s, %u ranks",
                     mlt_collective_names[alg->collective], alg->name, p);
            char why[200];
            mlt_goal_program *program;
            arrays lists = {0};
            uint64_t state = p;
            if (alg->collective == MLT_COLL_EXCHANGE)
                shape.parts = lists.parts = random_parts(p, 8, &state);
            CHECK(mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why) == MLT_OK);
            arrays_free(&lists, p);
            uint64_t messages = 0;
            for (uint32_t r = 0; r < p; r++)
                for (uint32_t a = 0; a < program->rank[r].count; a++)
                    messages += program->rank[r].actions[a].kind == MLT_GOAL_SEND;
            numbers n = numbers_of(p);
            uint32_t rounds = rounds_of(program);
            if (messages != known_number(known[i].messages, n) ||
                (known[i].rounds && rounds != known_number(known[i].rounds, n)))
                fprintf(stderr, "%llu messages, %u rounds\n", (unsigned long long)messages, rounds);
            CHECK(messages == known_number(known[i].messages, n));
            CHECK(!known[i].rounds || rounds == known_number(known[i].rounds, n));
            mlt_goal_program_free(program);
        }
}

// Bytes that a rank sends: Rabenseifner's and the ring's allreduce send 2 n (P-1)/P.
static void test_bytes(void)
{
    const mlt_coll_alg *algs[] = {alg_named("allreduce.rabenseifner"), alg_named("allreduce.ring")};
    for (int i = 0; i < 2; i++)
        for (uint32_t p = 1; p <= 64; p *= 2) {
            mlt_coll_shape shape = {.ranks = p, .count = 640, .type = MLT_OP_INT64};
            char why[200];
            mlt_goal_program *program;
            CHECK(mlt_coll_program(algs[i], &shape, NULL, NULL, &program, why, sizeof why) == 0);
            for (uint32_t r = 0; r < p; r++) {
                uint64_t bytes = 0;
                for (uint32_t a = 0; a < program->rank[r].count; a++)
                    if (program->rank[r].actions[a].kind == MLT_GOAL_SEND)
                        bytes += program->rank[r].actions[a].size[0];
                CHECK(bytes == 2 * 640 * 8 * (p - 1) / p);
            }
            mlt_goal_program_free(program);
        }
}

// ---- Listing 2 of the paper, word for word, against bcast.binomial

static void test_listing2(void)
{
    mlt_coll_shape shape = {.count = 4};
    for (uint32_t p = 1; p <= 70; p++) {
        shape.ranks = p;
        char why[200];
        mlt_goal_program *program;
        CHECK(mlt_coll_program(alg_named("bcast.binomial"), &shape, NULL, NULL, &program, why,
                               sizeof why) == MLT_OK);
        for (uint32_t i = 0; i < p; i++) {
            uint32_t next = 0, deps = 0;
            int64_t rcv = -1;
            const mlt_goal_rank *rank = &program->rank[i];
            for (uint32_t r = 0; 1u << r < p; r++) {
                int64_t send = -1;
                if (i + (1u << r) < p && i < 1u << r) {
                    CHECK(rank->actions[next].kind == MLT_GOAL_SEND);
                    CHECK(rank->actions[next].peer == (int32_t)(i + (1u << r)));
                    send = next++;
                }
                if (send >= 0 && rcv >= 0) {
                    CHECK(rank->deps[deps].action == send && rank->deps[deps].on == rcv);
                    deps++;
                }
                if (i >= 1u << r && i < 2u << r) {
                    CHECK(rank->actions[next].kind == MLT_GOAL_RECV);
                    CHECK(rank->actions[next].peer == (int32_t)(i - (1u << r)));
                    rcv = next++;
                }
            }
            CHECK(next == rank->count && deps == rank->deps_count);
        }
        mlt_goal_program_free(program);
    }
}

// ---- actions and dependencies of two ranks

static void check_two(const mlt_coll_alg *alg, bool in_place, uint32_t actions, uint32_t deps)
{
    mlt_coll_shape shape = {.ranks = 2, .count = 1, .op = MLT_OP_SUM, .in_place = in_place};
    char why[200];
    mlt_goal_program *program;
    snprintf(now_testing, sizeof now_testing, "the actions of %s", alg->name);
    CHECK(mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why) == MLT_OK);
    for (uint32_t r = 0; r < 2; r++)
        CHECK(program->rank[r].count == actions && program->rank[r].deps_count == deps);
    mlt_goal_program_free(program);
}

static void test_two(void)
{
    const mlt_coll_alg *doubling[] = {
        alg_named("allreduce.recursive_doubling"), alg_named("allreduce.canonical"),
        alg_named("allreduce.allgather"), alg_named("allreduce.dissemination"),
        alg_named("allreduce.recursive_multiplying")};
    for (size_t i = 0; i < sizeof doubling / sizeof *doubling; i++) {
        check_two(doubling[i], false, 3, 1);
        check_two(doubling[i], true, 3, 2);
    }
    check_two(alg_named("barrier.dissemination"), false, 2, 0);
    check_two(alg_named("barrier.recursive_doubling"), false, 2, 0);
    check_two(alg_named("bcast.binomial"), false, 1, 0);
}

int main(void)
{
    test_listing2();
    test_bytes();
    test_known();
    test_two();
    return 0;
}
