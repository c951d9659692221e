// SPDX-License-Identifier: BSD-3-Clause
#include "tools/coll/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "coll/alg/hosts/stage.h"
#include "coll/choice.h"
#include "coll/rules_cores.h"
#include "coll/where.h"
#include "lua/rulebook.h"
#include "os/os.h"
#include "p2p/settings.h"
#include "p2p/worker.h"
#include "tools/args.h"
#include "tools/goal/source.h"

enum { WHEN_BYTES = 160, COLL_INFO_NAME_BYTES = 64 };

typedef struct coll_info_asked {
    mlt_collective collective; // MLT_COLLECTIVES: all
    uint64_t ranks, all_ranks, bytes, hosts, cores;
    const char *op, *type, *comm, *file, *force;
    bool in_place, uneven, reproducible, crowded, ordered, user_op, in_turn;
    int workers; // of mlt_arg: process|thread
    int large;   // mlt_large
    mlt_coll_sources sources;
    mlt_coll_rule *forced;
} coll_info_asked;

// ---- lists

static void say_range(mlt_text *text, const char *what, uint64_t from, uint64_t to)
{
    const char *comma = text->length ? ", " : "";
    if (from && to && from == to)
        mlt_text_add(text, "%s%" PRIu64 " %s", comma, from, what);
    else if (from && to)
        mlt_text_add(text, "%s%" PRIu64 " to %" PRIu64 " %s", comma, from, to, what);
    else if (from)
        mlt_text_add(text, "%s%" PRIu64 " %s or more", comma, from, what);
    else if (to)
        mlt_text_add(text, "%sup to %" PRIu64 " %s", comma, to, what);
}

static void say_word(mlt_text *text, const char *before, const char *word)
{
    mlt_text_add(text, "%s%s%s", text->length ? ", " : "", before, word);
}

static const char *when(const mlt_coll_rule *rule, char buffer[WHEN_BYTES])
{
    mlt_text text = mlt_text_on(buffer, WHEN_BYTES);
    say_range(&text, "ranks", rule->ranks_from, rule->ranks_to);
    say_range(&text, "bytes", rule->bytes_from, rule->bytes_to);
    say_range(&text, "bytes in all", rule->total_from, rule->total_to);
    for (int i = 0; i < MLT_REACHES; i++)
        if (rule->reach >> i & 1)
            say_word(&text, "in reach of the ", mlt_coll_reach_names[i]);
    say_range(&text, "hosts", rule->hosts_from, rule->hosts_to);
    say_range(&text, "ranks a host", rule->each_from, rule->each_to);
    say_range(&text, "workers for each core", rule->sharing_from, rule->sharing_to);
    say_range(&text, "cores", rule->cores_from, rule->cores_to);
    if (rule->crowded)
        say_word(&text, "", rule->crowded > 0 ? "crowded" : "not crowded");
    if (rule->reads)
        say_word(&text, "peers' memory is ", rule->reads > 0 ? "read" : "not read");
    if (rule->comm)
        say_word(&text, "on ", rule->comm);
    return text.length ? buffer : "always";
}

static void say_parameters(uint64_t segment, uint32_t radix, uint32_t window, bool flat,
                           char buffer[WHEN_BYTES])
{
    mlt_text text = mlt_text_on(buffer, WHEN_BYTES);
    if (segment)
        mlt_text_add(&text, "segment %" PRIu64, segment);
    if (radix)
        mlt_text_add(&text, "%sradix %" PRIu32, text.length ? ", " : "", radix);
    if (window)
        mlt_text_add(&text, "%swindow %" PRIu32, text.length ? ", " : "", window);
    if (flat)
        say_word(&text, "", "flat");
}

static void list_rule(const mlt_coll_rule *rule)
{
    char text[WHEN_BYTES], parameters[WHEN_BYTES], name[COLL_INFO_NAME_BYTES + WHEN_BYTES];
    if (!rule->alg) {
        printf("    %-40s  %-22s %s (%s)\n", "what its function says", "", rule->why, rule->by);
        return;
    }
    say_parameters(rule->segment, rule->radix, rule->window, rule->flat, parameters);
    snprintf(name, sizeof name, "%s%s%s", rule->alg, *parameters ? ", " : "", parameters);
    printf("    %-40s  %-22s %s", when(rule, text), name, rule->why);
    printf(strcmp(rule->by, "built in") == 0 ? "\n" : " (%s)\n", rule->by);
}

