// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "launch/say.h"

enum { MOST_CHOICES_SHOWN = 40 };

void mlt_path_map_init(mlt_path_map *map)
{
    *map = (mlt_path_map){0};
}

void mlt_path_map_fini(mlt_path_map *map)
{
    free(map->choices);
    free(map->paths);
    free(map->steps);
    for (size_t i = 0; i < map->hosts.count; i++)
        free(map->hosts.items[i]);
    free(map->hosts.items);
}

static void add_host(mlt_path_map *map, const char *name)
{
    char *copy = mlt_xcalloc(strlen(name) + 1, 1);
    strcpy(copy, name);
    mlt_texts_add(&map->hosts, copy);
}

// Several hosts: those of the plan. Else those that collectives pretend to have.
void mlt_path_map_steps(mlt_path_map *map, const mlt_placement *plan, const mlt_ctl_step *steps,
                        size_t count)
{
    enum { MOST_STEPS = 1 << 18, MOST_HOSTS = 1024 };
    for (size_t i = map->hosts.count; i < plan->host_count && plan->host_count <= MOST_HOSTS; i++)
        add_host(map, plan->hosts[i].host.name);
    if (count > MOST_STEPS - map->step_count)
        count = MOST_STEPS - map->step_count;
    map->steps = mlt_xrealloc(map->steps, map->step_count + count + 1, sizeof *map->steps);
    for (size_t i = 0; i < count; i++) {
        mlt_ctl_step one = steps[i];
        mlt_text_close(one.object, sizeof one.object);
        mlt_text_close(one.by, sizeof one.by);
        mlt_text_close(one.collective, sizeof one.collective);
        if (plan->host_count > 1)
            one.host = one.speaker < plan->ranks
                           ? plan->procs[mlt_placement_proc_of(plan, one.speaker)].host
                           : 0;
        if (one.host >= MOST_HOSTS)
            one.host = 0;
        map->steps[map->step_count++] = one;
    }
}

static bool same_choice(const mlt_ctl_choice *a, const mlt_ctl_choice *b)
{
    return strcmp(a->comm, b->comm) == 0 && strcmp(a->collective, b->collective) == 0 &&
           strcmp(a->alg, b->alg) == 0 && strcmp(a->by, b->by) == 0 &&
           strcmp(a->why, b->why) == 0 && a->segment == b->segment && a->radix == b->radix &&
           a->window == b->window && a->ranks == b->ranks && a->workers == b->workers &&
           a->level == b->level && a->hosts == b->hosts && strcmp(a->stages, b->stages) == 0;
}

void mlt_path_map_choices(mlt_path_map *map, const mlt_ctl_choice *choices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mlt_ctl_choice one = choices[i];
        mlt_text_close(one.comm, sizeof one.comm);
        mlt_text_close(one.by, sizeof one.by);
        mlt_text_close(one.why, sizeof one.why);
        mlt_text_close(one.collective, sizeof one.collective);
        mlt_text_close(one.alg, sizeof one.alg);
        mlt_text_close(one.stages, sizeof one.stages);
        size_t at = 0;
        while (at < map->choice_count && !same_choice(&map->choices[at], &one))
            at++;
        if (at == map->choice_count) {
            map->choices = mlt_xrealloc(map->choices, at + 1, sizeof *map->choices);
            map->choices[map->choice_count++] = one;
            continue;
        }
        mlt_ctl_choice *own = &map->choices[at];
        own->calls += one.calls;
        own->least = one.least < own->least ? one.least : own->least;
        own->most = one.most > own->most ? one.most : own->most;
    }
}

static void add_clock(mlt_ctl_clock *clock, const mlt_ctl_clock *more)
{
    if (more->n && (!clock->n || more->least_ns < clock->least_ns))
        clock->least_ns = more->least_ns;
    if (more->most_ns > clock->most_ns)
        clock->most_ns = more->most_ns;
    clock->n += more->n;
    clock->sum_ns += more->sum_ns;
}

static bool same_path(const mlt_ctl_path *a, const mlt_ctl_path *b)
{
    return strcmp(a->object, b->object) == 0 && strcmp(a->collective, b->collective) == 0 &&
           strcmp(a->stack, b->stack) == 0 && strcmp(a->by, b->by) == 0 && a->ranks == b->ranks &&
           a->workers == b->workers && a->level == b->level;
}

void mlt_path_map_paths(mlt_path_map *map, const mlt_ctl_path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mlt_ctl_path one = paths[i];
        mlt_text_close(one.object, sizeof one.object);
        mlt_text_close(one.by, sizeof one.by);
        mlt_text_close(one.stack, sizeof one.stack);
        mlt_text_close(one.collective, sizeof one.collective);
        size_t at = 0;
        while (at < map->path_count && !same_path(&map->paths[at], &one))
            at++;
        if (at == map->path_count) {
            map->paths = mlt_xrealloc(map->paths, at + 1, sizeof *map->paths);
            map->paths[map->path_count++] = one;
            continue;
        }
        mlt_ctl_path *own = &map->paths[at];
        own->calls += one.calls;
        own->bytes += one.bytes;
        for (int t = 0; t < MLT_TIMES; t++)
            add_clock(&own->time[t], &one.time[t]);
    }
}

