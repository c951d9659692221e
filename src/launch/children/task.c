// SPDX-License-Identifier: BSD-3-Clause
#include "launch/children/task.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "boot/child.h"
#include "launch/say.h"

// ---- Words. Each is copied, so that a list is freed as a whole.

static void children_task_add(mlt_texts *to, const char *word)
{
    mlt_texts_add(to, mlt_text_of("%s", word));
}

static void add_option(mlt_texts *to, const char *option, const char *value)
{
    if (!value)
        return;
    children_task_add(to, option);
    children_task_add(to, value);
}

static void add_flag(mlt_texts *to, const char *option, bool set)
{
    if (set)
        children_task_add(to, option);
}

// An empty list is one, too.
static char **list_of(mlt_texts *texts)
{
    return texts->items ? texts->items : mlt_xcalloc(1, sizeof *texts->items);
}

// ---- What the job inherits

// A job's own words to its ranks.
static bool is_own(const char *variable)
{
    return strncmp(variable, "MILLET_PARENT=", 14) == 0 ||
           strncmp(variable, "MILLET_JOB=", 11) == 0 ||
           strncmp(variable, "MILLET_PATHS=", 13) == 0 ||
           strncmp(variable, "MILLET_TRACE=", 13) == 0;
}

static void add_variables(mlt_texts *to, const mlt_texts *variables)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!is_own(variables->items[i]))
            add_option(to, "-genv", variables->items[i]);
}

static void add_environment(mlt_texts *to, const mlt_options *o, const mlt_app *app)
{
    mlt_env_mode mode = app->env_mode != MLT_ENV_ALL ? app->env_mode : o->env_mode;
    add_flag(to, "-genvnone", mode == MLT_ENV_NONE);
    if (mode == MLT_ENV_LIST)
        add_option(to, "-genvlist", app->env_list ? app->env_list : o->env_list);
    add_variables(to, &o->env);
    add_variables(to, &app->env);
}

// The job's own part of its name: the parent's name is in the parent's files already.
static const char *last_of(const char *job)
{
    const char *last = strrchr(job, '.');
    return last ? last + 1 : job;
}

// A trace is of one job: run.mlt, run.1.mlt. A job that is not traced must not find its parent's file in
// the environment.
static void add_trace(mlt_texts *to, const mlt_options *o, const char *job)
{
    if (!o->trace || o->trace_passing) {
        add_option(to, "-genv", "MILLET_TRACE=");
        return;
    }
    const char *name = strrchr(o->trace, '/');
    const char *end = strrchr(name ? name + 1 : o->trace, '.');
    int before = (int)(end ? end - o->trace : (ptrdiff_t)strlen(o->trace));
    children_task_add(to, "--trace");
    mlt_texts_add(to, mlt_text_of("%.*s.%s%s", before, o->trace, last_of(job), o->trace + before));
}

// Ranks of several jobs have the same numbers: files have the job's name behind theirs.
static void add_files(mlt_texts *to, const mlt_options *o, const char *job)
{
    const struct {
        const char *option, *name;
    } files[] = {{"-outfile-pattern", o->outfile},
                 {"-errfile-pattern", o->errfile},
                 {"--output-filename", o->output_directory}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i].name) {
            children_task_add(to, files[i].option);
            mlt_texts_add(to, mlt_text_of("%s.%s", files[i].name, last_of(job)));
        }
}

static void add_hosts_options(mlt_texts *to, const mlt_options *o)
{
    char number[32];
    add_option(to, "--rsh", o->rsh);
    add_option(to, "--launch-agent", o->agent);
    snprintf(number, sizeof number, "%.3f", (double)o->silent_ms / 1000);
    add_option(to, "--silent", number);
    snprintf(number, sizeof number, "%lld", (long long)o->fan_out);
    add_option(to, "--fan-out", number);
    add_option(to, "--iface", o->iface);
    add_option(to, "--port-range", o->port_range);
    add_flag(to, "--encrypt", o->encrypt);
    add_flag(to, "--stage", o->stage);
    for (size_t i = 0; i < o->stage_files.count; i++)
        add_option(to, "--stage-file", o->stage_files.items[i]);
}

