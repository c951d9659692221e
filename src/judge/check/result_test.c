// SPDX-License-Identifier: BSD-3-Clause
// Results by symbolic execution: each fault alone with its finding's words, right ones beside, the
// paper's Listing 3, and how verdicts are told.
#include "goal/program_test.h"
#include "judge/check/check_test.h"

// ---- results

// All ranks' in to rank 0, which adds them up in the order given. Spans: in 0..7, out 8..15, then
// one place for each message.
static mlt_goal_program *reduce_linear(uint32_t ranks, bool reversed)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    for (uint32_t r = 1; r < ranks; r++)
        mlt_goal_send(p, r, at(0, 8), 0, 0);
    uint32_t last = mlt_goal_exec(p, 0, MLT_OP_COPY, MLT_OP_INT32, at(8, 8), at(0, 8));
    for (uint32_t r = 1; r < ranks; r++) {
        uint32_t recv = mlt_goal_recv(p, 0, at(8 + 8 * r, 8), (int32_t)r, 0);
        uint32_t exec = sum(p, 0, at(8, 8), at(8 + 8 * r, 8));
        p->rank[0].actions[exec].flags = reversed ? MLT_GOAL_REVERSED : 0;
        mlt_goal_require(p, 0, exec, recv);
        mlt_goal_require(p, 0, exec, last);
        last = exec;
    }
    return p;
}

static const mlt_goal_spec sum_of = {.collective = MLT_COLL_REDUCE,
                                     .bytes = 8,
                                     .op = MLT_OP_SUM,
                                     .type = MLT_OP_INT32,
                                     .commutes = true,
                                     .in = "0",
                                     .out = "8"};

// The verdict's words on a right reduction.
static void order_is(const mlt_goal_program *p, const mlt_goal_spec *is, const char *order,
                     bool in_order, bool same)
{
    mlt_goal_verdict *verdict = ask(p, is);
    if (!mlt_goal_verdict_ok(verdict) || strcmp(verdict->order, order) != 0 ||
        verdict->in_rank_order != in_order || verdict->same_everywhere != same)
        show(verdict, __FILE__, __LINE__, order);
    mlt_goal_verdict_free(verdict);
}

static void test_reduce(void)
{
    mlt_goal_program *p = reduce_linear(4, false);
    mlt_goal_spec is = sum_of;
    order_is(p, &is, "(((0+1)+2)+3)", true, true);
    is.commutes = false;
    RIGHT(p, &is);
    mlt_goal_program_free(p);

    p = reduce_linear(4, true);
    is.commutes = true;
    order_is(p, &is, "(3+(2+(1+0)))", false, true);
    is.commutes = false;
    WRONG(
        p, &is, MLT_FAULT_RESULT, 1,
        "rank 0's bytes 8..15 of memory have their operands out of order, and the operation does "
        "not commute\n    they hold (3+(2+(1+0)))\n    they should hold 0+1+2+3\n    last written "
        "by rank 0, action 6");
    mlt_goal_program_free(p);
}