// ---- order: communicators by their most ranks and names, then collectives

static int by_place(const char *comm, const char *collective, uint32_t ranks, const char *other,
                    const char *other_collective, uint32_t other_ranks)
{
    if (ranks != other_ranks)
        return ranks < other_ranks ? 1 : -1;
    int order = strcmp(comm, other);
    return order ? order : strcmp(collective, other_collective);
}

static int order_choices(const void *a, const void *b)
{
    const mlt_ctl_choice *x = a, *y = b;
    int order = by_place(x->comm, x->collective, x->ranks, y->comm, y->collective, y->ranks);
    if (order)
        return order;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return memcmp(x, y, sizeof *x);
}

static int order_paths(const void *a, const void *b)
{
    const mlt_ctl_path *x = a, *y = b;
    int order = by_place(x->object, x->collective, x->ranks, y->object, y->collective, y->ranks);
    return order ? order : memcmp(x, y, sizeof *x);
}

static void sort(mlt_path_map *map)
{
    MLT_ARRAY_SORT(map->choices, map->choice_count, order_choices);
    MLT_ARRAY_SORT(map->paths, map->path_count, order_paths);
}

// ---- words

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

// "8 ranks in 2 workers"
static void print_who(uint32_t ranks, uint32_t workers, uint32_t level, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    fprintf(out, "%s rank%s", mlt_number(a, ranks), plural(ranks));
    if (level == MLT_LEVEL_COMBINED)
        fprintf(out, " in %s worker%s", mlt_number(b, workers), plural(workers));
    else if (level == MLT_LEVEL_FLAT)
        fputs(", each for itself", out);
    else
        fputs(", one in a worker", out);
}

// "ring segment=8192"
static void print_alg(const mlt_ctl_choice *c, FILE *out)
{
    fputs(c->alg[0] ? c->alg : "in memory", out);
    if (c->segment)
        fprintf(out, " segment=%" PRIu64, c->segment);
    if (c->radix)
        fprintf(out, " radix=%u", c->radix);
    if (c->window)
        fprintf(out, " window=%u", c->window);
}

static void print_bytes(uint64_t least, uint64_t most, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    if (most == 0)
        return;
    if (least == most)
        fprintf(out, ", %s", mlt_bytes(a, least));
    else
        fprintf(out, ", %s to %s", mlt_bytes(a, least), mlt_bytes(b, most));
}

// " (built in: the fewest rounds): reduce.linear on each host, ..." and the end of the line
static void print_reason(const mlt_ctl_choice *c, FILE *out)
{
    if (c->by[0])
        fprintf(out, " (%s%s%s)", c->by, c->why[0] ? ": " : "", c->why);
    fprintf(out, "%s%s\n", c->stages[0] ? ": " : "", c->stages);
}

void mlt_path_map_report(mlt_path_map *map, FILE *out)
{
    char calls[MLT_NUMBER_BYTES];
    const mlt_ctl_choice *before = NULL;
    sort(map);
    for (size_t i = 0; i < map->choice_count && i < MOST_CHOICES_SHOWN; i++) {
        const mlt_ctl_choice *c = &map->choices[i];
        bool same = before && strcmp(before->comm, c->comm) == 0 && before->ranks == c->ranks;
        if (!same)
            fprintf(out, "  %-11s %s\n", before ? "" : "collectives", c->comm);
        fprintf(out, "  %-11s   %-15s %13s call%s", "", c->collective, mlt_number(calls, c->calls),
                plural(c->calls));
        print_bytes(c->least, c->most, out);
        fputs("; ", out);
        print_who(c->ranks, c->workers, c->level, out);
        if (c->hosts > 1)
            fprintf(out, ", on %u hosts", c->hosts);
        fputs(": ", out);
        print_alg(c, out);
        print_reason(c, out);
        before = c;
    }
    if (map->choice_count > MOST_CHOICES_SHOWN)
        fprintf(out, "  %-11s and %zu more; --paths FILE has all\n", "",
                map->choice_count - MOST_CHOICES_SHOWN);
    const char *head = "paths";
    for (size_t i = 0; i < map->path_count; i++) {
        const mlt_ctl_path *p = &map->paths[i];
        if (!p->changes)
            continue;
        fprintf(out, "  %-11s %s changes the results of %s on %s: %s\n", head, p->by, p->collective,
                p->object, p->stack);
        head = "";
    }
}

// ---- the map as text

