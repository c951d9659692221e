// SPDX-License-Identifier: BSD-3-Clause
// `millet goal extrapolate`: the pattern of recorded programs, and the program of more ranks, which
// is written rank by rank as it is made.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/table.h"
#include "goal/text/text.h"
#include "judge/grow/grow.h"
#include "tools/commands.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/progress.h"

enum { EXTRAPOLATE_ACTION_BYTES = 200, REPORT = 1024 };

static struct {
    uint64_t ranks;
    int scaling; // -1: not given
    const char *out;
} extrapolate_asked = {.scaling = -1};

// ---- what is known of what was written

typedef struct account {
    uint64_t actions, messages;
    uint64_t sent, received; // sums of hashes: each message counts in both
    bool wildcards, lost;
} account;

// A message as both its ends know it: who, the tag, which of those, the size.
static uint64_t hash_of(uint32_t from, uint32_t to, int32_t tag, uint32_t nth, uint64_t size)
{
    uint64_t hash = mlt_hash_mix(mlt_hash_mix(1, from), to);
    hash = mlt_hash_mix(hash, (uint32_t)tag);
    return mlt_hash_mix(mlt_hash_mix(hash, size), 1 + (uint64_t)nth);
}

typedef struct flow_end { // of a message, by its flow
    uint64_t flow;        // direction and peer
    uint32_t tag, number;
} flow_end;

static int by_flow(const void *a, const void *b)
{
    const flow_end *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){x->flow, x->tag, x->number},
                             (uint64_t[]){y->flow, y->tag, y->number}, 3);
}

static void count_end(account *sums, uint32_t rank, const mlt_goal_action *action, uint32_t nth)
{
    uint32_t peer = (uint32_t)action->peer;
    if (action->kind == MLT_GOAL_SEND) {
        sums->messages++;
        sums->lost |= action->tag < 0; // a tag that fell with each time round
        sums->sent += hash_of(rank, peer, action->tag, nth, action->size[0]);
    } else {
        sums->wildcards |= action->peer < 0 || action->tag < 0;
        sums->received += hash_of(peer, rank, action->tag, nth, action->size[0]);
    }
}

static void count_actions(account *sums, uint32_t rank, const mlt_goal_rank *program)
{
    flow_end *ends = mlt_xcalloc((size_t)program->count + 1, sizeof *ends);
    uint32_t count = 0, nth = 0;
    sums->actions += program->count;
    for (uint32_t a = 0; a < program->count; a++) {
        const mlt_goal_action *action = &program->actions[a];
        bool send = action->kind == MLT_GOAL_SEND;
        if (send || action->kind == MLT_GOAL_RECV)
            ends[count++] =
                (flow_end){(uint64_t)send << 32 | (uint32_t)action->peer, (uint32_t)action->tag, a};
    }
    qsort(ends, count, sizeof *ends, by_flow);
    for (uint32_t i = 0; i < count; i++) {
        bool same = i && ends[i].flow == ends[i - 1].flow && ends[i].tag == ends[i - 1].tag;
        nth = same ? nth + 1 : 0;
        count_end(sums, rank, &program->actions[ends[i].number], nth);
    }
    free(ends);
}

// ---- text

static void write_loggopsim(const mlt_goal_action *action, FILE *to)
{
    if (action->kind == MLT_GOAL_CALC)
        fprintf(to, "calc %" PRIu64, action->size[0]);
    else
        fprintf(to, "%s %" PRIu64 "b %s %" PRId32 " tag %" PRId32,
                action->kind == MLT_GOAL_SEND ? "send" : "recv", action->size[0],
                action->kind == MLT_GOAL_SEND ? "to" : "from", action->peer, action->tag);
    if (action->cpu)
        fprintf(to, " cpu %u", action->cpu);
    if (action->nic && action->kind != MLT_GOAL_CALC)
        fprintf(to, " nic %u", action->nic);
}

static void write_rank(const mlt_goal_program *empty, uint32_t rank, const mlt_goal_rank *program,
                       mlt_goal_dialect dialect, FILE *to)
{
    char text[EXTRAPOLATE_ACTION_BYTES];
    bool paper = dialect == MLT_GOAL_PAPER;
    const char *end = paper ? ";" : "";
    fprintf(to, "rank %s%" PRIu32 " {\n", paper ? "#" : "", rank);
    for (uint32_t a = 0; a < program->count; a++) {
        fprintf(to, "a%" PRIu32 ": ", a);
        if (paper)
            fputs(mlt_goal_print_action(empty, 0, &program->actions[a], text, sizeof text), to);
        else
            write_loggopsim(&program->actions[a], to);
        fprintf(to, "%s\n", end);
    }
    for (uint32_t d = 0; d < program->deps_count; d++) {
        uint32_t on = mlt_goal_plain(program->deps[d].on);
        bool started = on != program->deps[d].on;
        if (paper)
            fprintf(to, "%s a%" PRIu32 " -> a%" PRIu32 ";\n", started ? "irequ" : "requ",
                    program->deps[d].action, on);
        else
            fprintf(to, "a%" PRIu32 " %s a%" PRIu32 "\n", program->deps[d].action,
                    started ? "irequires" : "requires", on);
    }
    fprintf(to, "}\n");
}