static void test_reduce_wrong(void)
{
    const mlt_goal_spec is = sum_of;
    mlt_goal_program *p = reduce_linear(4, false);
    mlt_goal_action *exec = &p->rank[0].actions[4], good = *exec; // adds rank 2's
    CHECK(exec->at[1] == 24);

    exec->at[1] = 16; // rank 1's again
    mlt_goal_require(p, 0, 4, 1);
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "bytes 8..15 of memory lack the contribution of rank 2, hold that of rank 1 twice\n"
          "    they hold (((0+1)+1)+3)\n    they should hold 0+1+2+3 in any order\n");
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "received but never used: rank 0, action 3 (recv 24,8 from 2), which brings 2");
    *exec = good;
    exec->kind = MLT_GOAL_NOP;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "lack the contribution of rank 2\n");
    *exec = good;
    exec->at[1] = 100;
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "lack the contribution of rank 2, contain what was in byte 0 of memory of rank 0 before");
    *exec = good;
    exec->op = MLT_OP_PROD;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "are combined by prodUInt32 instead of sumUInt32");
    *exec = good;
    exec->type = MLT_OP_UINT32; // the same bits
    RIGHT(p, &is);
    exec->type = MLT_OP_FLOAT32;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "are combined by sumFloat32 instead of sumUInt32");
    exec->type = MLT_OP_INT16;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "are combined by sumUInt16");
    *exec = good;
    exec->size[0] = exec->size[1] = 4; // only the first element
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "bytes 12..15 of memory lack the contribution of rank 2\n");
    *exec = good;
    exec->at[1] = 28; // the second element to the first
    exec->size[0] = exec->size[1] = 4;
    WRONG(p, &is, MLT_FAULT_RESULT, 2, "combine bytes that are 4 apart");
    *exec = good;
    p->rank[2].actions[0].at[0] = 2; // half an element further, and junk behind it
    mlt_goal_verdict *verdict = ask(p, &is);
    CHECK(verdict->found[MLT_FAULT_RESULT] == 2);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(p);

    p = reduce_linear(2, false);
    for (int i = 0; i < 3; i++) // all two bytes further
        for (int w = 0; w < 2; w++)
            p->rank[0].actions[i].at[w] += p->rank[0].actions[i].at[w] || i == 0 ? 2 : 0;
    p->rank[1].actions[0].at[0] = 2;
    p->rank[0].actions[0].size[0] = p->rank[0].actions[0].size[1] = 8;
    mlt_goal_spec more = is;
    more.bytes = 12;
    more.out = "8";
    verdict = ask(p, &more);
    bool middle = false;
    for (uint64_t i = 0; i < verdict->count; i++)
        middle |= strstr(verdict->findings[i].text, "in the middle of one") != NULL;
    CHECK(middle);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(p);
}

// An element that is put together from two ranks' bytes means nothing; one rank's bytes that come
// in two messages do.
static void test_mix(void)
{
    mlt_goal_spec is = sum_of;
    is.bytes = 4;
    for (int two = 0; two < 2; two++) {
        mlt_goal_program *p = mlt_goal_program_new(2);
        mlt_goal_recv(p, 0, at(16, 2), 1, 0);
        mlt_goal_recv(p, 0, at(18, 2), 1, 0);
        mlt_goal_exec(p, 0, MLT_OP_COPY, MLT_OP_INT8, at(8, 4), at(0, 4));
        mlt_goal_require(p, 0, sum(p, 0, at(8, 4), at(16, 4)), 0);
        mlt_goal_require(p, 0, 3, 1);
        mlt_goal_require(p, 0, 3, 2);
        mlt_goal_send(p, 1, at(0, 2), 0, 0);
        mlt_goal_send(p, 1, at(two ? 50 : 2, 2), 0, 0);
        if (two)
            WRONG(p, &is, MLT_FAULT_RESULT, 1, "contain what rank 0, action 3");
        else
            RIGHT(p, &is);
        mlt_goal_program_free(p);
    }
}

static void test_repeated(void)
{
    mlt_goal_program *p = reduce_linear(3, false);
    mlt_goal_spec is = sum_of;
    uint32_t again = sum(p, 0, at(8, 8), at(16, 8)); // rank 1's a second time
    mlt_goal_require(p, 0, again, 4);
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "hold that of rank 1 twice");
    for (int op = 0; op < MLT_OP_COPY; op++) {
        is.op = (mlt_op)op;
        for (uint32_t a = 0; a < p->rank[0].count; a++)
            if (p->rank[0].actions[a].op != MLT_OP_COPY)
                p->rank[0].actions[a].op = (uint8_t)op;
        bool harmless = op == MLT_OP_MAX || op == MLT_OP_MIN || op == MLT_OP_LAND ||
                        op == MLT_OP_LOR || op == MLT_OP_BAND || op == MLT_OP_BOR;
        if (harmless)
            RIGHT(p, &is);
        else
            WRONG(p, &is, MLT_FAULT_RESULT, 1, "twice");
    }
    mlt_goal_program_free(p);

    // a && a is not a.
    p = mlt_goal_program_new(1);
    mlt_goal_exec(p, 0, MLT_OP_LAND, MLT_OP_INT32, at(0, 8), at(0, 8));
    is.op = MLT_OP_LAND;
    is.out = "0";
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "they hold (0&&0)");
    p->rank[0].actions[0].op = MLT_OP_BAND;
    is.op = MLT_OP_BAND;
    RIGHT(p, &is);
    mlt_goal_program_free(p);
}

