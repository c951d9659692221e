// SPDX-License-Identifier: BSD-3-Clause
#include "tools/coll/tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "coll/choice.h"
#include "lua/rulebook.h"
#include "os/os.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"

enum { TUNE_WHY_BYTES = 4096, MOST_RANKS = 64, MOST_SEGMENTS = 8, TUNE_NAME_BYTES = 96 };

typedef struct tune_asked {
    mlt_arg_texts ranks, colls, segments, without;
    uint64_t segment[MOST_SEGMENTS];
    size_t segment_count;
    uint64_t from, to, factor, budget_ms;
    bool sim, better, reads;
    int workers;
    const char *file, *out, *hosts;
    mlt_machine_options machine_options;
    const char *described; // --machine
    mlt_loggops machine;
    mlt_cluster *cluster; // NULL: no machine is described
    uint64_t gain;        // percent by which another algorithm must be faster to be worth a rule
    char **mpirun;
    mlt_coll_rulebook *rulebook;
    uint32_t rank_counts[MOST_RANKS];
    size_t rank_count;
    bool chosen[MLT_COLLECTIVES];
    uint64_t bytes[MLT_TUNE_SIZES];
    uint32_t sizes;
} tune_asked;

// Those that a call of MPI's own makes, with blocks that are alike.
static bool is_measured(int collective)
{
    return collective != MLT_COLL_REDUCE_TO && collective != MLT_COLL_EXCHANGE;
}

mlt_coll_question mlt_tune_question(const mlt_tune_case *c, uint64_t bytes, uint8_t reach,
                                    bool crowded)
{
    bool far = c->hosts != NULL; // hosts may differ: see choose.h
    return (mlt_coll_question){
        .collective = c->collective,
        .ranks = c->ranks,
        .all_ranks = c->ranks,
        .bytes = bytes,
        .op = MLT_OP_SUM,
        .type = MLT_OP_FLOAT64,
        .element = 8,
        .commutes = true,
        .crowded = crowded && !far,
        .sharing = crowded && !far ? mlt_coll_sharing(c->ranks, (uint32_t)mlt_os_cores()) : 1,
        .cores = far ? 0 : (uint32_t)mlt_os_cores(),
        .reach = far ? MLT_REACH_NETWORK : reach,
        .hosts = c->hosts,
        .comm = "MPI_COMM_WORLD"};
}

// ---- candidates

static void tune_add(mlt_tune_case *c, const mlt_coll_alg *alg, uint64_t segment, uint32_t radix)
{
    if (c->count == MLT_TUNE_CANDIDATES)
        return;
    double *ns = mlt_take(c->sizes, sizeof *ns);
    uint64_t *messages = mlt_take(c->sizes, sizeof *messages);
    c->candidates[c->count++] = (mlt_tune_candidate){alg, segment, radix, ns, messages};
}

static bool is_left_out(const tune_asked *a, const mlt_coll_alg *alg)
{
    for (size_t i = 0; i < a->without.count; i++)
        if (strcmp(a->without.items[i], alg->name) == 0)
            return true;
    return false;
}

static void add_all(const tune_asked *a, mlt_tune_case *c, const mlt_coll_alg *alg)
{
    static const uint32_t radixes[] = {2, 4, 8};
    if (alg->collective != c->collective)
        return;
    if (is_left_out(a, alg))
        return;
    tune_add(c, alg, 0, 0);
    for (size_t i = 0; alg->uses_segment && i < a->segment_count; i++)
        tune_add(c, alg, a->segment[i], 0);
    for (int i = 0; alg->uses_radix && i < 3; i++)
        tune_add(c, alg, 0, radixes[i]);
}

static const char *tune_name_of(const mlt_tune_candidate *candidate, char text[TUNE_NAME_BYTES])
{
    int n = snprintf(text, TUNE_NAME_BYTES, "%s", candidate->alg->name);
    if (candidate->segment)
        snprintf(text + n, TUNE_NAME_BYTES - (size_t)n, " segment %" PRIu64, candidate->segment);
    if (candidate->radix)
        snprintf(text + n, TUNE_NAME_BYTES - (size_t)n, " radix %" PRIu32, candidate->radix);
    return text;
}

