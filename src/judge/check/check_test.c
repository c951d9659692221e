// SPDX-License-Identifier: BSD-3-Clause
// The checker on small programs: each fault but of the result alone, with its finding's
// words, and right ones beside.
#include "judge/check/check_test.h"
#include "goal/program_test.h"

// ---- single actions

static void test_valid(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    uint32_t s = mlt_goal_send(p, 0, at(0, 8), 1, 0), r = mlt_goal_recv(p, 1, at(0, 8), 0, 0);
    RIGHT(p, NULL);
    mlt_goal_action *send = &p->rank[0].actions[s], good = *send;
    CHECK(r == 0);

    send->kind = 77;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "rank 0, action 0: there is no such kind");
    *send = good;
    send->buf[0] = 3;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "buffer that the rank has not");
    *send = good;
    send->label = 1000;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "name is none of the program's");
    *send = good;
    send->at[0] = UINT64_MAX - 3;
    WRONG(p, NULL, MLT_FAULT_BOUNDS, 1, "beyond the end of all addresses");
    *send = good;

    // A peer that is not there: told once for itself, and its partner waits in vain.
    send->peer = 2;
    mlt_goal_verdict *verdict = ask(p, NULL);
    CHECK(verdict->found[MLT_FAULT_INVALID] == 1 && verdict->found[MLT_FAULT_UNMATCHED] == 1);
    CHECK(strstr(verdict->findings[0].text, "its peer is no rank of the program"));
    CHECK(strstr(verdict->findings[1].text, "rank 0 has no send to 1 with tag 0"));
    mlt_goal_verdict_free(verdict);
    *send = good;
    send->tag = -1;
    verdict = ask(p, NULL);
    CHECK(verdict->found[MLT_FAULT_INVALID] == 1);
    mlt_goal_verdict_free(verdict);
    *send = good;

    mlt_goal_require(p, 0, 0, 0);
    p->rank[0].deps[0] = (mlt_goal_dep){0, 5};
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "names an action that is not there; there are 1");
    mlt_goal_program_free(p);
}

static void test_exec_valid(void)
{
    mlt_goal_program *p = mlt_goal_program_new(1);
    uint32_t e = sum(p, 0, at(0, 8), at(8, 8));
    RIGHT(p, NULL);
    mlt_goal_action *exec = &p->rank[0].actions[e], good = *exec;
    exec->op = MLT_OPS;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "no operation or no type");
    *exec = good;
    exec->size[1] = 4;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "differ in size");
    *exec = good;
    exec->size[0] = exec->size[1] = 6;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "no whole number of elements");
    *exec = good;
    exec->at[1] = 4;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "overlap in part");
    exec->at[1] = 0; // the same is fine
    RIGHT(p, NULL);
    *exec = good;
    exec->buf[1] = MLT_GOAL_NOWHERE;
    WRONG(p, NULL, MLT_FAULT_INVALID, 1, "no memory");
    exec->kind = MLT_GOAL_NOP;
    RIGHT(p, NULL);
    mlt_goal_program_free(p);
}

static void test_bounds(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    uint32_t a = mlt_goal_buffer_add(p, 0, "small", 8), b = mlt_goal_buffer_add(p, 1, "big", 16);
    mlt_goal_send(p, 0, in(a, 4, 8), 1, 0);
    mlt_goal_recv(p, 1, in(b, 8, 8), 0, 0);
    WRONG(p, NULL, MLT_FAULT_BOUNDS, 1, "touches bytes 8..11 of small, which has 8 bytes");
    p->rank[0].actions[0].at[0] = 0;
    RIGHT(p, NULL);
    p->rank[1].actions[0].at[0] = 9;
    WRONG(p, NULL, MLT_FAULT_BOUNDS, 1, "touches byte 16 of big");
    mlt_goal_program_free(p);
}

static void test_cycle(void)
{
    mlt_goal_program *p = mlt_goal_program_new(1);
    for (int i = 0; i < 3; i++)
        sum(p, 0, at(16u * (unsigned)i, 8), at(16u * (unsigned)i + 8, 8));
    mlt_goal_require(p, 0, 1, 0);
    mlt_goal_require(p, 0, 2, 1);
    RIGHT(p, NULL);
    mlt_goal_require(p, 0, 0, 2 | MLT_GOAL_STARTED);
    WRONG(p, NULL, MLT_FAULT_CYCLE, 1, "3 actions require each other\n    rank 0, action");
    p->rank[0].deps[2] = (mlt_goal_dep){1, 1};
    WRONG(p, NULL, MLT_FAULT_CYCLE, 1, "an action requires itself");
    mlt_goal_program_free(p);
}