static void test_user(void)
{
    mlt_goal_program *p = reduce_linear(3, false);
    mlt_goal_spec is = sum_of;
    is.op = MLT_OPS;
    is.user = 4;
    is.commutes = false;
    for (uint32_t a = 0; a < p->rank[0].count; a++)
        if (p->rank[0].actions[a].kind == MLT_GOAL_EXEC &&
            p->rank[0].actions[a].op != MLT_OP_COPY) {
            p->rank[0].actions[a].kind = MLT_GOAL_USER;
            p->rank[0].actions[a].user = 4;
        }
    order_is(p, &is, "((0 user 4 1) user 4 2)", true, true);
    p->rank[0].actions[2].user = 5;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "contain what rank 0, action 2 (exec user 5");
    p->rank[0].actions[2].user = 4;
    WRONG(p, &sum_of, MLT_FAULT_RESULT, 1, "contain what rank 0, action 4 (exec user 4");
    p->rank[0].actions[4].size[1] = 4; // who knows what it does
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "contain what rank 0, action 4");
    mlt_goal_program_free(p);
}

// A user's function whose two buffers overlap in part: byte 1 becomes 1*2 before byte 2, which
// should be 0*1, is made of it, or after; only the function knows.
static void test_user_overlap(void)
{
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_spec is = {
        .collective = MLT_COLL_REDUCE, .root = 1, .bytes = 1, .op = MLT_OPS, .in = "1", .out = "2"};
    mlt_goal_send(p, 0, at(1, 1), 1, 0);
    mlt_goal_send(p, 2, at(1, 1), 1, 0);
    uint32_t before = mlt_goal_recv(p, 1, at(2, 1), 0, 0);
    uint32_t behind = mlt_goal_recv(p, 1, at(0, 1), 2, 0);
    mlt_goal_action f = {.kind = MLT_GOAL_USER, .at = {1, 0}, .size = {2, 2}};
    uint32_t both = mlt_goal_add(p, 1, &f);
    f = (mlt_goal_action){.kind = MLT_GOAL_USER, .at = {2, 3}, .size = {1, 1}};
    uint32_t last = mlt_goal_add(p, 1, &f);
    uint32_t more = mlt_goal_recv(p, 1, at(3, 1), 2, 0);
    mlt_goal_send(p, 2, at(1, 1), 1, 0);
    mlt_goal_require(p, 1, both, before);
    mlt_goal_require(p, 1, both, behind);
    mlt_goal_require(p, 1, last, both);
    mlt_goal_require(p, 1, last, more);
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "contain what rank 1, action 2 (exec user 0 with 1,2 0,2)");
    p->rank[1].actions[both].at[0] = 2; // apart
    p->rank[1].actions[both].at[1] = 1;
    p->rank[1].actions[both].size[0] = p->rank[1].actions[both].size[1] = 1;
    RIGHT(p, &is);
    mlt_goal_program_free(p);
}

// A copy with its operands reversed leaves its first span as it is.
static void test_reversed_copy(void)
{
    mlt_goal_program *p = mlt_goal_program_new(1);
    mlt_goal_spec is = {.collective = MLT_COLL_GATHER, .bytes = 4, .in = "0", .out = "4"};
    uint32_t copy = mlt_goal_exec(p, 0, MLT_OP_COPY, MLT_OP_INT32, at(4, 4), at(0, 4));
    RIGHT(p, &is);
    p->rank[0].actions[copy].flags = MLT_GOAL_REVERSED;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "they hold what was in bytes 4..7 of memory of rank 0");
    is.in = "4";
    RIGHT(p, &is);
    is.bytes = 1;
    is.in = "0";
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 0's bytes 4..4 of memory are wrong\n    they hold what");
    mlt_goal_program_free(p);
}

// Bitwise operations have no elements: whatever their type, any cut is as good.
static void test_bitwise_cuts(void)
{
    mlt_goal_program *p = reduce_linear(2, false);
    mlt_goal_spec is = sum_of;
    is.op = MLT_OP_BXOR;
    mlt_goal_action *exec = &p->rank[0].actions[2];
    exec->op = MLT_OP_BXOR;
    exec->at[0] += 1;
    exec->at[1] += 1;
    exec->size[0] = exec->size[1] = 4;
    mlt_goal_action rest[2] = {*exec, *exec};
    for (int i = 0; i < 2; i++) {
        rest[i].type = MLT_OP_INT8;
        rest[i].at[0] += i ? 4 : -1;
        rest[i].at[1] += i ? 4 : -1;
        rest[i].size[0] = rest[i].size[1] = i ? 3 : 1;
        mlt_goal_require(p, 0, mlt_goal_add(p, 0, &rest[i]), 2);
    }
    RIGHT(p, &is);
    for (uint32_t a = 2; a < 5; a++)
        p->rank[0].actions[a].op = MLT_OP_SUM;
    is.op = MLT_OP_SUM;
    WRONG(p, &is, MLT_FAULT_RESULT, 3, "begin in the middle of one");
    mlt_goal_program_free(p);
}