// `map_by`: what an info key says; NULL: nothing. Workers of several jobs would be pinned to the
// same cores, so they are not.
static void add_job(mlt_texts *to, const mlt_child_parent *parent, const char *job,
                    const char *map_by)
{
    const mlt_options *o = parent->options;
    const mlt_app *app = &o->apps[parent->app];
    add_environment(to, o, app);
    add_files(to, o, job);
    add_trace(to, o, job);
    add_hosts_options(to, o);
    add_option(to, "--map-by", map_by ? map_by : o->map_by);
    if (!map_by)
        add_option(to, "--rank-by", o->rank_by);
    add_option(to, "--bind-to", o->bind_to ? o->bind_to : "none");
    add_option(to, "-gwdir", app->dir ? app->dir : o->dir);
    add_option(to, "--cpu-set", o->cpu_set);
    add_flag(to, "-l", o->label);
    add_flag(to, "--timestamp", o->timestamp);
    add_flag(to, "--merge-stderr-to-stdout", o->merge);
    add_flag(to, "--report", o->report);
    add_flag(to, "-q", o->quiet);
    add_flag(to, "-v", o->verbose);
    add_option(to, "--stdin", "none");
}

// ---- Where it may run

typedef struct choice {
    const mlt_hosts_entry *host;
    uint32_t free, order; // slots that no worker has
} choice;

static int most_free_first(const void *left, const void *right)
{
    const choice *a = left, *b = right;
    return a->free != b->free ? (a->free < b->free) - (a->free > b->free)
                              : (a->order > b->order) - (a->order < b->order);
}

static uint64_t ranks_of(const mlt_lists *request)
{
    uint64_t ranks = 0;
    for (uint32_t s = 0; s < mlt_child_sections(request); s++)
        ranks += strtoul(mlt_child_section(request, s, 0)[1], NULL, 10);
    return ranks;
}

// All hosts that the parent's sections have named; NULL: none. As long as there are free slots for
// all ranks, no other is given. The caller frees the text.
static char *default_hosts(const mlt_child_parent *parent, const mlt_lists *request)
{
    const mlt_hosts *named = &parent->plan->named;
    mlt_text text = {0};
    uint64_t free_slots = 0;
    choice *choices = mlt_xcalloc(named->count, sizeof *choices);
    for (uint32_t h = 0; h < named->count; h++) {
        const mlt_hosts_entry *host = &named->hosts[h];
        uint32_t busy = parent->busy ? parent->busy[h] : 0;
        choices[h] = (choice){host, host->slots > busy ? host->slots - busy : 0, h};
        free_slots += choices[h].free;
    }
    bool enough = free_slots >= ranks_of(request);
    qsort(choices, named->count, sizeof *choices, most_free_first);
    const char *between = "";
    for (uint32_t h = 0; h < named->count; h++) {
        const mlt_hosts_entry *host = choices[h].host;
        bool address = strchr(host->name, ':') != NULL;
        uint32_t slots = enough ? choices[h].free : host->slots;
        if (slots == 0)
            continue;
        mlt_text_add(&text, "%s%s%s%s%s%s:%u", between, host->user ? host->user : "",
                     host->user ? "@" : "", address ? "[" : "", host->name, address ? "]" : "",
                     slots);
        between = ",";
    }
    free(choices);
    return text.text;
}

// ---- Sections

static const char *children_task_value_of(char **pairs, const char *key)
{
    for (; *pairs; pairs += 2)
        if (strcmp(pairs[0], key) == 0)
            return pairs[1];
    return NULL;
}

// "A=1\nB=2"
static void add_env_lines(mlt_texts *to, const char *lines)
{
    while (lines && *lines) {
        int n = (int)strcspn(lines, "\n");
        if (n > 0 && *lines != '=' && memchr(lines, '=', (size_t)n)) {
            children_task_add(to, "-env");
            mlt_texts_add(to, mlt_text_of("%.*s", n, lines));
        }
        lines += n + (lines[n] == '\n');
    }
}

static void add_errhandler(mlt_texts *to, const char *name)
{
    const char *known = name ? mlt_option_errhandler(name) : NULL;
    if (known) {
        children_task_add(to, "-env");
        mlt_texts_add(to, mlt_text_of("MILLET_INITIAL_ERRHANDLER=%s", known));
    }
}

// -n counts workers, the standard's maxprocs ranks.
static bool add_number(mlt_texts *to, const char *ranks, const char *fine, char *why,
                       size_t why_size)
{
    long n = strtol(ranks, NULL, 10), k = 1;
    if (fine) {
        char *end;
        k = strtol(fine, &end, 10);
        if (end == fine || *end || k < 1 || n % k != 0)
            return mlt_deny(
                why, why_size,
                "info key nfg is '%.64s', but should be a number that divides the number of "
                "ranks, which is %ld",
                fine, n);
        add_option(to, "-nfg", fine);
    }
    children_task_add(to, "-n");
    mlt_texts_add(to, mlt_text_of("%ld", n / k));
    return true;
}