// What the built-in rules choose, without the table of those that are simulated: a candidate, too.
static void add_rules(const tune_asked *a, mlt_tune_case *c)
{
    for (uint32_t s = 0; s < c->sizes; s++) {
        char why[TUNE_WHY_BYTES];
        mlt_coll_choice choice;
        mlt_coll_question q = mlt_tune_question(
            c, c->bytes[s], c->threads ? MLT_REACH_PROCESS : MLT_REACH_HOST, false);
        q.cores = 0;
        q.reads = c->reads;
        c->rule[s] = -1;
        mlt_coll_choose(NULL, &q, &choice, why, sizeof why);
        if (!a->better || !choice.alg || choice.window || is_left_out(a, choice.alg))
            continue;
        for (uint32_t i = 0; i < c->count; i++)
            if (c->candidates[i].alg == choice.alg && c->candidates[i].radix == choice.radix &&
                c->candidates[i].segment == choice.segment)
                c->rule[s] = (int)i;
        if (c->rule[s] < 0 && c->count < MLT_TUNE_CANDIDATES) {
            c->rule[s] = (int)c->count;
            tune_add(c, choice.alg, choice.segment, choice.radix);
        }
    }
}

// ---- from times to rules

// The fastest at a size, and the one after it with another algorithm; -1: none.
static int fastest(const mlt_tune_case *c, uint32_t size, int but)
{
    int best = -1;
    for (uint32_t i = 0; i < c->count; i++) {
        const mlt_tune_candidate *x = &c->candidates[i];
        if (x->ns[size] < 0 || (but >= 0 && x->alg == c->candidates[but].alg))
            continue;
        if (best < 0 || x->ns[size] < c->candidates[best].ns[size])
            best = (int)i;
    }
    return best;
}

// Of those that are nearly as fast as the fastest, the one that sends the fewest messages.
static int plainest(const mlt_tune_case *c, uint32_t size, uint64_t gain)
{
    int best = fastest(c, size, -1), first = best;
    for (uint32_t i = 0; first >= 0 && i < c->count; i++) {
        const mlt_tune_candidate *x = &c->candidates[i];
        if (x->ns[size] >= 0 && x->messages[size] < c->candidates[best].messages[size] &&
            x->ns[size] * (double)(100 - gain) / 100 <= c->candidates[first].ns[size])
            best = (int)i;
    }
    return best;
}

// The one that rules name: the fastest, unless that of the built-in rules is nearly as fast; or the
// one of the size before is, and sends no more messages.
static void decide(const mlt_tune_case *c, uint64_t gain, int *winner)
{
    for (uint32_t s = 0; s < c->sizes; s++) {
        int rule = c->rule[s];
        winner[s] = plainest(c, s, gain);
        if (winner[s] >= 0 && rule >= 0 && c->candidates[rule].ns[s] >= 0 &&
            c->candidates[winner[s]].ns[s] >
                c->candidates[rule].ns[s] * (double)(100 - gain) / 100) {
            winner[s] = rule;
            continue;
        }
        if (s == 0 || winner[s] < 0 || winner[s - 1] < 0)
            continue;
        const mlt_tune_candidate *before = &c->candidates[winner[s - 1]];
        const mlt_tune_candidate *now = &c->candidates[winner[s]];
        if (before->ns[s] >= 0 && before->messages[s] <= now->messages[s] &&
            now->ns[s] > before->ns[s] * (double)(100 - gain) / 100)
            winner[s] = winner[s - 1];
    }
}

static const char *time_text(double ns, char text[MLT_NUMBER_BYTES])
{
    return mlt_time(text, (uint64_t)(ns + 0.5));
}

static void write_times(const mlt_tune_case *c, const int *winner, FILE *to)
{
    for (uint32_t s = 0; s < c->sizes; s++) {
        char name[2][TUNE_NAME_BYTES], time[2][MLT_NUMBER_BYTES];
        if (winner[s] < 0)
            continue;
        const mlt_tune_candidate *first = &c->candidates[winner[s]];
        int next = fastest(c, s, winner[s]);
        fprintf(to, "-- %9" PRIu64 " bytes: %-32s %-10s", c->bytes[s], tune_name_of(first, name[0]),
                time_text(first->ns[s], time[0]));
        if (next >= 0)
            fprintf(to, " then %s %s", tune_name_of(&c->candidates[next], name[1]),
                    time_text(c->candidates[next].ns[s], time[1]));
        fputc('\n', to);
    }
}

