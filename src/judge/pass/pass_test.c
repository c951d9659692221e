// SPDX-License-Identifier: BSD-3-Clause
// The passes: examples with what they must become, examples that they must leave alone, and random
// programs, each pass alone and all together, judged by the checker and by runs on real bytes
// (oracle_test.h).
#include "goal/reduce.h"
#include "judge/pass/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "goal/text/text.h"
#include "judge/check/check.h"
#include "judge/pass/oracle_test.h"
#include "judge/pass/pass_int.h"
#include "judge/sim/sim.h"

static const mlt_goal_program *now_before, *now_after;

static void tell_programs(void)
{
    if (now_before)
        mlt_goal_print(now_before, MLT_GOAL_PAPER, 0, stderr);
    if (now_after) {
        fprintf(stderr, "became\n");
        mlt_goal_print(now_after, MLT_GOAL_PAPER, 0, stderr);
    }
}

static mlt_goal_program *read_text(const char *text)
{
    mlt_goal_program *program;
    mlt_goal_dialect dialect;
    char why[500];
    if (mlt_goal_read("test", text, strlen(text), &program, &dialect, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n  while testing %s\n", why, now_testing);
        exit(1);
    }
    return program;
}

// ---- judging

static bool clean(const mlt_goal_program *program, bool buffered)
{
    mlt_goal_check_options options = {.assume_buffered = buffered, .limit = 3};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    bool ok = mlt_goal_verdict_ok(verdict);
    mlt_goal_verdict_free(verdict);
    return ok;
}

static void same_results(const mlt_goal_program *before, const mlt_goal_program *after,
                         const char *keep, bool buffered)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        bool synchronous = seed % 2 && !buffered;
        oracle *a = oracle_new(before, before, synchronous, seed);
        oracle *b = oracle_new(after, before, synchronous, seed + 100);
        CHECK(oracle_run(a));
        CHECK(oracle_run(b));
        CHECK(oracle_same(a, b, keep));
        oracle_free(a);
        oracle_free(b);
    }
}

static int compare_deps(const void *pa, const void *pb)
{
    const mlt_goal_dep *a = pa, *b = pb;
    if (a->action != b->action)
        return a->action < b->action ? -1 : 1;
    return a->on < b->on ? -1 : a->on > b->on;
}

static bool same_rank(mlt_goal_rank *a, mlt_goal_rank *b)
{
    if (a->count != b->count || a->deps_count != b->deps_count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        mlt_goal_action x = a->actions[i], y = b->actions[i];
        x.label = y.label = x.line = y.line = 0;
        if (memcmp(&x, &y, sizeof x) != 0)
            return false;
    }
    if (a->deps_count == 0)
        return true;
    qsort(a->deps, a->deps_count, sizeof *a->deps, compare_deps);
    qsort(b->deps, b->deps_count, sizeof *b->deps, compare_deps);
    return memcmp(a->deps, b->deps, a->deps_count * sizeof *a->deps) == 0;
}

static bool same_program(mlt_goal_program *a, mlt_goal_program *b)
{
    if (a->ranks != b->ranks)
        return false;
    for (uint32_t r = 0; r < a->ranks; r++)
        if (!same_rank(&a->rank[r], &b->rank[r]))
            return false;
    return true;
}

// ---- examples

typedef struct example {
    const char *pass, *what;
    mlt_pass_options options;
    uint64_t changed;
    const char *before, *after; // after NULL: as before
} example;