static bool children_task_add_section(mlt_texts *to, const mlt_child_parent *parent,
                                      const mlt_lists *request, uint32_t section, const char *hosts,
                                      char *why, size_t why_size)
{
    const mlt_app *app = &parent->options->apps[parent->app];
    char **pairs = mlt_child_section(request, section, 2);
    const char *list = children_task_value_of(pairs, "host"),
               *file = children_task_value_of(pairs, "hostfile");
    const char *grain = children_task_value_of(pairs, "grain"),
               *path = children_task_value_of(pairs, "path"),
               *gpus = children_task_value_of(pairs, "gpus");
    const char *fine = children_task_value_of(pairs, "nfg"),
               *workers = children_task_value_of(pairs, "workers");
    if (grain || (!fine && !workers)) // a section before has said something else, perhaps
        add_option(to, "--grain", grain ? grain : mlt_option_grains[app->grain]);
    add_option(to, "--workers", workers);
    add_option(to, "-host", list || file ? list : hosts ? hosts : "localhost");
    add_option(to, "-hostfile", file);
    add_option(to, "-wdir", children_task_value_of(pairs, "wdir"));
    add_option(to, "-path", path ? path : app->path);
    add_option(to, "--gpus", gpus ? gpus : app->gpus);
    add_env_lines(to, children_task_value_of(pairs, "env"));
    add_errhandler(to, children_task_value_of(pairs, "mpi_initial_errhandler"));
    add_option(to, "-memory-alloc-kinds", children_task_value_of(pairs, "mpi_memory_alloc_kinds"));
    return add_number(to, mlt_child_section(request, section, 0)[1], fine, why, why_size);
}

// ---- The whole

static void children_task_free_list(char **list)
{
    for (char **word = list; word && *word; word++)
        free(*word);
    free(list);
}

char *mlt_child_task(const mlt_child_parent *parent, const mlt_lists *request, const char *job,
                     size_t *size, char *why, size_t why_size)
{
    uint32_t sections = mlt_child_sections(request);
    char *hosts = default_hosts(parent, request);
    mlt_lists task = {.count = MLT_CHILD_TASK_LISTS + 2 * sections};
    task.items = mlt_xcalloc(task.count, sizeof *task.items);
    mlt_texts head = {NULL, 0}, whole = {NULL, 0};
    const char *map_by = NULL;
    bool fine = true;
    children_task_add(&head, job);
    children_task_add(&head, request->items[0][0]);
    task.items[0] = list_of(&head);
    for (uint32_t s = 0; s < sections; s++) {
        mlt_texts options = {NULL, 0}, argv = {NULL, 0};
        fine =
            fine && children_task_add_section(&options, parent, request, s, hosts, why, why_size);
        map_by =
            map_by ? map_by : children_task_value_of(mlt_child_section(request, s, 2), "map_by");
        children_task_add(&argv, mlt_child_section(request, s, 0)[0]);
        for (char **word = mlt_child_section(request, s, 1); *word; word++)
            children_task_add(&argv, *word);
        task.items[MLT_CHILD_TASK_LISTS + 2 * s] = list_of(&options);
        task.items[MLT_CHILD_TASK_LISTS + 2 * s + 1] = list_of(&argv);
    }
    add_job(&whole, parent, job, map_by);
    task.items[1] = list_of(&whole);
    for (char *c = why; !fine && *c; c++) // it names what the rank has sent
        if (iscntrl((unsigned char)*c))
            *c = '?';
    char *packed = fine ? mlt_lists_pack(&task, size) : NULL;
    if (fine && !packed)
        snprintf(why, why_size, MLT_NO_ROOM "the task of another mpirun");
    for (uint32_t i = 0; i < task.count; i++)
        children_task_free_list(task.items[i]);
    free(task.items);
    free(hosts);
    return packed;
}

void mlt_child_task_read(const mlt_lists *task, mlt_options *out)
{
    bool fine = task->count > MLT_CHILD_TASK_LISTS &&
                (task->count - MLT_CHILD_TASK_LISTS) % 2 == 0 &&
                mlt_lists_length(task->items[0]) == 2;
    for (uint32_t i = MLT_CHILD_TASK_LISTS + 1; fine && i < task->count; i += 2)
        fine = task->items[i][0] != NULL;
    if (!fine)
        mlt_quit(MLT_EXIT_SYSTEM, "the mpirun above has sent no task");
    char **head = task->items[0];
    mlt_options_read_child(task->items[1], task->items + MLT_CHILD_TASK_LISTS,
                           (task->count - MLT_CHILD_TASK_LISTS) / 2, out);
    out->job = head[0];
    mlt_texts_add(&out->env, mlt_text_of("MILLET_JOB=%s", head[0]));
    mlt_texts_add(&out->env, mlt_text_of("MILLET_PARENT=%s", head[1]));
}