static void write_range(const char *key, uint64_t from, uint64_t to, FILE *out)
{
    if (to == UINT64_MAX && from)
        fprintf(out, ", %s = {%" PRIu64 "}", key, from);
    else if (to == from)
        fprintf(out, ", %s = %" PRIu64, key, from);
    else if (to != UINT64_MAX)
        fprintf(out, ", %s = {%" PRIu64 ", %" PRIu64 "}", key, from, to);
}

// A rule for each run of sizes with the same winner: from its first size to the one before the next
// run's; the first begins at 0, the last has no end.
static void write_rules(const mlt_tune_case *c, const int *winner, uint64_t ranks_to,
                        const char *how, FILE *to)
{
    for (uint32_t s = 0, end; s < c->sizes; s = end) {
        char time[2][MLT_NUMBER_BYTES];
        bool built_in = winner[s] == c->rule[s];
        for (end = s + 1; end < c->sizes && winner[end] == winner[s] &&
                          (winner[end] == c->rule[end]) == built_in;
             end++)
            ;
        if (winner[s] < 0 || built_in)
            continue;
        const mlt_tune_candidate *x = &c->candidates[winner[s]];
        fprintf(to, "rule { coll = \"%s\"", mlt_collective_names[c->collective]);
        write_range("ranks", c->ranks, ranks_to, to);
        if (c->hosts)
            fprintf(to, ", hosts = %" PRIu32 ", each = %" PRIu32, c->hosts->hosts, c->hosts->most);
        if (c->sizes > 1)
            write_range("bytes", s ? c->bytes[s] : 0,
                        end < c->sizes ? c->bytes[end] - 1 : UINT64_MAX, to);
        fprintf(to, ", alg = \"%s\"", x->alg->name);
        if (x->segment)
            fprintf(to, ", segment = %" PRIu64, x->segment);
        if (x->radix)
            fprintf(to, ", radix = %" PRIu32, x->radix);
        fprintf(to, ",\n       why = \"%s %s", how, time_text(x->ns[s], time[0]));
        if (end > s + 1)
            fprintf(to, " to %s", time_text(x->ns[end - 1], time[1]));
        fprintf(to, "\" }\n");
    }
}