static const example examples[] = {
    // dead
    {"dead",
     "an operation whose result is overwritten",
     {0},
     1,
     "rank #0 { a: exec sumInt8 with 0,4 4,4; b: exec copyInt8 with 0,4 8,4; requ b -> a; }",
     "rank #0 { exec copyInt8 with 0,4 8,4; }"},
    {"dead",
     "results in buffers that do not count",
     {.keep = "out"},
     2,
     "rank #0 { buffer out 4; buffer tmp 8; a: exec copyInt8 with tmp+0,4 out+0,4; "
     "b: exec sumInt8 with tmp+4,4 tmp+0,4; c: exec sumInt8 with out+0,4 out+0,4; "
     "requ b -> a; requ c -> b; }",
     "rank #0 { buffer out 4; buffer tmp 8; exec sumInt8 with out+0,4 out+0,4; }"},
    {"dead",
     "orders go on through what is removed",
     {0},
     3,
     "rank #0 { r: recv 0,4 from 1; n: nop; c: calc 0; m: nop; s: send 8,4 to 1; "
     "requ n -> r; requ c -> n; irequ m -> c; requ s -> m; } "
     "rank #1 { send 0,4 to 0; recv 0,4 from 0; }",
     "rank #0 { r: recv 0,4 from 1; s: send 8,4 to 1; requ s -> r; } "
     "rank #1 { send 0,4 to 0; recv 0,4 from 0; }"},
    {"dead",
     "a start stays a start",
     {0},
     1,
     "rank #0 { a: exec sumInt8 with 0,4 8,4; n: nop; b: exec sumInt8 with 4,4 12,4; "
     "irequ n -> a; requ b -> n; }",
     "rank #0 { a: exec sumInt8 with 0,4 8,4; b: exec sumInt8 with 4,4 12,4; irequ b -> a; }"},
    {"dead",
     "a message that nobody reads, and what made it",
     {.keep = "out"},
     3,
     "rank #0 { buffer out 4; buffer tmp 4; recv tmp+0,4 from 1; exec sumInt8 with out+0,4 "
     "out+0,4; } "
     "rank #1 { buffer out 4; buffer tmp 4; e: exec sumInt8 with tmp+0,4 out+0,4; "
     "s: send tmp+0,4 to 0; requ s -> e; }",
     "rank #0 { buffer out 4; buffer tmp 4; exec sumInt8 with out+0,4 out+0,4; } "
     "rank #1 { buffer out 4; buffer tmp 4; }"},
    {"dead",
     "a copy onto itself",
     {0},
     1,
     "rank #0 { exec copyInt8 with 0,4 0,4; }",
     "rank #0 { }"},
    {"dead",
     "a no-op from many to many stays",
     {0},
     0,
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; n: nop; d: calc 1; e: calc 1; f: calc 1; "
     "requ n -> a; requ n -> b; requ n -> c; requ d -> n; requ e -> n; requ f -> n; }",
     NULL},
    {"dead",
     "messages of no bytes are order",
     {.keep = "out"},
     0,
     "rank #0 { buffer out 4; recv out+0,0 from 1; } rank #1 { buffer out 4; send out+0,0 to 0; }",
     NULL},
    {"dead",
     "a barrier of bytes that nobody reads",
     {.keep = "out"},
     0,
     "rank #0 { buffer out 4; buffer tmp 8; s: send tmp+0,4 to 1; r: recv tmp+4,4 from 1; } "
     "rank #1 { buffer out 4; buffer tmp 8; s: send tmp+0,4 to 0; r: recv tmp+4,4 from 0; }",
     NULL},
    {"dead",
     "a synchronous send is wanted",
     {.keep = "out"},
     0,
     "rank #0 { buffer out 4; buffer tmp 4; recv tmp+0,4 from 1; } "
     "rank #1 { buffer out 4; buffer tmp 4; send tmp+0,4 to 0 sync; }",
     NULL},
    {"dead",
     "what unordered actions do is not judged",
     {.keep = "out"},
     0,
     "rank #0 { buffer out 4; buffer tmp 4; exec sumInt8 with tmp+0,4 out+0,4; "
     "exec sumInt8 with tmp+0,4 out+0,4; }",
     NULL},
    // transitive
    {"transitive",
     "a way round",
     {0},
     2,
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; requ b -> a; requ c -> b; requ c -> a; "
     "requ c -> a; }",
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; requ b -> a; requ c -> b; }"},
    {"transitive",
     "an end implies a start",
     {0},
     2,
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; requ b -> a; irequ c -> b; irequ c -> a; "
     "requ c -> a; }",
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; requ b -> a; irequ c -> b; }"},
    {"transitive",
     "a start does not imply an end",
     {0},
     0,
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; irequ b -> a; requ c -> b; requ c -> a; }",
     NULL},
    // fuse
    {"fuse",
     "Example 2 of the paper",
     {0},
     2,
     "rank #0 { r1: recv 503,1 from 1; r2: recv 504,1 from 2; e1: exec sumInt8 with 501,1 503,1; "
     "e2: exec sumInt8 with 502,1 504,1; requ e1 -> r1; requ e2 -> r2; } "
     "rank #1, #2 { send 501,1 to 0; }",
     "rank #0 { recv 503,1 from 1 then sumInt8 with 501,1; recv 504,1 from 2 then sumInt8 with "
     "502,1; } rank #1, #2 { send 501,1 to 0; }"},
    {"fuse",
     "a copy may come first",
     {0},
     1,
     "rank #0 { c: exec copyInt8 with 0,4 4,4; r: recv 8,4 from 1; "
     "e: exec maxInt8 with 0,4 8,4 reversed; s: send 0,4 to 1; requ e -> r; requ e -> c; "
     "requ s -> e; } rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }",
     "rank #0 { c: exec copyInt8 with 0,4 4,4; r: recv 8,4 from 1 then maxInt8 with 0,4 reversed; "
     "s: send 0,4 to 1; requ r -> c; requ s -> r; } "
     "rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }"},
    {"fuse",
     "a user's function",
     {0},
     1,
     "rank #0 { r: recv 8,4 from 1; e: exec user 3 with 0,8 8,4; requ e -> r; } "
     "rank #1 { send 0,4 to 0; }",
     "rank #0 { recv 8,4 from 1 then user 3 with 0,8; } rank #1 { send 0,4 to 0; }"},
    {"fuse",
     "the second receive would be posted later",
     {0},
     1,
     "rank #0 { r1: recv 4,4 from 1; r2: recv 8,4 from 2; e1: exec sumInt8 with 0,4 4,4; "
     "e2: exec sumInt8 with 0,4 8,4; requ e1 -> r1; requ e2 -> r2; requ e2 -> e1; } "
     "rank #1, #2 { send 0,4 to 0; }",
     "rank #0 { r1: recv 4,4 from 1 then sumInt8 with 0,4; r2: recv 8,4 from 2; "
     "e2: exec sumInt8 with 0,4 8,4; requ e2 -> r2; requ e2 -> r1; } "
     "rank #1, #2 { send 0,4 to 0; }"},
    {"fuse",
     "the operation waits for the receive's answer: a deadlock",
     {0},
     0,
     "rank #0 { s: send 12,4 to 1; r: recv 4,4 from 1; q: recv 8,4 from 1 tag 1; "
     "e: exec sumInt8 with 0,4 4,4; requ e -> r; requ e -> q; } "
     "rank #1 { r: recv 0,4 from 0; s: send 4,4 to 0; q: send 8,4 to 0 tag 1; requ q -> s; }",
     NULL},
    {"fuse",
     "two readers",
     {0},
     0,
     "rank #0 { r: recv 8,4 from 1; e: exec sumInt8 with 0,4 8,4; s: send 8,4 to 1; requ e -> r; "
     "requ s -> r; } rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }",
     NULL},
    {"fuse",
     "a part of the message",
     {0},
     0,
     "rank #0 { r: recv 8,4 from 1; e: exec sumInt8 with 0,2 8,2; requ e -> r; } "
     "rank #1 { send 0,4 to 0; }",
     NULL},
    {"fuse",
     "whoever waited for the start of the operation waits for the end of both",
     {0},
     1,
     "rank #0 { r: recv 8,4 from 1; e: exec sumInt8 with 0,4 8,4; s: send 12,4 to 1; "
     "requ e -> r; irequ s -> e; } rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }",
     "rank #0 { r: recv 8,4 from 1 then sumInt8 with 0,4; s: send 12,4 to 1; requ s -> r; } "
     "rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }"},
    {"fuse",
     "somebody else waits for the receive, and would wait longer",
     {0},
     0,
     "rank #0 { r: recv 8,4 from 1; e: exec sumInt8 with 0,4 8,4; s: send 12,4 to 1; "
     "requ e -> r; requ s -> r; } rank #1 { s: send 0,4 to 0; r: recv 0,4 from 0; requ r -> s; }",
     NULL},
    // copies
    {"copies",
     "received in place",
     {.keep = "out"},
     1,
     "rank #0 { buffer out 4; buffer tmp 4; r: recv tmp+0,4 from 1; "
     "c: exec copyInt8 with out+0,4 tmp+0,4; s: send out+0,4 to 1; requ c -> r; requ s -> c; } "
     "rank #1 { buffer out 4; s: send out+0,4 to 0; r: recv out+0,4 from 0; requ r -> s; }",
     "rank #0 { buffer out 4; buffer tmp 4; r: recv out+0,4 from 1; s: send out+0,4 to 1; "
     "requ s -> r; } "
     "rank #1 { buffer out 4; s: send out+0,4 to 0; r: recv out+0,4 from 0; requ r -> s; }"},
    {"copies",
     "read at the source",
     {.keep = "out"},
     1,
     "rank #0 { buffer in 8; buffer out 4; buffer tmp 4; c: exec copyInt8 with tmp+0,4 in+4,4; "
     "s: send tmp+0,2 to 1; e: exec sumInt8 with out+0,4 tmp+0,4; requ s -> c; requ e -> c; } "
     "rank #1 { buffer out 4; recv out+0,2 from 0; }",
     "rank #0 { buffer in 8; buffer out 4; buffer tmp 4; s: send in+4,2 to 1; "
     "e: exec sumInt8 with out+0,4 in+4,4; } rank #1 { buffer out 4; recv out+0,2 from 0; }"},
    {"copies",
     "a chain of copies",
     {.keep = "out"},
     2,
     "rank #0 { buffer in 4; buffer out 4; buffer tmp 8; a: exec copyInt8 with tmp+0,4 in+0,4; "
     "b: exec copyInt8 with tmp+4,4 tmp+0,4; c: exec sumInt8 with out+0,4 tmp+4,4; requ b -> a; "
     "requ c -> b; }",
     "rank #0 { buffer in 4; buffer out 4; buffer tmp 8; exec sumInt8 with out+0,4 in+0,4; }"},
    {"copies",
     "the source changes before it is read",
     {.keep = "out"},
     0,
     "rank #0 { buffer in 4; buffer out 4; buffer tmp 4; c: exec copyInt8 with tmp+0,4 in+0,4; "
     "w: exec sumInt8 with in+0,4 out+0,4; e: exec sumInt8 with out+0,4 tmp+0,4; requ w -> c; "
     "requ e -> w; }",
     NULL},
    {"copies",
     "the copy counts at the end",
     {.keep = "out,tmp"},
     0,
     "rank #0 { buffer in 4; buffer out 4; buffer tmp 4; c: exec copyInt8 with tmp+0,4 in+0,4; "
     "e: exec sumInt8 with out+0,4 tmp+0,4; requ e -> c; }",
     NULL},
    {"copies",
     "a reader of more than the copy",
     {.keep = "out"},
     0,
     "rank #0 { buffer in 4; buffer out 8; buffer tmp 8; c: exec copyInt8 with tmp+0,4 in+0,4; "
     "e: exec sumInt8 with out+0,8 tmp+0,8; requ e -> c; }",
     NULL},
    {"copies",
     "the receive would wait for another one",
     {.keep = "out"},
     0,
     "rank #0 { buffer out 4; buffer tmp 4; q: recv out+0,4 from 1 tag 1; r: recv tmp+0,4 from 1; "
     "s: send out+0,4 to 1; c: exec copyInt8 with out+0,4 tmp+0,4; requ s -> q; requ c -> r; "
     "requ c -> s; } "
     "rank #1 { buffer out 4; s: send out+0,4 to 0; q: send out+0,4 to 0 tag 1; "
     "r: recv out+0,4 from 0; requ q -> s; requ r -> q; }",
     NULL},
    {"copies",
     "a reader that overwrites the source",
     {.keep = "out"},
     0,
     "rank #0 { buffer in 8; buffer out 4; buffer tmp 4; c: exec copyInt8 with tmp+0,4 in+0,4; "
     "e: exec sumInt8 with in+2,4 tmp+0,4; f: exec sumInt8 with out+0,4 in+2,4; requ e -> c; "
     "requ f -> e; }",
     NULL},
    // order
    {"order",
     "the longer way first",
     {.machine = {1000, 100, 100, 1, 0, 65535, 0}},
     1,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; } rank #1 { recv 0,4 from 0; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }",
     "rank #0 { a: send 0,4 to 1; b: send 0,4 to 2; irequ a -> b; } rank #1 { recv 0,4 from 0; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }"},
    {"order",
     "without prices messages are counted",
     {0},
     1,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; } rank #1 { recv 0,4 from 0; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }",
     "rank #0 { a: send 0,4 to 1; b: send 0,4 to 2; irequ a -> b; } rank #1 { recv 0,4 from 0; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }"},
    {"order",
     "equally long ways",
     {.machine = {1000, 100, 100, 1, 0, 65535, 0}},
     0,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; } rank #1, #2 { recv 0,4 from 0; }",
     NULL},
    {"order",
     "sends that wait for different things",
     {.machine = {1000, 100, 100, 1, 0, 65535, 0}},
     0,
     "rank #0 { c: calc 1; a: send 0,4 to 1; b: send 0,4 to 2; requ b -> c; } "
     "rank #1 { recv 0,4 from 0; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }",
     NULL},
    // segment
    {"segment",
     "a chain becomes a pipeline",
     {.segment = 4},
     4,
     "rank #0 { send 0,10 to 1; } "
     "rank #1 { r: recv 0,10 from 0; s: send 0,10 to 2; requ s -> r; } "
     "rank #2 { recv 0,10 from 1; }",
     "rank #0 { send 0,4 to 1; send 4,4 to 1; send 8,2 to 1; } "
     "rank #1 { a: recv 0,4 from 0; x: send 0,4 to 2; b: recv 4,4 from 0; y: send 4,4 to 2; "
     "c: recv 8,2 from 0; z: send 8,2 to 2; requ x -> a; requ y -> b; requ z -> c; } "
     "rank #2 { recv 0,4 from 1; recv 4,4 from 1; recv 8,2 from 1; }"},
    {"segment",
     "a reduction; elements stay whole",
     {.segment = 7},
     3,
     "rank #0 { r: recv 8,8 from 1; e: exec sumInt32 with 0,8 8,8; requ e -> r; } "
     "rank #1 { send 0,8 to 0; }",
     "rank #0 { a: recv 8,4 from 1; x: exec sumInt32 with 0,4 8,4; b: recv 12,4 from 1; "
     "y: exec sumInt32 with 4,4 12,4; requ x -> a; requ y -> b; } "
     "rank #1 { send 0,4 to 0; send 4,4 to 0; }"},
    {"segment",
     "fused actions",
     {.segment = 4},
     2,
     "rank #0 { recv 8,8 from 1 then sumInt32 with 0,8; } rank #1 { send 0,8 to 0; }",
     "rank #0 { recv 8,4 from 1 then sumInt32 with 0,4; recv 12,4 from 1 then sumInt32 with 4,4; } "
     "rank #1 { send 0,4 to 0; send 4,4 to 0; }"},
    {"segment",
     "two messages of one flow do not mix",
     {.segment = 4},
     4,
     "rank #0 { send 0,8 to 1; send 8,8 to 1; } rank #1 { recv 0,8 from 0; recv 8,8 from 0; }",
     "rank #0 { send 0,4 to 1; send 4,4 to 1; send 8,4 to 1; send 12,4 to 1; } "
     "rank #1 { recv 0,4 from 0; recv 4,4 from 0; recv 8,4 from 0; recv 12,4 from 0; }"},
    {"segment",
     "an order without bytes stays whole",
     {.segment = 4},
     4,
     "rank #0 { a: send 0,8 to 1; b: send 8,8 to 2; requ b -> a; } rank #1, #2 { recv 0,8 from 0; "
     "}",
     "rank #0 { a: send 0,4 to 1; x: send 8,4 to 2; b: send 4,4 to 1; y: send 12,4 to 2; n: nop; "
     "requ n -> a; requ n -> b; requ x -> n; requ y -> n; } "
     "rank #1, #2 { recv 0,4 from 0; recv 4,4 from 0; }"},
    {"segment",
     "shifted bytes wait for both pieces that they come from",
     {.segment = 4},
     4,
     "rank #0 { send 0,8 to 1; } "
     "rank #1 { r: recv 0,8 from 0; s: send 2,6 to 0 tag 1; requ s -> r; } "
     "rank #0 { recv 8,6 from 1 tag 1; }",
     "rank #0 { send 0,4 to 1; x: recv 8,4 from 1 tag 1; send 4,4 to 1; y: recv 12,2 from 1 tag 1; "
     "} "
     "rank #1 { a: recv 0,4 from 0; s: send 2,4 to 0 tag 1; b: recv 4,4 from 0; "
     "t: send 6,2 to 0 tag 1; requ s -> a; requ s -> b; requ t -> b; }"},
    {"segment",
     "users' functions need all bytes",
     {.segment = 4},
     0,
     "rank #0 { recv 8,8 from 1 then user 0 with 0,8; } rank #1 { send 0,8 to 0; }",
     NULL},
    {"segment",
     "small messages",
     {.segment = 8},
     0,
     "rank #0 { send 0,8 to 1; } rank #1 { recv 0,8 from 0; }",
     NULL},
    {"segment",
     "bytes that are nowhere",
     {.segment = 4},
     0,
     "rank #0 { send none,8 to 1; } rank #1 { recv none,8 from 0; }",
     NULL},
    {"segment",
     "all ranks wait for all, through bytes that are not the same",
     {.segment = 4},
     0,
     "rank #0 { send 0,8 to 1; recv 8,4 from 2; } "
     "rank #1 { r: recv 0,8 from 0; b: exec copyInt8 with 16,8 4,8; c: send 20,4 to 2; "
     "recv 30,4 from 2; requ b -> r; requ c -> b; } "
     "rank #2 { x: recv 0,4 from 1; y: send 0,4 to 0; send 4,4 to 1; requ y -> x; }",
     NULL},
    {"segment",
     "a receive whose spans meet",
     {.segment = 4},
     0,
     "rank #0 { recv 0,8 from 1 then sumInt8 with 4,8; } rank #1 { send 0,8 to 0; }",
     NULL},
    // window
    {"window",
     "figure 4: three actions, a no-op",
     {.window = 3},
     1,
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; d: calc 1; e: calc 1; requ b -> a; requ c -> b; "
     "requ d -> c; requ e -> d; requ d -> a; }",
     "rank #0 { a: calc 1; b: calc 1; c: calc 1; d: calc 1; e: calc 1; n: nop; requ b -> a; "
     "requ c -> b; requ n -> c; requ d -> n; requ e -> d; }"},
    {"window",
     "along an order of all ranks",
     {.window = 1},
     2,
     // Rank 0 must not wait for its receive, which stands first, before it has sent.
     "rank #0 { recv 0,4 from 1; send 4,4 to 1; } "
     "rank #1 { r: recv 0,4 from 0; s: send 4,4 to 0; requ s -> r; }",
     "rank #0 { r: recv 0,4 from 1; s: send 4,4 to 1; n: nop; requ n -> s; requ r -> n; } "
     "rank #1 { r: recv 0,4 from 0; s: send 4,4 to 0; n: nop; requ n -> r; requ s -> n; }"},
    {"window",
     "a receive that must be posted first",
     {.window = 1},
     0,
     "rank #0 { r: recv 0,4 from 1; s: send 4,4 to 1; irequ s -> r; } "
     "rank #1 { r: recv 0,4 from 0; s: send 4,4 to 0; requ s -> r; }",
     NULL},
    {"window", "short enough", {.window = 2}, 0, "rank #0 { calc 1; calc 1; }", NULL},
    {"window",
     "free of deadlock with buffered sends only",
     {.window = 1},
     2,
     "rank #0 { s: send 0,4 to 1; r: recv 4,4 from 1; requ r -> s; } "
     "rank #1 { s: send 0,4 to 0; r: recv 4,4 from 0; requ r -> s; }",
     "rank #0 { s: send 0,4 to 1; r: recv 4,4 from 1; n: nop; requ n -> s; requ r -> n; } "
     "rank #1 { s: send 0,4 to 0; r: recv 4,4 from 0; n: nop; requ n -> s; requ r -> n; }"},
    {"order",
     "free of deadlock with buffered sends only",
     {0},
     0,
     "rank #0 { s: send 0,4 to 1; r: recv 4,4 from 1; requ r -> s; } "
     "rank #1 { s: send 0,4 to 0; r: recv 4,4 from 0; requ r -> s; }",
     NULL},
    // spread
    {"spread",
     "no rank has two to receive",
     {0},
     0,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; } rank #1, #2 { recv 0,4 from 0; }",
     NULL},
    {"spread",
     "as it is, no two meet",
     {0},
     0,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; recv 4,4 from 1; recv 8,4 from 2; } "
     "rank #1 { send 0,4 to 2; send 0,4 to 0; recv 4,4 from 0; recv 8,4 from 2; } "
     "rank #2 { send 0,4 to 0; send 0,4 to 1; recv 4,4 from 0; recv 8,4 from 1; }",
     NULL},
    {"spread",
     "two that begin with rank 2",
     {0},
     1,
     "rank #0 { send 0,4 to 2; send 0,4 to 3; } rank #1 { send 0,4 to 2; send 0,4 to 3; } "
     "rank #2, #3 { recv 0,4 from 0; recv 4,4 from 1; }",
     "rank #0 { a: send 0,4 to 2; b: send 0,4 to 3; irequ a -> b; } "
     "rank #1 { a: send 0,4 to 2; b: send 0,4 to 3; } "
     "rank #2, #3 { recv 0,4 from 0; recv 4,4 from 1; }"},
    // A message that may come to any receive: nothing that needs to know which is done.
    {"order",
     "wildcards",
     {0},
     0,
     "rank #0 { send 0,4 to 1; send 0,4 to 2; } rank #1 { recv 0,4 from any; } "
     "rank #2 { r: recv 0,4 from 0; s: send 0,4 to 3; requ s -> r; } rank #3 { recv 0,4 from 2; }",
     NULL},
    {"segment",
     "wildcards",
     {.segment = 4},
     0,
     "rank #0 { send 0,8 to 1; } rank #1 { recv 0,8 from any; }",
     NULL},
    {"window",
     "wildcards",
     {.window = 1},
     0,
     "rank #0 { send 0,8 to 1; calc 1; } rank #1 { recv 0,8 from any; }",
     NULL},
    {"spread",
     "wildcards",
     {0},
     0,
     "rank #0 { send 0,4 to 2; send 0,4 to 3; } rank #1 { send 0,4 to 2; send 0,4 to 3; } "
     "rank #2, #3 { recv 0,4 from any; recv 4,4 from 1; }",
     NULL},
    {"dead",
     "wildcards: messages stay",
     {.keep = "out"},
     1,
     "rank #0 { buffer out 4; buffer tmp 4; n: nop; s: send tmp+0,4 to 1; requ s -> n; } "
     "rank #1 { buffer out 4; buffer tmp 4; recv tmp+0,4 from any; }",
     "rank #0 { buffer out 4; buffer tmp 4; s: send tmp+0,4 to 1; } "
     "rank #1 { buffer out 4; buffer tmp 4; recv tmp+0,4 from any; }"},
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void check_example(const example *e)
{
    snprintf(now_testing, sizeof now_testing, "%s: %s", e->pass, e->what);
    mlt_goal_program *before = read_text(e->before), *after = read_text(e->before);
    now_before = before;
    now_after = after;
    mlt_pass_report report;
    char why[500] = "";
    if (mlt_pass_run(pass_find(e->pass), after, &e->options, &report, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"the pass failed");
    }
    CHECK(*report.text);
    mlt_goal_program *wanted = read_text(e->after ? e->after : e->before);
    CHECK(report.changed == e->changed);
    CHECK(same_program(after, wanted));
    if (clean(before, false)) {
        CHECK(clean(after, false));
        same_results(before, after, e->options.keep, false);
    } else if (clean(before, true)) {
        CHECK(clean(after, true));
        same_results(before, after, e->options.keep, true);
    }
    mlt_goal_program_free(wanted);
    mlt_goal_program_free(before);
    mlt_goal_program_free(after);
    now_before = now_after = NULL;
}

