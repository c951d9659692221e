// SPDX-License-Identifier: BSD-3-Clause
// Schedules of lists and of intercommunicators, proven by the checker: lists of neighbours with
// several edges and oneself, and what moves or reduces between groups of any sizes, as the lists of
// messages, or the reductions between two sets, that they amount to.
#include "coll/alg/inter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alg/list.h"
#include "judge/check/check.h"

enum { MOST = 24 };

static int failures;

// Adds the program of one rank to that of all.
static void add_rank(mlt_goal_program *all, uint32_t rank, const mlt_goal_program *one)
{
    const mlt_goal_rank *r = one->rank;
    for (uint32_t b = 0; b < r->buffers_count; b++)
        mlt_goal_buffer_add(all, rank, mlt_goal_name_text(one, r->buffers[b].name),
                            r->buffers[b].size);
    for (uint32_t a = 0; a < r->count; a++)
        mlt_goal_add(all, rank, &r->actions[a]);
    for (uint32_t d = 0; d < r->deps_count; d++)
        mlt_goal_require(all, rank, r->deps[d].action, r->deps[d].on);
}

// The checker wants both buffers on all ranks of an exchange.
static void add_buffers(mlt_goal_program *all)
{
    for (uint32_t r = 0; r < all->ranks; r++) {
        if (mlt_goal_buffer_find(all, r, "in") == MLT_GOAL_NOWHERE)
            mlt_goal_buffer_add(all, r, "in", 0);
        if (mlt_goal_buffer_find(all, r, "out") == MLT_GOAL_NOWHERE)
            mlt_goal_buffer_add(all, r, "out", 0);
    }
}

static bool prove(const mlt_goal_program *program, const mlt_goal_spec *is, const char *what)
{
    mlt_goal_verdict *v = mlt_goal_check(program, &(mlt_goal_check_options){.is = is, .limit = 2});
    bool fine = mlt_goal_verdict_ok(v);
    if (!fine && what) {
        printf("FAIL %s\n", what);
        mlt_goal_verdict_print(v, stdout);
        failures++;
    }
    mlt_goal_verdict_free(v);
    return fine;
}

// ---- lists

// The same bytes for all (`same`), or others for each; edges from a to b: (a * 3 + b) % 4 - 1.
static uint32_t edges(uint32_t a, uint32_t b)
{
    uint32_t n = (a * 3 + b) % 4;
    return n ? n - 1 : 0;
}

static void fill(mlt_goal_messages *p, mlt_goal_message *send, mlt_goal_message *recv,
                 uint32_t rank, uint32_t ranks, bool same)
{
    *p = (mlt_goal_messages){.send = send, .recv = recv};
    for (uint32_t o = 0; o < ranks; o++) {
        for (uint32_t i = 0; i < edges(rank, o); i++, p->sends++)
            send[p->sends] = (mlt_goal_message){o, 0, same ? 0 : 8ull * p->sends, 8};
        for (uint32_t i = 0; i < edges(o, rank); i++, p->recvs++)
            recv[p->recvs] = (mlt_goal_message){o, 0, 8ull * p->recvs, 8};
    }
    p->in = same ? 8 : 8ull * p->sends;
    p->out = 8ull * p->recvs;
}

static void lists(uint32_t ranks, bool same)
{
    mlt_goal_messages parts[MOST];
    mlt_goal_message(*room)[2][3 * MOST] = mlt_xcalloc(ranks, sizeof *room);
    mlt_goal_program *all = mlt_goal_program_new(ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        fill(&parts[r], room[r][0], room[r][1], r, ranks, same);
        mlt_goal_program *one = mlt_goal_program_new(1);
        mlt_exchange_emit(one, r, &parts[r], same);
        add_rank(all, r, one);
        mlt_goal_program_free(one);
    }
    char what[64];
    snprintf(what, sizeof what, "list of %u ranks, same %d", ranks, same);
    mlt_goal_spec is = {.collective = MLT_COLL_EXCHANGE, .parts = parts};
    prove(all, &is, what);
    room[0][1][0].at = 1; // what is not so is not proven
    if (parts[0].recvs && prove(all, &is, NULL)) {
        printf("FAIL %s: a wrong list was proven\n", what);
        failures++;
    }
    mlt_goal_program_free(all);
    free(room);
}

// ---- two groups

static mlt_inter inter_of(mlt_collective c, uint32_t a, uint32_t b, uint64_t count,
                          uint32_t element)
{
    return (mlt_inter){
        .shape = {.collective = c, .size = {a, b}, .count = {count, count}, .element = element},
        .question = {.reach = MLT_REACH_HOST, .comm = ""}};
}