static const char *const time_names[MLT_TIMES] = {
    [MLT_TIME_CALL] = "count",        [MLT_TIME_DELAY] = "delay",   [MLT_TIME_CHECK] = "check",
    [MLT_TIME_MAP] = "map",           [MLT_TIME_GATHER] = "gather", [MLT_TIME_COMBINE] = "reduce",
    [MLT_TIME_EXCHANGE] = "exchange", [MLT_TIME_SPREAD] = "spread", [MLT_TIME_HIT] = "cache hit",
    [MLT_TIME_MISS] = "cache miss",
};

static uint64_t mean_of(const mlt_ctl_clock *clock)
{
    return clock->n ? clock->sum_ns / clock->n : 0;
}

static void print_clock(const char *name, const mlt_ctl_clock *clock, FILE *out)
{
    char n[MLT_NUMBER_BYTES], least[MLT_NUMBER_BYTES], mean[MLT_NUMBER_BYTES];
    char most[MLT_NUMBER_BYTES];
    if (!clock || !clock->n)
        fprintf(out, "    %s", name);
    else
        fprintf(out, "    %-26s %12s %10s %10s %10s", name, mlt_number(n, clock->n),
                mlt_time(least, clock->least_ns), mlt_time(mean, mean_of(clock)),
                mlt_time(most, clock->most_ns));
    fputc('\n', out);
}

const mlt_ctl_clock *mlt_path_map_clock(const mlt_ctl_path *p, const char *wrapper)
{
    if (strncmp(wrapper, "drop", 4) == 0)
        return &p->time[MLT_TIME_MAP];
    for (int t = 0; t < MLT_TIME_GATHER; t++)
        if (strncmp(wrapper, time_names[t], strlen(time_names[t])) == 0)
            return &p->time[t];
    return NULL;
}

bool mlt_path_map_wrapper(const char **at, char name[MLT_CTL_NAME])
{
    if (!**at)
        return false;
    size_t n = strcspn(*at, ",");
    snprintf(name, MLT_CTL_NAME, "%.*s", (int)n, *at);
    *at += n;
    *at += strspn(*at, ", ");
    return true;
}

bool mlt_path_map_serves(const mlt_ctl_choice *c, const mlt_ctl_path *p)
{
    return strcmp(c->comm, p->object) == 0 && strcmp(c->collective, p->collective) == 0 &&
           c->ranks == p->ranks && c->workers == p->workers && c->level == p->level;
}

static void print_combine(const mlt_ctl_path *p, FILE *out)
{
    if (p->level != MLT_LEVEL_COMBINED) {
        print_clock(p->level == MLT_LEVEL_ALONE ? "combine (one rank each)" : "combine", NULL, out);
        return;
    }
    print_clock("combine: gather", &p->time[MLT_TIME_GATHER], out);
    print_clock("         reduce", &p->time[MLT_TIME_COMBINE], out);
    print_clock("         spread", &p->time[MLT_TIME_SPREAD], out);
}

// The name of a cache's first row: "cache until unlock: hit".
static bool is_cache(const char *wrapper, char *row, size_t size)
{
    snprintf(row, size, "%s: hit", wrapper);
    return strncmp(wrapper, "cache", 5) == 0;
}

static void print_path(const mlt_path_map *map, const mlt_ctl_path *p, FILE *out)
{
    char text[MLT_NUMBER_BYTES], name[MLT_CTL_NAME], row[MLT_CTL_NAME + 8];
    fprintf(out, "%s on %s%s", p->collective, p->object, p->ranks ? ": " : "");
    if (p->ranks)
        print_who(p->ranks, p->workers, p->level, out);
    fprintf(out, " (%s)%s\n", p->by, p->changes ? ", changes results" : "");
    if (p->calls)
        fprintf(out, "    %s call%s counted, ", mlt_number(text, p->calls), plural(p->calls));
    if (p->calls)
        fprintf(out, "%s\n", mlt_bytes(text, p->bytes));
    fprintf(out, "    %-26s %12s %10s %10s %10s\n", "", "times", "least", "mean", "most");
    for (const char *at = p->stack; mlt_path_map_wrapper(&at, name);)
        if (strcmp(name, "combine") == 0)
            print_combine(p, out);
        else if (is_cache(name, row, sizeof row)) {
            print_clock(row, &p->time[MLT_TIME_HIT], out);
            print_clock("       miss", &p->time[MLT_TIME_MISS], out);
        } else
            print_clock(name, mlt_path_map_clock(p, name), out);
    if (!p->workers)
        return; // of no collective call
    print_clock("exchange", &p->time[MLT_TIME_EXCHANGE], out);
    for (size_t i = 0; i < map->choice_count; i++) {
        const mlt_ctl_choice *c = &map->choices[i];
        if (!mlt_path_map_serves(c, p))
            continue;
        fputs("      ", out);
        print_alg(c, out);
        fprintf(out, ", %s call%s", mlt_number(text, c->calls), plural(c->calls));
        print_bytes(c->least, c->most, out);
        print_reason(c, out);
    }
}

