// SPDX-License-Identifier: BSD-3-Clause
// What mlt_goal_program_valid refuses, each with its sentence; and what it must not refuse.
#include "goal/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

static char why[400];

static void tell_why(void)
{
    fprintf(stderr, "  said: %s\n", why);
}

// Two ranks; rank 1 has the buffer b of 8 bytes and the action, which depends on `on`.
static bool valid(mlt_goal_action action, uint32_t on)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 1, "b", 8);
    mlt_goal_add(program, 1, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    mlt_goal_add(program, 1, &action);
    mlt_goal_require(program, 1, 1, 0);
    program->rank[1].deps[0].on = on;
    why[0] = 0;
    bool is = mlt_goal_program_valid(program, why, sizeof why) == MLT_OK;
    CHECK(is == !why[0]);
    mlt_goal_program_free(program);
    return is;
}

static void refused(mlt_goal_action action, const char *sentence)
{
    CHECK(!valid(action, 0));
    CHECK(strncmp(why, "action 1 of rank 1 is not valid: ", 33) == 0);
    CHECK(strcmp(why + 33, sentence) == 0);
}

// Every kind, with every field in order.
static mlt_goal_action fine(int kind)
{
    return (mlt_goal_action){
        .kind = (uint8_t)kind, .type = MLT_OP_INT32, .buf = {1, 0}, .at = {4, 100}, .size = {4, 4}};
}

int main(void)
{
    tell_more = tell_why;
    for (int kind = MLT_GOAL_SEND; kind < MLT_GOAL_KINDS; kind++) {
        mlt_goal_action a = fine(kind);
        bool message = mlt_goal_is_message(&a),
             local = kind == MLT_GOAL_CALC || kind == MLT_GOAL_NOP;
        bool two = !local && kind != MLT_GOAL_SEND && kind != MLT_GOAL_RECV;
        bool typed = kind == MLT_GOAL_EXEC || kind == MLT_GOAL_RECV_EXEC;
        CHECK(valid(a, 0) && valid(a, 0 | MLT_GOAL_STARTED));
        CHECK(!valid(a, 2) &&
              strcmp(why, "dependency 0 of rank 1 names an action that is not there") == 0);
        for (int which = 0; which <= two && !local; which++) {
            a.buf[which] = 2;
            refused(a, "it names a buffer that the rank has not");
            a.buf[which] = MLT_GOAL_NOWHERE; // nobody cares, or there is nothing to work on
            if (two)
                refused(a, "it works on no memory");
            else
                CHECK(valid(a, 0));
            a.buf[which] = MLT_GOAL_ADDRESS;
            CHECK(valid(a, 0));
            a = fine(kind);
            a.at[which] = UINT64_MAX - 2;
            refused(a, "its bytes end beyond 2^64");
            a.at[which] = 1000; // the checker's business
            CHECK(valid(a, 0));
            a = fine(kind);
        }
        a.peer = 2;
        CHECK(valid(a, 0) == !message);
        a.peer = MLT_GOAL_ANY;
        CHECK(valid(a, 0) == (kind != MLT_GOAL_SEND));
        CHECK(kind != MLT_GOAL_SEND || strstr(why, "its peer is no rank of the program"));
        a = fine(kind);
        a.tag = MLT_GOAL_ANY;
        CHECK(valid(a, 0) == (kind != MLT_GOAL_SEND));
        CHECK(kind != MLT_GOAL_SEND || strstr(why, "its tag is negative"));
        a = fine(kind);
        a.label = 1000;
        refused(a, "its name is none of the program's");
        a = fine(kind);
        a.size[1] = 8;
        CHECK(valid(a, 0) == !typed);
        CHECK(!typed || strstr(why, "its two buffers differ in size"));
        a.size[0] = a.size[1] = 6;
        CHECK(valid(a, 0) == !typed);
        CHECK(!typed || strstr(why, "its size is no whole number of elements"));
        a.op = MLT_OPS;
        CHECK(valid(a, 0) == !typed);
        CHECK(!typed || strstr(why, "it has no operation or no type"));
    }
    refused((mlt_goal_action){.kind = 0}, "there is no such kind of action");
    refused((mlt_goal_action){.kind = MLT_GOAL_KINDS}, "there is no such kind of action");
    return 0;
}