static void list_alg(const mlt_coll_alg *alg)
{
    printf("    %-22s %s", alg->name, alg->help);
    if (alg->uses_segment || alg->uses_radix || alg->uses_window)
        printf(" [%s%s%s]", alg->uses_segment ? "segment" : "",
               alg->uses_radix ? alg->uses_segment ? " radix" : "radix" : "",
               alg->uses_window ? alg->uses_segment || alg->uses_radix ? " window" : "window" : "");
    printf("%s\n", alg->in_order ? " [in order]" : "");
}

// ", which changes results", in brackets.
static const char *claim_of(const mlt_coll_stage *stage)
{
    const char *claim = mlt_coll_stage_claim(stage);
    return !claim[0] ? "" : stage->neutral ? " (neutral)" : " (changes results)";
}

static void list_one(const coll_info_asked *a, mlt_collective collective)
{
    const mlt_coll_rulebook *rulebook = a->sources.rulebook;
    printf("\n%s\n  algorithms\n", mlt_collective_names[collective]);
    for (int i = 0; mlt_coll_algs[i]; i++)
        if (mlt_coll_algs[i]->collective == collective)
            list_alg(mlt_coll_algs[i]);
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count; i++)
        if (rulebook->algs[i]->collective == collective)
            list_alg(rulebook->algs[i]);
    printf("  rules, the first that fits decides\n");
    for (const mlt_coll_rule *r = a->forced; r && r->alg; r++)
        if (r->collective == collective)
            list_rule(r);
    for (uint32_t i = 0; rulebook && i < rulebook->rules_count; i++)
        if (rulebook->rules[i].collective == collective || !rulebook->rules[i].alg)
            list_rule(&rulebook->rules[i]);
    for (uint32_t i = 0; i < mlt_cores_rules_count; i++) {
        mlt_coll_rule r = mlt_cores_rule_at(i);
        if (r.collective == collective)
            list_rule(&r);
    }
    for (const mlt_coll_rule *r = mlt_coll_rules; r->alg; r++)
        if (r->collective == collective)
            list_rule(r);
    for (uint32_t i = 0; rulebook && i < rulebook->paths_count; i++) {
        const mlt_coll_path *path = &rulebook->paths[i];
        if (path->collective != MLT_COLLECTIVES && path->collective != collective)
            continue;
        printf("  path%s%s:", path->comm ? " on " : "", path->comm ? path->comm : "");
        for (uint32_t s = 0; s < path->count; s++)
            printf(" %s%s", mlt_coll_wrapper_names[path->stages[s].wrapper],
                   claim_of(&path->stages[s]));
        printf(" (%s)\n", path->by);
    }
}

static void coll_info_list(const coll_info_asked *a)
{
    printf("Sizes are bytes of a block: what one rank sends to one, or all get. Rules whose "
           "algorithm cannot do\nwhat is asked for are passed over. `millet info --coll NAME "
           "--ranks N --bytes N` asks them.\n");
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        if (a->collective == MLT_COLLECTIVES || a->collective == (mlt_collective)c)
            list_one(a, (mlt_collective)c);
}

// ---- one question

// Whether processes read each other's memory, unless it was said: as a job here would.
static bool reads(const coll_info_asked *a)
{
    return a->large == MLT_LARGE_AUTO ? mlt_p2p_reads_here() : a->large == MLT_LARGE_READ;
}

// Of a host with so many of the ranks: if nothing was said, a core for each, or this machine's.
static uint32_t cores_of(const coll_info_asked *a, uint32_t ranks)
{
    return a->cores ? (uint32_t)a->cores : a->crowded ? (uint32_t)mlt_os_cores() : ranks;
}

static bool is_crowded(const coll_info_asked *a, uint32_t ranks)
{
    return a->crowded || ranks > cores_of(a, ranks);
}

