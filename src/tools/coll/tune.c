// SPDX-License-Identifier: BSD-3-Clause
#include "tools/coll/tune.h"
#include "tools/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "coll/choice.h"
#include "lua/rulebook.h"
#include "os/os.h"
#include "tools/coll/info.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"

enum { MOST_RANKS = 64, MOST_SEGMENTS = 8, TUNE_NAME_BYTES = 96 };

static struct {
    mlt_arg_texts ranks, colls, segments, without;
    uint64_t segment[MOST_SEGMENTS];
    size_t segment_count;
    uint64_t from, to, factor, budget_ms;
    bool sim, better, reads;
    int workers;
    const char *file, *out, *hosts;
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
} tune_asked = {.from = 8, .to = 1 << 20, .factor = 4, .budget_ms = 50, .gain = 3};

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
    c->candidates[c->count++] =
        (mlt_tune_candidate){alg, segment, radix, mlt_xcalloc(c->sizes, sizeof(double)),
                             mlt_xcalloc(c->sizes, sizeof(uint64_t))};
}

static bool is_left_out(const mlt_coll_alg *alg)
{
    for (size_t i = 0; i < tune_asked.without.count; i++)
        if (strcmp(tune_asked.without.items[i], alg->name) == 0)
            return true;
    return false;
}

static void add_all(mlt_tune_case *c, const mlt_coll_alg *alg)
{
    static const uint32_t radixes[] = {2, 4, 8};
    if (alg->collective != c->collective || is_left_out(alg))
        return;
    tune_add(c, alg, 0, 0);
    for (size_t i = 0; alg->uses_segment && i < tune_asked.segment_count; i++)
        tune_add(c, alg, tune_asked.segment[i], 0);
    for (int i = 0; alg->uses_radix && i < 3; i++)
        tune_add(c, alg, 0, radixes[i]);
}

static const char *tune_name_of(const mlt_tune_candidate *candidate, char text[TUNE_NAME_BYTES])
{
    mlt_text name = mlt_text_on(text, TUNE_NAME_BYTES);
    mlt_text_add(&name, "%s", candidate->alg->name);
    if (candidate->segment)
        mlt_text_add(&name, " segment %" PRIu64, candidate->segment);
    if (candidate->radix)
        mlt_text_add(&name, " radix %" PRIu32, candidate->radix);
    return text;
}