static void write_head(const tune_asked *a, FILE *to)
{
    char date[64] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (localtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M %z", &tm);
    fprintf(to, "-- Rules for collectives by `millet tune`, %s.\n", date);
    if (a->cluster) {
        char what[512];
        fprintf(to, "-- Simulated on %s: %s.\n", a->described,
                mlt_cluster_describe(a->cluster, what, sizeof what));
    } else if (a->sim) {
        const mlt_loggops *m = &a->machine;
        fprintf(to,
                "-- Simulated under LogGOPS: L %.6g, o %.6g, g %.6g, G %.6g, O %.6g, S %" PRIu64
                ", exec %.6g.\n",
                m->L, m->o, m->g, m->G, m->O, m->S, m->exec);
    } else
        fprintf(to, "-- Measured on this machine, %d cores, between %s%s%s.\n", mlt_os_cores(),
                a->workers ? "threads" : "processes", a->hosts ? ", over hosts " : "",
                a->hosts ? a->hosts : "");
    fprintf(to, "-- mpirun --coll FILE takes them; the first rule that fits decides.\n"
                "-- Comments have the fastest at each size, and the next one of another kind.\n");
}

// ---- the work

static int tune_case(const tune_asked *a, mlt_tune_case *c, uint64_t ranks_to, FILE *to)
{
    int winner[MLT_TUNE_SIZES];
    bool crowded = !a->sim && c->ranks > (uint32_t)mlt_os_cores();
    mlt_tune_job job = {.threads = a->workers == 1,
                        .crowded = crowded,
                        .file = a->file,
                        .budget_ms = a->budget_ms,
                        .hosts = a->hosts,
                        .mpirun = a->mpirun};
    int code = a->sim ? mlt_tune_simulate(c, &a->machine, a->cluster) : mlt_tune_locate(c, &job);
    if (code == MLT_ARGS_GO && !a->sim)
        code = mlt_tune_measure(c, &job);
    if (code != MLT_ARGS_GO)
        return code;
    decide(c, a->gain, winner);
    fprintf(to, "\n-- %s, %" PRIu32 " ranks", mlt_collective_names[c->collective], c->ranks);
    if (c->hosts)
        fprintf(to, " on %" PRIu32 " hosts\n", c->hosts->hosts);
    else
        fprintf(to, "%s\n", crowded ? ", more than cores" : "");
    write_times(c, winner, to);
    write_rules(c, winner, ranks_to, a->sim ? "simulated" : "measured", to);
    return MLT_ARGS_GO;
}

static int tune_one(const mlt_arg_command *command, const tune_asked *a, mlt_collective collective,
                    size_t which, mlt_progress *progress, double done, double share, FILE *to)
{
    static const uint64_t nothing = 0;
    bool barrier = collective == MLT_COLL_BARRIER;
    mlt_tune_case c = {.command = command,
                       .collective = collective,
                       .ranks = a->rank_counts[which],
                       .threads = a->workers == 1,
                       .reads = a->reads,
                       .bytes = barrier ? &nothing : a->bytes,
                       .sizes = barrier ? 1 : a->sizes,
                       .progress = progress,
                       .done = done,
                       .share = share};
    uint64_t ranks_to = c.ranks; // up to the next number that was asked for
    if (which + 1 < a->rank_count)
        ranks_to = a->rank_counts[which + 1] - 1;
    for (int i = 0; mlt_coll_algs[i]; i++)
        add_all(a, &c, mlt_coll_algs[i]);
    for (uint32_t i = 0; a->rulebook && i < a->rulebook->algs_count; i++)
        add_all(a, &c, a->rulebook->algs[i]);
    add_rules(a, &c);
    int code = tune_case(a, &c, ranks_to, to);
    for (uint32_t i = 0; i < c.count; i++) {
        free(c.candidates[i].ns);
        free(c.candidates[i].messages);
    }
    mlt_coll_hosts_free(c.hosts);
    return code;
}

static int tune_all(const mlt_arg_command *command, const tune_asked *a, FILE *to)
{
    mlt_progress progress;
    int code = MLT_ARGS_GO;
    double cases = 0, done = 0;
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        cases += a->chosen[c] ? (double)a->rank_count : 0;
    write_head(a, to);
    mlt_progress_begin_long(&progress, a->sim ? "simulating" : "measuring");
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        for (size_t r = 0; a->chosen[c] && r < a->rank_count && code == MLT_ARGS_GO; r++) {
            code =
                tune_one(command, a, (mlt_collective)c, r, &progress, done / cases, 1 / cases, to);
            done++;
        }
    mlt_progress_end(&progress);
    return code;
}

// ---- the command line

static int read_ranks(const mlt_arg_command *command, tune_asked *a)
{
    for (size_t i = 0; i < a->ranks.count; i++) {
        char why[TUNE_WHY_BYTES];
        uint64_t n = 0;
        mlt_arg number = {.kind = MLT_ARG_NUMBER, .value = &n, .least = 1, .most = 1 << 20};
        if (!mlt_arg_parse(&number, "option --ranks", a->ranks.items[i], why, sizeof why))
            return mlt_args_wrong(command, "%s", why);
        if (a->rank_count == MOST_RANKS ||
            (a->rank_count && n <= a->rank_counts[a->rank_count - 1]))
            return mlt_args_wrong(command,
                                  "the values of --ranks must ascend, and there may be at most %d",
                                  MOST_RANKS);
        a->rank_counts[a->rank_count++] = (uint32_t)n;
    }
    if (!a->rank_count)
        return mlt_args_wrong(command, "it needs --ranks, the number of ranks; with several, the "
                                       "rules cover the numbers between them, too");
    return MLT_ARGS_GO;
}

static int read_segments(const mlt_arg_command *command, tune_asked *a)
{
    static const uint64_t usual[] = {4096, 16384, 65536};
    if (a->segments.count > MOST_SEGMENTS)
        return mlt_args_wrong(command, "there may be at most %d options --segment", MOST_SEGMENTS);
    a->segment_count = a->segments.count ? a->segments.count : sizeof usual / sizeof *usual;
    memcpy(a->segment, usual, sizeof usual);
    for (size_t i = 0; i < a->segments.count; i++) {
        char why[TUNE_WHY_BYTES];
        mlt_arg size = {.kind = MLT_ARG_SIZE, .value = &a->segment[i], .least = 1, .most = 1 << 30};
        if (!mlt_arg_parse(&size, "option --segment", a->segments.items[i], why, sizeof why))
            return mlt_args_wrong(command, "%s", why);
    }
    return MLT_ARGS_GO;
}

static int read_colls(const mlt_arg_command *command, tune_asked *a)
{
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        a->chosen[c] = !a->colls.count && is_measured(c);
    for (size_t i = 0; i < a->colls.count; i++) {
        char why[TUNE_WHY_BYTES];
        const char *name = a->colls.items[i];
        mlt_collective c = mlt_collective_named(name, strlen(name));
        if (c == MLT_COLLECTIVES) {
            mlt_coll_no_collective(name, strlen(name), why, sizeof why);
            return mlt_args_wrong(command, "%s", why);
        }
        if (!is_measured(c))
            return mlt_args_wrong(command, "%s is not chosen by rules", name);
        a->chosen[c] = true;
    }
    return MLT_ARGS_GO;
}

static int read_sizes(const mlt_arg_command *command, tune_asked *a)
{
    if (a->from > a->to)
        return mlt_args_wrong(
            command, "--from is %" PRIu64 ", but should be at most --to, %" PRIu64, a->from, a->to);
    uint64_t bytes = a->from, next;
    do {
        if (a->sizes == MLT_TUNE_SIZES)
            return mlt_args_wrong(
                command,
                "--from, --to and --factor give more than %d sizes; a larger --factor gives fewer",
                MLT_TUNE_SIZES);
        a->bytes[a->sizes++] = bytes;
    } while (!__builtin_mul_overflow(bytes, a->factor, &next) && (bytes = next) <= a->to);
    if (a->bytes[a->sizes - 1] < a->to && a->sizes < MLT_TUNE_SIZES)
        a->bytes[a->sizes++] = a->to; // it was asked for
    return MLT_ARGS_GO;
}

// The machine's parameters say nothing about a measurement.
static bool machine_given(const tune_asked *a)
{
    const mlt_machine_options *options = &a->machine_options;
    bool given = a->described || options->file || options->S != UINT64_MAX;
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++)
        given = given || options->given[i] >= 0;
    return given;
}

