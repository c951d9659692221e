// SPDX-License-Identifier: BSD-3-Clause
// Any command line of mpirun: it ends with one line and exit code 2 (help and version: 0), or the
// options hold together: each section has a program, numbers are in their ranges, variables have
// names, what is set for the library the library understands, and a plan can be made or is refused
// in the same way.
//
// A line of the input is a word; a line of two percent signs ends them. What follows is what every
// file holds that the words name.
#include "launch/plan/options.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "boot/job.h"
#include "fiber/policy.h"
#include "launch/plan/plan.h"

enum { MOST_WORDS = 256, MOST_SHOWN = 256 };

typedef struct command {
    char *words[MOST_WORDS + 1];
    int count;
} command;

static void check_variables(const mlt_texts *texts)
{
    FUZZ_CHECK(!texts->items || !texts->items[texts->count]);
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        FUZZ_CHECK(equals && equals > text);
    }
}

// Only what an option of its own has set: -genv may say anything.
static void check_settings(const mlt_texts *texts)
{
    static const char sched[] = "MILLET_SCHED=", stack[] = "MILLET_STACK_SIZE=";
    char why[256];
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i];
        uint64_t argument;
        int64_t bytes = -1;
        mlt_setting size = {.name = "stack_size", .kind = MLT_SETTING_SIZE, .value = &bytes};
        if (strncmp(text, sched, sizeof sched - 1) == 0)
            FUZZ_CHECK(mlt_policy_find(text + sizeof sched - 1, &argument, why, sizeof why));
        if (strncmp(text, stack, sizeof stack - 1) == 0)
            FUZZ_CHECK(!mlt_setting_parse(&size, text + sizeof stack - 1, why, sizeof why) &&
                       bytes >= 0);
    }
}

static void check_app(const mlt_app *app)
{
    FUZZ_CHECK(app->argv && app->argv[0]);
    FUZZ_CHECK(app->n <= INT32_MAX && app->fine >= 1 && app->fine <= INT32_MAX);
    FUZZ_CHECK(app->per_host <= INT32_MAX && app->workers <= MLT_WORKERS_THREAD);
    FUZZ_CHECK(app->env_mode != MLT_ENV_LIST || app->env_list);
    FUZZ_CHECK(!app->own_hosts || app->hosts);
    for (uint32_t h = 0; app->hosts && h < app->hosts->count; h++)
        FUZZ_CHECK(app->hosts->hosts[h].slots >= 1 && app->hosts->hosts[h].name[0]);
    check_variables(&app->env);
}

static void check_hosts(const mlt_placement *plan)
{
    mlt_placement_host *seen = mlt_xcalloc(plan->host_count, sizeof *seen);
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *proc = &plan->procs[p];
        FUZZ_CHECK(proc->host < plan->host_count);
        FUZZ_CHECK(proc->first_local == seen[proc->host].ranks);
        seen[proc->host].procs++;
        seen[proc->host].workers += proc->workers;
        seen[proc->host].ranks += proc->ranks;
    }
    for (uint32_t h = 0; h < plan->host_count; h++) {
        const mlt_placement_host *host = &plan->hosts[h];
        FUZZ_CHECK(host->procs && host->procs == seen[h].procs && host->ranks == seen[h].ranks);
        FUZZ_CHECK(host->workers == seen[h].workers && host->workers <= MLT_JOB_MAX_WORKERS);
    }
    free(seen);
}

static void check_plan(const mlt_placement *plan)
{
    uint64_t workers = 0, ranks = 0;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        FUZZ_CHECK(plan->procs[p].first_worker == workers && plan->procs[p].first_rank == ranks);
        workers += plan->procs[p].workers;
        ranks += plan->procs[p].ranks;
    }
    FUZZ_CHECK(workers == plan->workers && ranks == plan->ranks);
    FUZZ_CHECK(workers >= 1 && workers <= MLT_PLACEMENT_MAX_WORKERS && ranks <= INT32_MAX);
    check_hosts(plan);
}

static bool names_any_variable; // -genv, -x, --set: it may set what the library refuses

static void read_command(void *argument)
{
    command *c = argument;
    mlt_options options;
    mlt_placement plan;
    mlt_options_read(c->count, c->words, &options);
    FUZZ_CHECK(options.app_count >= 1);
    for (size_t a = 0; a < options.app_count; a++)
        check_app(&options.apps[a]);
    check_variables(&options.env);
    if (!names_any_variable)
        check_settings(&options.env);
    FUZZ_CHECK(options.timeout_s >= 0 && options.timeout_s <= 1e9);
    FUZZ_CHECK(options.stdin_rank >= MLT_STDIN_ALL && options.stdin_rank <= INT32_MAX);
    FUZZ_CHECK(options.gdb >= -1 && options.gdb <= INT32_MAX);
    FUZZ_CHECK(options.env_mode != MLT_ENV_LIST || options.env_list);
    FUZZ_CHECK(!options.output_directory || (!options.outfile && !options.errfile));
    mlt_placement_make(&options, &plan);
    check_plan(&plan);
    if (plan.proc_count <= MOST_SHOWN)
        mlt_placement_show(&plan, &options, stdout);
}

// Splits the lines of the text into words; returns what follows the line "%%".
static const char *split(char *text, command *out)
{
    static char name[] = "mpirun";
    out->count = 0;
    out->words[out->count++] = name;
    for (char *rest = text, *word; (word = strsep(&rest, "\n")) && out->count < MOST_WORDS;) {
        if (strcmp(word, "%%") == 0)
            return rest;
        if (rest || *word)
            out->words[out->count++] = word;
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool prepared;
    if (!prepared) { // --help prints a page
        unsetenv("MPIEXEC_TIMEOUT");
        FUZZ_CHECK(freopen("/dev/null", "w", stdout));
    }
    prepared = true;
    char *text = fuzz_text(data, size);
    if (fuzz_wide(text)) {
        free(text);
        return 0;
    }
    command c = {.count = 0};
    names_any_variable =
        memmem(text, size, "env", 3) || memmem(text, size, "-x", 2) || memmem(text, size, "set", 3);
    const char *file = split(text, &c);
    fuzz_file((const uint8_t *)file, file ? size - (size_t)(file - text) : 0);
    c.words[c.count] = NULL;
    if (!fuzz_run(read_command, &c)) {
        size_t said_size;
        const char *said = fuzz_said(&said_size);
        FUZZ_CHECK(fuzz_code() == 2 ? said_size > 1 : fuzz_code() == 0 && said_size == 0);
        FUZZ_CHECK(said_size < 2 * size + 1024);
        FUZZ_CHECK(!said_size || strchr(said, '\n') == said + said_size - 1);
    }
    fuzz_release();
    free(text);
    return 0;
}
