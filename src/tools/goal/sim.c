// SPDX-License-Identifier: BSD-3-Clause
// `millet goal sim`: what programs would cost. One program gets a report, several a table.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "goal/text/text.h"
#include "judge/sim/sim.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/progress.h"

enum { SIM_WHY_BYTES = 4096, SIM_ACTION_BYTES = 160, BINS = 8, SIM_BAR = 40, SLOWEST = 3 };

typedef struct sim_asked {
    mlt_source_options source;
    mlt_machine_options machine_options;
    mlt_loggops machine;
    const char *described;
    mlt_cluster *cluster; // NULL: no machine is described
    bool times, path;
    uint64_t steps; // of the path that are printed
    const char *csv;
} sim_asked;

// 1.5 us: times of the simulation, which are often below one nanosecond apart.
static const char *time_of(char text[MLT_NUMBER_BYTES], uint64_t ps)
{
    if (ps < 1000000 && ps % 1000)
        snprintf(text, MLT_NUMBER_BYTES, "%.3f ns", (double)ps / 1000);
    else if (ps < 10000000) // up to 10 us: the nanoseconds count
        snprintf(text, MLT_NUMBER_BYTES, "%" PRIu64 " ns", (ps + 500) / 1000);
    else
        mlt_time(text, (ps + 500) / 1000);
    return text;
}

static int sim_simulate(const mlt_arg_command *command, const sim_asked *a,
                        const mlt_source *source, mlt_sim_result **out)
{
    char why[SIM_WHY_BYTES];
    mlt_progress progress;
    mlt_sim_options options = {.machine = a->machine,
                               .cluster = a->cluster,
                               .keep_path = a->path || a->cluster,
                               .by_arrival = mlt_source_is_loggopsim(source),
                               .progress = mlt_progress_step,
                               .user = &progress};
    mlt_progress_begin(&progress, "simulating");
    mlt_status status = mlt_goal_simulate(source->program, &options, out, why, sizeof why);
    mlt_progress_end(&progress);
    return status == MLT_OK ? MLT_ARGS_GO : mlt_args_failed(command, "%s: %s", source->name, why);
}

// The total of a program on a machine whose messages cost nothing: what computing and dependencies
// alone take.
static int ideal(const mlt_arg_command *command, const sim_asked *a, const mlt_source *source,
                 uint64_t *total_ps)
{
    sim_asked without = *a;
    mlt_sim_result *result = NULL;
    mlt_cluster cluster = *a->cluster;
    mlt_loggops nothing = {.S = UINT64_MAX, .exec = cluster.between.exec};
    cluster.change = cluster.wake = 0;
    cluster.within = cluster.large = cluster.between = nothing;
    cluster.noise = 0;
    for (int k = 0; k < MLT_NETWORK_KINDS; k++)
        cluster.cost[k] = (mlt_network_cost){0};
    without.machine = nothing;
    without.cluster = cluster.processors ? &cluster : NULL; // else all ranks have their own
    without.path = false;
    int code = sim_simulate(command, &without, source, &result);
    if (code == MLT_ARGS_GO)
        *total_ps = result->total_ps;
    mlt_sim_result_free(result);
    return code;
}

// ---- the report of one

