// SPDX-License-Identifier: BSD-3-Clause
// Claims of other shapes than the plain ones: in place, blocks that differ, contributors and
// receivers, lists of messages, users' elements. Right programs, and beside them wrong ones with
// their findings' words.
#include "goal/program_test.h"
#include "judge/check/check_test.h"

static void copy(mlt_goal_program *p, uint32_t rank, mlt_goal_span to, mlt_goal_span from)
{
    mlt_goal_exec(p, rank, MLT_OP_COPY, MLT_OP_UINT8, to, from);
}

static void message(mlt_goal_program *p, uint32_t from, mlt_goal_span what, uint32_t to,
                    mlt_goal_span where)
{
    mlt_goal_send(p, from, what, (int32_t)to, 0);
    mlt_goal_recv(p, to, where, (int32_t)from, 0);
}

// The first action of that kind.
static mlt_goal_action *first(mlt_goal_program *p, uint32_t rank, mlt_goal_kind kind)
{
    for (uint32_t a = 0; a < p->rank[rank].count; a++)
        if (p->rank[rank].actions[a].kind == kind)
            return &p->rank[rank].actions[a];
    CHECK(!"such an action");
    return NULL;
}

static const mlt_goal_spec sums = {
    .collective = MLT_COLL_ALLREDUCE, .bytes = 8, .op = MLT_OP_SUM, .type = MLT_OP_INT32};

// ---- in place

// Two ranks exchange `out` and add.
static mlt_goal_program *added_in_place(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    for (uint32_t r = 0; r < 2; r++) {
        mlt_goal_buffer_add(p, r, "out", 8);
        mlt_goal_buffer_add(p, r, "tmp", 8);
        uint32_t send = mlt_goal_send(p, r, in(1, 0, 8), (int32_t)(1 - r), 0);
        uint32_t recv = mlt_goal_recv(p, r, in(2, 0, 8), (int32_t)(1 - r), 0);
        uint32_t exec = sum(p, r, in(1, 0, 8), in(2, 0, 8));
        p->rank[r].actions[exec].flags = r ? MLT_GOAL_REVERSED : 0;
        mlt_goal_require(p, r, exec, send);
        mlt_goal_require(p, r, exec, recv);
    }
    return p;
}

static void test_allreduce_in_place(void)
{
    mlt_goal_program *p = added_in_place();
    mlt_goal_spec is = sums;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "rank 0 has no buffer in; it has out, tmp");
    is.in_place = true;
    RIGHT(p, &is);
    is.bytes = 0; // by the buffers
    RIGHT(p, &is);
    mlt_goal_verdict *verdict = ask(p, &is);
    CHECK(strcmp(verdict->claim, "allreduce sumInt32 over 2 ranks, blocks of 8 bytes, in place") ==
          0);
    mlt_goal_verdict_free(verdict);
    first(p, 1, MLT_GOAL_SEND)->buf[0] = 2; // junk instead of what it has
    p->rank[1].deps_count = 0;
    mlt_goal_require(p, 1, 2, 1);
    mlt_goal_require(p, 1, 1, 0);
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 0's bytes 0..7 of out lack the contribution of rank 1");
    is.collective = MLT_COLL_BCAST;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "to perform bcast: it is not done in place");
    mlt_goal_program_free(p);

    // Scans: rank 1 has the sum of both; exclusively what rank 0 has, and rank 0 keeps it.
    p = added_in_place();
    is = sums;
    is.in_place = true;
    is.collective = MLT_COLL_SCAN;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 0's bytes 0..7 of out hold that of rank 1, which does");
    first(p, 0, MLT_GOAL_EXEC)->kind = MLT_GOAL_NOP;
    RIGHT(p, &is);
    is.collective = MLT_COLL_EXSCAN;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 1's bytes 0..7 of out hold that of rank 1, which does");
    mlt_goal_action *exec = first(p, 1, MLT_GOAL_EXEC);
    exec->op = MLT_OP_COPY;
    exec->flags = 0;
    RIGHT(p, &is);
    exec = first(p, 0, MLT_GOAL_NOP);
    exec->kind = MLT_GOAL_EXEC;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 0's bytes 0..7 of out hold that of rank 1, which does");
    is.in_place = false; // then it is nobody's business what rank 0 has, but in is missed
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "rank 0 has no buffer in");
    mlt_goal_program_free(p);
}