static mlt_goal_program *emit_all(mlt_inter x, const mlt_coll_op *op)
{
    uint32_t ranks = x.shape.size[0] + x.shape.size[1];
    mlt_goal_program *all = mlt_goal_program_new(ranks);
    bool rooted = x.shape.collective != MLT_COLL_ALLGATHER;
    bool root_side = x.shape.root >= x.shape.size[0];
    x.op = op;
    for (uint32_t r = 0; r < ranks; r++) {
        mlt_inter mine = x;
        mine.shape.idle = rooted && r != x.shape.root && (r >= x.shape.size[0]) == root_side;
        mlt_goal_program *one = mlt_goal_program_new(1);
        mlt_inter_emit(&mine, one, r);
        add_rank(all, r, one);
        mlt_goal_program_free(one);
    }
    return all;
}

// Gather, scatter and allgather as lists: who has a block for whom.
static void moves(mlt_collective c, uint32_t a, uint32_t b, uint32_t root, uint64_t bytes)
{
    uint32_t ranks = a + b, first = root < a ? a : 0, last = root < a ? ranks : a;
    mlt_goal_messages parts[MOST];
    mlt_goal_message(*room)[2][MOST] = mlt_xcalloc(ranks, sizeof *room);
    mlt_inter x = inter_of(c, a, b, bytes, 1);
    x.shape.root = root;
    for (uint32_t r = 0; r < ranks; r++) {
        mlt_goal_message *list[2] = {room[r][0], room[r][1]};
        bool everybody = c == MLT_COLL_ALLGATHER;
        uint32_t from = r < a ? a : 0, to = r < a ? ranks : a, n[2] = {0, 0};
        for (uint32_t o = from; o < to; o++)
            for (int receives = 0; receives < 2; receives++) {
                bool all_here = (c == MLT_COLL_GATHER) == receives; // the root's side
                bool mine =
                    everybody || (all_here ? r == root : o == root && r >= first && r < last);
                if (mine)
                    list[receives][n[receives]++] = (mlt_goal_message){
                        o, 0, (everybody ? receives : all_here) ? (o - from) * bytes : 0, bytes};
            }
        parts[r] = (mlt_goal_messages){.send = list[0],
                                       .recv = list[1],
                                       .sends = n[0],
                                       .recvs = n[1],
                                       .in = (everybody ? !!n[0] : n[0]) * bytes,
                                       .out = n[1] * bytes};
    }
    char what[96];
    snprintf(what, sizeof what, "%s between %u and %u ranks, root %u, %d bytes",
             mlt_collective_names[c], a, b, root, (int)bytes);
    mlt_goal_program *all = emit_all(x, NULL);
    add_buffers(all);
    mlt_goal_spec is = {.collective = MLT_COLL_EXCHANGE, .parts = parts};
    prove(all, &is, what);
    mlt_goal_program_free(all);
    free(room);
}

static void reduces(uint32_t a, uint32_t b, uint32_t root, uint64_t count, bool commutes)
{
    uint32_t ranks = a + b;
    uint8_t contributes[MOST] = {0}, receives[MOST] = {0};
    mlt_coll_op op = {.op = MLT_OP_SUM, .type = MLT_OP_INT32, .element = 4, .commutes = commutes};
    mlt_inter x = inter_of(MLT_COLL_REDUCE, a, b, count, 4);
    x.shape.root = root;
    for (uint32_t r = 0; r < ranks; r++)
        contributes[r] = (r < a) != (root < a);
    receives[root] = 1;
    char what[96];
    snprintf(what, sizeof what, "reduce between %u and %u ranks, root %u, %d elements", a, b, root,
             (int)count);
    mlt_goal_program *all = emit_all(x, &op);
    mlt_goal_spec is = {.collective = MLT_COLL_REDUCE_TO,
                        .bytes = count * 4,
                        .op = MLT_OP_SUM,
                        .type = MLT_OP_INT32,
                        .commutes = commutes,
                        .contributes = contributes,
                        .receives = receives};
    prove(all, &is, what);
    mlt_goal_program_free(all);
}

int main(void)
{
    for (uint32_t n = 1; n <= 9; n++) {
        lists(n, false);
        lists(n, true);
    }
    for (uint32_t a = 1; a <= 9; a += a < 4 ? 1 : 5)
        for (uint32_t b = 1; b <= 13; b += b < 4 ? 1 : 3) {
            for (uint32_t root = 0; root < a + b; root += 1 + root / 3) {
                moves(MLT_COLL_GATHER, a, b, root, 8);
                moves(MLT_COLL_SCATTER, a, b, root, 8);
                moves(MLT_COLL_GATHER, a, b, root, 1 << 16);
                reduces(a, b, root, 5, false);
                reduces(a, b, root, 5, true);
                reduces(a, b, root, 1 << 14, true);
            }
            moves(MLT_COLL_ALLGATHER, a, b, 0, 8);
        }
    printf("%d failures\n", failures);
    return failures != 0;
}