// Receives that reduce at once.
static void test_fused(void)
{
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_spec is = sum_of;
    is.out = "0";
    is.commutes = false;
    for (uint32_t r = 1; r < 3; r++) {
        mlt_goal_send(p, r, at(0, 8), 0, 0);
        mlt_goal_action fused = {.kind = MLT_GOAL_RECV_EXEC,
                                 .op = MLT_OP_SUM,
                                 .type = MLT_OP_INT32,
                                 .peer = (int32_t)r,
                                 .at = {0, 8 * r},
                                 .size = {8, 8}};
        mlt_goal_add(p, 0, &fused);
    }
    WRONG(p, &is, MLT_FAULT_RACE, 1, "bytes 0..7 of memory");
    mlt_goal_require(p, 0, 1, 0);
    order_is(p, &is, "((0+1)+2)", true, true);
    p->rank[0].actions[1].flags = MLT_GOAL_REVERSED;
    WRONG(p, &is, MLT_FAULT_RESULT, 1, "(2+(0+1))");
    mlt_goal_program_free(p);
}

// Each rank has in (P n or n) and out; every rank sends what the others want of it straight away.
static mlt_goal_program *direct(mlt_collective c, uint32_t ranks, uint64_t n, uint32_t root)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    bool many_in = c == MLT_COLL_SCATTER || c == MLT_COLL_ALLTOALL;
    bool many_out = c == MLT_COLL_GATHER || c == MLT_COLL_ALLGATHER || c == MLT_COLL_ALLTOALL;
    bool from_root = c == MLT_COLL_BCAST || c == MLT_COLL_SCATTER;
    for (uint32_t r = 0; r < ranks; r++) {
        mlt_goal_buffer_add(p, r, "in", many_in ? n * ranks : n);
        mlt_goal_buffer_add(p, r, "out", many_out ? n * ranks : n);
    }
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t to = 0; to < ranks; to++) {
            if ((from_root && r != root) || (c == MLT_COLL_GATHER && to != root))
                continue;
            mlt_goal_send(p, r, in(1, many_in ? to * n : 0, n), (int32_t)to, 0);
            mlt_goal_recv(p, to, in(2, many_out ? r * n : 0, n), (int32_t)r, 0);
        }
    return p;
}

static void test_moves(void)
{
    const mlt_collective list[] = {MLT_COLL_BCAST, MLT_COLL_GATHER, MLT_COLL_ALLGATHER,
                                   MLT_COLL_SCATTER, MLT_COLL_ALLTOALL};
    for (int i = 0; i < 5; i++)
        for (uint32_t ranks = 1; ranks < 6; ranks++) {
            uint32_t root = ranks / 2;
            mlt_goal_program *p = direct(list[i], ranks, 12, root);
            mlt_goal_spec is = {.collective = list[i], .root = root, .in = "in", .out = "out"};
            RIGHT(p, &is);
            is.bytes = 12;
            RIGHT(p, &is);
            // One message less, one place changed.
            mlt_goal_action *recv = NULL;
            for (uint32_t a = 0; a < p->rank[root].count; a++)
                if (p->rank[root].actions[a].kind == MLT_GOAL_RECV)
                    recv = &p->rank[root].actions[a];
            recv->buf[0] = MLT_GOAL_NOWHERE;
            WRONG(p, &is, MLT_FAULT_RESULT, 1, "no action writes them");
            recv->buf[0] = 2;
            for (uint32_t a = 0; a < p->rank[root].count; a++)
                if (p->rank[root].actions[a].kind == MLT_GOAL_SEND)
                    p->rank[root].actions[a].at[0] = 0;
            if (ranks > 1 && (list[i] == MLT_COLL_SCATTER || list[i] == MLT_COLL_ALLTOALL))
                WRONG(p, &is, MLT_FAULT_RESULT, ranks - 1, "they hold bytes 0..11 of what rank");
            else
                RIGHT(p, &is);
            mlt_goal_program_free(p);
        }
}