// The root has no `in`, the others have no `out`.
static void test_reduce_in_place(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_spec is = sums;
    is.collective = MLT_COLL_REDUCE;
    is.root = 1;
    is.in_place = true;
    mlt_goal_buffer_add(p, 0, "in", 8);
    mlt_goal_buffer_add(p, 1, "out", 8);
    mlt_goal_buffer_add(p, 1, "tmp", 8);
    message(p, 0, in(1, 0, 8), 1, in(2, 0, 8));
    mlt_goal_require(p, 1, sum(p, 1, in(1, 0, 8), in(2, 0, 8)), 0);
    p->rank[1].actions[1].flags = MLT_GOAL_REVERSED;
    RIGHT(p, &is);
    p->rank[1].actions[1].op = MLT_OP_COPY;
    p->rank[1].actions[1].flags = 0;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 1's bytes 0..7 of out lack the contribution of rank 1");
    is.root = 0;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "rank 0 has no buffer out");
    mlt_goal_program_free(p);
}

static void test_gather_in_place(void)
{
    for (int all = 0; all < 2; all++) {
        mlt_goal_program *p = mlt_goal_program_new(3);
        mlt_goal_spec is = {.collective = all ? MLT_COLL_ALLGATHER : MLT_COLL_GATHER,
                            .root = 1,
                            .bytes = 4,
                            .in_place = true};
        for (uint32_t r = 0; r < 3; r++)
            mlt_goal_buffer_add(p, r, all || r == 1 ? "out" : "in", all || r == 1 ? 12 : 4);
        for (uint32_t to = 0; to < 3; to++)
            for (uint32_t from = 0; from < 3 && (all || to == 1); from++)
                if (from != to)
                    message(p, from, in(1, all ? 4 * from : 0, 4), to, in(1, 4 * from, 4));
        RIGHT(p, &is);
        is.bytes = 0;
        RIGHT(p, &is);
        first(p, 1, MLT_GOAL_RECV)->at[0] = 4; // into what rank 1 brings
        if (all)
            first(p, 1, MLT_GOAL_SEND)->kind = MLT_GOAL_NOP; // and no race with it
        mlt_goal_verdict *verdict = ask(p, &is);
        CHECK(!mlt_goal_verdict_ok(verdict));
        mlt_goal_verdict_free(verdict);
        if (!all)
            WRONG(p, &is, MLT_FAULT_RESULT, 2,
                  "rank 1's bytes 4..7 of out are wrong\n    they hold bytes 0..3 of what rank 0 "
                  "brings\n    they should hold bytes 0..3 of what rank 1 brings");
        mlt_goal_program_free(p);
    }
}

// The root's block stays where it is.
static void test_scatter_in_place(void)
{
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_spec is = {.collective = MLT_COLL_SCATTER, .root = 1, .bytes = 4, .in_place = true};
    mlt_goal_buffer_add(p, 0, "out", 4);
    mlt_goal_buffer_add(p, 1, "in", 12);
    mlt_goal_buffer_add(p, 2, "out", 4);
    message(p, 1, in(1, 0, 4), 0, in(1, 0, 4));
    message(p, 1, in(1, 8, 4), 2, in(1, 0, 4));
    RIGHT(p, &is);
    copy(p, 1, in(1, 4, 4), in(1, 0, 4));
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 1's bytes 4..7 of in are wrong\n    they hold bytes 0..3 of what rank 1 brings\n"
          "    they should hold bytes 4..7");
    p->rank[1].actions[2].kind = MLT_GOAL_NOP;
    first(p, 1, MLT_GOAL_SEND)->at[0] = 8;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "rank 0's bytes 0..3 of out are wrong");
    mlt_goal_program_free(p);
}

// ---- blocks that differ

enum { RANKS = 4 };
static const uint64_t starts[RANKS + 1] = {0, 3, 3, 5, 6}; // rank 1 has none
enum { UNIT = 4 };                                         // bytes of an element

static mlt_goal_span block(uint32_t buf, uint32_t r)
{
    return in(buf, starts[r] * UNIT, (starts[r + 1] - starts[r]) * UNIT);
}

static mlt_goal_span own(uint32_t buf, uint32_t r)
{
    return in(buf, 0, (starts[r + 1] - starts[r]) * UNIT);
}