static int tune_read_words(const mlt_arg_command *command, tune_asked *a)
{
    char why[TUNE_WHY_BYTES];
    int code = read_ranks(command, a);
    if (code == MLT_ARGS_GO)
        code = read_colls(command, a);
    if (code == MLT_ARGS_GO)
        code = read_sizes(command, a);
    if (code == MLT_ARGS_GO)
        code = read_segments(command, a);
    if (code == MLT_ARGS_GO && !a->sim && machine_given(a))
        code = mlt_args_wrong(command, "parameters of a machine need --sim");
    if (code == MLT_ARGS_GO && !a->sim && (a->better || a->reads))
        code = mlt_args_wrong(command, "--better and --reads need --sim");
    if (code == MLT_ARGS_GO && a->sim && a->hosts)
        code = mlt_args_wrong(command, "--sim starts nothing, so it takes no --hosts");
    if (code == MLT_ARGS_GO && a->sim && a->mpirun && *a->mpirun)
        code = mlt_args_wrong(command, "--sim starts nothing, so it takes no options of mpirun");
    if (code == MLT_ARGS_GO)
        code = mlt_machine_read(&a->machine_options, command, &a->machine);
    if (code == MLT_ARGS_GO)
        code = mlt_machine_read_cluster(&a->machine_options, a->described, command, &a->cluster);
    if (code == MLT_ARGS_GO && a->cluster && a->cluster->hosts > 1)
        code = mlt_args_failed(command,
                               "%s: it has %" PRIu32 " hosts, and rules are simulated for one",
                               a->described, a->cluster->hosts);
    if (code == MLT_ARGS_GO && a->file &&
        (mlt_lua_rulebook_open(mlt_coll_algs, a->file, &a->rulebook, why, sizeof why) ||
         mlt_lua_rulebook_prove(a->rulebook, why, sizeof why)))
        code = mlt_args_failed(command, "%s", why);
    return code;
}

static int tune_run(const mlt_arg_command *command, tune_asked *a)
{
    mlt_sink sink;
    int code = tune_read_words(command, a);
    if (code != MLT_ARGS_GO)
        return code;
    code = mlt_sink_open(&sink, command, a->out); // before the work, not after it
    if (code != MLT_ARGS_GO)
        return code;
    code = tune_all(command, a, sink.to);
    int closed = mlt_sink_close(&sink, command, code == MLT_ARGS_GO);
    return code == MLT_ARGS_GO ? closed : code;
}