// ---- messages

static void test_match(void)
{
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_send(p, 0, at(0, 8), 2, 5);
    mlt_goal_recv(p, 2, at(0, 8), 0, 5);
    RIGHT(p, NULL);
    mlt_goal_action *recv = &p->rank[2].actions[0];
    recv->tag = 4;
    WRONG(p, NULL, MLT_FAULT_UNMATCHED, 2,
          "rank 2 has no receive from 0 with tag 5 for rank 0, action 0 (send 0,8 to 2 tag 5); it "
          "has one with tag 4\n    rank 2, action 0 (recv 0,8 from 0 tag 4)");
    recv->tag = 5;
    recv->peer = 1;
    WRONG(p, NULL, MLT_FAULT_UNMATCHED, 2, "; it has one from 1\n");
    recv->peer = 0;
    recv->size[0] = 16;
    WRONG(p, NULL, MLT_FAULT_SIZE, 1, "a message of 8 bytes meets a receive of 16\n    rank 0");
    recv->size[0] = 8;
    mlt_goal_send(p, 0, at(8, 8), 2, 5);
    WRONG(p, NULL, MLT_FAULT_UNMATCHED, 1,
          "rank 2 has no receive from 0 with tag 5 for rank 0, "
          "action 1");
    p->rank[0].actions[1].peer = 1;
    WRONG(p, NULL, MLT_FAULT_UNMATCHED, 1, "it has no such receive at all");
    mlt_goal_program_free(p);

    // The order of the program decides, not that of running.
    p = mlt_goal_program_new(2);
    mlt_goal_send(p, 0, at(0, 4), 1, 0);
    mlt_goal_send(p, 0, at(0, 8), 1, 0);
    mlt_goal_recv(p, 1, at(0, 8), 0, 0);
    mlt_goal_recv(p, 1, at(8, 4), 0, 0);
    WRONG(p, NULL, MLT_FAULT_SIZE, 2, "a message of 4 bytes meets a receive of 8");
    mlt_goal_program_free(p);
}

static void test_wildcards(void)
{
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_send(p, 0, at(0, 8), 2, 0);
    mlt_goal_send(p, 1, at(0, 8), 2, 7);
    mlt_goal_recv(p, 2, at(0, 8), MLT_GOAL_ANY, MLT_GOAL_ANY);
    mlt_goal_recv(p, 2, at(8, 8), MLT_GOAL_ANY, 7);
    mlt_goal_spec is = {.collective = MLT_COLL_BCAST, .bytes = 8};
    WRONG(p, &is, MLT_FAULT_WILDCARD, 2, "takes what comes first");
    p->rank[1].actions[0].peer = 0; // no receive takes it, and one wildcard is left
    mlt_goal_verdict *verdict = ask(p, NULL);
    CHECK(verdict->found[MLT_FAULT_WILDCARD] == 2 && verdict->found[MLT_FAULT_UNMATCHED] == 2);
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(p);
}

// ---- deadlock

static mlt_goal_program *exchange(bool send_first, bool recv_first)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    for (uint32_t r = 0; r < 2; r++) {
        mlt_goal_recv(p, r, at(8, 8), (int32_t)(1 - r), 0);
        mlt_goal_send(p, r, at(0, 8), (int32_t)(1 - r), 0);
        if (send_first)
            mlt_goal_require(p, r, 0, 1);
        if (recv_first)
            mlt_goal_require(p, r, 1, 0);
    }
    return p;
}