// ---- random programs
//
// Steps of all ranks in one sequence: local work, or a message, whose two ends are added at once.
// Dependencies follow the bytes, in the order of the sequence, and some go where they need not. So
// a program is free of races and deadlocks. Then actions change places, as far as flows allow.

static mlt_goal_span random_span(uint32_t buffers, uint64_t size)
{
    return (mlt_goal_span){below(buffers + 1), 4 * below((uint32_t)(96 - size) / 4 + 1), size};
}

static bool conflict(const mlt_goal_action *a, const mlt_goal_action *b)
{
    mlt_goal_access x[2], y[2];
    for (int i = mlt_goal_accesses(a, x); i-- > 0;)
        for (int k = mlt_goal_accesses(b, y); k-- > 0;)
            if (x[i].span.buf == y[k].span.buf && (x[i].writes || y[k].writes) &&
                x[i].span.at < y[k].span.at + y[k].span.size &&
                y[k].span.at < x[i].span.at + x[i].span.size)
                return true;
    return false;
}

static void add_random(mlt_goal_program *program, uint32_t rank, const mlt_goal_action *action)
{
    uint32_t index = mlt_goal_add(program, rank, action);
    for (uint32_t a = 0; a < index; a++)
        if (conflict(&program->rank[rank].actions[a], action))
            mlt_goal_require(program, rank, index, a);
    if (index && below(8) == 0)
        mlt_goal_require(program, rank, index, below(index));
    if (index && below(8) == 0)
        mlt_goal_require(program, rank, index, below(index) | MLT_GOAL_STARTED);
}