int mlt_tune_main(int argc, char **argv)
{
    tune_asked a = {.from = 8, .to = 1 << 20, .factor = 4, .budget_ms = 50, .gain = 3};
    mlt_arg machine[MLT_MACHINE_ARGS];
    mlt_machine_args(&a.machine_options, machine);
    const mlt_arg args[] = {
        {"ranks", 'n', MLT_ARG_TEXTS, &a.ranks, "N",
         .help = "number of ranks; may be given several times, in ascending order"},
        {"coll", 0, MLT_ARG_TEXTS, &a.colls, "NAME",
         .help = "tune this collective; may be given several times (all)"},
        {"from", 0, MLT_ARG_SIZE, &a.from, "BYTES", .least = 8, .help = "smallest size (8)"},
        {"to", 0, MLT_ARG_SIZE, &a.to, "BYTES", .least = 8, .most = 1 << 30,
         .help = "largest size (1M)"},
        {"factor", 0, MLT_ARG_NUMBER, &a.factor, "N", .least = 2, .most = 1 << 20,
         .help = "ratio between two sizes (4)"},
        {"segment", 0, MLT_ARG_TEXTS, &a.segments, "BYTES",
         .help = "try pieces of this size in pipelines; may be given several times (4K, 16K, 64K)"},
        {"without", 0, MLT_ARG_TEXTS, &a.without, "ALGORITHM",
         .help = "do not try the algorithms of this name; may be given several times"},
        {"gain", 0, MLT_ARG_NUMBER, &a.gain, "PERCENT", .most = 99,
         .help =
             "another algorithm than that of the next smaller size gets a rule only if it is so "
             "much faster (3)"},
        {"file", 0, MLT_ARG_TEXT, &a.file, "FILE.lua",
         .help = "tune the algorithms in this file, too"},
        {"output", 'o', MLT_ARG_TEXT, &a.out, "FILE", .help = "write to FILE (standard output)"},
    };
    const mlt_arg measure[] = {
        {"workers", 0, MLT_ARG_CHOICE, &a.workers, "HOW", .choices = "process|thread",
         .help = "what ranks are: process or thread (process)"},
        {"hosts", 0, MLT_ARG_TEXT, &a.hosts, "LIST",
         .help = "over these hosts, as mpirun --hosts takes them (this one)"},
        {"budget", 0, MLT_ARG_NUMBER, &a.budget_ms, "MS", .least = 1, .most = 60000,
         .help = "milliseconds for each size of each algorithm (50)"},
    };
    const mlt_arg simulate[] = {
        {"sim", 0, MLT_ARG_FLAG, &a.sim, NULL,
         .help = "simulate another machine instead of measuring this one"},
        {"better", 0, MLT_ARG_FLAG, &a.better, NULL,
         .help = "write only rules that are faster than the built-in ones by what --gain says; "
                 "--workers says which of these count"},
        {"reads", 0, MLT_ARG_FLAG, &a.reads, NULL,
         .help = "with --better: those of processes that read each other's memory"},
        {"machine", 0, MLT_ARG_TEXT, &a.described, "FILE", .help = mlt_machine_file_help}};
    const mlt_arg_group groups[] = {
        {NULL, args, sizeof args / sizeof *args},
        {"Measuring here", measure, sizeof measure / sizeof *measure},
        {"Simulating", simulate, sizeof simulate / sizeof *simulate},
        {"The machine", machine, MLT_MACHINE_ARGS},
    };
    const mlt_arg_command command = {
        .name = "millet tune",
        .words = "[-- mpirun's options]",
        .purpose = "Measures every algorithm of every collective on this machine, or simulates "
                   "them for another one, and writes a file of rules for mpirun --coll. Let "
                   "nothing else run meanwhile.",
        .groups = groups,
        .count = sizeof groups / sizeof *groups};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, &a.mpirun);
    if (code != MLT_ARGS_GO)
        return code;
    code = tune_run(&command, &a);
    if (a.rulebook)
        a.rulebook->free(a.rulebook);
    mlt_cluster_free(a.cluster);
    mlt_arg_texts_free(&a.ranks);
    mlt_arg_texts_free(&a.colls);
    mlt_arg_texts_free(&a.segments);
    mlt_arg_texts_free(&a.without);
    mlt_arg_texts_free(&words);
    return code;
}