static void test_deadlock(void)
{
    mlt_goal_program *p = exchange(false, false);
    RIGHT(p, NULL);
    mlt_goal_program_free(p);

    p = exchange(false, true);
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "even if every send is buffered, 4 actions wait");
    p->rank[0].deps[0].on |= MLT_GOAL_STARTED; // a receive that has only started hinders nobody
    RIGHT(p, NULL);
    mlt_goal_program_free(p);

    p = exchange(true, false);
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "if sends end only when they are received, 4 actions");
    mlt_goal_verdict *verdict =
        mlt_goal_check(p, &(mlt_goal_check_options){.assume_buffered = true});
    CHECK(mlt_goal_verdict_ok(verdict) && !verdict->synchronous);
    mlt_goal_verdict_free(verdict);
    p->rank[0].actions[1].flags = p->rank[1].actions[1].flags = MLT_GOAL_SYNCHRONOUS;
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "even if every send is buffered");
    p->rank[0].actions[1].flags = 0; // one of them is enough
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "if sends end only when");
    mlt_goal_program_free(p);

    // To oneself.
    p = mlt_goal_program_new(1);
    mlt_goal_send(p, 0, at(0, 8), 0, 0);
    mlt_goal_recv(p, 0, at(8, 8), 0, 0);
    RIGHT(p, NULL);
    mlt_goal_require(p, 0, 1, 0);
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "if sends end only when");
    mlt_goal_program_free(p);
}

// The cycle that is shown is a shortest one, though a longer one is met first.
static void test_deadlock_short(void)
{
    enum { RANKS = 8 };
    mlt_goal_program *p = mlt_goal_program_new(RANKS);
    for (uint32_t r = 0; r < RANKS; r++) { // a ring in which all receive first
        mlt_goal_recv(p, r, at(0, 8), (int32_t)((r + RANKS - 1) % RANKS), 0);
        mlt_goal_send(p, r, at(0, 8), (int32_t)((r + 1) % RANKS), 0);
        mlt_goal_require(p, r, 1, 0);
    }
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "16 actions wait");
    for (uint32_t r = 2; r < 4; r++) { // and two of them another way too
        uint32_t peer = 5 - r, recv = mlt_goal_recv(p, r, at(8, 8), (int32_t)peer, 1);
        uint32_t send = mlt_goal_send(p, r, at(8, 8), (int32_t)peer, 1);
        mlt_goal_require(p, r, send, recv);
        mlt_goal_require(p, r, 0, send);
    }
    WRONG(p, NULL, MLT_FAULT_DEADLOCK, 1, "4 actions wait");
    mlt_goal_program_free(p);
}

static void test_window(void)
{
    // Receives from and sends to the other in the same order: one at a time is a deadlock.
    mlt_goal_program *p = exchange(false, false);
    for (uint32_t window = 1; window < 4; window++) {
        mlt_goal_verdict *verdict = mlt_goal_check(p, &(mlt_goal_check_options){.window = window});
        CHECK(verdict->window == window);
        CHECK(verdict->found[MLT_FAULT_DEADLOCK] == (window == 1));
        if (window == 1)
            CHECK(strstr(verdict->findings[0].text, "in a window of 1 actions") &&
                  strstr(verdict->findings[0].text, "left the window"));
        mlt_goal_verdict_free(verdict);
    }
    mlt_goal_program_free(p);

    // Many receives before the sends that they are answers to; the actions at the end need the
    // beginning, so a small window goes by segments.
    enum { MANY = 12 };
    p = mlt_goal_program_new(2);
    for (uint32_t r = 0; r < 2; r++) {
        for (uint32_t i = 0; i < MANY; i++)
            mlt_goal_recv(p, r, at(16 + 8 * i, 8), (int32_t)(1 - r), 0);
        for (uint32_t i = 0; i < MANY; i++)
            mlt_goal_send(p, r, at(0, 8), (int32_t)(1 - r), 0);
        for (uint32_t i = 0; i < MANY; i++)
            mlt_goal_require(p, r, sum(p, r, at(200, 4), at(16 + 8 * i, 4)), i);
        for (uint32_t i = 1; i < MANY; i++)
            mlt_goal_require(p, r, 2 * MANY + i, 2 * MANY + i - 1);
    }
    RIGHT(p, NULL);
    for (uint32_t window = 1; window <= 3 * MANY; window++) {
        mlt_goal_verdict *verdict = mlt_goal_check(p, &(mlt_goal_check_options){.window = window});
        // A window that holds some send lets it go, and so all go on in turn; segments end.
        if (window <= MANY)
            CHECK(verdict->found[MLT_FAULT_DEADLOCK] == 1);
        if (window >= 2 * MANY)
            CHECK(mlt_goal_verdict_ok(verdict));
        mlt_goal_verdict_free(verdict);
    }
    mlt_goal_program_free(p);
}

// ---- races