static void two_spans(mlt_goal_action *a, uint32_t buffers, uint64_t size)
{
    do {
        for (int k = 0; k < 2; k++) {
            mlt_goal_span span = random_span(buffers, size);
            a->buf[k] = span.buf;
            a->at[k] = span.at;
            a->size[k] = size;
        }
    } while (a->buf[0] == a->buf[1] && a->at[0] < a->at[1] + size && a->at[1] < a->at[0] + size);
}

static mlt_goal_action random_local(uint32_t buffers)
{
    mlt_goal_action a = {.kind = MLT_GOAL_EXEC, .op = (uint8_t)below(MLT_OPS)};
    a.type = (uint8_t)(below(2) ? MLT_OP_INT32 : MLT_OP_UINT8);
    if (below(2))
        a.op = MLT_OP_COPY;
    if (below(3) == 0)
        a.flags = MLT_GOAL_REVERSED;
    two_spans(&a, buffers, 4 * below(9));
    switch (below(12)) {
    case 0:
        a = (mlt_goal_action){.kind = MLT_GOAL_NOP};
        break;
    case 1:
        a = (mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {below(2)}};
        break;
    case 2:
        a.kind = MLT_GOAL_USER;
        a.op = a.type = a.flags = 0;
        a.user = (uint16_t)below(3);
        break;
    case 3: // an operation of a span with itself
        a.buf[1] = a.buf[0];
        a.at[1] = a.at[0];
    }
    return a;
}

