// SPDX-License-Identifier: BSD-3-Clause
#include "tools/coll/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
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

enum { COLL_INFO_WHY_BYTES = 4096, WHEN_BYTES = 160, COLL_INFO_NAME_BYTES = 64 };

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

static void say_range(char *text, size_t size, const char *what, uint64_t from, uint64_t to)
{
    size_t n = strlen(text);
    const char *comma = n ? ", " : "";
    if (from && to && from == to)
        snprintf(text + n, size - n, "%s%" PRIu64 " %s", comma, from, what);
    else if (from && to)
        snprintf(text + n, size - n, "%s%" PRIu64 " to %" PRIu64 " %s", comma, from, to, what);
    else if (from)
        snprintf(text + n, size - n, "%s%" PRIu64 " %s or more", comma, from, what);
    else if (to)
        snprintf(text + n, size - n, "%sup to %" PRIu64 " %s", comma, to, what);
}

static void say_word(char *text, size_t size, const char *format, const char *word)
{
    size_t n = strlen(text);
    if (n)
        n += (size_t)snprintf(text + n, size - n, ", ");
    if (n < size)
        snprintf(text + n, size - n, format, word); // constant formats with one %s
}

static const char *when(const mlt_coll_rule *rule, char text[WHEN_BYTES])
{
    text[0] = '\0';
    say_range(text, WHEN_BYTES, "ranks", rule->ranks_from, rule->ranks_to);
    say_range(text, WHEN_BYTES, "bytes", rule->bytes_from, rule->bytes_to);
    say_range(text, WHEN_BYTES, "bytes in all", rule->total_from, rule->total_to);
    for (int i = 0; i < MLT_REACHES; i++)
        if (rule->reach >> i & 1)
            say_word(text, WHEN_BYTES, "in reach of the %s", mlt_coll_reach_names[i]);
    say_range(text, WHEN_BYTES, "hosts", rule->hosts_from, rule->hosts_to);
    say_range(text, WHEN_BYTES, "ranks a host", rule->each_from, rule->each_to);
    say_range(text, WHEN_BYTES, "workers for each core", rule->sharing_from, rule->sharing_to);
    say_range(text, WHEN_BYTES, "cores", rule->cores_from, rule->cores_to);
    if (rule->crowded)
        say_word(text, WHEN_BYTES, "%s", rule->crowded > 0 ? "crowded" : "not crowded");
    if (rule->reads)
        say_word(text, WHEN_BYTES, "%s",
                 rule->reads > 0 ? "peers' memory is read" : "peers' memory is not read");
    if (rule->comm)
        say_word(text, WHEN_BYTES, "on %s", rule->comm);
    return *text ? text : "always";
}

static void say_parameters(uint64_t segment, uint32_t radix, uint32_t window, bool flat,
                           char text[WHEN_BYTES])
{
    char number[32];
    text[0] = '\0';
    snprintf(number, sizeof number, "%" PRIu64, segment);
    if (segment)
        say_word(text, WHEN_BYTES, "segment %s", number);
    snprintf(number, sizeof number, "%" PRIu32, radix);
    if (radix)
        say_word(text, WHEN_BYTES, "radix %s", number);
    snprintf(number, sizeof number, "%" PRIu32, window);
    if (window)
        say_word(text, WHEN_BYTES, "window %s", number);
    if (flat)
        say_word(text, WHEN_BYTES, "%s", "flat");
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
            printf(" %s", mlt_coll_wrapper_names[path->stages[s].wrapper]);
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
    return (uint32_t)mlt_given_or(a->cores, a->crowded ? (uint64_t)mlt_os_cores() : ranks);
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
    if (a->hosts < 2 || a->hosts == MLT_NOT_GIVEN)
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
                               .all_ranks = (uint32_t)mlt_given_or(a->all_ranks, a->ranks),
                               .bytes = mlt_given_or(a->bytes, 8),
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
static int say_proof(const mlt_arg_command *command, const coll_info_asked *a,
                     const mlt_coll_question *q, const mlt_coll_choice *choice)
{
    char why[COLL_INFO_WHY_BYTES];
    mlt_coll_rulebook *rulebook = a->sources.rulebook;
    mlt_coll_shape shape = mlt_coll_choice_shape(q, choice);
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count; i++) {
        if (rulebook->algs[i] != choice->alg)
            continue;
        if (rulebook->prove(rulebook, choice->alg, &shape, why, sizeof why) != MLT_OK)
            return mlt_args_failed(command, "%s", why);
        printf("  proof        the checker finds no fault in it for this shape, root 0\n");
    }
    return MLT_EXIT_FINE;
}