static int by_end(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// When ranks end: a line for each of some equal parts of the time between first and last.
static void histogram(const mlt_sim_result *result, uint64_t least, uint64_t most)
{
    uint64_t bins[BINS] = {0}, greatest = 0;
    double width = (double)(most - least) / BINS;
    for (uint32_t r = 0; r < result->ranks; r++) {
        int bin = (int)((double)(result->end_ps[r] - least) / width);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        greatest = bins[i] > greatest ? bins[i] : greatest;
    for (int i = 0; i < BINS; i++) {
        char until[MLT_NUMBER_BYTES], count[MLT_NUMBER_BYTES];
        int length = (int)((double)bins[i] / (double)greatest * SIM_BAR + 0.5);
        printf("    until %10s  %10s%s", time_of(until, least + (uint64_t)(width * (i + 1))),
               mlt_number(count, bins[i]), length ? "  " : "");
        for (int j = 0; j < length; j++)
            putchar('#');
        putchar('\n');
    }
}

static void sim_slowest(const mlt_sim_result *result)
{
    char text[MLT_NUMBER_BYTES];
    uint32_t found[SLOWEST];
    uint32_t count = 0;
    for (uint32_t r = 0; r < result->ranks; r++) { // kept in falling order
        uint32_t at = count < SLOWEST ? count++ : SLOWEST;
        while (at > 0 && result->end_ps[r] > result->end_ps[found[at - 1]]) {
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
               time_of(text, result->end_ps[found[i]]));
    putchar('\n');
}

static void print_times(const mlt_sim_result *result, bool all)
{
    char text[3][MLT_NUMBER_BYTES];
    uint64_t least = UINT64_MAX, most = 0;
    double sum = 0;
    for (uint32_t r = 0; r < result->ranks; r++) {
        uint64_t end = result->end_ps[r];
        least = end < least ? end : least;
        most = end > most ? end : most;
        sum += (double)end;
    }
    uint64_t *sorted = mlt_take(result->ranks, sizeof *sorted);
    memcpy(sorted, result->end_ps, result->ranks * sizeof *sorted);
    qsort(sorted, result->ranks, sizeof *sorted, by_end);
    uint64_t median = sorted[result->ranks / 2];
    free(sorted);
    printf("  ranks end  first %s, median %s, mean %s\n", time_of(text[0], least),
           time_of(text[1], median), time_of(text[2], (uint64_t)(sum / result->ranks)));
    if (all) {
        for (uint32_t r = 0; r < result->ranks; r++)
            printf("    rank %" PRIu32 "  %s\n", r, time_of(text[0], result->end_ps[r]));
        return;
    }
    if (result->ranks > 2)
        sim_slowest(result);
    if (result->ranks > 16 && most > least)
        histogram(result, least, most);
}

static const char *const reasons[] = {
    [MLT_SIM_FIRST] = "the beginning",
    [MLT_SIM_DEPENDS] = "it depends on the step before",
    [MLT_SIM_MESSAGE] = "the message came",
    [MLT_SIM_CPU] = "the CPU was busy with the step before",
    [MLT_SIM_NIC] = "the NIC was busy with the step before",
    [MLT_SIM_MATCHED] = "the receive was posted",
    [MLT_SIM_PROCESSOR] = "the processor was busy with the step before",
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
           reasons[step->why]);
}

static void print_path(const sim_asked *a, const mlt_goal_program *program,
                       const mlt_sim_result *result)
{
    char count[MLT_NUMBER_BYTES];
    printf("  critical path, %s step%s\n", mlt_number(count, result->path_count),
           result->path_count == 1 ? "" : "s");
    uint64_t half = (a->steps + 1) / 2, left = result->path_count;
    for (uint64_t i = 0; i < result->path_count; i++, left--) {
        if (a->steps && i == half && left > half + 1) {
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
        printf(" (%s)", time_of(text[0], result->total_ps));
    printf(", on %s rank%s\n", mlt_number(text[1], result->ranks), result->ranks == 1 ? "" : "s");
}

static void print_machine(const sim_asked *a)
{
    char text[300];
    const mlt_loggops *m = a->cluster ? &a->cluster->between : &a->machine;
    if (a->cluster) {
        printf("  machine    %s\n", mlt_cluster_describe(a->cluster, text, sizeof text));
        const mlt_loggops *w = &a->cluster->within;
        printf("    in a host  L %g, o %g, g %g, G %g, O %g ns\n", w->L, w->o, w->g, w->G, w->O);
        w = &a->cluster->large;
        if (memcmp(w, &a->cluster->within, sizeof *w) != 0)
            printf("    above S    L %g, o %g, g %g, G %g, O %g ns\n", w->L, w->o, w->g, w->G,
                   w->O);
    }
    printf("%sL %g, o %g, g %g, G %g, O %g ns, S %" PRIu64 " bytes, exec %g ns a byte\n",
           a->cluster ? "    between    " : "  machine    ", m->L, m->o, m->g, m->G, m->O, m->S,
           m->exec);
}

// What a described machine adds: how far from ideal, where the path's time went, busy links.
static void print_network(const mlt_sim_result *result, uint64_t ideal_ps)
{
    char text[3][MLT_NUMBER_BYTES];
    double total = result->total_ps ? (double)result->total_ps : 1;
    uint64_t network = 0, shared = 0;
    printf("  ideal      %s without the costs of messages", time_of(text[0], ideal_ps));
    if (ideal_ps) {
        double factor = total / (double)ideal_ps;
        printf(": this is %.*f times slower, efficiency %.1f %%", factor < 10 ? 2 : 0, factor,
               100 / factor);
    }
    putchar('\n');
    if (result->changes)
        printf("  processors passed from one rank to another %s times\n",
               mlt_number(text[0], result->changes));
    if (!result->far_messages) {
        printf("  network    no messages between hosts\n");
        return;
    }
    for (uint64_t i = 0; i < result->path_count; i++) {
        network += result->path[i].network_ps;
        shared += result->path[i].shared_ps;
    }
    printf("  network    %s messages between hosts; of the critical path %s (%.1f %%), of which "
           "%s (%.1f %%) by sharing links\n",
           mlt_number(text[0], result->far_messages), time_of(text[1], network),
           100 * (double)network / total, time_of(text[2], shared), 100 * (double)shared / total);
    for (uint32_t i = 0; i < result->links_count; i++) {
        const mlt_sim_link *link = &result->links[i];
        printf("    %5.1f %%  %-44s %s messages, %s\n", 100 * (double)link->busy_ps / total,
               link->name, mlt_number(text[0], link->messages), mlt_bytes(text[1], link->bytes));
    }
}

static void print_report(const sim_asked *a, const mlt_source *source, const mlt_sim_result *result,
                         uint64_t ideal_ps)
{
    char text[4][MLT_NUMBER_BYTES];
    printf("%s\n", source->name);
    print_machine(a);
    print_total(result);
    print_times(result, a->times);
    printf("  messages   %s, %s in all", mlt_number(text[0], result->messages),
           mlt_bytes(text[1], result->bytes));
    if (result->unexpected)
        printf("; %s came before their receives, which kept them waiting for %s in all",
               mlt_number(text[2], result->unexpected), time_of(text[3], result->unexpected_ps));
    putchar('\n');
    if (a->cluster)
        print_network(result, ideal_ps);
    if (a->path)
        print_path(a, source->program, result);
    printf("  simulated  %s actions, %s events in %.3g s", mlt_number(text[0], result->actions),
           mlt_number(text[1], result->events), result->seconds);
    if (result->seconds > 0)
        printf(": %.1f million events a second", (double)result->events / result->seconds / 1e6);
    putchar('\n');
}

static int write_csv(const mlt_arg_command *command, const char *path, const mlt_sim_result *result)
{
    mlt_sink sink;
    int code = mlt_sink_open(&sink, command, path);
    if (code != MLT_ARGS_GO)
        return code;
    fprintf(sink.to, "rank,end_ns\n");
    for (uint32_t r = 0; r < result->ranks; r++)
        fprintf(sink.to, "%" PRIu32 ",%.3f\n", r, (double)result->end_ps[r] / 1000);
    return mlt_sink_close(&sink, command, true);
}

// ---- several

static void table_head(void)
{
    printf("%-32s %10s %12s %9s %12s %10s\n", "program", "ranks", "total", "to first", "messages",
           "bytes");
}

static void table_row(const mlt_source *source, const mlt_sim_result *result, uint64_t first_ps)
{
    char text[4][MLT_NUMBER_BYTES], ratio[MLT_NUMBER_BYTES] = "";
    if (first_ps)
        snprintf(ratio, sizeof ratio, "%.3f", (double)result->total_ps / (double)first_ps);
    printf("%-32s %10s %12s %9s %12s %10s\n", source->name, mlt_number(text[0], result->ranks),
           time_of(text[1], result->total_ps), ratio, mlt_number(text[2], result->messages),
           mlt_bytes(text[3], result->bytes));
}

// Files first, then algorithms.
static int sim_each(const mlt_arg_command *command, const sim_asked *a, const mlt_arg_texts *files,
                    const mlt_arg_texts *algs)
{
    size_t count = files->count + algs->count;
    uint64_t first_ps = 0;
    int code = MLT_EXIT_FINE;
    for (size_t i = 0; i < count && code == MLT_EXIT_FINE; i++) {
        mlt_source_options options = a->source;
        options.alg = i < files->count ? NULL : algs->items[i - files->count];
        options.shared = algs->count > 0 && count > 1;
        mlt_source source;
        mlt_sim_result *result = NULL;
        code = mlt_source_read(command, &options, options.alg ? NULL : files->items[i], &source);
        if (code == MLT_ARGS_GO)
            code = sim_simulate(command, a, &source, &result);
        if (code == MLT_ARGS_GO) {
            code = MLT_EXIT_FINE;
            if (count == 1) {
                uint64_t ideal_ps = 0;
                code = a->cluster ? ideal(command, a, &source, &ideal_ps) : MLT_ARGS_GO;
                if (code == MLT_ARGS_GO) {
                    code = MLT_EXIT_FINE;
                    print_report(a, &source, result, ideal_ps);
                }
                if (a->csv && code == MLT_EXIT_FINE)
                    code = write_csv(command, a->csv, result);
            } else {
                if (i == 0) {
                    table_head();
                    first_ps = result->total_ps;
                }
                table_row(&source, result, first_ps);
                fflush(stdout);
            }
        }
        mlt_sim_result_free(result);
        mlt_source_free(&source);
    }
    return code;
}

static int sim_start(const mlt_arg_command *command, sim_asked *a, const mlt_arg_texts *words,
                     const mlt_arg_texts *algs)
{
    size_t count = words->count + algs->count;
    if (!count)
        return mlt_args_wrong(command, "it needs a file, or --alg and --ranks; %s --help shows how",
                              command->name);
    if (count > 1 && (a->csv || a->times || a->path))
        return mlt_args_wrong(command, "%s is for one program, but there are %zu",
                              a->csv     ? "--csv"
                              : a->times ? "--times"
                                         : "--path",
                              count);
    int code = mlt_machine_read(&a->machine_options, command, &a->machine);
    if (code == MLT_ARGS_GO)
        code = mlt_machine_read_cluster(&a->machine_options, a->described, command, &a->cluster);
    if (code == MLT_ARGS_GO)
        code = sim_each(command, a, words, algs);
    mlt_cluster_free(a->cluster);
    return code;
}

int mlt_goal_sim_main(int argc, char **argv)
{
    sim_asked a = {.steps = 30};
    mlt_arg_texts words = {NULL, 0}, algs = {NULL, 0};
    mlt_arg from[MLT_SOURCE_ARGS], machine[MLT_MACHINE_ARGS];
    mlt_source_args(&a.source, from);
    mlt_machine_args(&a.machine_options, machine);
    from[0].kind = MLT_ARG_TEXTS; // --alg more than once compares
    from[0].value = &algs;
    const mlt_arg args[] = {
        {"times", 0, MLT_ARG_FLAG, &a.times, NULL, .help = "show when each rank ends"},
        {"csv", 0, MLT_ARG_TEXT, &a.csv, "FILE", .help = "write these times to FILE"},
        {"path", 0, MLT_ARG_FLAG, &a.path, NULL,
         .help = "show the critical path: each step, and why it began then"},
        {"steps", 0, MLT_ARG_NUMBER, &a.steps, "N",
         .help = "show N steps of the path, half at each end; 0: all (30)"},
        {"machine", 0, MLT_ARG_TEXT, &a.described, "FILE", .help = mlt_machine_file_help},
    };
    const mlt_arg_group groups[] = {
        {NULL, args, sizeof args / sizeof *args},
        {"The machine", machine, MLT_MACHINE_ARGS},
        {"Programs without a file", from, MLT_SOURCE_ARGS},
    };
    const mlt_arg_command command = {
        .name = "millet goal sim",
        .words = "FILE...",
        .most = SIZE_MAX,
        .purpose = "Simulates programs under LogGOPS: when each rank ends, messages and bytes, the "
                   "critical path. Several files, or several options --alg, give a table.",
        .groups = groups,
        .count = sizeof groups / sizeof *groups};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = sim_start(&command, &a, &words, &algs);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&algs);
    mlt_arg_texts_free(&words);
    return code;
}
