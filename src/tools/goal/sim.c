// SPDX-License-Identifier: BSD-3-Clause
// `millet goal sim`: what programs would cost. One program gets a report, several a table.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "goal/text/text.h"
#include "judge/sim/sim.h"
#include "tools/commands.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"

enum { SIM_ACTION_BYTES = 160, BINS = 8, SIM_BAR = 40, SLOWEST = 3 };

static struct {
    bool times, path;
    uint64_t steps; // of the path that are printed
    const char *csv;
} sim_asked = {.steps = 30};

static mlt_loggops sim_machine;
static mlt_cluster *sim_cluster; // NULL: no machine is described

// Writes a simulated time. Below 10 us it stays in ns, because times may differ by less than one.
static const char *sim_time_text(char text[MLT_NUMBER_BYTES], uint64_t ps)
{
    if (ps < 1000000 && ps % 1000)
        snprintf(text, MLT_NUMBER_BYTES, "%.3f ns", (double)ps / 1000);
    else if (ps < 10000000) // up to 10 us: the nanoseconds count
        snprintf(text, MLT_NUMBER_BYTES, "%" PRIu64 " ns", (ps + 500) / 1000);
    else
        mlt_time(text, (ps + 500) / 1000);
    return text;
}

// The total of a program on a machine whose messages cost nothing: what computing and dependencies
// alone take.
static uint64_t ideal_ps(const mlt_source *source)
{
    mlt_cluster cluster = *sim_cluster;
    mlt_loggops nothing = {.S = UINT64_MAX, .exec = cluster.between.exec};
    cluster.change = cluster.wake = 0;
    cluster.within = cluster.large = cluster.between = nothing;
    cluster.noise = 0;
    for (int k = 0; k < MLT_NETWORK_KINDS; k++)
        cluster.cost[k] = (mlt_network_cost){0};
    // Without processors all ranks have their own.
    mlt_sim_result *result =
        mlt_machine_simulate(source, &nothing, cluster.processors ? &cluster : NULL, false, false);
    uint64_t total_ps = result->total_ps;
    mlt_sim_result_free(result);
    return total_ps;
}

// ---- the report of one