// Everybody's buffers: in and out of that many bytes, 0 for those of the rank's block.
static mlt_goal_program *buffers(uint64_t in_bytes, uint64_t out_bytes)
{
    mlt_goal_program *p = mlt_goal_program_new(RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        mlt_goal_buffer_add(p, r, "in", in_bytes ? in_bytes : own(1, r).size);
        mlt_goal_buffer_add(p, r, "out", out_bytes ? out_bytes : own(1, r).size);
    }
    return p;
}

static void test_gather_uneven(void)
{
    for (int all = 0; all < 2; all++) {
        mlt_goal_program *p = buffers(0, 24);
        mlt_goal_spec is = {.collective = all ? MLT_COLL_ALLGATHER : MLT_COLL_GATHER,
                            .root = 2,
                            .starts = starts,
                            .element = UNIT};
        for (uint32_t to = 0; to < RANKS; to++)
            for (uint32_t from = 0; from < RANKS && (all || to == 2); from++)
                message(p, from, own(1, from), to, block(2, from));
        RIGHT(p, &is);
        mlt_goal_verdict *verdict = ask(p, &is);
        CHECK(strstr(verdict->claim, ", blocks of 24 bytes in all"));
        mlt_goal_verdict_free(verdict);
        mlt_goal_action *recv = first(p, 2, MLT_GOAL_RECV); // rank 0's block, 4 bytes further
        recv->at[0] += 4;
        verdict = ask(p, &is);
        CHECK(verdict->found[MLT_FAULT_RESULT] && verdict->found[MLT_FAULT_RACE] == 1);
        mlt_goal_verdict_free(verdict);
        recv->at[0] -= 4;
        const uint64_t other[RANKS + 1] = {0, 3, 4, 5, 6};
        is.starts = other;
        WRONG(p, &is, MLT_FAULT_INVALID, 1,
              "it needs 4 bytes from 0 on in in of rank 1, which has 0 there");
        mlt_goal_program_free(p);
    }
}

static void test_scatter_uneven(void)
{
    mlt_goal_program *p = buffers(24, 0);
    mlt_goal_spec is = {
        .collective = MLT_COLL_SCATTER, .root = 3, .starts = starts, .element = UNIT};
    for (uint32_t to = 0; to < RANKS; to++)
        message(p, 3, block(1, to), to, own(2, to));
    RIGHT(p, &is);
    first(p, 3, MLT_GOAL_SEND)->at[0] = 4; // rank 0 gets elements 1..3
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 0's bytes 0..11 of out are wrong\n    they hold bytes 4..15 of what rank 3 brings");
    mlt_goal_program_free(p);
}

static void test_reduce_scatter_uneven(void)
{
    mlt_goal_program *p = buffers(24, 0);
    mlt_goal_spec is = {.collective = MLT_COLL_REDUCE_SCATTER,
                        .op = MLT_OP_SUM,
                        .type = MLT_OP_INT32,
                        .starts = starts,
                        .element = UNIT};
    for (uint32_t r = 0; r < RANKS; r++) {
        uint32_t tmp = mlt_goal_buffer_add(p, r, "tmp", 12), last = MLT_GOAL_NONE;
        for (uint32_t from = 0; from < RANKS; from++) {
            mlt_goal_send(p, from, block(1, r), (int32_t)r, (int32_t)r);
            uint32_t recv = mlt_goal_recv(p, r, own(from ? tmp : 2, r), (int32_t)from, (int32_t)r);
            uint32_t exec = from ? sum(p, r, own(2, r), own(tmp, r)) : recv;
            if (from)
                mlt_goal_require(p, r, exec, recv);
            if (last != MLT_GOAL_NONE)
                mlt_goal_require(p, r, recv, last);
            last = exec;
        }
    }
    RIGHT(p, &is); // also in order
    is.element = 2;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "block 0 ends within an element");
    is.element = UNIT;
    first(p, 2, MLT_GOAL_SEND)->at[0] = 4;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "combine bytes that are 4 apart");
    mlt_goal_program_free(p);
}