static void test_scan(void)
{
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        mlt_goal_program *p = mlt_goal_program_new(4);
        mlt_goal_spec is = sum_of;
        is.collective = exclusive ? MLT_COLL_EXSCAN : MLT_COLL_SCAN;
        is.commutes = false;
        for (uint32_t r = 0; r < 4; r++) { // in 0, what comes 16, what goes 24; out 16 or 24
            uint32_t copy = mlt_goal_exec(p, r, MLT_OP_COPY, MLT_OP_INT32, at(24, 8), at(0, 8));
            if (r) {
                uint32_t recv = mlt_goal_recv(p, r, at(16, 8), (int32_t)r - 1, 0);
                uint32_t exec = sum(p, r, at(24, 8), at(16, 8));
                p->rank[r].actions[exec].flags = MLT_GOAL_REVERSED;
                mlt_goal_require(p, r, exec, recv);
                mlt_goal_require(p, r, exec, copy);
                copy = exec;
            }
            if (r < 3)
                mlt_goal_require(p, r, mlt_goal_send(p, r, at(24, 8), (int32_t)r + 1, 0), copy);
        }
        is.out = exclusive ? "16" : "24";
        order_is(p, &is, exclusive ? "((0+1)+2)" : "(((0+1)+2)+3)", true, true);
        is.out = exclusive ? "24" : "16";
        mlt_goal_verdict *verdict = ask(p, &is);
        CHECK(verdict->found[MLT_FAULT_RESULT] == (exclusive ? 3 : 4));
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(p);
    }
}

static void test_barrier(void)
{
    mlt_goal_spec is = {.collective = MLT_COLL_BARRIER};
    mlt_goal_program *p = mlt_goal_program_new(1);
    RIGHT(p, &is);
    mlt_goal_program_grow(p, 4);
    WRONG(p, &is, MLT_FAULT_RESULT, 4, "rank 0 may finish before rank 1 and 2 more ranks have");
    for (uint32_t r = 0; r < 4; r++) { // two rounds of dissemination
        mlt_goal_send(p, r, at(0, 0), (int32_t)((r + 1) % 4), 0);
        mlt_goal_recv(p, r, at(0, 0), (int32_t)((r + 3) % 4), 0);
        mlt_goal_send(p, r, at(0, 0), (int32_t)((r + 2) % 4), 1);
        mlt_goal_recv(p, r, at(0, 0), (int32_t)((r + 2) % 4), 1);
        mlt_goal_require(p, r, 2, 1);
    }
    RIGHT(p, &is);
    p->rank[1].deps_count = 0; // its second send goes before it has heard of 0
    WRONG(p, &is, MLT_FAULT_RESULT, 1,
          "rank 3 may finish before rank 0 has started\n    no chain of messages from rank 0 "
          "reaches rank 3");
    mlt_goal_program_free(p);
}

// A claim about no bytes at all is not right, it is a slip; unless the buffers have none.
static void test_empty_claims(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_spec is = {.collective = MLT_COLL_ALLREDUCE, .type = MLT_OP_INT8};
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "no action touches plain memory there; say the bytes");
    mlt_goal_send(p, 0, at(0, 8), 1, 0);
    mlt_goal_recv(p, 1, at(0, 8), 0, 0);
    is.in = is.out = "8";
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "no action touches plain memory there; say the bytes");
    is.in = is.out = "18446744073709551610";
    is.bytes = 8;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "8 bytes from 18446744073709551610 on end beyond 2^64");

    is = (mlt_goal_spec){.collective = MLT_COLL_ALLTOALL, .in = "b", .out = "b"};
    for (uint32_t r = 0; r < 2; r++)
        mlt_goal_buffer_add(p, r, "b", 1);
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "the size 1 of b of rank 0 is no multiple of 2, the ranks");
    is.in = is.out = "b+1";
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "b of rank 0 has no bytes from 1 on");
    is.in = is.out = "b+2";
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "b of rank 0 has no bytes from 2 on");
    is.in = is.out = "b";
    for (uint32_t r = 0; r < 2; r++)
        p->rank[r].buffers[0].size = 0;
    RIGHT(p, &is);
    mlt_goal_program_free(p);
}