static void add_message(mlt_goal_program *program, uint32_t buffers)
{
    uint32_t from = below(program->ranks), to = below(program->ranks);
    int32_t tag = (int32_t)below(2);
    uint64_t size = 4 * below(9);
    mlt_goal_action send = {.kind = MLT_GOAL_SEND, .peer = (int32_t)to, .tag = tag};
    mlt_goal_action recv = {.kind = MLT_GOAL_RECV, .peer = (int32_t)from, .tag = tag};
    mlt_goal_span span = random_span(buffers, size);
    send.buf[0] = span.buf;
    send.at[0] = span.at;
    send.size[0] = size;
    send.flags = below(20) ? 0 : MLT_GOAL_SYNCHRONOUS;
    two_spans(&recv, buffers, size);
    uint32_t kind = below(6);
    if (kind == 0) {
        recv.kind = MLT_GOAL_RECV_EXEC;
        recv.op = MLT_OP_SUM;
        recv.type = MLT_OP_INT32;
    } else if (kind == 1) {
        recv.kind = MLT_GOAL_RECV_USER;
        recv.user = 1;
    } else {
        recv.buf[1] = 0;
        recv.at[1] = recv.size[1] = 0;
    }
    if (from == to) { // both ends at once: they must not meet in memory, nor wait for each other
        if (conflict(&send, &recv))
            return;
        uint32_t s = mlt_goal_add(program, from, &send);
        for (uint32_t a = 0; a < s; a++)
            if (conflict(&program->rank[from].actions[a], &send))
                mlt_goal_require(program, from, s, a);
        uint32_t r = mlt_goal_add(program, from, &recv);
        for (uint32_t a = 0; a < s; a++)
            if (conflict(&program->rank[from].actions[a], &recv))
                mlt_goal_require(program, from, r, a);
        return;
    }
    add_random(program, from, &send);
    add_random(program, to, &recv);
    // What receives are mostly for: work on the bytes, and passing them on.
    if (recv.kind == MLT_GOAL_RECV && below(2)) {
        mlt_goal_action use = {
            .kind = MLT_GOAL_EXEC, .op = below(2) ? MLT_OP_COPY : MLT_OP_SUM, .type = MLT_OP_INT32};
        two_spans(&use, buffers, size);
        use.buf[1] = recv.buf[0];
        use.at[1] = recv.at[0];
        if (use.buf[0] != use.buf[1])
            add_random(program, to, &use);
    }
}