// When ranks end: a line for each of some equal parts of the time between first and last.
static void sim_print_histogram(const mlt_sim_result *result, uint64_t least, uint64_t most)
{
    uint64_t bins[BINS] = {0}, greatest = 0;
    double width = (double)(most - least) / BINS;
    for (uint32_t r = 0; r < result->ranks; r++) {
        int bin = (int)((double)(result->rank_end_ps[r] - least) / width);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        greatest = bins[i] > greatest ? bins[i] : greatest;
    for (int i = 0; i < BINS; i++) {
        char until[MLT_NUMBER_BYTES], count[MLT_NUMBER_BYTES];
        int length = (int)((double)bins[i] / (double)greatest * SIM_BAR + 0.5);
        printf("    until %10s  %10s%s", sim_time_text(until, least + (uint64_t)(width * (i + 1))),
               mlt_number(count, bins[i]), length ? "  " : "");
        for (int j = 0; j < length; j++)
            putchar('#');
        putchar('\n');
    }
}

static void sim_print_slowest(const mlt_sim_result *result)
{
    char text[MLT_NUMBER_BYTES];
    uint32_t found[SLOWEST];
    uint32_t count = 0;
    for (uint32_t r = 0; r < result->ranks; r++) { // kept in falling order
        uint32_t at = count < SLOWEST ? count++ : SLOWEST;
        while (at > 0 && result->rank_end_ps[r] > result->rank_end_ps[found[at - 1]]) {
            if (at < SLOWEST)
                found[at] = found[at - 1];
            at--;
        }
        if (at < SLOWEST)
            found[at] = r;
    }
    printf("    last: ");
    for (uint32_t i = 0; i < count; i++)
        printf("%srank %" PRIu32 " (%s)", i ? ", " : "", found[i],
               sim_time_text(text, result->rank_end_ps[found[i]]));
    putchar('\n');
}

static void print_times(const mlt_sim_result *result, bool all)
{
    char text[3][MLT_NUMBER_BYTES];
    uint64_t least = UINT64_MAX, most = 0;
    double sum = 0;
    for (uint32_t r = 0; r < result->ranks; r++) {
        uint64_t end = result->rank_end_ps[r];
        least = end < least ? end : least;
        most = end > most ? end : most;
        sum += (double)end;
    }
    uint64_t *sorted = mlt_xcalloc(result->ranks, sizeof *sorted);
    memcpy(sorted, result->rank_end_ps, result->ranks * sizeof *sorted);
    qsort(sorted, result->ranks, sizeof *sorted, mlt_compare_ascending);
    uint64_t median = sorted[result->ranks / 2];
    free(sorted);
    printf("  ranks end  first %s, median %s, mean %s\n", sim_time_text(text[0], least),
           sim_time_text(text[1], median), sim_time_text(text[2], (uint64_t)(sum / result->ranks)));
    if (all) {
        for (uint32_t r = 0; r < result->ranks; r++)
            printf("    rank %" PRIu32 "  %s\n", r, sim_time_text(text[0], result->rank_end_ps[r]));
        return;
    }
    if (result->ranks > 2)
        sim_print_slowest(result);
    if (result->ranks > 16 && most > least)
        sim_print_histogram(result, least, most);
}

static const char *const reasons[] = {
    [MLT_SIM_FIRST] = "the beginning",
    [MLT_SIM_DEPENDS] = "it depends on the step before",
    [MLT_SIM_MESSAGE] = "the message came",
    [MLT_SIM_CPU] = "the CPU was busy with the step before",
    [MLT_SIM_NIC] = "the NIC was busy with the step before",
    [MLT_SIM_MATCHED] = "the receive was posted",
    [MLT_SIM_SHARED_CORE] = "the processor was busy with the step before",
};

static void print_step(const mlt_goal_program *program, const mlt_sim_step *step)
{
    char text[SIM_ACTION_BYTES], from[MLT_NUMBER_BYTES], to[MLT_NUMBER_BYTES], label[64] = "";
    const mlt_goal_action *action = &program->rank[step->place.rank].actions[step->place.action];
    if (action->label)
        snprintf(label, sizeof label, "%s: ", mlt_goal_name_text(program, action->label));
    mlt_goal_print_action(program, step->place.rank, action, text, sizeof text);
    printf("    %12s to %12s ns  rank %-4" PRIu32 " %s%-34s %s\n",
           mlt_number(from, (step->start_ps + 500) / 1000),
           mlt_number(to, (step->end_ps + 500) / 1000), step->place.rank, label, text,
           reasons[step->cause]);
}

static void print_path(const mlt_goal_program *program, const mlt_sim_result *result)
{
    char count[MLT_NUMBER_BYTES];
    printf("  critical path, %s step%s\n", mlt_number(count, result->path_count),
           result->path_count == 1 ? "" : "s");
    uint64_t half = (sim_asked.steps + 1) / 2, left = result->path_count;
    for (uint64_t i = 0; i < result->path_count; i++, left--) {
        if (sim_asked.steps && i == half && left > half + 1) {
            uint64_t skipped = left - half;
            printf("    ... %s more (--steps 0 shows all)\n", mlt_number(count, skipped));
            i += skipped - 1;
            left -= skipped - 1;
            continue;
        }
        print_step(program, &result->path[i]);
    }
}

// To the last nanosecond, for those who compare with sums by hand; and for those who do not.
static void print_total(const mlt_sim_result *result)
{
    char text[2][MLT_NUMBER_BYTES], part[8] = "";
    if (result->total_ps % 1000)
        snprintf(part, sizeof part, ".%03u", (unsigned)(result->total_ps % 1000));
    printf("  total      %s%s ns", mlt_number(text[0], result->total_ps / 1000), part);
    if (result->total_ps >= 100000000)
        printf(" (%s)", sim_time_text(text[0], result->total_ps));
    printf(", on %s rank%s\n", mlt_number(text[1], result->ranks), result->ranks == 1 ? "" : "s");
}

static void print_machine(void)
{
    char text[300];
    const mlt_loggops *m = sim_cluster ? &sim_cluster->between : &sim_machine;
    if (sim_cluster) {
        printf("  machine    %s\n", mlt_cluster_describe(sim_cluster, text, sizeof text));
        const mlt_loggops *w = &sim_cluster->within;
        printf("    in a host  L %g, o %g, g %g, G %g, O %g ns\n", w->L, w->o, w->g, w->G, w->O);
        w = &sim_cluster->large;
        if (memcmp(w, &sim_cluster->within, sizeof *w) != 0)
            printf("    above S    L %g, o %g, g %g, G %g, O %g ns\n", w->L, w->o, w->g, w->G,
                   w->O);
    }
    printf("%sL %g, o %g, g %g, G %g, O %g ns, S %" PRIu64 " bytes, exec %g ns a byte\n",
           sim_cluster ? "    between    " : "  machine    ", m->L, m->o, m->g, m->G, m->O, m->S,
           m->exec);
}

// What a described machine adds: how far from ideal, where the path's time went, busy links.
static void print_network(const mlt_sim_result *result, uint64_t ideal)
{
    char text[3][MLT_NUMBER_BYTES];
    double total = result->total_ps ? (double)result->total_ps : 1;
    uint64_t network = 0, shared = 0;
    printf("  ideal      %s without the costs of messages", sim_time_text(text[0], ideal));
    if (ideal) {
        double factor = total / (double)ideal;
        printf(": this is %.*f times slower, efficiency %.1f %%", factor < 10 ? 2 : 0, factor,
               100 / factor);
    }
    putchar('\n');
    if (result->context_switches)
        printf("  %s context switches of processors that ranks share\n",
               mlt_number(text[0], result->context_switches));
    if (!result->network_messages) {
        printf("  network    no messages between hosts\n");
        return;
    }
    for (uint64_t i = 0; i < result->path_count; i++) {
        network += result->path[i].network_ps;
        shared += result->path[i].contention_ps;
    }
    printf("  network    %s messages between hosts; of the critical path %s (%.1f %%), of which "
           "%s (%.1f %%) by sharing links\n",
           mlt_number(text[0], result->network_messages), sim_time_text(text[1], network),
           100 * (double)network / total, sim_time_text(text[2], shared),
           100 * (double)shared / total);
    for (uint32_t i = 0; i < result->links_count; i++) {
        const mlt_sim_link *link = &result->links[i];
        printf("    %5.1f %%  %-44s %s messages, %s\n", 100 * (double)link->busy_ps / total,
               link->name, mlt_number(text[0], link->messages), mlt_bytes(text[1], link->bytes));
    }
}

static void print_report(const mlt_source *source, const mlt_sim_result *result)
{
    char text[4][MLT_NUMBER_BYTES];
    uint64_t ideal = sim_cluster ? ideal_ps(source) : 0;
    printf("%s\n", source->name);
    print_machine();
    print_total(result);
    print_times(result, sim_asked.times);
    printf("  messages   %s, %s in all", mlt_number(text[0], result->messages),
           mlt_bytes(text[1], result->bytes));
    if (result->unexpected)
        printf("; %s came before their receives, which kept them waiting for %s in all",
               mlt_number(text[2], result->unexpected),
               sim_time_text(text[3], result->unexpected_ps));
    putchar('\n');
    if (sim_cluster)
        print_network(result, ideal);
    if (sim_asked.path)
        print_path(source->program, result);
    printf("  simulated  %s actions, %s events in %.3g s", mlt_number(text[0], result->actions),
           mlt_number(text[1], result->events), result->seconds);
    if (result->seconds > 0)
        printf(": %.1f million events a second", (double)result->events / result->seconds / 1e6);
    putchar('\n');
}

static void write_csv(const mlt_sim_result *result)
{
    mlt_sink sink = mlt_sink_open(sim_asked.csv);
    fprintf(sink.to, "rank,end_ns\n");
    for (uint32_t r = 0; r < result->ranks; r++)
        fprintf(sink.to, "%" PRIu32 ",%.3f\n", r, (double)result->rank_end_ps[r] / 1000);
    mlt_sink_close(&sink);
}

// ---- several

static void table_row(const mlt_source *source, const mlt_sim_result *result, uint64_t first_ps)
{
    char text[4][MLT_NUMBER_BYTES], ratio[MLT_NUMBER_BYTES] = "";
    if (first_ps)
        snprintf(ratio, sizeof ratio, "%.3f", (double)result->total_ps / (double)first_ps);
    printf("%-32s %10s %12s %9s %12s %10s\n", source->name, mlt_number(text[0], result->ranks),
           sim_time_text(text[1], result->total_ps), ratio, mlt_number(text[2], result->messages),
           mlt_bytes(text[3], result->bytes));
}

static int sim_run(const mlt_arg_texts *files)
{
    const mlt_arg_texts *algs = &mlt_source_asked.algs;
    size_t count = files->count + algs->count;
    uint64_t first_ps = 0;
    if (!count)
        mlt_args_wrong("it needs a file, or --alg and --ranks; %s --help shows how",
                       mlt_args_command());
    if (count > 1 && (sim_asked.csv || sim_asked.times || sim_asked.path))
        mlt_args_wrong("%s is for one program, but there are %zu",
                       sim_asked.csv     ? "--csv"
                       : sim_asked.times ? "--times"
                                         : "--path",
                       count);
    sim_machine = mlt_machine_read();
    sim_cluster = mlt_machine_read_cluster();
    mlt_source_asked.shared = algs->count > 0 && count > 1;
    mlt_source_asked.regular = !sim_asked.path && !sim_cluster;
    for (size_t i = 0; i < count; i++) { // files first, then algorithms
        mlt_source source;
        bool file = i < files->count;
        mlt_source_read(file ? files->items[i] : NULL, file ? NULL : algs->items[i - files->count],
                        &source);
        mlt_sim_result *result = mlt_machine_simulate(&source, &sim_machine, sim_cluster, false,
                                                      sim_asked.path || sim_cluster);
        if (count == 1) {
            print_report(&source, result);
            if (sim_asked.csv)
                write_csv(result);
        } else {
            if (i == 0) {
                printf("%-32s %10s %12s %9s %12s %10s\n", "program", "ranks", "total", "to first",
                       "messages", "bytes");
                first_ps = result->total_ps;
            }
            table_row(&source, result, first_ps);
            fflush(stdout);
        }
        mlt_sim_result_free(result);
        mlt_goal_program_free(source.program);
        mlt_goal_regular_free(source.regular);
    }
    return MLT_EXIT_FINE;
}

static mlt_arg sim_args[] = {
    {"times", 0, MLT_ARG_FLAG, &sim_asked.times, NULL, .help = "show when each rank ends"},
    {"csv", 0, MLT_ARG_TEXT, &sim_asked.csv, "FILE", .help = "write these times to FILE"},
    {"path", 0, MLT_ARG_FLAG, &sim_asked.path, NULL,
     .help = "show the critical path: each step, and why it began then"},
    {"steps", 0, MLT_ARG_NUMBER, &sim_asked.steps, "N",
     .help = "show N steps of the path, half at each end; 0: all (30)"},
    MLT_MACHINE_ARG,
};

const mlt_command mlt_goal_sim_command = {
    .name = "millet goal sim",
    .help = "price a program under LogGOPS, for up to millions of ranks",
    .words = "FILE...",
    .most = SIZE_MAX,
    .purpose = "Simulates programs under LogGOPS: when each rank ends, messages and bytes, the "
               "critical path. Several files, or several options --alg, give a table.",
    .groups = {{NULL, MLT_ARG_LIST(sim_args)},
               {"The machine", MLT_ARG_LIST(mlt_machine_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .run = sim_run};