// What the built-in rules choose, without the table of those that are simulated: a candidate, too.
static void add_rules(mlt_tune_case *c)
{
    for (uint32_t s = 0; s < c->sizes; s++) {
        mlt_coll_choice choice;
        mlt_coll_question q = mlt_tune_question(
            c, c->bytes[s], c->threads ? MLT_REACH_PROCESS : MLT_REACH_HOST, false);
        q.cores = 0;
        q.reads = c->reads;
        c->rule[s] = -1;
        mlt_coll_choose(NULL, &q, &choice, MLT_ARGS_WHY);
        if (!tune_asked.better || !choice.alg || choice.window || is_left_out(choice.alg))
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

static void write_head(FILE *to)
{
    char date[64] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (localtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M %z", &tm);
    fprintf(to, "-- Rules for collectives by `millet tune`, %s.\n", date);
    if (tune_asked.cluster) {
        char what[512];
        fprintf(to, "-- Simulated on %s: %s.\n", mlt_machine_file,
                mlt_cluster_describe(tune_asked.cluster, what, sizeof what));
    } else if (tune_asked.sim) {
        const mlt_loggops *m = &tune_asked.machine;
        fprintf(to,
                "-- Simulated under LogGOPS: L %.6g, o %.6g, g %.6g, G %.6g, O %.6g, S %" PRIu64
                ", exec %.6g.\n",
                m->L, m->o, m->g, m->G, m->O, m->S, m->exec);
    } else
        fprintf(to, "-- Measured on this machine, %d cores, between %s%s%s.\n", mlt_os_cores(),
                tune_asked.workers ? "threads" : "processes",
                tune_asked.hosts ? ", over hosts " : "", tune_asked.hosts ? tune_asked.hosts : "");
    fprintf(to, "-- mpirun --coll FILE takes them; the first rule that fits decides.\n"
                "-- Comments have the fastest at each size, and the next one of another kind.\n");
}

// ---- the work

static void tune_case(mlt_tune_case *c, uint64_t ranks_to, FILE *to)
{
    int winner[MLT_TUNE_SIZES];
    bool crowded = !tune_asked.sim && c->ranks > (uint32_t)mlt_os_cores();
    mlt_tune_job job = {.threads = tune_asked.workers == 1,
                        .crowded = crowded,
                        .file = tune_asked.file,
                        .budget_ms = tune_asked.budget_ms,
                        .hosts = tune_asked.hosts,
                        .mpirun = tune_asked.mpirun};
    if (tune_asked.sim)
        mlt_tune_simulate(c, &tune_asked.machine, tune_asked.cluster);
    else {
        mlt_tune_locate(c, &job);
        mlt_tune_measure(c, &job);
    }
    decide(c, tune_asked.gain, winner);
    fprintf(to, "\n-- %s, %" PRIu32 " ranks", mlt_collective_names[c->collective], c->ranks);
    if (c->hosts)
        fprintf(to, " on %" PRIu32 " hosts\n", c->hosts->hosts);
    else
        fprintf(to, "%s\n", crowded ? ", more than cores" : "");
    write_times(c, winner, to);
    write_rules(c, winner, ranks_to, tune_asked.sim ? "simulated" : "measured", to);
}

static void tune_one(mlt_collective collective, size_t which, mlt_progress *progress, double done,
                     double share, FILE *to)
{
    static const uint64_t nothing = 0;
    bool barrier = collective == MLT_COLL_BARRIER;
    const mlt_coll_rulebook *rulebook = tune_asked.rulebook;
    mlt_tune_case c = {.collective = collective,
                       .ranks = tune_asked.rank_counts[which],
                       .threads = tune_asked.workers == 1,
                       .reads = tune_asked.reads,
                       .bytes = barrier ? &nothing : tune_asked.bytes,
                       .sizes = barrier ? 1 : tune_asked.sizes,
                       .progress = progress,
                       .done = done,
                       .share = share};
    uint64_t ranks_to = c.ranks; // up to the next number that was asked for
    if (which + 1 < tune_asked.rank_count)
        ranks_to = tune_asked.rank_counts[which + 1] - 1;
    for (int i = 0; mlt_coll_algs[i]; i++)
        add_all(&c, mlt_coll_algs[i]);
    for (uint32_t i = 0; rulebook && i < rulebook->algs_count; i++)
        add_all(&c, rulebook->algs[i]);
    add_rules(&c);
    tune_case(&c, ranks_to, to);
    for (uint32_t i = 0; i < c.count; i++) {
        free(c.candidates[i].ns);
        free(c.candidates[i].messages);
    }
    mlt_coll_hosts_free(c.hosts);
}

static void tune_all(FILE *to)
{
    mlt_progress progress;
    double cases = 0, done = 0;
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        cases += tune_asked.chosen[c] ? (double)tune_asked.rank_count : 0;
    write_head(to);
    mlt_progress_begin_long(&progress, tune_asked.sim ? "simulating" : "measuring");
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        for (size_t r = 0; tune_asked.chosen[c] && r < tune_asked.rank_count; r++, done++)
            tune_one((mlt_collective)c, r, &progress, done / cases, 1 / cases, to);
    mlt_progress_end(&progress);
}

// ---- the command line

static void read_ranks(void)
{
    for (size_t i = 0; i < tune_asked.ranks.count; i++) {
        uint64_t n = 0;
        mlt_arg number = {.kind = MLT_ARG_NUMBER, .value = &n, .least = 1, .most = 1 << 20};
        if (!mlt_arg_parse(&number, "option --ranks", tune_asked.ranks.items[i]))
            mlt_args_wrong("%s", mlt_args_why);
        size_t count = tune_asked.rank_count;
        if (count == MOST_RANKS || (count && n <= tune_asked.rank_counts[count - 1]))
            mlt_args_wrong("the values of --ranks must ascend, and there may be at most %d",
                           MOST_RANKS);
        tune_asked.rank_counts[tune_asked.rank_count++] = (uint32_t)n;
    }
    if (!tune_asked.rank_count)
        mlt_args_wrong("it needs --ranks, the number of ranks; with several, the rules cover the "
                       "numbers between them, too");
}

static void read_segments(void)
{
    static const uint64_t usual[] = {4096, 16384, 65536};
    const mlt_arg_texts *given = &tune_asked.segments;
    if (given->count > MOST_SEGMENTS)
        mlt_args_wrong("there may be at most %d options --segment", MOST_SEGMENTS);
    tune_asked.segment_count = given->count ? given->count : sizeof usual / sizeof *usual;
    memcpy(tune_asked.segment, usual, sizeof usual);
    for (size_t i = 0; i < given->count; i++) {
        mlt_arg size = {
            .kind = MLT_ARG_SIZE, .value = &tune_asked.segment[i], .least = 1, .most = 1 << 30};
        if (!mlt_arg_parse(&size, "option --segment", given->items[i]))
            mlt_args_wrong("%s", mlt_args_why);
    }
}

static void read_colls(void)
{
    for (int c = 0; c < MLT_COLLECTIVES; c++)
        tune_asked.chosen[c] = !tune_asked.colls.count && is_measured(c);
    for (size_t i = 0; i < tune_asked.colls.count; i++) {
        mlt_collective c = mlt_info_collective(tune_asked.colls.items[i]);
        if (!is_measured(c))
            mlt_args_wrong("%s is not chosen by rules", tune_asked.colls.items[i]);
        tune_asked.chosen[c] = true;
    }
}

static void read_sizes(void)
{
    uint64_t bytes = tune_asked.from, to = tune_asked.to, next;
    if (bytes > to)
        mlt_args_wrong("--from is %" PRIu64 ", but should be at most --to, %" PRIu64, bytes, to);
    do {
        if (tune_asked.sizes == MLT_TUNE_SIZES)
            mlt_args_wrong(
                "--from, --to and --factor give more than %d sizes; a larger --factor gives fewer",
                MLT_TUNE_SIZES);
        tune_asked.bytes[tune_asked.sizes++] = bytes;
    } while (!__builtin_mul_overflow(bytes, tune_asked.factor, &next) && (bytes = next) <= to);
    if (tune_asked.bytes[tune_asked.sizes - 1] < to && tune_asked.sizes < MLT_TUNE_SIZES)
        tune_asked.bytes[tune_asked.sizes++] = to; // it was asked for
}

static int tune_run(const mlt_arg_texts *words)
{
    read_ranks();
    read_colls();
    read_sizes();
    read_segments();
    if (!tune_asked.sim && mlt_machine_given())
        mlt_args_wrong("parameters of a machine need --sim");
    if (!tune_asked.sim && (tune_asked.better || tune_asked.reads))
        mlt_args_wrong("--better and --reads need --sim");
    if (tune_asked.sim && tune_asked.hosts)
        mlt_args_wrong("--sim starts nothing, so it takes no --hosts");
    if (tune_asked.sim && *tune_asked.mpirun)
        mlt_args_wrong("--sim starts nothing, so it takes no options of mpirun");
    tune_asked.machine = mlt_machine_read();
    tune_asked.cluster = mlt_machine_read_cluster();
    if (tune_asked.cluster && tune_asked.cluster->hosts > 1)
        mlt_args_failed("%s: it has %" PRIu32 " hosts, and rules are simulated for one",
                        mlt_machine_file, tune_asked.cluster->hosts);
    if (tune_asked.file) {
        mlt_args_must(mlt_lua_rulebook_open(mlt_coll_algs, tune_asked.file, &tune_asked.rulebook,
                                            MLT_ARGS_WHY));
        mlt_args_must(mlt_lua_rulebook_prove(tune_asked.rulebook, MLT_ARGS_WHY));
    }
    mlt_sink sink = mlt_sink_open(tune_asked.out); // before the work, not after it
    tune_all(sink.to);
    mlt_sink_close(&sink);
    return MLT_EXIT_FINE;
}

static mlt_arg tune_args[] = {
    {"ranks", 'n', MLT_ARG_TEXTS, &tune_asked.ranks, "N",
     .help = "number of ranks; may be given several times, in ascending order"},
    {"coll", 0, MLT_ARG_TEXTS, &tune_asked.colls, "NAME",
     .help = "tune this collective; may be given several times (all)"},
    {"from", 0, MLT_ARG_SIZE, &tune_asked.from, "BYTES", .least = 8, .help = "smallest size (8)"},
    {"to", 0, MLT_ARG_SIZE, &tune_asked.to, "BYTES", .least = 8, .most = 1 << 30,
     .help = "largest size (1M)"},
    {"factor", 0, MLT_ARG_NUMBER, &tune_asked.factor, "N", .least = 2, .most = 1 << 20,
     .help = "ratio between two sizes (4)"},
    {"segment", 0, MLT_ARG_TEXTS, &tune_asked.segments, "BYTES",
     .help = "try pieces of this size in pipelines; may be given several times (4K, 16K, 64K)"},
    {"without", 0, MLT_ARG_TEXTS, &tune_asked.without, "ALGORITHM",
     .help = "do not try the algorithms of this name; may be given several times"},
    {"gain", 0, MLT_ARG_NUMBER, &tune_asked.gain, "PERCENT", .most = 99,
     .help = "another algorithm than that of the next smaller size gets a rule only if it is so "
             "much faster (3)"},
    {"file", 0, MLT_ARG_TEXT, &tune_asked.file, "FILE.lua",
     .help = "tune the algorithms in this file, too"},
    {"output", 'o', MLT_ARG_TEXT, &tune_asked.out, "FILE",
     .help = "write to FILE (standard output)"},
};

static mlt_arg tune_measure_args[] = {
    {"workers", 0, MLT_ARG_CHOICE, &tune_asked.workers, "HOW", .choices = "process|thread",
     .help = "what ranks are: process or thread (process)"},
    {"hosts", 0, MLT_ARG_TEXT, &tune_asked.hosts, "LIST",
     .help = "over these hosts, as mpirun --hosts takes them (this one)"},
    {"budget", 0, MLT_ARG_NUMBER, &tune_asked.budget_ms, "MS", .least = 1, .most = 60000,
     .help = "milliseconds for each size of each algorithm (50)"},
};

static mlt_arg tune_simulate_args[] = {
    {"sim", 0, MLT_ARG_FLAG, &tune_asked.sim, NULL,
     .help = "simulate another machine instead of measuring this one"},
    {"better", 0, MLT_ARG_FLAG, &tune_asked.better, NULL,
     .help = "write only rules that are faster than the built-in ones by what --gain says; "
             "--workers says which of these count"},
    {"reads", 0, MLT_ARG_FLAG, &tune_asked.reads, NULL,
     .help = "with --better: those of processes that read each other's memory"},
    MLT_MACHINE_ARG,
};

const mlt_command mlt_tune_command = {
    .name = "millet tune",
    .help = "measure or simulate collectives, and write rules for them",
    .words = "[-- mpirun's options]",
    .purpose = "Measures every algorithm of every collective on this machine, or simulates "
               "them for another one, and writes a file of rules for mpirun --coll. Let "
               "nothing else run meanwhile.",
    .groups = {{NULL, MLT_ARG_LIST(tune_args)},
               {"Measuring here", MLT_ARG_LIST(tune_measure_args)},
               {"Simulating", MLT_ARG_LIST(tune_simulate_args)},
               {"The machine", MLT_ARG_LIST(mlt_machine_args)}},
    .behind = &tune_asked.mpirun,
    .run = tune_run};
