// SPDX-License-Identifier: BSD-3-Clause
// What algorithms cost: as many messages and rounds as each is known for
// (docs/reference/goal-algorithms.md), bytes, actions of the most used ones, and the paper's
// Listing 2 word for word.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/alg.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/shape_test.h"
#include "coll/coll_machine.h"

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

// What each is known for. 0 rounds: not looked at.
static const struct {
    const mlt_coll_alg *alg;
    char messages, rounds; // by the letters below
} known[] = {
    {&mlt_barrier_dissemination, 'L', 'l'},
    {&mlt_barrier_linear, '2', '2'},
    {&mlt_barrier_tree, '2', 0},
    {&mlt_barrier_recursive_doubling, 'D', 'd'},
    {&mlt_barrier_double_ring, 'O', 'O'},
    {&mlt_bcast_binomial, '1', 'l'},
    {&mlt_bcast_knomial, '1', 0},
    {&mlt_bcast_linear, '1', '1'},
    {&mlt_bcast_chain, 'S', 's'},
    {&mlt_bcast_binary, 'S', 0},
    {&mlt_bcast_scatter_allgather, 'A', 0},
    {&mlt_bcast_scatter_doubling, 'G', 't'},
    {&mlt_bcast_knomial_pipelined, 'S', 0},
    {&mlt_bcast_split_binary, '6', 0},
    {&mlt_bcast_double_binary, 'S', 0},
    {&mlt_bcast_circulant, 'S', 0},
    {&mlt_reduce_binomial, '1', 'l'},
    {&mlt_reduce_knomial, '1', 0},
    {&mlt_reduce_linear, '1', '1'},
    {&mlt_reduce_chain, 'S', 's'},
    {&mlt_reduce_in_order_binary, 'S', 0},
    {&mlt_reduce_rabenseifner, 'R', 'r'},
    {&mlt_reduce_binomial_pipelined, 'S', 0},
    {&mlt_reduce_knomial_pipelined, 'S', 0},
    {&mlt_reduce_gather, '1', '1'},
    {&mlt_reduce_arrival, '1', 'l'},
    {&mlt_reduce_double_binary, 'S', 0},
    {&mlt_reduce_circulant, 'S', 0},
    {&mlt_allreduce_recursive_doubling, 'D', 'd'},
    {&mlt_allreduce_dissemination, 'L', 'l'},
    {&mlt_allreduce_rabenseifner, 'B', 'b'},
    {&mlt_allreduce_ring, 'Q', '2'},
    {&mlt_allreduce_reduce_bcast, '2', 't'},
    {&mlt_allreduce_recursive_multiplying, 'M', 0},
    {&mlt_allreduce_canonical, 'C', 0},
    {&mlt_allreduce_halving_doubling, 'B', 'b'},
    {&mlt_allreduce_circulant, 'W', 0},
    {&mlt_allreduce_ring_segmented, 'K', 0},
    {&mlt_allreduce_binomial, 'U', 0},
    {&mlt_allreduce_binary, 'U', 0},
    {&mlt_allreduce_double_binary, 'U', 0},
    {&mlt_allreduce_chain, 'U', 0},
    {&mlt_allreduce_allgather, 'P', '1'},
    {&mlt_gather_linear, '1', '1'},
    {&mlt_gather_binomial, '1', 'l'},
    {&mlt_scatter_linear, '1', '1'},
    {&mlt_scatter_binomial, '1', 'l'},
    {&mlt_allgather_ring, 'P', '1'},
    {&mlt_allgather_bruck, 'L', 'l'},
    {&mlt_allgather_recursive_doubling, 'L', 'l'},
    {&mlt_allgather_neighbour_exchange, 'N', 'n'},
    {&mlt_allgather_linear, 'P', '1'},
    {&mlt_allgather_gather_bcast, '2', '2'},
    {&mlt_alltoall_linear, 'P', '1'},
    {&mlt_alltoall_pairwise, 'P', '1'},
    {&mlt_alltoall_bruck, 'L', 'l'},
    {&mlt_reduce_scatter_recursive_halving, 'D', 'd'},
    {&mlt_reduce_scatter_ring, 'P', '1'},
    {&mlt_reduce_scatter_pairwise, 'P', '1'},
    {&mlt_reduce_scatter_canonical, '2', 't'},
    {&mlt_scan_linear, '1', '1'},
    {&mlt_scan_recursive_doubling, 'H', 'l'},
    {&mlt_scan_butterfly, 'F', 'l'},
    {&mlt_exscan_linear, '1', '1'},
    {&mlt_exscan_recursive_doubling, 'H', 'l'},
    {&mlt_exscan_butterfly, 'F', 'l'},
    {&mlt_gather_knomial, '1', 0},
    {&mlt_gather_linear_sync, '2', 0},
    {&mlt_scatter_knomial, '1', 0},
    {&mlt_allgather_sparbit, 'P', '1'},
    {&mlt_alltoall_scattered, 'P', '1'},
    {&mlt_reduce_scatter_recursive_doubling, 'D', 'd'},
    {&mlt_reduce_scatter_butterfly, 'D', 'd'},
    {&mlt_exchange_linear, 'P', '1'},
    {&mlt_exchange_scattered, 'P', '1'},
    {&mlt_exchange_pairwise, 'P', '1'},
    {&mlt_reduce_to_aspen, 'D', 'd'},
    {&mlt_reduce_to_binomial, '2', 't'},
    {&mlt_reduce_to_linear, 'P', '1'},
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

static void test_known(void)
{
    size_t count = sizeof known / sizeof *known, all = 0;
    for (int i = 0; mlt_coll_algs[i]; i++)
        all += !mlt_coll_algs[i]->uses_hosts; // hosts/stage_test.c counts those
    CHECK(count == all);
    for (size_t i = 0; i < count; i++)
        for (uint32_t p = 1; p <= 33; p += p < 20 ? 1 : p < 32 ? 3 : 1) { // 32 and 33, too
            const mlt_coll_alg *alg = known[i].alg;
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
    const mlt_coll_alg *algs[] = {&mlt_allreduce_rabenseifner, &mlt_allreduce_ring};
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
        CHECK(mlt_coll_program(&mlt_bcast_binomial, &shape, NULL, NULL, &program, why,
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
    const mlt_coll_alg *doubling[] = {&mlt_allreduce_recursive_doubling, &mlt_allreduce_canonical,
                                      &mlt_allreduce_allgather, &mlt_allreduce_dissemination,
                                      &mlt_allreduce_recursive_multiplying};
    for (size_t i = 0; i < sizeof doubling / sizeof *doubling; i++) {
        check_two(doubling[i], false, 3, 1);
        check_two(doubling[i], true, 3, 2);
    }
    check_two(&mlt_barrier_dissemination, false, 2, 0);
    check_two(&mlt_barrier_recursive_doubling, false, 2, 0);
    check_two(&mlt_bcast_binomial, false, 1, 0);
}

int main(void)
{
    test_listing2();
    test_bytes();
    test_known();
    test_two();
    return 0;
}