static void say_stages(const mlt_coll_question *q, const mlt_coll_choice *choice)
{
    char text[512];
    mlt_coll_shape shape = mlt_coll_choice_shape(q, choice);
    if (mlt_levels_tell(choice->alg, &shape, text, sizeof text))
        printf("  stages       %s\n", text);
}

static int coll_info_answer(const mlt_arg_command *command, const coll_info_asked *a,
                            const mlt_coll_question *q)
{
    char why[COLL_INFO_WHY_BYTES], parameters[WHEN_BYTES];
    mlt_coll_choice choice;
    mlt_coll_ask(&a->sources, q, &choice, why, sizeof why);
    say_question(q);
    if (*why)
        return mlt_args_failed(command, "%s", why);
    say_parameters(choice.segment, choice.radix, choice.window, choice.flat, parameters);
    printf("  chosen       %s: %s\n", choice.alg->name, choice.alg->help);
    printf("  because      %s\n", choice.why);
    printf("  rule         %s\n", choice.by);
    say_stages(q, &choice);
    printf("  parameters   %s\n", *parameters ? parameters : "its own");
    if (*choice.passed)
        printf("  passed over  %s\n", choice.passed);
    int code = say_proof(command, a, q, &choice);
    printf("  others\n");
    for (int i = 0; mlt_coll_algs[i]; i++)
        say_other(mlt_coll_algs[i], q, choice.alg);
    for (uint32_t i = 0; a->sources.rulebook && i < a->sources.rulebook->algs_count; i++)
        say_other(a->sources.rulebook->algs[i], q, choice.alg);
    return code;
}

// ---- the command

static int read_question(const mlt_arg_command *command, coll_info_asked *a, mlt_coll_question *out)
{
    mlt_op op = MLT_OP_SUM, unused = MLT_OPS;
    mlt_op_type type = MLT_OP_FLOAT64;
    a->user_op = a->op && strcmp(a->op, "user") == 0;
    if (a->op && !a->user_op && (!mlt_source_function(a->op, &op, &type) || op == MLT_OP_COPY))
        return mlt_args_wrong(command,
                              "option --op is '%s', but should be an operation such as sum or "
                              "maxFloat64, or user",
                              a->op);
    if (a->type && (!mlt_source_function(a->type, &unused, &type) || unused != MLT_OPS))
        return mlt_args_wrong(command,
                              "option --type is '%s', but should be Int8 to Int64, UInt8 to UInt64 "
                              "or Float16 to Float64",
                              a->type);
    *out = question_of(a, op, type);
    on_hosts(a, out);
    if (a->collective == MLT_COLL_BARRIER)
        out->bytes = 0;
    return MLT_ARGS_GO;
}

static const char *given_or_set(const char *given, const char *variable)
{
    const char *set = getenv(variable);
    return given ? given : set ? set : "";
}

static int open_sources(const mlt_arg_command *command, coll_info_asked *a)
{
    char why[COLL_INFO_WHY_BYTES];
    const char *file = given_or_set(a->file, "MILLET_COLL");
    const char *force = given_or_set(a->force, "MILLET_FORCE");
    if (*file &&
        (mlt_lua_rulebook_open(mlt_coll_algs, file, &a->sources.rulebook, why, sizeof why) ||
         mlt_lua_rulebook_prove(a->sources.rulebook, why, sizeof why)))
        return mlt_args_failed(command, "%s", why);
    if (*force && mlt_coll_force_parse(force, a->sources.rulebook, &a->forced, why, sizeof why))
        return mlt_args_wrong(command, "option --force: %s", why);
    a->sources.forced = a->forced;
    return MLT_ARGS_GO;
}

static int coll_info_run(const mlt_arg_command *command, coll_info_asked *a,
                         const mlt_arg_texts *words)
{
    char why[COLL_INFO_WHY_BYTES];
    mlt_coll_question q;
    if (words->count) {
        const char *name = words->items[0];
        a->collective = mlt_collective_named(name, strlen(name));
        if (a->collective == MLT_COLLECTIVES) {
            mlt_coll_no_collective(name, strlen(name), why, sizeof why);
            return mlt_args_wrong(command, "%s", why);
        }
    }
    bool asks = a->ranks != MLT_NOT_GIVEN;
    if (a->hosts != MLT_NOT_GIVEN && (!asks || a->hosts > a->ranks))
        return mlt_args_wrong(command, "--hosts needs --ranks, and at least as many of them");
    if (!asks && a->bytes != MLT_NOT_GIVEN)
        return mlt_args_wrong(command, "--bytes needs --ranks: how many ranks take part?");
    if (asks && a->collective == MLT_COLLECTIVES)
        return mlt_args_wrong(command, "--ranks needs a collective, such as --coll allreduce");
    if (asks && (a->collective == MLT_COLL_REDUCE_TO || a->collective == MLT_COLL_EXCHANGE))
        return mlt_args_wrong(command, "%s is not chosen by rules",
                              mlt_collective_names[a->collective]);
    int code = open_sources(command, a);
    if (code == MLT_ARGS_GO && asks)
        code = read_question(command, a, &q);
    if (code != MLT_ARGS_GO)
        return code;
    if (asks) {
        code = coll_info_answer(command, a, &q);
        mlt_coll_hosts_free((mlt_coll_hosts *)(uintptr_t)q.hosts);
        return code;
    }
    coll_info_list(a);
    return MLT_EXIT_FINE;
}