static void test_claims(void)
{
    mlt_goal_program *p = direct(MLT_COLL_ALLGATHER, 3, 8, 0);
    mlt_goal_spec is = {.collective = MLT_COLL_ALLGATHER};
    RIGHT(p, &is); // in and out by their usual names
    is.root = 3;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "there is no rank 3 to be the root");
    is.root = 0;
    is.out = "outt";
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "rank 0 has no buffer outt; it has in, out: say what it takes and gives with --in NAME "
          "--out NAME");
    is.out = "out+3";
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "the buffers say blocks of 8 bytes, but out of rank 0 says 7; say the bytes of a block");
    is.out = "out+4";
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "the size 20 of out of rank 0 is no multiple of 3, the ranks; say the bytes of a block "
          "with --size");
    is.bytes = 8;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "needs 24 bytes from 4 on in out of rank 0, which has 20");
    static const char *const bad[] = {
        "out+x", "out+", "", "+4", "4out", "0x", "out+0x1g", "out+ 4", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        is.out = bad[i];
        WRONG(p, &is, MLT_FAULT_INVALID, 1, "is no place; one is name, name+offset or offset");
    }
    is.out = "out+0x0";
    RIGHT(p, &is);
    is.out = NULL;
    is.bytes = UINT64_MAX / 3;
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "are too large");
    is = (mlt_goal_spec){.collective = MLT_COLL_ALLREDUCE, .op = MLT_OP_COPY, .bytes = 8};
    WRONG(p, &is, MLT_FAULT_INVALID, 1, "does not reduce");
    is = (mlt_goal_spec){.collective = MLT_COLL_SCAN, .op = MLT_OP_SUM, .type = MLT_OP_INT32};
    is.bytes = 6;
    WRONG(p, &is, MLT_FAULT_INVALID, 1,
          "a block of 6 bytes is no whole number of elements of Int32");
    mlt_goal_program_free(p);

    p = direct(MLT_COLL_BCAST, 3, 8, 1);
    for (uint32_t r = 0; r < 3; r++)
        p->rank[r].buffers[1].name = mlt_goal_name(p, "buf", 3);
    is = (mlt_goal_spec){.collective = MLT_COLL_BCAST, .root = 1};
    mlt_goal_verdict *verdict = ask(p, &is); // the root's buf is also where it receives
    CHECK(verdict->found[MLT_FAULT_RESULT] == 3);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(p);
}

// ---- the paper's Listing 3, and a right one
//
// n ways, radix n + 1. localbuf 0..7, buf[w] behind it. The second buffer is the result where the
// listing says exec, so it is the first one here.

static uint32_t power(uint32_t base, uint32_t exponent)
{
    uint32_t result = 1;
    while (exponent--)
        result *= base;
    return result;
}

static void listing3_rank(mlt_goal_program *g, uint32_t i, uint32_t n, uint32_t p, uint32_t rounds)
{
    const mlt_goal_span local = at(0, 8);
    uint32_t send[8] = {0}, rcv[8] = {0};
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t w = 1; w <= n; w++)
            send[w - 1] = mlt_goal_send(g, i, local, (int32_t)((i + w * power(n + 1, r)) % p), 0);
        if (r > 0) {
            uint32_t prev = rcv[0], red;
            for (uint32_t w = 1; w < n; w++) {
                red = sum(g, i, at(8 + 8 * w, 8), at(8 * w, 8));
                mlt_goal_require(g, i, red, rcv[w]);
                mlt_goal_require(g, i, red, prev);
                prev = red;
            }
            red = sum(g, i, local, at(8 * n, 8));
            mlt_goal_require(g, i, red, rcv[0]);
            mlt_goal_require(g, i, send[n - 1], prev);
            for (uint32_t w = 1; w <= n; w++)
                mlt_goal_require(g, i, send[w - 1], red);
        }
        for (uint32_t w = 1; w <= n; w++)
            rcv[w - 1] = mlt_goal_recv(g, i, at(8 * w, 8),
                                       (int32_t)((i + p - w * power(n + 1, r) % p) % p), 0);
    }
}

static const mlt_goal_spec allreduce_of = {.collective = MLT_COLL_ALLREDUCE,
                                           .bytes = 8,
                                           .op = MLT_OP_SUM,
                                           .type = MLT_OP_INT32,
                                           .commutes = true};