static uint32_t sharing_of(const coll_info_asked *a, uint32_t ranks)
{
    return is_crowded(a, ranks) ? mlt_coll_sharing(ranks, cores_of(a, ranks)) : 1;
}

// The ranks on that many hosts, in blocks or in turn.
static mlt_coll_hosts *coll_info_hosts_of(const coll_info_asked *a)
{
    mlt_coll_hosts *map = mlt_coll_hosts_deal((uint32_t)a->ranks, (uint32_t)a->hosts, a->in_turn);
    map->crowded = is_crowded(a, map->most);
    map->reads = !a->workers && reads(a);
    map->sharing = sharing_of(a, map->most);
    map->cores = cores_of(a, map->most);
    return map;
}

static void on_hosts(const coll_info_asked *a, mlt_coll_question *q)
{
    if (a->hosts < 2)
        return;
    q->hosts = coll_info_hosts_of(a);
    q->reach = MLT_REACH_NETWORK;
    q->crowded = q->reads = false;
    q->sharing = 1;
    q->cores = 0;
}

static mlt_coll_question question_of(const coll_info_asked *a, mlt_op op, mlt_op_type type)
{
    return (mlt_coll_question){.collective = a->collective,
                               .ranks = (uint32_t)a->ranks,
                               .all_ranks = (uint32_t)(a->all_ranks ? a->all_ranks : a->ranks),
                               .bytes = a->bytes,
                               .op = a->user_op ? MLT_OPS : op,
                               .type = type,
                               .element = mlt_op_type_bytes[type],
                               .commutes = !a->ordered,
                               .in_place = a->in_place,
                               .uneven = a->uneven,
                               .reproducible = a->reproducible,
                               .crowded = is_crowded(a, (uint32_t)a->ranks),
                               .sharing = sharing_of(a, (uint32_t)a->ranks),
                               .cores = cores_of(a, (uint32_t)a->ranks),
                               .reach = a->workers ? MLT_REACH_PROCESS : MLT_REACH_HOST,
                               .reads = !a->workers && reads(a),
                               .comm = a->comm ? a->comm : "MPI_COMM_WORLD"};
}

static void say_question(const mlt_coll_question *q)
{
    printf("%s, %" PRIu32 " rank%s", mlt_collective_names[q->collective], q->ranks,
           q->ranks == 1 ? "" : "s");
    if (q->all_ranks != q->ranks)
        printf(" of %" PRIu32, q->all_ranks);
    if (q->collective != MLT_COLL_BARRIER)
        printf(", %" PRIu64 " bytes", q->bytes);
    if (mlt_collective_reduces(q->collective))
        printf(", %s of %s%s", q->op < MLT_OPS ? mlt_op_names[q->op] : "a user's operation",
               mlt_op_type_names[q->type], q->commutes ? "" : ", does not commute");
    printf("%s%s%s", q->in_place ? ", in place" : "", q->uneven ? ", blocks that differ" : "",
           q->reproducible ? ", reproducible" : "");
    if (q->hosts)
        printf(", on %" PRIu32 " hosts, %s", q->hosts->hosts,
               q->hosts->contiguous ? "in blocks" : "in turn");
    else
        printf("%s", q->reach == MLT_REACH_PROCESS ? ", between threads" : ", between processes");
    printf("%s%s, on %s\n", q->reads ? " that read each other's memory" : "",
           !q->crowded ? ""
           : q->reads  ? " and share cores"
                       : " that share cores",
           q->comm);
}

static void say_other(const mlt_coll_alg *alg, const mlt_coll_question *q,
                      const mlt_coll_alg *chosen)
{
    const char *reason;
    if (alg->collective != q->collective || alg == chosen)
        return;
    if (mlt_coll_suits(alg, q, &reason))
        printf("    %-22s could, too: %s\n", alg->name, alg->help);
    else
        printf("    %-22s no: %s\n", alg->name, reason);
}