static coll_info_asked given = {.collective = MLT_COLLECTIVES,
                                .ranks = MLT_NOT_GIVEN,
                                .all_ranks = MLT_NOT_GIVEN,
                                .bytes = MLT_NOT_GIVEN,
                                .hosts = MLT_NOT_GIVEN,
                                .cores = MLT_NOT_GIVEN};

static const mlt_arg args[] = {
    {"ranks", 'n', MLT_ARG_NUMBER, &given.ranks, "N", .least = 1, .most = MLT_GOAL_MAX_RANKS,
     .help = "number of workers that take part; the ranks of a worker combine first"},
    {"all-ranks", 0, MLT_ARG_NUMBER, &given.all_ranks, "N", .least = 1, .most = UINT32_MAX,
     .help = "number of ranks of the communicator (as --ranks)"},
    {"hosts", 0, MLT_ARG_NUMBER, &given.hosts, "N", .least = 1, .most = MLT_GOAL_MAX_RANKS,
     .help = "number of hosts that they are on, as many on each as on any other (1)"},
    {"in-turn", 0, MLT_ARG_FLAG, &given.in_turn, NULL,
     .help = "neighbours are on different hosts, as with mpirun --map-by node"},
    {"bytes", 0, MLT_ARG_SIZE, &given.bytes, "N", .help = "bytes of a block (8)"},
    {"op", 0, MLT_ARG_TEXT, &given.op, "OP",
     .help = "operation of a reduction: sum, max, ... or user (sum)"},
    {"type", 0, MLT_ARG_TEXT, &given.type, "TYPE", .help = "type of its elements (Float64)"},
    {"in-place", 0, MLT_ARG_FLAG, &given.in_place, NULL, .help = "the call has MPI_IN_PLACE"},
    {"uneven", 0, MLT_ARG_FLAG, &given.uneven, NULL, .help = "blocks differ in size"},
    {"not-commutative", 0, MLT_ARG_FLAG, &given.ordered, NULL,
     .help = "operands keep the order of ranks"},
    {"reproducible", 0, MLT_ARG_FLAG, &given.reproducible, NULL,
     .help = "as mpirun --reproducible: the same bits with every algorithm"},
    {"workers", 0, MLT_ARG_CHOICE, &given.workers, "HOW", .choices = "process|thread",
     .help = "what workers are: process or thread (process)"},
    {"cores", 0, MLT_ARG_NUMBER, &given.cores, "N", .least = 1, .most = UINT32_MAX,
     .help = "cores of a host (one for each of its workers)"},
    {"crowded", 0, MLT_ARG_FLAG, &given.crowded, NULL,
     .help = "there are more workers than cores of this machine"},
    {"large", 0, MLT_ARG_CHOICE, &given.large, "HOW", .choices = "auto|chunks|read",
     .help = "how long messages go between processes, as MILLET_LARGE (auto: as here)"},
    {"comm", 0, MLT_ARG_TEXT, &given.comm, "NAME",
     .help = "name of the communicator, as MPI_Comm_set_name gave it"},
    {"file", 0, MLT_ARG_TEXT, &given.file, "FILE.lua",
     .help = "use the rules and algorithms in this file, as mpirun --coll does (MILLET_COLL)"},
    {"force", 0, MLT_ARG_TEXT, &given.force, "LIST", .help = "as mpirun --force (MILLET_FORCE)"},
};

const mlt_arg_group mlt_info_coll_group = {"For --coll", args, sizeof args / sizeof *args};

int mlt_info_coll_main(int argc, char **argv)
{
    static const mlt_arg_group group = {NULL, args, sizeof args / sizeof *args};
    static const mlt_arg_command command = {
        .name = "millet info --coll",
        .words = "[COLLECTIVE]",
        .most = 1,
        .purpose = "Says which algorithm a collective would use, by which rule, and why not "
                   "another one. Without --ranks it lists collectives, algorithms and rules.",
        .groups = &group,
        .count = 1};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = coll_info_run(&command, &given, &words);
    if (given.sources.rulebook)
        given.sources.rulebook->free(given.sources.rulebook);
    free(given.forced);
    mlt_arg_texts_free(&words);
    return code;
}