// The block from r to s has w(r) w(s) n bytes.
static void test_alltoall_uneven(void)
{
    mlt_goal_program *p = mlt_goal_program_new(RANKS);
    mlt_goal_spec is = {.collective = MLT_COLL_ALLTOALL, .starts = starts, .bytes = 2};
    uint64_t w[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) {
        w[r] = starts[r + 1] - starts[r];
        mlt_goal_buffer_add(p, r, "in", w[r] * 6 * 2);
        mlt_goal_buffer_add(p, r, "out", w[r] * 6 * 2);
    }
    for (uint32_t from = 0; from < RANKS; from++)
        for (uint32_t to = 0; to < RANKS; to++)
            message(p, from, in(1, w[from] * starts[to] * 2, w[from] * w[to] * 2), to,
                    in(2, w[to] * starts[from] * 2, w[from] * w[to] * 2));
    RIGHT(p, &is);
    is.bytes = 0; // by the buffers
    RIGHT(p, &is);
    mlt_goal_verdict *verdict = ask(p, &is);
    CHECK(strstr(verdict->claim, ", blocks of 2 bytes times the weights"));
    mlt_goal_verdict_free(verdict);
    is.bytes = UINT64_MAX / 8;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "are too large");
    is.bytes = 2;
    first(p, 2, MLT_GOAL_SEND)->at[0] = 4; // what rank 2 has for rank 0 begins at 0
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "rank 0's bytes 18..29 of out are wrong");
    p->rank[0].buffers[0].size = 37;
    is.bytes = 0;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "is no multiple of 18, the weights");
    mlt_goal_program_free(p);
}

static void test_starts(void)
{
    mlt_goal_program *p = buffers(24, 24);
    mlt_goal_spec is = {.collective = MLT_COLL_ALLGATHER};
    const uint64_t late[RANKS + 1] = {1, 2, 3, 4, 5}, back[RANKS + 1] = {0, 2, 1, 4, 5};
    const uint64_t large[RANKS + 1] = {0, 0, 0, 0, UINT64_MAX / 2};
    is.starts = late;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "the first block does not begin at 0");
    is.starts = back;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "a block ends before it begins");
    is.starts = large;
    is.element = 4;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "its blocks are too large");
    is.starts = starts;
    is.collective = MLT_COLL_BCAST;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "it has no blocks that could differ");
    mlt_goal_program_free(p);
}

// ---- contributors and receivers

// Ranks 1 and 3 contribute, 0 and 3 receive.
static void test_reduce_to(void)
{
    const uint8_t contributes[] = {0, 1, 0, 1}, receives[] = {1, 0, 0, 1}, nobody[] = {0, 0, 0, 0};
    mlt_goal_program *p = mlt_goal_program_new(4);
    mlt_goal_spec is = sums;
    is.collective = MLT_COLL_REDUCE_TO;
    is.contributes = contributes;
    is.receives = receives;
    mlt_goal_buffer_add(p, 0, "out", 8);
    mlt_goal_buffer_add(p, 0, "tmp", 8);
    mlt_goal_buffer_add(p, 1, "in", 8);
    mlt_goal_buffer_add(p, 3, "in", 8);
    mlt_goal_buffer_add(p, 3, "out", 8);
    for (uint32_t to = 0; to < 4; to += 3) {
        uint32_t out = to ? 2 : 1, other = to ? 1 : 2;
        mlt_goal_send(p, 1, in(1, 0, 8), (int32_t)to, 0);
        uint32_t recv = mlt_goal_recv(p, to, in(out, 0, 8), 1, 0), late = MLT_GOAL_NONE;
        if (!to) {
            mlt_goal_send(p, 3, in(1, 0, 8), 0, 0);
            late = mlt_goal_recv(p, 0, in(2, 0, 8), 3, 0);
        }
        uint32_t exec = sum(p, to, in(out, 0, 8), in(other, 0, 8));
        mlt_goal_require(p, to, exec, recv);
        if (late != MLT_GOAL_NONE)
            mlt_goal_require(p, to, exec, late);
    }
    mlt_goal_verdict *verdict = ask(p, &is);
    if (!mlt_goal_verdict_ok(verdict) || strcmp(verdict->order, "(1+3)") != 0 ||
        !verdict->in_rank_order || !verdict->same_everywhere)
        show(verdict, __FILE__, __LINE__, "(1+3)");
    mlt_goal_verdict_free(verdict);
    is.bytes = 0;
    RIGHT(p, &is);
    first(p, 3, MLT_GOAL_EXEC)->kind = MLT_GOAL_NOP;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 3's bytes 0..7 of out lack the contribution of rank 3\n    they hold bytes 0..7 of "
          "what rank 1 brings\n    they should hold 1+3\n");
    first(p, 3, MLT_GOAL_NOP)->kind = MLT_GOAL_EXEC;
    first(p, 3, MLT_GOAL_EXEC)->flags = MLT_GOAL_REVERSED;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 3's bytes 0..7 of out have their operands out of order");
    is.commutes = true;
    RIGHT(p, &is);
    is.contributes = nobody;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "nobody contributes");
    is.contributes = NULL; // all
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "rank 0 has no buffer in");
    mlt_goal_program_free(p);
}