void mlt_path_map_print(mlt_path_map *map, const char *program, FILE *out)
{
    sort(map);
    fprintf(out, "mpirun: paths of %s\n", program);
    if (!map->path_count)
        fputs("no call went along a path\n", out);
    for (size_t i = 0; i < map->path_count; i++)
        print_path(map, &map->paths[i], out);
}

// ---- facts for a trace

static void put_stage(const char *name, const mlt_ctl_clock *clock, FILE *out)
{
    mlt_ctl_clock none = {0};
    clock = clock ? clock : &none;
    fprintf(out, "stage\t%s\t%llu\t%llu\t%llu\t%llu\n", name, (unsigned long long)clock->n,
            (unsigned long long)clock->least_ns, (unsigned long long)mean_of(clock),
            (unsigned long long)clock->most_ns);
}

// The last calls of a path, for a page that plays them.
static void put_calls(const mlt_path_map *map, const mlt_ctl_path *p, FILE *out)
{
    enum { MOST_LANES = 64 };
    mlt_path_tree *of = map->step_count ? mlt_path_tree_new(map, p) : NULL;
    const mlt_picture *t = of && of->tree.count <= MOST_LANES ? &of->tree : NULL;
    for (uint32_t w = 0; t && w < t->count; w++) {
        const mlt_picture_worker *worker = &t->workers[w];
        fprintf(out, worker->ranks == 1 ? "lane\trank %u" : "lane\tranks %u-%u", worker->first,
                worker->first + worker->ranks - 1);
        if (t->hosts && t->host_count > 1 && worker->host < t->host_count)
            fprintf(out, " on %s", t->hosts[worker->host]);
        fputc('\n', out);
    }
    for (uint32_t c = 0; t && c < t->call_count; c++) {
        fprintf(out, "call\t%" PRIu64 "\t", t->calls[c].number);
        for (uint32_t i = 0; i < t->count * MLT_MOMENTS; i++)
            fprintf(out, "%s%" PRIu64, i ? " " : "",
                    t->calls[c].time[i / MLT_MOMENTS][i % MLT_MOMENTS]);
        fputc('\n', out);
    }
    mlt_path_tree_free(of);
}

void mlt_path_map_facts(mlt_path_map *map, FILE *out)
{
    char name[MLT_CTL_NAME], row[MLT_CTL_NAME + 8];
    sort(map);
    for (size_t i = 0; i < map->path_count; i++) {
        const mlt_ctl_path *p = &map->paths[i];
        fprintf(out, "path\t%s on %s\t", p->collective, p->object);
        print_who(p->ranks, p->workers, p->level, out);
        fprintf(out, ", %llu calls counted (%s)", (unsigned long long)p->calls, p->by);
        for (size_t c = 0; c < map->choice_count; c++)
            if (mlt_path_map_serves(&map->choices[c], p) && map->choices[c].alg[0]) {
                fputs(", ", out);
                print_alg(&map->choices[c], out);
            }
        fputc('\n', out);
        put_calls(map, p, out);
        for (const char *at = p->stack; mlt_path_map_wrapper(&at, name);)
            if (strcmp(name, "combine") == 0 && p->level == MLT_LEVEL_COMBINED) {
                put_stage("combine: gather", &p->time[MLT_TIME_GATHER], out);
                put_stage("combine: reduce", &p->time[MLT_TIME_COMBINE], out);
            } else if (is_cache(name, row, sizeof row)) {
                put_stage(row, &p->time[MLT_TIME_HIT], out);
                put_stage("cache: miss", &p->time[MLT_TIME_MISS], out);
            } else
                put_stage(name, mlt_path_map_clock(p, name), out);
        put_stage("exchange", &p->time[MLT_TIME_EXCHANGE], out);
        if (p->level == MLT_LEVEL_COMBINED)
            put_stage("spread", &p->time[MLT_TIME_SPREAD], out);
    }
}

// ---- where it goes

static bool map_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

void mlt_path_map_write(mlt_path_map *map, const char *program, const char *file)
{
    bool own = strcmp(file, "-") == 0;
    FILE *out = own ? stderr : fopen(file, "w");
    if (!out) {
        mlt_say("--paths %s: it cannot be written: %s", file, strerror(errno));
        return;
    }
    if (map_ends_with(file, ".svg"))
        mlt_path_map_draw(map, program, out);
    else
        mlt_path_map_print(map, program, out);
    bool bad = ferror(out);
    if (own)
        fflush(out);
    else
        bad = fclose(out) != 0 || bad;
    if (bad)
        mlt_say("--paths %s: it could not be written whole: %s", file, strerror(errno));
}