// What a user's algorithm would have to show at its first call.
static void say_proof(const coll_info_asked *a, const mlt_coll_question *q,
                      const mlt_coll_choice *choice)
{
    mlt_coll_rulebook *rulebook = a->sources.rulebook;
    mlt_coll_shape shape = mlt_coll_choice_shape(q, choice);
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count; i++) {
        if (rulebook->algs[i] != choice->alg)
            continue;
        mlt_args_must(rulebook->prove(rulebook, choice->alg, &shape, MLT_ARGS_WHY));
        printf("  proof        the checker finds no fault in it for this shape, root 0\n");
    }
}

static void say_stages(const mlt_coll_question *q, const mlt_coll_choice *choice)
{
    char text[512];
    mlt_coll_shape shape = mlt_coll_choice_shape(q, choice);
    if (mlt_hierarchy_tell(choice->alg, &shape, text, sizeof text))
        printf("  stages       %s\n", text);
}

static void coll_info_answer(const coll_info_asked *a, const mlt_coll_question *q)
{
    char parameters[WHEN_BYTES];
    mlt_coll_choice choice;
    mlt_coll_ask(&a->sources, q, &choice, MLT_ARGS_WHY);
    say_question(q);
    if (*mlt_args_why)
        mlt_args_failed("%s", mlt_args_why);
    say_parameters(choice.segment, choice.radix, choice.window, choice.flat, parameters);
    printf("  chosen       %s: %s\n", choice.alg->name, choice.alg->help);
    printf("  because      %s\n", choice.why);
    printf("  rule         %s\n", choice.by);
    say_stages(q, &choice);
    printf("  parameters   %s\n", *parameters ? parameters : "its own");
    if (*choice.passed)
        printf("  passed over  %s\n", choice.passed);
    say_proof(a, q, &choice);
    printf("  others\n");
    for (int i = 0; mlt_coll_algs[i]; i++)
        say_other(mlt_coll_algs[i], q, choice.alg);
    for (uint32_t i = 0; a->sources.rulebook && i < a->sources.rulebook->algs_count; i++)
        say_other(a->sources.rulebook->algs[i], q, choice.alg);
}

// ---- the command

static mlt_coll_question read_question(coll_info_asked *a)
{
    mlt_op op = MLT_OP_SUM;
    mlt_op_type type = MLT_OP_FLOAT64;
    a->user_op = a->op && strcmp(a->op, "user") == 0;
    if (a->op && !a->user_op && (!mlt_goal_function(a->op, &op, &type) || op == MLT_OP_COPY))
        mlt_args_wrong(
            "option --op is '%s', but should be an operation such as sum or maxFloat64, or "
            "user",
            a->op);
    if (a->type)
        type = mlt_source_type("--type", a->type);
    mlt_coll_question q = question_of(a, op, type);
    on_hosts(a, &q);
    if (a->collective == MLT_COLL_BARRIER)
        q.bytes = 0;
    return q;
}

static const char *given_or_set(const char *given, const char *variable)
{
    const char *set = getenv(variable);
    return given ? given : set ? set : "";
}

static void open_sources(coll_info_asked *a)
{
    const char *file = given_or_set(a->file, "MILLET_COLL");
    const char *force = given_or_set(a->force, "MILLET_FORCE");
    if (*file) {
        mlt_args_must(
            mlt_lua_rulebook_open(mlt_coll_algs, file, &a->sources.rulebook, MLT_ARGS_WHY));
        mlt_args_must(mlt_lua_rulebook_prove(a->sources.rulebook, MLT_ARGS_WHY));
    }
    if (*force && mlt_coll_force_parse(force, a->sources.rulebook, &a->forced, MLT_ARGS_WHY))
        mlt_args_wrong("option --force: %s", mlt_args_why);
    a->sources.forced = a->forced;
}

static coll_info_asked coll_asked = {.collective = MLT_COLLECTIVES, .bytes = 8};