static void test_listing3(void)
{
    static const struct {
        uint32_t n, rounds, races;
    } list[] = {{1, 2, 3}, {1, 3, 12}, {2, 2, 9}, {2, 3, 34}};
    for (int l = 0; l < 4; l++) {
        uint32_t n = list[l].n, p = power(n + 1, list[l].rounds);
        mlt_goal_program *g = mlt_goal_program_new(p);
        for (uint32_t i = 0; i < p; i++)
            listing3_rank(g, i, n, p, list[l].rounds);
        mlt_goal_verdict *verdict = ask(g, &allreduce_of);
        for (int f = 0; f < MLT_FAULTS; f++)
            CHECK(!verdict->found[f] || f == MLT_FAULT_RACE || f == MLT_FAULT_RESULT);
        CHECK(verdict->races_of_rank == list[l].races);
        CHECK(verdict->found[MLT_FAULT_RACE] == (uint64_t)p * list[l].races);
        CHECK(verdict->found[MLT_FAULT_RESULT] == p); // on every rank
        bool lost = false;
        for (uint64_t i = 0; i < verdict->count; i++) {
            const mlt_goal_finding *finding = &verdict->findings[i];
            if (finding->fault != MLT_FAULT_RESULT)
                continue;
            CHECK(strstr(finding->text, "lack the contribution"));
            CHECK(strstr(finding->text, "received but never used: rank"));
            lost = true;
        }
        CHECK(lost);
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(g);
    }
}

// A place of its own for each message, sends after what they send, and a last reduction.
static mlt_goal_program *dissemination(uint32_t n, uint32_t rounds)
{
    uint32_t p = power(n + 1, rounds);
    mlt_goal_program *g = mlt_goal_program_new(p);
    for (uint32_t i = 0; i < p; i++) {
        uint32_t last = MLT_GOAL_NONE;
        for (uint32_t r = 0; r < rounds; r++) {
            uint32_t step = power(n + 1, r), sends[8];
            for (uint32_t w = 1; w <= n; w++) {
                sends[w - 1] = mlt_goal_send(g, i, at(0, 8), (int32_t)((i + w * step) % p), 0);
                if (last != MLT_GOAL_NONE)
                    mlt_goal_require(g, i, sends[w - 1], last);
            }
            for (uint32_t w = 1; w <= n; w++) {
                mlt_goal_span place = at(8 + 8 * (r * n + w), 8);
                uint32_t recv = mlt_goal_recv(g, i, place, (int32_t)((i + p - w * step) % p), 0);
                uint32_t red = sum(g, i, at(0, 8), place);
                mlt_goal_require(g, i, red, recv);
                for (uint32_t s = 0; s < n; s++)
                    mlt_goal_require(g, i, red, sends[s]);
                if (last != MLT_GOAL_NONE)
                    mlt_goal_require(g, i, red, last);
                last = red;
            }
        }
    }
    return g;
}

static void test_dissemination(void)
{
    for (uint32_t n = 1; n <= 3; n++)
        for (uint32_t rounds = 1; rounds <= 3; rounds++) {
            mlt_goal_program *g = dissemination(n, rounds);
            RIGHT(g, &allreduce_of);
            if (n == 1 && rounds == 2) // every rank begins with itself
                order_is(g, &allreduce_of, "((0+3)+(2+1))", false, false);
            g->rank[0].actions[n].peer = 0; // a receive
            mlt_goal_verdict *verdict = ask(g, &allreduce_of);
            CHECK(!mlt_goal_verdict_ok(verdict));
            mlt_goal_verdict_free(verdict);
            mlt_goal_program_free(g);
        }
}

// Two ranks that add in turned order: brackets are the same, and so are the bits.
static void test_same_bits(void)
{
    mlt_goal_program *g = dissemination(1, 1);
    order_is(g, &allreduce_of, "(0+1)", false, true);
    g->rank[1].actions[2].flags = MLT_GOAL_REVERSED;
    order_is(g, &allreduce_of, "(0+1)", true, true);
    mlt_goal_program_free(g);

    // Other brackets on each rank: that matters for sums of floats, not of integers.
    g = dissemination(1, 2);
    mlt_goal_spec is = allreduce_of;
    for (int rounds = 0; rounds < 2; rounds++) {
        is.type = rounds ? MLT_OP_FLOAT32 : MLT_OP_INT32;
        for (uint32_t r = 0; r < 4; r++)
            for (uint32_t a = 0; a < g->rank[r].count; a++)
                g->rank[r].actions[a].type = (uint8_t)is.type;
        mlt_goal_verdict *verdict = ask(g, &is);
        char *text = printed(verdict);
        CHECK(mlt_goal_verdict_ok(verdict) && verdict->exact == !rounds);
        CHECK(strstr(text, rounds ? "; ranks differ in their order, so perhaps in bits\n"
                                  : "; ranks differ in their order, which changes no bit\n"));
        free(text);
        mlt_goal_verdict_free(verdict);
    }
    mlt_goal_program_free(g);
}