// ---- lists of messages

typedef struct lists {
    mlt_goal_message send[2][3], recv[2][3];
    mlt_goal_messages parts[2];
} lists;

// Rank 0 sends 4 bytes to itself, and two messages to rank 1, which takes the later one first, by
// its tag; nothing of no bytes goes back.
static lists two_lists(void)
{
    return (lists){.send = {{{0, 0, 8, 4}, {1, 7, 0, 4}, {1, 8, 4, 2}}, {{0, 0, 0, 0}}},
                   .recv = {{{0, 0, 4, 4}, {1, 0, 2, 0}}, {{0, 8, 0, 2}, {0, 7, 3, 4}}}};
}

static void link_lists(lists *l)
{
    l->parts[0] = (mlt_goal_messages){l->send[0], l->recv[0], 3, 2, 12, 12};
    l->parts[1] = (mlt_goal_messages){l->send[1], l->recv[1], 1, 2, 0, 8};
}

static mlt_goal_program *exchanged(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_buffer_add(p, 0, "in", 12);
    mlt_goal_buffer_add(p, 0, "out", 12);
    mlt_goal_buffer_add(p, 1, "in", 0);
    mlt_goal_buffer_add(p, 1, "out", 8);
    copy(p, 0, in(2, 4, 4), in(1, 8, 4));
    message(p, 0, in(1, 4, 2), 1, in(2, 0, 2));
    message(p, 0, in(1, 0, 4), 1, in(2, 3, 4));
    return p;
}

static void test_exchange(void)
{
    lists l = two_lists();
    link_lists(&l);
    mlt_goal_program *p = exchanged();
    mlt_goal_spec is = {.collective = MLT_COLL_EXCHANGE, .parts = l.parts};
    RIGHT(p, &is);
    mlt_goal_verdict *verdict = ask(p, &is);
    CHECK(strcmp(verdict->claim, "exchange over 2 ranks, 3 messages") == 0);
    mlt_goal_verdict_free(verdict);
    first(p, 0, MLT_GOAL_SEND)->at[0] = 2;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 1's bytes 0..1 of out are wrong\n    they hold bytes 2..3 of what rank 0 brings\n"
          "    they should hold bytes 4..5 of what rank 0 brings");
    first(p, 0, MLT_GOAL_SEND)->at[0] = 4;
    copy(p, 1, in(2, 7, 1), in(2, 7, 1)); // leaves it as it is
    RIGHT(p, &is);
    p->rank[1].actions[2].at[1] = 2;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 1's bytes 7..7 of out are wrong\n    they hold what was in byte 2 of out of rank 1 "
          "before\n    they should hold what they held before: no message goes there");
    p->rank[1].actions[2].kind = MLT_GOAL_NOP;
    first(p, 0, MLT_GOAL_EXEC)->kind = MLT_GOAL_NOP; // to itself
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "rank 0's bytes 4..7 of out are wrong");
    mlt_goal_program_free(p);
}