mlt_arg mlt_info_coll_args[MLT_INFO_COLL_ARGS] = {
    {"ranks", 'n', MLT_ARG_NUMBER, &coll_asked.ranks, "N", .least = 1, .most = MLT_GOAL_MAX_RANKS,
     .help = "number of workers that take part; the ranks of a worker combine first"},
    {"all-ranks", 0, MLT_ARG_NUMBER, &coll_asked.all_ranks, "N", .least = 1, .most = UINT32_MAX,
     .help = "number of ranks of the communicator (as --ranks)"},
    {"hosts", 0, MLT_ARG_NUMBER, &coll_asked.hosts, "N", .least = 1, .most = MLT_GOAL_MAX_RANKS,
     .help = "number of hosts that they are on, as many on each as on any other (1)"},
    {"in-turn", 0, MLT_ARG_FLAG, &coll_asked.in_turn, NULL,
     .help = "neighbours are on different hosts, as with mpirun --map-by node"},
    {"bytes", 0, MLT_ARG_SIZE, &coll_asked.bytes, "N", .help = "bytes of a block (8)"},
    {"op", 0, MLT_ARG_TEXT, &coll_asked.op, "OP",
     .help = "operation of a reduction: sum, max, ... or user (sum)"},
    {"type", 0, MLT_ARG_TEXT, &coll_asked.type, "TYPE", .help = "type of its elements (Float64)"},
    {"in-place", 0, MLT_ARG_FLAG, &coll_asked.in_place, NULL, .help = "the call has MPI_IN_PLACE"},
    {"uneven", 0, MLT_ARG_FLAG, &coll_asked.uneven, NULL, .help = "blocks differ in size"},
    {"not-commutative", 0, MLT_ARG_FLAG, &coll_asked.ordered, NULL,
     .help = "operands keep the order of ranks"},
    {"reproducible", 0, MLT_ARG_FLAG, &coll_asked.reproducible, NULL,
     .help = "as mpirun --reproducible: the same bits with every algorithm"},
    {"workers", 0, MLT_ARG_CHOICE, &coll_asked.workers, "HOW", .choices = "process|thread",
     .help = "what workers are: process or thread (process)"},
    {"cores", 0, MLT_ARG_NUMBER, &coll_asked.cores, "N", .least = 1, .most = UINT32_MAX,
     .help = "cores of a host (one for each of its workers)"},
    {"crowded", 0, MLT_ARG_FLAG, &coll_asked.crowded, NULL,
     .help = "there are more workers than cores of this machine"},
    {"large", 0, MLT_ARG_CHOICE, &coll_asked.large, "HOW", .choices = "auto|chunks|read",
     .help = "how long messages go between processes, as MILLET_LARGE (auto: as here)"},
    {"comm", 0, MLT_ARG_TEXT, &coll_asked.comm, "NAME",
     .help = "name of the communicator, as MPI_Comm_set_name gave it"},
    {"file", 0, MLT_ARG_TEXT, &coll_asked.file, "FILE.lua",
     .help = "use the rules and algorithms in this file, as mpirun --coll does (MILLET_COLL)"},
    {"force", 0, MLT_ARG_TEXT, &coll_asked.force, "LIST",
     .help = "as mpirun --force (MILLET_FORCE)"},
};

mlt_collective mlt_info_collective(const char *name)
{
    mlt_collective c = mlt_collective_named(name, strlen(name));
    if (c == MLT_COLLECTIVES) {
        mlt_coll_no_collective(name, strlen(name), MLT_ARGS_WHY);
        mlt_args_wrong("%s", mlt_args_why);
    }
    return c;
}

void mlt_info_coll(const char *name)
{
    coll_info_asked *a = &coll_asked;
    if (name)
        a->collective = mlt_info_collective(name);
    if (a->hosts && a->hosts > a->ranks)
        mlt_args_wrong("--hosts needs --ranks, and at least as many of them");
    if (!a->ranks && mlt_args_given(MLT_ARG_LIST(mlt_info_coll_args), "bytes"))
        mlt_args_wrong("--bytes needs --ranks: how many ranks take part?");
    if (a->ranks && a->collective == MLT_COLLECTIVES)
        mlt_args_wrong("--ranks needs a collective, such as --coll allreduce");
    if (a->ranks && (a->collective == MLT_COLL_REDUCE_TO || a->collective == MLT_COLL_EXCHANGE))
        mlt_args_wrong("%s is not chosen by rules", mlt_collective_names[a->collective]);
    open_sources(a);
    if (a->ranks) {
        mlt_coll_question q = read_question(a);
        coll_info_answer(a, &q);
    } else
        coll_info_list(a);
}