static void test_race(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_send(p, 0, at(0, 8), 1, 0);
    mlt_goal_send(p, 0, at(4, 8), 1, 0); // two readers
    mlt_goal_recv(p, 1, at(0, 8), 0, 0);
    mlt_goal_recv(p, 1, at(8, 8), 0, 0); // side by side
    RIGHT(p, NULL);
    p->rank[1].actions[1].at[0] = 7;
    WRONG(p, NULL, MLT_FAULT_RACE, 1,
          "on rank 1 two actions touch byte 7 of memory in any order\n"
          "    rank 1, action 0 (recv 0,8 from 0) writes it\n");
    mlt_goal_require(p, 1, 1, 0 | MLT_GOAL_STARTED); // its start is not enough
    WRONG(p, NULL, MLT_FAULT_RACE, 1, "whichever comes last");
    p->rank[1].deps[0].on = 0;
    mlt_goal_verdict *verdict =
        mlt_goal_check(p, &(mlt_goal_check_options){.assume_buffered = true});
    CHECK(mlt_goal_verdict_ok(verdict));
    mlt_goal_verdict_free(verdict);
    sum(p, 0, at(0, 4), at(100, 4));
    WRONG(p, NULL, MLT_FAULT_RACE, 1, "bytes 0..3 of memory");
    p->rank[0].actions[2].at[0] = 6; // into both sends' bytes
    WRONG(p, NULL, MLT_FAULT_RACE, 2, "the reader gets the bytes of before or after");
    mlt_goal_require(p, 0, 2, 0);
    mlt_goal_require(p, 0, 2, 1);
    RIGHT(p, NULL);
    mlt_goal_program_free(p);
}

// Against all pairs, on random programs of one rank.
static uint64_t count_races(const mlt_goal_rank *rank)
{
    uint64_t races = 0;
    bool before[16][16] = {{false}};
    for (uint32_t d = 0; d < rank->deps_count; d++)
        before[rank->deps[d].on][rank->deps[d].action] = true;
    for (uint32_t k = 0; k < rank->count; k++)
        for (uint32_t i = 0; i < rank->count; i++)
            for (uint32_t j = 0; j < rank->count; j++)
                before[i][j] |= before[i][k] && before[k][j];
    for (uint32_t i = 0; i < rank->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            mlt_goal_access a[2], b[2];
            int an = mlt_goal_accesses(&rank->actions[i], a);
            int bn = mlt_goal_accesses(&rank->actions[j], b);
            bool touch = false;
            for (int x = 0; x < an; x++)
                for (int y = 0; y < bn; y++)
                    touch |= (a[x].writes || b[y].writes) && a[x].span.buf == b[y].span.buf &&
                             a[x].span.at < b[y].span.at + b[y].span.size &&
                             b[y].span.at < a[x].span.at + a[x].span.size;
            races += touch && !before[i][j] && !before[j][i];
        }
    return races;
}

static void test_race_random(void)
{
    uint64_t numbers = 1, all = 0;
    for (int round = 0; round < 1000; round++) {
        mlt_goal_program *p = mlt_goal_program_new(1);
        mlt_goal_buffer_add(p, 0, "x", 64);
        uint32_t count = 2 + (uint32_t)draw(&numbers, 14);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t size = 1 + draw(&numbers, 9), from = draw(&numbers, 64 - size), to = from;
            while (to < from + size && from < to + size)
                to = draw(&numbers, 64 - size);
            mlt_goal_exec(p, 0, draw(&numbers, 2) ? MLT_OP_COPY : MLT_OP_MAX, MLT_OP_INT8,
                          in((uint32_t)draw(&numbers, 2), to, size), in(1, from, size));
        }
        for (uint32_t d = (uint32_t)draw(&numbers, 2 * count); d > 0; d--) {
            uint32_t a = (uint32_t)draw(&numbers, count), b = (uint32_t)draw(&numbers, count);
            if (a != b)
                mlt_goal_require(p, 0, a > b ? a : b, a > b ? b : a);
        }
        mlt_goal_verdict *verdict = ask(p, NULL);
        CHECK(verdict->found[MLT_FAULT_RACE] == count_races(&p->rank[0]));
        CHECK(verdict->races_of_rank == verdict->found[MLT_FAULT_RACE]);
        all += verdict->found[MLT_FAULT_RACE];
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(p);
    }
    CHECK(all > 3000);
}

