// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/improve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "judge/pass/search.h"
#include "tools/goal/machine.h"
#include "tools/goal/result.h"
#include "tools/goal/shapes.h"
#include "tools/goal/sink.h"
#include "tools/progress.h"

enum { TREE, PLACE, ORDER, SEARCHES, IMPROVE_TEXT = 400 };
static const char *const search_names[SEARCHES] = {"tree", "place", "order"};

static struct {
    uint64_t steps, seed;
    double seconds;
    const char *map;
} improve_asked = {.steps = 1000, .seed = 1, .seconds = 60};

mlt_arg mlt_improve_args[MLT_IMPROVE_ARGS] = {
    MLT_MACHINE_ARG,
    {"steps", 0, MLT_ARG_NUMBER, &improve_asked.steps, "N", .most = UINT32_MAX,
     .help = "changes that each search tries (1000)"},
    {"seed", 0, MLT_ARG_NUMBER, &improve_asked.seed, "N",
     .help = "other numbers try other changes (1)"},
    {"seconds", 0, MLT_ARG_REAL, &improve_asked.seconds, "S",
     .help = "end the searches after that time (60); 0: only by --steps, so that the result is the "
             "same everywhere"},
    {"map", 0, MLT_ARG_TEXT, &improve_asked.map, "OUT",
     .help = "let ranks change hosts, and write the machine with its new list of places to OUT"},
};

const char *mlt_improve_given(void)
{
    return mlt_args_given(MLT_ARG_LIST(mlt_improve_args), "steps seed seconds map");
}

// ---- what to search

static void choose_searches(const mlt_arg_texts *only, bool on[SEARCHES])
{
    for (int i = 0; i < SEARCHES; i++)
        on[i] = !only->count && (i != PLACE || improve_asked.map);
    for (size_t i = 0; i < only->count; i++)
        for (const char *at = only->items[i]; *at;) {
            size_t n = strcspn(at, ",");
            int k = 0;
            while (k < SEARCHES &&
                   (strlen(search_names[k]) != n || memcmp(search_names[k], at, n) != 0))
                k++;
            if (k == SEARCHES)
                mlt_args_wrong("option --only names '%.*s', but with --machine there are order, "
                               "tree and place",
                               (int)n, at);
            on[k] = true;
            at += n + (at[n] == ',');
        }
    if (on[PLACE] && !improve_asked.map)
        mlt_args_wrong("--only place needs --map OUT, where the machine with its new places goes");
    if (improve_asked.map && strcmp(mlt_machine_file, "-") == 0)
        mlt_args_wrong("--map copies the machine, so that --machine should be a file, not "
                       "standard input");
    if (improve_asked.map && !on[PLACE])
        mlt_args_wrong("--map is for the search 'place', which --only leaves out");
}

// ---- the map: the machine's text with another line 'place'

static bool is_place_line(const char *line)
{
    line += strspn(line, " \t\r");
    return strncmp(line, "place", 5) == 0 && strchr(" \t\r\n#", line[5]);
}

static void write_list(const mlt_cluster *cluster, FILE *to)
{
    fprintf(to, "place list");
    for (uint32_t r = 0, end; r < cluster->list_count; r = end) {
        for (end = r + 1;
             end < cluster->list_count && cluster->list[end] == cluster->list[end - 1] + 1;)
            end++;
        if (end > r + 1)
            fprintf(to, " %" PRIu32 "-%" PRIu32, cluster->list[r], cluster->list[end - 1]);
        else
            fprintf(to, " %" PRIu32, cluster->list[r]);
    }
    fputc('\n', to);
}