static bool one_flow(const mlt_goal_action *a, const mlt_goal_action *b)
{
    return mlt_goal_is_message(a) && mlt_goal_is_message(b) && a->peer == b->peer &&
           a->tag == b->tag && (a->kind == MLT_GOAL_SEND) == (b->kind == MLT_GOAL_SEND);
}

static void shuffle(mlt_goal_rank *rank)
{
    for (uint32_t n = 4 * rank->count; n-- > 0 && rank->count > 1;) {
        uint32_t i = below(rank->count - 1);
        if (one_flow(&rank->actions[i], &rank->actions[i + 1]))
            continue;
        mlt_goal_action swap = rank->actions[i];
        rank->actions[i] = rank->actions[i + 1];
        rank->actions[i + 1] = swap;
        for (uint32_t d = 0; d < rank->deps_count; d++) {
            mlt_goal_dep *dep = &rank->deps[d];
            uint32_t on = mlt_goal_plain(dep->on), kind = dep->on & MLT_GOAL_STARTED;
            if (dep->action == i || dep->action == i + 1)
                dep->action = 2 * i + 1 - dep->action;
            if (on == i || on == i + 1)
                dep->on = (2 * i + 1 - on) | kind;
        }
    }
}

static mlt_goal_program *random_program(uint64_t seed)
{
    random_state = seed;
    for (int i = 0; i < 8; i++)
        below(2);
    mlt_goal_program *program = mlt_goal_program_new(1 + below(5));
    const char *const names[] = {"out", "tmp", "in"};
    uint32_t buffers = 1 + below(3), steps = 1 + below(40);
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t b = 0; b < buffers; b++)
            mlt_goal_buffer_add(program, r, names[b], 96);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t r = below(program->ranks);
        mlt_goal_action local = random_local(buffers);
        if (below(2))
            add_message(program, buffers);
        else
            add_random(program, r, &local);
    }
    if (below(2))
        for (uint32_t r = 0; r < program->ranks; r++)
            shuffle(&program->rank[r]);
    if (below(2)) // orders that only others imply
        for (uint32_t r = 0; r < program->ranks; r++)
            mlt_goal_reduce(&program->rank[r], below(2));
    return program;
}

// Whether the property that dead and segment must keep is kept.
static bool barrier(const mlt_goal_program *program)
{
    return mlt_pass_is_barrier(program) == MLT_PASS_YES;
}

static uint64_t changes[8];

static void check_random(uint64_t seed, int pass) // pass -1: all
{
    snprintf(now_testing, sizeof now_testing, "random program %" PRIu64 ", pass %s", seed,
             pass < 0 ? "all" : mlt_passes[pass].name);
    mlt_goal_program *before = random_program(seed), *after = mlt_goal_program_copy(before);
    now_before = before;
    now_after = after;
    char why[500];
    CHECK(clean(before, false));
    mlt_pass_options options = {.segment = 4 + 4 * below(4),
                                .window = 1 + below(5),
                                .machine = {2500, 1500, 1000, 6, 0, 65535, 0.1},
                                .keep = below(3) ? "out" : NULL};
    bool on[8];
    mlt_pass_report reports[8];
    for (int i = 0; i < mlt_passes_count; i++)
        on[i] = pass < 0 || i == pass;
    CHECK(passes_run(after, &options, on, reports, why, sizeof why) == MLT_OK);
    for (int i = 0; i < mlt_passes_count; i++)
        changes[i] += reports[i].changed;
    CHECK(mlt_goal_program_valid(after, why, sizeof why) == MLT_OK);
    CHECK(clean(after, false));
    CHECK(!barrier(before) || barrier(after));
    same_results(before, after, options.keep, false);
    mlt_goal_program_free(before);
    mlt_goal_program_free(after);
    now_before = now_after = NULL;
}