// ---- telling

static void seen(void *user, double done)
{
    double *last = user;
    CHECK(done >= *last && done <= 1);
    *last = done;
}

static void test_print(void)
{
    mlt_goal_program *g = dissemination(1, 1);
    g->rank[1].actions[2].flags = MLT_GOAL_REVERSED;
    double last = 0;
    mlt_goal_verdict *verdict =
        mlt_goal_check(g, &(mlt_goal_check_options){
                              .is = &allreduce_of, .window = 8, .progress = seen, .user = &last});
    char *text = printed(verdict);
    CHECK(last == 1);
    CHECK(strcmp(text,
                 "6 actions on 2 ranks\n"
                 "in bounds\n"
                 "acyclic\n"
                 "matched: 2 messages, 16 bytes\n"
                 "no deadlock, even if every send is synchronous, nor in a window of 8 "
                 "actions\n"
                 "no races\n"
                 "allreduce sumInt32 over 2 ranks, blocks of 8 bytes: right; order (0+1), in "
                 "the order of the ranks; every rank has the same order, so the same bits\n") == 0);
    free(text);
    mlt_goal_verdict_free(verdict);

    // A limit is one of what is told, not of what is counted.
    for (uint32_t r = 0; r < 2; r++)
        g->rank[r].deps_count = 0;
    verdict = mlt_goal_check(g, &(mlt_goal_check_options){.limit = 1});
    CHECK(verdict->found[MLT_FAULT_RACE] == 4 && verdict->count == 1);
    text = printed(verdict);
    CHECK(strstr(text, "races: 4 unordered pairs of actions, at most 2 on one rank\n"));
    CHECK(strstr(text, "\nrace: 3 more\n"));
    free(text);
    mlt_goal_verdict_free(verdict);
    mlt_goal_verdict_free(NULL);
    mlt_goal_program_free(g);

    // Options may be left out; a program of no actions is fine.
    g = mlt_goal_program_new(1);
    verdict = mlt_goal_check(g, NULL);
    CHECK(mlt_goal_verdict_ok(verdict) && verdict->actions == 0);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(g);
}

// A long formula is shortened from inside.
static void test_long_order(void)
{
    mlt_goal_program *p = reduce_linear(300, false);
    mlt_goal_verdict *verdict = ask(p, &sum_of);
    CHECK(mlt_goal_verdict_ok(verdict) && verdict->in_rank_order);
    CHECK(strlen(verdict->order) < 70 && strstr(verdict->order, "((0+...+29"));
    CHECK(strcmp(verdict->order + strlen(verdict->order) - 6, ")+299)") == 0);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(p);
}

// Doubling what one has 40 times: 2^40 contributions, counted without walking through them.
static void test_exponential(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_recv(p, 0, at(8, 8), 1, 0);
    mlt_goal_send(p, 1, at(0, 8), 0, 0);
    for (uint32_t i = 0; i < 40; i++)
        mlt_goal_require(p, 0, sum(p, 0, at(8, 8), at(8, 8)), i);
    WRONG(p, &sum_of, MLT_FAULT_RESULT, 1,
          "lack the contribution of rank 0, hold that of rank 1 255 times or more");
    mlt_goal_program_free(p);
}

int main(void)
{
    test_reduce();
    test_reduce_wrong();
    test_mix();
    test_repeated();
    test_user();
    test_user_overlap();
    test_reversed_copy();
    test_bitwise_cuts();
    test_fused();
    test_moves();
    test_scan();
    test_barrier();
    test_empty_claims();
    test_claims();
    test_listing3();
    test_dissemination();
    test_same_bits();
    test_print();
    test_long_order();
    test_exponential();
    return 0;
}