// Whatever it is given, it answers. Nearly right programs of random actions, some with nonsense.
static mlt_goal_action random_action(uint64_t *numbers, uint32_t ranks, bool nonsense)
{
    mlt_goal_action a = {.kind = (uint8_t)(1 + draw(numbers, MLT_GOAL_KINDS - 1)),
                         .op = (uint8_t)draw(numbers, MLT_OPS),
                         .type = (uint8_t)draw(numbers, MLT_OP_TYPES),
                         .flags = (uint8_t)draw(numbers, 4),
                         .user = (uint16_t)draw(numbers, 3),
                         .peer = (int32_t)draw(numbers, ranks),
                         .tag = (int32_t)draw(numbers, 2)};
    uint64_t size = 8 * draw(numbers, 3);
    for (int w = 0; w < 2; w++) {
        a.buf[w] = (uint32_t)draw(numbers, 3);
        a.at[w] = 8 * draw(numbers, 4);
        a.size[w] = size;
    }
    if (!nonsense || draw(numbers, 4))
        return a;
    switch (draw(numbers, 7)) {
    case 0:
        a.kind = (uint8_t)draw(numbers, 256);
        break;
    case 1:
        a.peer = (int32_t)draw(numbers, 20) - 10;
        break;
    case 2:
        a.tag = (int32_t)draw(numbers, 20) - 10;
        break;
    case 3:
        a.buf[draw(numbers, 2)] = UINT32_MAX - (uint32_t)draw(numbers, 4);
        break;
    case 4:
        a.at[draw(numbers, 2)] = UINT64_MAX - draw(numbers, 100);
        break;
    case 5:
        a.size[draw(numbers, 2)] =
            draw(numbers, 2) ? UINT64_MAX - draw(numbers, 100) : draw(numbers, 30);
        break;
    default:
        a.op = (uint8_t)draw(numbers, 256);
        a.type = (uint8_t)draw(numbers, 256);
        a.label = (uint32_t)draw(numbers, 2);
    }
    return a;
}

static void test_anything(void)
{
    uint64_t numbers = 7, right_ones = 0;
    for (int round = 0; round < 4000; round++) {
        uint32_t ranks = 1 + (uint32_t)draw(&numbers, 4);
        bool nonsense = round % 2;
        mlt_goal_program *p = mlt_goal_program_new(ranks);
        for (uint32_t r = 0; r < ranks; r++) {
            mlt_goal_buffer_add(p, r, "in", 64);
            mlt_goal_buffer_add(p, r, "out", 64);
            uint32_t count = (uint32_t)draw(&numbers, 5);
            for (uint32_t a = 0; a < count; a++) {
                mlt_goal_action action = random_action(&numbers, ranks, nonsense);
                mlt_goal_add(p, r, &action);
            }
            for (uint32_t d = 0; count > 1 && d < count; d++) {
                uint32_t a = (uint32_t)draw(&numbers, count), b = (uint32_t)draw(&numbers, count);
                if (a > b || nonsense)
                    mlt_goal_require(p, r, a, b | (draw(&numbers, 4) ? 0 : MLT_GOAL_STARTED));
            }
        }
        mlt_goal_spec is = {.collective = (mlt_collective)draw(&numbers, MLT_COLLECTIVES),
                            .root = (uint32_t)draw(&numbers, 3),
                            .bytes = 8 * draw(&numbers, 3),
                            .op = (mlt_op)draw(&numbers, MLT_OPS + 1),
                            .type = (mlt_op_type)draw(&numbers, MLT_OP_TYPES),
                            .commutes = draw(&numbers, 2),
                            .in = draw(&numbers, 2) ? "in" : "0",
                            .out = draw(&numbers, 2) ? "out" : "in+8"};
        mlt_goal_verdict *verdict = mlt_goal_check(
            p, &(mlt_goal_check_options){.is = &is, .window = (uint32_t)draw(&numbers, 4)});
        char *text = printed(verdict);
        right_ones += mlt_goal_verdict_ok(verdict);
        CHECK(strlen(text) > 0);
        free(text);
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(p);
    }
    CHECK(right_ones > 10);
}

int main(void)
{
    test_valid();
    test_exec_valid();
    test_bounds();
    test_cycle();
    test_match();
    test_wildcards();
    test_deadlock();
    test_deadlock_short();
    test_window();
    test_race();
    test_race_random();
    test_anything();
    return 0;
}