static account write_program(const mlt_grow *pattern, uint32_t ranks, mlt_goal_dialect dialect,
                             FILE *to)
{
    account sums = {0};
    mlt_goal_rank one = {0};
    mlt_goal_program *empty = mlt_goal_program_new(1);
    mlt_progress progress;
    mlt_progress_begin(&progress, "writing");
    if (dialect == MLT_GOAL_PAPER)
        fprintf(to, "ranks %" PRIu32 ";\n", ranks);
    else
        fprintf(to, "num_ranks %" PRIu32 "\n", ranks);
    for (uint32_t r = 0; r < ranks && !ferror(to); r++) {
        mlt_grow_rank(pattern, r, &one);
        count_actions(&sums, r, &one);
        write_rank(empty, r, &one, dialect, to);
        if (r % REPORT == 0)
            mlt_progress_step(&progress, (double)r / ranks);
    }
    mlt_progress_end(&progress);
    return sums;
}

static void extrapolate_write_out(const mlt_grow *pattern, mlt_goal_dialect dialect)
{
    mlt_sink sink = mlt_sink_open(extrapolate_asked.out);
    uint64_t ranks = extrapolate_asked.ranks;
    account sums = write_program(pattern, (uint32_t)ranks, dialect, sink.to);
    if (!ferror(sink.to) && (sums.lost || (!sums.wildcards && sums.sent != sums.received)))
        mlt_args_failed(
            "with %" PRIu64
            " ranks some messages would have no receive of their size: the pattern does "
            "not hold for that many; recordings of other numbers of ranks tell more",
            ranks);
    mlt_sink_close(&sink);
    char text[3][MLT_NUMBER_BYTES];
    fprintf(stderr, "%s: %s ranks, %s actions, %s messages\n",
            extrapolate_asked.out ? extrapolate_asked.out : "written", mlt_number(text[0], ranks),
            mlt_number(text[1], sums.actions), mlt_number(text[2], sums.messages));
}

// ---- recordings

static void say_pattern(const mlt_source *source, const mlt_grow *pattern)
{
    char text[120];
    fprintf(stderr, "%s: %s\n", source->name, mlt_grow_describe(pattern, text, sizeof text));
}

static mlt_grow *find_one(const mlt_source *source)
{
    mlt_grow *pattern;
    if (mlt_grow_find(source->program, &pattern, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s: %s", source->name, mlt_args_why);
    say_pattern(source, pattern);
    return pattern;
}

static mlt_grow *find_joined(const mlt_source *sources, size_t count)
{
    const mlt_goal_program **programs = mlt_xcalloc(count, sizeof *programs);
    mlt_grow *pattern;
    uint32_t which;
    double error;
    for (size_t i = 0; i < count; i++)
        programs[i] = sources[i].program;
    mlt_args_must(mlt_grow_join(programs, (uint32_t)count, &pattern, &which, &error, MLT_ARGS_WHY));
    say_pattern(&sources[which], pattern);
    fprintf(stderr, "it gives the other recording%s too\n", count > 2 ? "s" : "");
    if (count > 2)
        fprintf(stderr, "times between the first and the last are predicted to %.1f %%\n",
                100 * error);
    free(programs);
    return pattern;
}

static int extrapolate_run(const mlt_arg_texts *files)
{
    if (!extrapolate_asked.ranks)
        mlt_args_wrong("it needs --ranks N, how many the program is to have");
    if (files->count > 1 && extrapolate_asked.scaling >= 0)
        mlt_args_wrong("--scaling is for one recording; %zu tell how sizes and times grow",
                       files->count);
    mlt_source *sources = mlt_xcalloc(files->count, sizeof *sources);
    for (size_t i = 0; i < files->count; i++)
        mlt_source_read(files->items[i], NULL, &sources[i]);
    mlt_grow *pattern =
        files->count > 1 ? find_joined(sources, files->count) : find_one(&sources[0]);
    bool loggopsim = mlt_source_is_loggopsim(&sources[files->count - 1]);
    for (size_t i = 0; i < files->count; i++)
        mlt_goal_program_free(sources[i].program);
    mlt_args_must(mlt_grow_aim(pattern, (uint32_t)extrapolate_asked.ranks,
                               extrapolate_asked.scaling == 1 ? MLT_GROW_STRONG : MLT_GROW_WEAK,
                               MLT_ARGS_WHY));
    extrapolate_write_out(pattern, loggopsim ? MLT_GOAL_LOGGOPSIM : MLT_GOAL_PAPER);
    return MLT_EXIT_FINE;
}

static mlt_arg extrapolate_args[] = {
    {"ranks", 'n', MLT_ARG_NUMBER, &extrapolate_asked.ranks, "N", .most = MLT_GOAL_MAX_RANKS,
     .help = "how many ranks the program is to have"},
    {"output", 'o', MLT_ARG_TEXT, &extrapolate_asked.out, "OUT",
     .help = "write to OUT (standard output)"},
    {"scaling", 0, MLT_ARG_CHOICE, &extrapolate_asked.scaling, "HOW", .choices = "weak|strong",
     .help = "weak: a rank's work and messages stay; strong: the work of all stays (weak). "
             "Several recordings tell this themselves"},
};

const mlt_command mlt_goal_extrapolate_command = {
    .name = "millet goal extrapolate",
    .help = "write a program of few ranks for many",
    .words = "FILE...",
    .least = 1,
    .most = SIZE_MAX,
    .purpose = "Finds the pattern of a program of few ranks, and writes the program for many: "
               "rings, grids, trees, butterflies, all to all, masters with workers, in any "
               "order. Several files, of growing numbers of ranks, tell how sizes and times "
               "grow. A program without a pattern is refused.",
    .groups = {{NULL, MLT_ARG_LIST(extrapolate_args)}},
    .run = extrapolate_run};
