// SPDX-License-Identifier: BSD-3-Clause
// The order of the proofs, and how their findings are kept and told.
#include "judge/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "judge/check/check_int.h"

const char *const mlt_goal_fault_names[MLT_FAULTS] = {
    "invalid", "cycle", "unmatched", "size", "deadlock", "race", "bounds", "wildcard", "result",
};

// ---- findings

mlt_goal_finding *mlt_check_found(mlt_check *check, mlt_goal_fault fault, mlt_goal_place first,
                                  mlt_goal_place second)
{
    mlt_goal_verdict *verdict = check->verdict;
    verdict->found[fault]++;
    if (check->options->limit && verdict->found[fault] > check->options->limit)
        return NULL;
    mlt_goal_finding *finding = MLT_ARRAY_ADD(verdict->findings, verdict->count, check->room);
    *finding = (mlt_goal_finding){.fault = fault, .place = {first, second}};
    finding->text = mlt_xcalloc(1, 1);
    return finding;
}

static void say(mlt_goal_finding *finding, const char *format, va_list args)
{
    size_t length = strlen(finding->text);
    mlt_text text = {.text = finding->text, .length = length, .room = length + 1};
    mlt_text_vadd(&text, format, args);
    finding->text = text.text;
}

void mlt_check_say(mlt_goal_finding *finding, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(finding, format, args);
    va_end(args);
}

void mlt_check_tell(mlt_check *check, mlt_goal_fault fault, uint32_t rank, const char *format, ...)
{
    mlt_goal_place place = {rank, MLT_GOAL_NONE};
    mlt_goal_finding *finding = mlt_check_found(check, fault, place, place);
    va_list args;
    va_start(args, format);
    if (finding)
        say(finding, format, args);
    va_end(args);
}

void mlt_check_looked(mlt_check *check, mlt_goal_fault fault)
{
    check->verdict->looked |= 1u << fault;
}

void mlt_check_progress(const mlt_check *check, double done)
{
    if (check->options->progress)
        check->options->progress(check->options->user, done);
}

mlt_goal_place mlt_check_place(const mlt_check *check, uint64_t number)
{
    const uint64_t *first = check->pairs->first;
    uint32_t rank = MLT_ARRAY_SEARCH(r, check->program->ranks, first[r] <= number) - 1;
    return (mlt_goal_place){rank, (uint32_t)(number - first[rank])};
}

const char *mlt_check_describe(const mlt_check *check, mlt_goal_place place,
                               char text[MLT_CHECK_TEXT])
{
    return mlt_goal_describe(check->program, place.rank, place.action, text, MLT_CHECK_TEXT);
}

const char *mlt_check_buffer_name(const mlt_goal_program *program, uint32_t rank, uint32_t buf)
{
    if (buf == MLT_GOAL_MEMORY)
        return "memory";
    if (buf == MLT_GOAL_ADDRESS)
        return "the process's memory";
    if (buf == MLT_GOAL_NOWHERE)
        return "no buffer";
    return mlt_goal_name_text(program, program->rank[rank].buffers[buf - 1].name);
}

const char *mlt_check_bytes(const mlt_goal_program *program, uint32_t rank, uint32_t buf,
                            uint64_t from, uint64_t to, char text[MLT_CHECK_TEXT])
{
    const char *name = mlt_check_buffer_name(program, rank, buf);
    if (to - from == 1)
        snprintf(text, MLT_CHECK_TEXT, "byte %" PRIu64 " of %s", from, name);
    else
        snprintf(text, MLT_CHECK_TEXT, "bytes %" PRIu64 "..%" PRIu64 " of %s", from, to - 1, name);
    return text;
}

// ---- the driver

static void count_work(mlt_check *check)
{
    mlt_goal_verdict *verdict = check->verdict;
    verdict->ranks = check->program->ranks;
    for (uint32_t r = 0; r < check->program->ranks; r++) {
        const mlt_goal_rank *rank = &check->program->rank[r];
        verdict->actions += rank->count;
        for (uint32_t a = 0; a < rank->count; a++) {
            if (rank->actions[a].kind != MLT_GOAL_SEND)
                continue;
            verdict->messages++;
            verdict->bytes += rank->actions[a].size[0];
        }
    }
}

static void run(mlt_check *check)
{
    if (!mlt_check_valid(check))
        return;
    check->wildcards = mlt_goal_has_wildcards(check->program);
    check->pairs = mlt_goal_pairs_new(check->program);
    mlt_check_progress(check, 0.1);
    mlt_check_match(check);
    mlt_check_progress(check, 0.2);
    if (!mlt_check_cycles(check))
        return;
    mlt_check_deadlock(check);
    mlt_check_progress(check, 0.4);
    if (check->options->window && check->waits.order)
        mlt_check_window(check);
    mlt_check_race(check);
    mlt_check_progress(check, 0.6);
    if (check->options->is)
        mlt_check_result(check);
}