// ---- what passes refuse

typedef struct refusal {
    const char *pass;
    mlt_pass_options options;
    const char *program, *sentence;
} refusal;

static const char deadlock[] = "rank #0 { r: recv 0,4 from 1; s: send 4,4 to 1; requ s -> r; } "
                               "rank #1 { r: recv 0,4 from 0; s: send 4,4 to 0; requ s -> r; }";

static const refusal refusals[] = {
    {"transitive", {0}, "rank #0 { a: calc 1; b: calc 1; requ a -> b; requ b -> a; }", "go round"},
    {"fuse", {0}, "rank #0 { a: calc 1; b: calc 1; requ a -> b; requ b -> a; }", "go round"},
    {"copies", {0}, "rank #0 { a: calc 1; b: calc 1; requ a -> b; requ b -> a; }", "go round"},
    {"dead", {0}, "rank #0 { send 0,4 to 1; } rank #1 { }", "meets no receive"},
    {"order", {0}, "rank #0 { recv 0,4 from 1; } rank #1 { }", "meets no send"},
    {"spread", {0}, "rank #0 { send 0,4 to 1; } rank #1 { recv 0,8 from 0; }", "differ in size"},
    {"segment",
     {.segment = 4},
     "rank #0 { send 0,4 to 1; } rank #1 { recv 0,8 from 0; }",
     "differ in size"},
    {"window", {.window = 1}, "rank #0 { send 0,4 to 1; } rank #1 { }", "meets no receive"},
    {"order", {0}, deadlock, "never ends"},
    {"spread", {0}, deadlock, "never ends"},
    {"window", {.window = 1}, deadlock, "never ends"},
    {"dead",
     {.keep = "out,result"},
     "rank #0 { buffer out 4; }",
     "no rank has a buffer \"result\""},
    {"copies", {.keep = "result"}, "rank #0 { buffer out 4; }", "no rank has a buffer \"result\""},
    {"segment",
     {.segment = 1},
     "rank #0 { send 0,1000000000 to 1; } rank #1 { recv 0,1000000000 from 0; }",
     "ask for larger pieces"},
};

static void check_refusal(const refusal *r)
{
    snprintf(now_testing, sizeof now_testing, "%s refuses \"%s\"", r->pass, r->sentence);
    mlt_goal_program *before = read_text(r->program), *after = read_text(r->program);
    mlt_pass_report report;
    char why[500] = "";
    CHECK(mlt_pass_run(pass_find(r->pass), after, &r->options, &report, why, sizeof why) ==
          MLT_ERR_INVALID);
    if (!strstr(why, r->sentence))
        fprintf(stderr, "%s\n", why);
    CHECK(strstr(why, r->sentence));
    CHECK(same_program(before, after));
    // Running all of them tells which.
    mlt_pass_report reports[8];
    bool on[8] = {false};
    for (int i = 0; i < mlt_passes_count; i++)
        on[i] = is(mlt_passes[i].name, r->pass);
    CHECK(passes_run(after, &r->options, on, reports, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strncmp(why, "pass ", 5) == 0 && strstr(why, r->pass) && strstr(why, r->sentence));
    mlt_goal_program_free(before);
    mlt_goal_program_free(after);
}

static void check_invalid(void)
{
    snprintf(now_testing, sizeof now_testing, "a program that is not valid");
    for (int i = 0; i < mlt_passes_count; i++) {
        mlt_goal_program *program = mlt_goal_program_new(1);
        mlt_goal_send(program, 0, (mlt_goal_span){MLT_GOAL_MEMORY, 0, 4}, 7, 0);
        mlt_pass_options options = {.segment = 1, .window = 1};
        mlt_pass_report report;
        char why[500];
        CHECK(mlt_pass_run(&mlt_passes[i], program, &options, &report, why, sizeof why) ==
              MLT_ERR_INVALID);
        CHECK(strstr(why, "no rank of the program"));
        mlt_goal_program_free(program);
    }
    CHECK(!pass_find("nothing"));
}

// Absolute addresses may be the bytes of a buffer: then nobody knows what is read. Alone they are
// followed, and count at the end.
static void check_addresses(void)
{
    snprintf(now_testing, sizeof now_testing, "absolute addresses");
    for (int mixed = 0; mixed < 2; mixed++) {
        mlt_goal_program *program = mlt_goal_program_new(1);
        uint32_t out = mlt_goal_buffer_add(program, 0, "out", 8);
        mlt_goal_span a = {MLT_GOAL_ADDRESS, 4096, 4}, b = {MLT_GOAL_ADDRESS, 8192, 4};
        mlt_goal_span c = {mixed ? out : MLT_GOAL_ADDRESS, mixed ? 0 : 9000, 4};
        mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT32, a, b); // overwritten
        mlt_goal_exec(program, 0, MLT_OP_COPY, MLT_OP_INT32, a, c);
        mlt_goal_require(program, 0, 1, 0);
        mlt_pass_report report;
        char why[400];
        mlt_pass_options options = {.keep = "out"};
        CHECK(mlt_pass_run(pass_find("dead"), program, &options, &report, why, sizeof why) ==
              MLT_OK);
        CHECK(report.changed == (mixed ? 0 : 1));
        CHECK(program->rank[0].count == (mixed ? 2 : 1));
        mlt_goal_program_free(program);
    }
}

// ---- everyone sends to rank 0 first, then to 1, ...

static uint64_t time_of(const mlt_goal_program *program)
{
    mlt_sim_options options = {.machine = mlt_loggops_default};
    mlt_sim_result *result;
    char why[400];
    CHECK(mlt_sim_simulate(program, &options, &result, why, sizeof why) == MLT_OK);
    uint64_t time = result->total_ps;
    mlt_sim_result_free(result);
    return time;
}

