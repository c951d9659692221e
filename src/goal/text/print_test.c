// SPDX-License-Identifier: BSD-3-Clause
// The printer: what it writes, to the letter; that reading it gives the same program, also for
// programs that no reader made; and that a million ranks take a bearable time.
#include "goal/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "goal/text/loggopsim_int.h"

static char why[1024];

static mlt_goal_program *read_text(const char *text, size_t length)
{
    mlt_goal_program *program;
    if (mlt_goal_read("t", text, length, &program, NULL, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return program;
}

static char *print(const mlt_goal_program *program, mlt_goal_dialect dialect, size_t *length)
{
    char *text;
    FILE *to = open_memstream(&text, length);
    CHECK(to && mlt_goal_print(program, dialect, 0.5, to) && fclose(to) == 0);
    return text;
}

static void check_text(const char *from, mlt_goal_dialect dialect, const char *expected)
{
    size_t length;
    mlt_goal_program *program = read_text(from, strlen(from));
    char *text = print(program, dialect, &length);
    if (strcmp(text, expected) != 0) {
        fprintf(stderr, "printed was\n%s\nbut should\n%s\n", text, expected);
        exit(1);
    }
    // Once more gives the same, to the letter.
    mlt_goal_program *again = read_text(text, length);
    char *second = print(again, dialect, &length);
    CHECK(strcmp(text, second) == 0);
    CHECK(dialect != MLT_GOAL_PAPER || mlt_goal_program_equal(program, again));
    free(text);
    free(second);
    mlt_goal_program_free(program);
    mlt_goal_program_free(again);
}

static void check_texts(void)
{
    check_text("rank #0{r1:recv 503,1 from 1;r2:recv 504,1 from 2;e1:exec sumInt8 with 501,1,503,1;"
               "e2:exec sumInt8 with 502,1 504,1;requ e1->r1;requ e2->r2;}rank #1,#2{send 501,1 to "
               "0;}",
               MLT_GOAL_PAPER,
               "rank #0 {\n"
               "  r1: recv 503,1 from 1;\n"
               "  r2: recv 504,1 from 2;\n"
               "  e1: exec sumInt8 with 501,1 503,1;\n"
               "  e2: exec sumInt8 with 502,1 504,1;\n"
               "\n"
               "  requ e1 -> r1;\n"
               "  requ e2 -> r2;\n"
               "}\n"
               "\n"
               "rank #1, #2 {\n"
               "  send 501,1 to 0;\n"
               "}\n");
    check_text(
        "ranks 9; rank #1..3, #5, #7 { buffer in 8; buffer tmp 16; send in,8 to 0 sync tag 3;"
        "first: recv tmp+8,8 from any tag any then prodFloat64 with in,8 reversed nic 1;"
        "x: nop cpu 2; a_label_that_is_long: recv tmp,4 from 3 then user 7 with 0x10,8; "
        "calc 5; exec user 1 with 0,1 1,2; irequ x -> first; requ first -> x; }",
        MLT_GOAL_PAPER,
        "ranks 9;\n"
        "\n"
        "rank #1..3, #5, #7 {\n"
        "  buffer in 8;\n"
        "  buffer tmp 16;\n"
        "\n"
        "                  send in+0,8 to 0 tag 3 sync;\n"
        "  first:          recv tmp+8,8 from any tag any then prodFloat64 with in+0,8 reversed "
        "nic 1;\n"
        "  x:              nop cpu 2;\n"
        "  a_label_that_is_long: recv tmp+0,4 from 3 then user 7 with 16,8;\n"
        "                  calc 5;\n"
        "                  exec user 1 with 0,1 1,2;\n"
        "\n"
        "  irequ x -> first;\n"
        "  requ first -> x;\n"
        "}\n");
    check_text("ranks 3;", MLT_GOAL_PAPER, "ranks 3;\n");
    check_text("rank #2 { buffer a 0; }", MLT_GOAL_PAPER, "rank #2 {\n  buffer a 0;\n}\n");
    check_text(
        "num_ranks 2\nrank 1 {\nb requires a\na: recv 8b from -1 tag -1 nic 1 cpu 2\nb: calc "
        "3\nsend 1b to 0\n}",
        MLT_GOAL_LOGGOPSIM,
        "num_ranks 2\n"
        "\n"
        "rank 0 {\n"
        "}\n"
        "\n"
        "rank 1 {\n"
        "a: recv 8b from -1 tag -1 cpu 2 nic 1\n"
        "b: calc 3\n"
        "send 1b to 0\n"
        "b requires a\n"
        "}\n");
    // Memory is lost, and what it costs is not: 0.5 ns a byte here.
    check_text(
        "rank #0 { a: recv 0,8 from 1 tag 4 then sumInt8 with 8,8 cpu 1; b: nop; c: exec sumInt8"
        " with 0,7 8,7; requ b -> a; irequ c -> a; requ a -> b; }",
        MLT_GOAL_LOGGOPSIM,
        "num_ranks 2\n"
        "\n"
        "rank 0 {\n"
        "a: recv 8b from 1 tag 4 cpu 1\n"
        "c1: calc 4 cpu 1\n"
        "b: calc 0\n"
        "c: calc 4\n"
        "c1 requires a\n"
        "b requires c1\n"
        "c irequires a\n"
        "a requires b\n"
        "}\n"
        "\n"
        "rank 1 {\n"
        "}\n");
}

// Long lists of ranks are cut into lines.
static void check_lists(void)
{
    mlt_goal_program *program = mlt_goal_program_new(1000);
    size_t length;
    for (uint32_t r = 0; r < 1000; r += 2)
        mlt_goal_add(program, r, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    char *text = print(program, MLT_GOAL_PAPER, &length);
    for (char *line = text; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 110);
    mlt_goal_program *again = read_text(text, length);
    CHECK(mlt_goal_program_equal(program, again));
    CHECK(strstr(text, "rank #0, #2, #4") && !strstr(strstr(text, "rank #0") + 1, "rank"));
    free(text);
    mlt_goal_program_free(program);
    mlt_goal_program_free(again);
}

// ---- programs that no reader made

static uint64_t number(void)
{
    return below(4) ? below(100) : below(2) ? UINT64_MAX - below(2) : (uint64_t)below(1000) << 30;
}

static mlt_goal_action action(mlt_goal_program *program, uint32_t buffers)
{
    static const char *const labels[] = {"a",  "b",          "send", "s1", "s2_",
                                         "r0", "with space", "",     "x_9"};
    mlt_goal_action a = {.kind = (uint8_t)(1 + below(MLT_GOAL_KINDS - 1))};
    const char *label = labels[below(sizeof labels / sizeof *labels)];
    a.label = mlt_goal_name(program, label, strlen(label));
    a.op = (uint8_t)below(MLT_OPS);
    a.type = (uint8_t)below(MLT_OP_TYPES);
    a.flags = (uint8_t)below(4);
    a.cpu = (uint8_t)(below(3) ? 0 : below(256));
    a.nic = (uint8_t)(below(3) ? 0 : below(256));
    a.user = (uint16_t)below(65536);
    a.line = below(1000);
    bool any = a.kind != MLT_GOAL_SEND && !below(4);
    a.peer = any ? MLT_GOAL_ANY : (int32_t)below(program->ranks);
    a.tag = any ? MLT_GOAL_ANY : below(2) ? 0 : (int32_t)(below(1u << 31));
    for (int i = 0; i < 2; i++) {
        a.buf[i] = below(buffers + 1);
        a.at[i] = number() / 2;
        a.size[i] = number() / 2;
    }
    if (a.kind == MLT_GOAL_EXEC || a.kind == MLT_GOAL_RECV_EXEC)
        a.size[0] = a.size[1] = a.size[0] / 8 * 8;
    if (a.kind <= MLT_GOAL_RECV && !below(4))
        a.buf[0] = MLT_GOAL_NOWHERE;
    if (a.kind == MLT_GOAL_CALC)
        a.size[0] = number();
    return a;
}

static mlt_goal_program *make(void)
{
    static const char *const buffers[] = {"in", "out", "b1", "tmp_0"};
    mlt_goal_program *program = mlt_goal_program_new(1 + below(6));
    for (uint32_t r = 0; r < program->ranks; r++) {
        if (r && !below(3)) { // as the one before, so that they share a block
            const mlt_goal_rank *rank = &program->rank[r - 1];
            for (uint32_t b = 0; b < rank->buffers_count; b++)
                mlt_goal_buffer_add(program, r, buffers[b], rank->buffers[b].size);
            for (uint32_t a = 0; a < rank->count; a++)
                mlt_goal_add(program, r, &rank->actions[a]);
            for (uint32_t d = 0; d < rank->deps_count; d++)
                mlt_goal_require(program, r, rank->deps[d].action, rank->deps[d].on);
            continue;
        }
        uint32_t count = below(3) ? below(12) : 0, names = below(5);
        for (uint32_t b = 0; b < names; b++)
            mlt_goal_buffer_add(program, r, buffers[b], number());
        for (uint32_t i = 0; i < count; i++) {
            mlt_goal_action a = action(program, names);
            mlt_goal_add(program, r, &a);
        }
        for (uint32_t d = 0; count && d < below(12); d++)
            mlt_goal_require(program, r, below(count),
                             below(count) | (below(2) ? (uint32_t)MLT_GOAL_STARTED : 0));
    }
    CHECK(mlt_goal_program_valid(program, why, sizeof why) == MLT_OK);
    return program;
}

// What LogGOPSim's dialect can say of it.
static mlt_goal_program *lowered(const mlt_goal_program *program)
{
    mlt_goal_program *low = mlt_goal_program_new(program->ranks);
    for (uint32_t r = 0; r < program->ranks; r++) {
        mlt_goal_rank rank = {.count = 0};
        mlt_goal_lower(&program->rank[r], 0.5, &rank);
        for (uint32_t a = 0; a < rank.count; a++) {
            rank.actions[a].label = 0;
            mlt_goal_add(low, r, &rank.actions[a]);
        }
        for (uint32_t d = 0; d < rank.deps_count; d++)
            mlt_goal_require(low, r, rank.deps[d].action, rank.deps[d].on);
        mlt_goal_lowered_free(&rank);
    }
    return low;
}

// Own names that a text can have are kept, once in a rank.
static void check_labels(const mlt_goal_program *program, const mlt_goal_program *again)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            const char *own = mlt_goal_name_text(program, program->rank[r].actions[a].label);
            const char *read = mlt_goal_name_text(again, again->rank[r].actions[a].label);
            bool kept = strcmp(own, "a") == 0 || strcmp(own, "s1") == 0 || strcmp(own, "x_9") == 0;
            for (uint32_t b = 0; b < a; b++)
                kept = kept && strcmp(own, mlt_goal_name_text(
                                               program, program->rank[r].actions[b].label)) != 0;
            CHECK(!kept || strcmp(own, read) == 0);
        }
}

static void check_round_trips(void)
{
    for (int i = 0; i < 3000; i++) {
        size_t length;
        mlt_goal_program *program = make();
        char *text = print(program, MLT_GOAL_PAPER, &length);
        mlt_goal_program *again = read_text(text, length);
        if (!mlt_goal_program_equal(program, again)) {
            fprintf(stderr, "program %d reads back differently:\n%s", i, text);
            exit(1);
        }
        check_labels(program, again);
        mlt_goal_program_free(again);
        free(text);
        text = print(program, MLT_GOAL_LOGGOPSIM, &length);
        again = read_text(text, length);
        mlt_goal_program *low = lowered(program);
        CHECK(mlt_goal_program_equal(low, again));
        mlt_goal_program_free(low);
        mlt_goal_program_free(again);
        mlt_goal_program_free(program);
        free(text);
    }
}

// Names of buffers that no text can have become others, each its own.
static void check_names(void)
{
    size_t length;
    mlt_goal_program *program = mlt_goal_program_new(1);
    mlt_goal_buffer_add(program, 0, "in", 1);
    mlt_goal_buffer_add(program, 0, "in", 2);
    mlt_goal_buffer_add(program, 0, "to", 3);
    mlt_goal_buffer_add(program, 0, "", 4);
    mlt_goal_buffer_add(program, 0, "b2", 5);
    mlt_goal_buffer_add(program, 0, "a b", 6);
    for (uint32_t b = 1; b <= 6; b++)
        mlt_goal_send(program, 0, (mlt_goal_span){b, 0, 1}, 0, 0);
    mlt_goal_send(program, 0, (mlt_goal_span){MLT_GOAL_ADDRESS, 0xabc, 1}, 0, 0);
    char *text = print(program, MLT_GOAL_PAPER, &length);
    CHECK(strstr(text,
                 "buffer in 1;\n  buffer b2_ 2;\n  buffer b3_ 3;\n  buffer b4_ 4;\n  buffer b2 "
                 "5;\n  buffer b6_ 6;\n"));
    CHECK(strstr(text, "send b2_+0,1 to 0;") && strstr(text, "send 0xabc,1 to 0;"));
    mlt_goal_program *again = read_text(text, length);
    for (uint32_t b = 1; b <= 6; b++)
        CHECK(again->rank[0].actions[b - 1].buf[0] == b);
    CHECK(again->rank[0].actions[6].at[0] == 0xabc);
    mlt_goal_program_free(again);
    free(text);

    // One action, into any room.
    char room[64];
    for (size_t size = 1; size < sizeof room; size++) {
        memset(room, 'Z', sizeof room);
        CHECK(mlt_goal_print_action(program, 0, &program->rank[0].actions[0], room, size) == room);
        CHECK(strlen(room) < size && strncmp(room, "send in+0,1 to 0", strlen(room)) == 0);
        for (size_t i = size; i < sizeof room; i++)
            CHECK(room[i] == 'Z');
    }
    CHECK(strcmp(room, "send in+0,1 to 0Z") != 0);
    mlt_goal_program_free(program);
}

static void check_failure(void)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        return; // no such device here
    mlt_goal_program *program = read_text("ranks 3;", 8);
    CHECK(!mlt_goal_print(program, MLT_GOAL_PAPER, 0, full));
    CHECK(!mlt_goal_print(program, MLT_GOAL_LOGGOPSIM, 0, full));
    fclose(full);
    mlt_goal_program_free(program);
}

// Half of them equal, half of them not. Quadratic time would be over the test's limit.
static void check_many(uint32_t ranks)
{
    mlt_goal_program *program = mlt_goal_program_new(ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t a = mlt_goal_recv(program, r, (mlt_goal_span){0, r % 2 ? r : 0, 8}, 0, 0);
        uint32_t b = mlt_goal_send(program, r, (mlt_goal_span){0, 0, 8}, 0, 0);
        mlt_goal_require(program, r, b, a);
    }
    size_t length;
    char *text = print(program, MLT_GOAL_PAPER, &length);
    mlt_goal_program *again = read_text(text, length);
    CHECK(mlt_goal_program_equal(program, again));
    free(text);
    mlt_goal_program_free(program);
    mlt_goal_program_free(again);
}

int main(void)
{
    check_texts();
    check_lists();
    check_round_trips();
    check_names();
    check_failure();
    check_many(200000);
    return 0;
}