mlt_goal_verdict *mlt_goal_check(const mlt_goal_program *program,
                                 const mlt_goal_check_options *options)
{
    static const mlt_goal_check_options none;
    mlt_check check = {.program = program, .options = options ? options : &none};
    check.verdict = mlt_xcalloc(1, sizeof *check.verdict);
    count_work(&check);
    run(&check);
    if (check.graph)
        for (uint32_t r = 0; r < program->ranks; r++)
            mlt_goal_graph_free(check.graph[r]);
    free(check.graph);
    mlt_waits_fini(&check.waits);
    mlt_goal_pairs_free(check.pairs);
    mlt_check_progress(&check, 1);
    return check.verdict;
}

void mlt_goal_verdict_free(mlt_goal_verdict *verdict)
{
    if (!verdict)
        return;
    for (uint64_t i = 0; i < verdict->count; i++)
        free(verdict->findings[i].text);
    free(verdict->findings);
    free(verdict->order);
    free(verdict->claim);
    free(verdict);
}

// ---- printing

static bool clean(const mlt_goal_verdict *verdict, mlt_goal_fault fault)
{
    return verdict->looked >> fault & 1 && !verdict->found[fault];
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void print_deadlock(const mlt_goal_verdict *verdict, FILE *to)
{
    if (!clean(verdict, MLT_FAULT_DEADLOCK))
        return;
    fprintf(to, "no deadlock%s",
            verdict->synchronous ? ", even if every send is synchronous"
                                 : " if sends are buffered");
    if (verdict->window)
        fprintf(to, ", nor in a window of %u %s", verdict->window,
                plural(verdict->window, "action", "actions"));
    fputc('\n', to);
}

static void print_result(const mlt_goal_verdict *verdict, FILE *to)
{
    if (!verdict->claim)
        return;
    fprintf(to, "%s: ", verdict->claim);
    if (!clean(verdict, MLT_FAULT_RESULT)) {
        fprintf(to, "%s\n", verdict->found[MLT_FAULT_RESULT] ? "wrong" : "not proven");
        return;
    }
    // What depends on an order of events that nothing enforces is no proof.
    bool proven = !verdict->found[MLT_FAULT_RACE];
    fputs(proven ? "right" : "right in one order of events; the races allow others", to);
    if (verdict->order) {
        fprintf(to, "; order %s", verdict->order);
        fputs(verdict->in_rank_order ? ", in the order of the ranks"
                                     : ", for operations that commute",
              to);
        bool several = strncmp(verdict->claim, "allreduce", 9) == 0 ||
                       strncmp(verdict->claim, "reduce_to", 9) == 0;
        if (several && verdict->ranks > 1)
            fputs(verdict->same_everywhere ? "; every rank has the same order, so the same bits"
                  : verdict->exact         ? "; ranks differ in their order, which changes no bit"
                                           : "; ranks differ in their order, so perhaps in bits",
                  to);
    }
    fputc('\n', to);
}

void mlt_goal_verdict_print(const mlt_goal_verdict *verdict, FILE *to)
{
    fprintf(to, "%" PRIu64 " %s on %u %s\n", verdict->actions,
            plural(verdict->actions, "action", "actions"), verdict->ranks,
            plural(verdict->ranks, "rank", "ranks"));
    if (clean(verdict, MLT_FAULT_BOUNDS))
        fputs("in bounds\n", to);
    if (clean(verdict, MLT_FAULT_CYCLE))
        fputs("acyclic\n", to);
    if (clean(verdict, MLT_FAULT_UNMATCHED) && clean(verdict, MLT_FAULT_SIZE) &&
        !verdict->found[MLT_FAULT_WILDCARD])
        fprintf(to, "matched: %" PRIu64 " %s, %" PRIu64 " %s\n", verdict->messages,
                plural(verdict->messages, "message", "messages"), verdict->bytes,
                plural(verdict->bytes, "byte", "bytes"));
    print_deadlock(verdict, to);
    if (clean(verdict, MLT_FAULT_RACE))
        fputs("no races\n", to);
    else if (verdict->found[MLT_FAULT_RACE])
        fprintf(to, "races: %" PRIu64 " unordered %s of actions, at most %" PRIu64 " on one rank\n",
                verdict->found[MLT_FAULT_RACE],
                plural(verdict->found[MLT_FAULT_RACE], "pair", "pairs"), verdict->races_of_rank);
    print_result(verdict, to);
    for (uint64_t i = 0; i < verdict->count; i++)
        fprintf(to, "%s: %s\n", mlt_goal_fault_names[verdict->findings[i].fault],
                verdict->findings[i].text);
    for (int f = 0; f < MLT_FAULTS; f++) {
        uint64_t told = 0;
        for (uint64_t i = 0; i < verdict->count; i++)
            told += verdict->findings[i].fault == (mlt_goal_fault)f;
        if (told < verdict->found[f])
            fprintf(to, "%s: %" PRIu64 " more\n", mlt_goal_fault_names[f],
                    verdict->found[f] - told);
    }
}