// The sends of a rank in the order that the dependencies on starts say: a chain.
static void chain_of(const mlt_goal_rank *rank, uint32_t *to, uint32_t ranks)
{
    uint32_t next[64], first = MLT_GOAL_NONE, count = 0;
    for (uint32_t a = 0; a < rank->count; a++)
        next[a] = MLT_GOAL_NONE;
    bool follows[64] = {false};
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        CHECK(rank->deps[d].on & MLT_GOAL_STARTED);
        next[mlt_goal_plain(rank->deps[d].on)] = rank->deps[d].action;
        follows[rank->deps[d].action] = true;
    }
    for (uint32_t a = 0; a < rank->count; a++)
        if (rank->actions[a].kind == MLT_GOAL_SEND && !follows[a] &&
            (first == MLT_GOAL_NONE || rank->deps_count))
            first = a;
    if (rank->deps_count == 0) { // as they stand
        for (uint32_t a = 0; a < rank->count; a++)
            if (rank->actions[a].kind == MLT_GOAL_SEND)
                to[count++] = (uint32_t)rank->actions[a].peer;
    } else {
        for (uint32_t a = first; a != MLT_GOAL_NONE; a = next[a])
            to[count++] = (uint32_t)rank->actions[a].peer;
    }
    CHECK(count == ranks - 1);
}

static void check_alltoall(uint32_t ranks, bool every)
{
    snprintf(now_testing, sizeof now_testing, "alltoall of %" PRIu32 " ranks", ranks);
    mlt_goal_program *program = mlt_goal_program_new(ranks);
    enum { BYTES = 4000 };
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t p = 0; p < ranks; p++) {
            mlt_goal_span in = {MLT_GOAL_MEMORY, p * BYTES, BYTES},
                          out = {MLT_GOAL_MEMORY, (ranks + p) * BYTES, BYTES};
            if (p == r)
                continue;
            mlt_goal_send(program, r, in, (int32_t)p, 0);
            mlt_goal_recv(program, r, out, (int32_t)p, 0);
        }
    mlt_pass_options options = {.machine = mlt_loggops_default};
    mlt_pass_report report;
    char why[400];
    uint64_t before = time_of(program);
    CHECK(mlt_pass_run(pass_find("spread"), program, &options, &report, why, sizeof why) == MLT_OK);
    uint64_t after = time_of(program);
    if (every) { // in every round all receivers differ
        uint32_t to[32][32];
        for (uint32_t r = 0; r < ranks; r++)
            chain_of(&program->rank[r], to[r], ranks);
        for (uint32_t round = 0; round + 1 < ranks; round++) {
            uint32_t seen = 0;
            for (uint32_t r = 0; r < ranks; r++)
                seen |= 1u << to[r][round];
            CHECK(seen == (ranks == 32 ? UINT32_MAX : (1u << ranks) - 1));
        }
    }
    printf("alltoall, %2" PRIu32 " ranks, by number: %7" PRIu64 " ns; spread: %7" PRIu64 " ns\n",
           ranks, before / 1000, after / 1000);
    CHECK(clean(program, false));
    CHECK(after * 10 < before * 9);
    // Again: nothing is left to do.
    CHECK(mlt_pass_run(pass_find("spread"), program, &options, &report, why, sizeof why) ==
              MLT_OK &&
          report.changed == 0);
    mlt_goal_program_free(program);
}

// Random messages: whatever the graph, no two of a rank have the same colour. Seen from outside: in
// the order of the rounds no receiver gets two at once if all senders are in step, that is if every
// rank sends and receives equally often.
static void check_regular(uint32_t ranks, uint32_t each, uint64_t seed)
{
    snprintf(now_testing, sizeof now_testing,
             "%" PRIu32 " random permutations of %" PRIu32 " ranks", each, ranks);
    random_state = seed;
    mlt_goal_program *program = mlt_goal_program_new(ranks);
    for (uint32_t k = 0; k < each; k++) {
        uint32_t to[32];
        for (uint32_t r = 0; r < ranks; r++)
            to[r] = r;
        for (uint32_t r = ranks; r-- > 1;) {
            uint32_t other = below(r + 1), swap = to[r];
            to[r] = to[other];
            to[other] = swap;
        }
        for (uint32_t r = 0; r < ranks; r++) {
            mlt_goal_span bytes = {MLT_GOAL_MEMORY, 8 * k, 8};
            mlt_goal_send(program, r, bytes, (int32_t)to[r], (int32_t)k);
            bytes.at += 1000;
            mlt_goal_recv(program, to[r], bytes, (int32_t)r, (int32_t)k);
        }
    }
    for (uint32_t r = 0; r < ranks; r++) // they stand in no order that helps
        for (uint32_t n = 0; n < 10 * each; n++) {
            mlt_goal_rank *rank = &program->rank[r];
            uint32_t a = below(rank->count), b = below(rank->count);
            mlt_goal_action swap = rank->actions[a];
            rank->actions[a] = rank->actions[b];
            rank->actions[b] = swap;
        }
    mlt_pass_report report;
    char why[400];
    mlt_pass_options options = {.segment = 0};
    CHECK(mlt_pass_run(pass_find("spread"), program, &options, &report, why, sizeof why) == MLT_OK);
    CHECK(report.changed > 0);
    uint32_t to[32][32];
    for (uint32_t r = 0; r < ranks; r++)
        chain_of(&program->rank[r], to[r], each + 1);
    for (uint32_t round = 0; round < each; round++) {
        uint32_t seen = 0;
        for (uint32_t r = 0; r < ranks; r++)
            seen |= 1u << to[r][round];
        CHECK(seen == (1u << ranks) - 1);
    }
    CHECK(clean(program, false));
    mlt_goal_program_free(program);
}

// ---- long programs

int main(int argc, char **argv)
{
    tell_more = tell_programs;
    CHECK(mlt_passes_count == 8);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        check_example(&examples[i]);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal(&refusals[i]);
    check_invalid();
    check_addresses();
    for (uint32_t ranks = 5; ranks <= 32; ranks += 9)
        check_alltoall(ranks, true);
    for (uint64_t seed = 1; seed <= 40; seed++)
        check_regular(5 + (uint32_t)seed % 20, 3 + (uint32_t)seed % 11, seed);
    uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    for (uint64_t seed = 1; seed <= programs; seed++)
        for (int pass = -1; pass < mlt_passes_count; pass++)
            check_random(seed, pass);
    printf("%zu examples, %" PRIu64 " random programs; changes:",
           sizeof examples / sizeof examples[0], programs);
    for (int i = 0; i < mlt_passes_count; i++) {
        printf(" %s %" PRIu64, mlt_passes[i].name, changes[i]);
        CHECK(changes[i] > 0);
    }
    printf("\n");
    return 0;
}
