// SPDX-License-Identifier: BSD-3-Clause
// The passes: examples with what they must become, examples that they must leave alone, and random
// programs, each pass alone and all together, judged by the checker and by runs on real bytes
// (pass_oracle.h).
#include "goal/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goal/check.h"
#include "goal/pass_int.h"
#include "goal/pass_oracle.h"
#include "goal/sim.h"
#include "goal/text.h"

#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, #condition))

static char now_testing[400] = "nothing yet";
static const mlt_goal_program *now_before, *now_after;

static _Noreturn void failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s\n  while testing %s\n", file, line, condition, now_testing);
    if (now_before)
        mlt_goal_print(now_before, MLT_GOAL_PAPER, 0, stderr);
    if (now_after) {
        fprintf(stderr, "became\n");
        mlt_goal_print(now_after, MLT_GOAL_PAPER, 0, stderr);
    }
    exit(1);
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
    // spread
    {"spread",
     "all begin with rank 0",
     {0},
     4,
     "rank #0 { recv 0,4 from 1; recv 4,4 from 2; } "
     "rank #1 { send 0,4 to 0; send 4,4 to 3; recv 8,4 from 3; } "
     "rank #2 { send 0,4 to 0; send 4,4 to 3; send 8,4 to 4; } "
     "rank #3 { recv 0,4 from 1; recv 4,4 from 2; send 8,4 to 4; send 12,4 to 1; } "
     "rank #4 { recv 0,4 from 2; recv 4,4 from 3; }",
     NULL},
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
    if (mlt_pass_run(mlt_pass_find(e->pass), after, &e->options, &report, why, sizeof why) !=
        MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"the pass failed");
    }
    CHECK(*report.text);
    mlt_goal_program *wanted = read_text(e->after ? e->after : e->before);
    if (!is(e->pass, "spread")) { // its example is judged by its effect, below
        CHECK(report.changed == e->changed);
        CHECK(same_program(after, wanted));
    }
    if (clean(before, false)) {
        CHECK(clean(after, false));
        same_results(before, after, e->options.keep, false);
    }
    mlt_goal_program_free(wanted);
    mlt_goal_program_free(before);
    mlt_goal_program_free(after);
    now_before = now_after = NULL;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        check_example(&examples[i]);
    printf("%zu examples\n", sizeof examples / sizeof examples[0]);
    return 0;
}