// The lists must fit together.
static void test_lists(void)
{
    lists l = two_lists();
    link_lists(&l);
    mlt_goal_program *p = exchanged();
    mlt_goal_spec is = {.collective = MLT_COLL_EXCHANGE};
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "the lists of its messages are not given");
    is.parts = l.parts;
    l.send[0][1].peer = 2;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "send 1 of rank 0's list has a rank that is not there");
    l = two_lists(), link_lists(&l);
    l.recv[1][1].at = 5;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "receive 1 of rank 1's list is beyond its buffer");
    l.recv[1][1].at = UINT64_MAX;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "receive 1 of rank 1's list is beyond its buffer");
    l = two_lists(), link_lists(&l);
    l.recv[1][1].bytes = 3;
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "send 1 of the list of rank 0 has another size in that of rank 1");
    l = two_lists(), link_lists(&l);
    l.send[0][2].tag = 9;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "receive 0 of the list of rank 1 has no send in that of");
    l = two_lists(), link_lists(&l);
    l.parts[1].recvs = 1;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "send 1 of the list of rank 0 has no receive in that of");
    l = two_lists(), link_lists(&l);
    l.parts[1].sends = 0;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "receive 1 of the list of rank 0 has no send in that of");
    l = two_lists(), link_lists(&l);
    l.recv[1][1].at = 1;
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "two receives of rank 1's list have byte 1 of out in common");
    l = two_lists(), link_lists(&l);
    l.parts[1].out = 9;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "it needs 9 bytes from 0 on in out of rank 1");
    l = two_lists(), link_lists(&l);
    is.in = "out";
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "in and out of rank 0 overlap");
    mlt_goal_program_free(p);
}

// ---- users' functions

// Elements of 300 bytes: whole ones may be combined apart, parts may not.
static void test_user_elements(void)
{
    mlt_goal_spec is = {.collective = MLT_COLL_REDUCE,
                        .bytes = 600,
                        .op = MLT_OPS,
                        .element = 300,
                        .in = "in",
                        .out = "out"};
    for (int cut = 0; cut < 4; cut++) {
        mlt_goal_program *p = mlt_goal_program_new(2);
        for (uint32_t r = 0; r < 2; r++) {
            mlt_goal_buffer_add(p, r, "in", 600);
            mlt_goal_buffer_add(p, r, "out", 600);
        }
        uint64_t from = cut == 3 ? 44 : 0, to = cut == 1 ? 300 : cut == 2 ? 299 : 600;
        message(p, 1, in(1, 0, 600), 0, in(2, 0, 600));
        const uint64_t cuts[4] = {0, from, to, 600};
        for (int i = 0; i < 3; i++) {
            uint64_t size = cuts[i + 1] - cuts[i];
            mlt_goal_action f = {.kind = MLT_GOAL_USER,
                                 .flags = MLT_GOAL_REVERSED,
                                 .buf = {2, 1},
                                 .at = {cuts[i], cuts[i]},
                                 .size = {size, size}};
            if (size)
                mlt_goal_require(p, 0, mlt_goal_add(p, 0, &f), 0);
        }
        if (cut < 2)
            RIGHT(p, &is);
        else
            WRONG(p, &is, MLT_FAULT_RESULT, 2, "contain what rank 0, action");
        is.bytes = 500;
        WRONG(p, &is, MLT_FAULT_INVALID, 1, "is no whole number of elements of 300 bytes");
        is.bytes = 600;
        mlt_goal_program_free(p);
    }
}

// Whole elements, but beginning within one.
static void test_user_phase(void)
{
    mlt_goal_spec is = {.collective = MLT_COLL_REDUCE, .bytes = 9, .op = MLT_OPS, .element = 3};
    mlt_goal_program *p = mlt_goal_program_new(2);
    for (uint32_t r = 0; r < 2; r++) {
        mlt_goal_buffer_add(p, r, "in", 9);
        mlt_goal_buffer_add(p, r, "out", 9);
    }
    message(p, 1, in(1, 0, 9), 0, in(2, 0, 9));
    mlt_goal_action f = {.kind = MLT_GOAL_USER,
                         .flags = MLT_GOAL_REVERSED,
                         .buf = {2, 1},
                         .at = {0, 0},
                         .size = {9, 9}};
    mlt_goal_require(p, 0, mlt_goal_add(p, 0, &f), 0);
    RIGHT(p, &is);
    p->rank[0].actions[1].at[0] = p->rank[0].actions[1].at[1] = 1;
    p->rank[0].actions[1].size[0] = p->rank[0].actions[1].size[1] = 6;
    WRONG(p, &is, MLT_FAULT_RESULT, 3, "are combined by elements that begin in the middle of one");
    mlt_goal_program_free(p);
}

int main(void)
{
    test_allreduce_in_place();
    test_reduce_in_place();
    test_gather_in_place();
    test_scatter_in_place();
    test_gather_uneven();
    test_scatter_uneven();
    test_reduce_scatter_uneven();
    test_alltoall_uneven();
    test_starts();
    test_reduce_to();
    test_exchange();
    test_lists();
    test_user_elements();
    test_user_phase();
    return 0;
}