static void write_map(const mlt_cluster *cluster, const char *machine)
{
    mlt_sink sink = mlt_sink_open(improve_asked.map);
    for (const char *at = machine; *at;) {
        size_t n = strcspn(at, "\n");
        if (!is_place_line(at))
            fprintf(sink.to, "%.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
    write_list(cluster, sink.to);
    mlt_sink_close(&sink);
}

// ---- telling

static void say(bool quiet, const char *what, const char *text)
{
    if (!quiet)
        fprintf(stderr, "%-12s %s\n", what, text);
}

static void say_time(bool quiet, const char *what, mlt_search_cost cost, mlt_search_cost before)
{
    char text[2][MLT_NUMBER_BYTES], line[IMPROVE_TEXT], part[64] = "";
    if (cost.total_ps != before.total_ps)
        snprintf(part, sizeof part, ", %.1f %% less than before",
                 100 * (1 - (double)cost.total_ps / (double)before.total_ps));
    snprintf(line, sizeof line, "%s ns (%s)%s", mlt_number(text[0], (cost.total_ps + 500) / 1000),
             mlt_time(text[1], (cost.total_ps + 500) / 1000), part);
    say(quiet, what, line);
}

static void say_search(const mlt_search *search, bool quiet, const char *what, const char *found)
{
    char text[2][MLT_NUMBER_BYTES], line[IMPROVE_TEXT + 200];
    snprintf(line, sizeof line, "%s; %s tried%s: %s", found, mlt_number(text[0], search->tried),
             search->cut ? " until the time was up" : "",
             mlt_time(text[1], (search->best.total_ps + 500) / 1000));
    say(quiet, what, search->tried ? line : found);
}

// ---- all

typedef struct improving {
    mlt_search search;
    mlt_source *source;
    mlt_goal_program *before;
    const mlt_goal_spec *is; // what it does; NULL: not known
    mlt_goal_spec found;
    bool quiet, other; // other: it is another algorithm's program now
    mlt_progress progress;
} improving;

static void search_tree(improving *i)
{
    char text[IMPROVE_TEXT];
    if (!mlt_shapes_recognise(i->source, i->is, &i->found, text, sizeof text)) {
        say(i->quiet, "tree", text);
        return;
    }
    i->is = &i->found;
    mlt_goal_program *other = mlt_shapes_search(&i->search, i->source, i->is, text, sizeof text);
    if (other) {
        i->source->program = other;
        i->other = true;
    }
    say_search(&i->search, i->quiet, "tree", text);
}

static void search_one(improving *i, int which)
{
    char text[IMPROVE_TEXT];
    i->search.cut = false;
    mlt_progress_begin_long(&i->progress, search_names[which]);
    if (which == TREE)
        search_tree(i);
    else {
        if (which == PLACE)
            mlt_search_place(&i->search, i->source->program, text, sizeof text);
        else
            mlt_search_order(&i->search, i->source->program, text, sizeof text);
        say_search(&i->search, i->quiet, search_names[which], text);
    }
    mlt_progress_end(&i->progress);
}

void mlt_improve(mlt_source *source, const mlt_arg_texts *only, bool quiet)
{
    bool on[SEARCHES];
    choose_searches(only, on);
    improving i = {.source = source, .quiet = quiet, .is = mlt_result_read(source)};
    i.search = (mlt_search){
        .cluster = mlt_machine_read_cluster(),
        .by_arrival = mlt_source_is_loggopsim(source),
        .steps = improve_asked.steps,
        .seed = improve_asked.seed,
        .until_s = improve_asked.seconds > 0 ? mlt_search_now() + improve_asked.seconds : 1e300,
        .progress = mlt_progress_step,
        .user = &i.progress};
    if (mlt_search_judge(&i.search, source->program, &i.search.best, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s: %s", source->name, mlt_args_why);
    mlt_search_cost before = i.search.best;
    say_time(quiet, "before", before, before);
    i.before = mlt_goal_program_copy(source->program);
    for (int which = 0; which < SEARCHES; which++)
        if (on[which])
            search_one(&i, which);
    if (mlt_search_prove(i.before, source->program, i.is, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s: what was found is not written: %s", source->name, mlt_args_why);
    say(quiet, "proof",
        i.other ? "the result is right"
                : "the same messages meet in each run, and nothing is wrong that was not");
    say_time(quiet, "after", i.search.best, before);
    if (on[PLACE])
        write_map(i.search.cluster, mlt_source_text(mlt_machine_file));
}
