// SPDX-License-Identifier: BSD-3-Clause
// What each option means stands in options_table.c.
#include "launch/plan/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/help.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/word.h"
#include "launch/plan/allocation.h"
#include "launch/plan/hosts.h"
#include "launch/plan/options_table.h"
#include "launch/plan/words.h"
#include "launch/say.h"

const char *const mlt_option_grains[] = {"auto", "process", "thread", "fiber"};

void mlt_texts_add(mlt_texts *texts, char *text)
{
    texts->items = mlt_xrealloc(texts->items, texts->count + 2, sizeof *texts->items);
    texts->items[texts->count++] = text;
    texts->items[texts->count] = NULL;
}

void mlt_texts_free(mlt_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (mlt_texts){NULL, 0};
}

// Calls see(spelling without dashes, its length, row) for all spellings until it returns true.
static const mlt_option_row *each_name(bool (*see)(void *arg, const char *name, size_t length),
                                       void *arg)
{
    for (size_t i = 0; i < mlt_option_row_count; i++) {
        const char *at = mlt_option_rows[i].names;
        while (at && *at) {
            size_t whole = strcspn(at, " "), dashes = strspn(at, "-");
            if (see(arg, at + dashes, whole - dashes))
                return &mlt_option_rows[i];
            at += whole + strspn(at + whole, " ");
        }
    }
    return NULL;
}

typedef struct wanted {
    const char *name;
    size_t length;
} wanted;

static bool is_wanted(void *arg, const char *name, size_t length)
{
    const wanted *w = arg;
    return w->length == length && memcmp(w->name, name, length) == 0;
}

typedef struct nearest {
    wanted asked;
    const char *name;
    size_t length, distance;
} nearest;

static bool compare(void *arg, const char *name, size_t length)
{
    nearest *best = arg;
    size_t d = mlt_word_distance(best->asked.name, best->asked.length, name, length);
    if (d < best->distance) {
        best->name = name;
        best->length = length;
        best->distance = d;
    }
    return false;
}

static _Noreturn void unknown(const char *option, wanted name)
{
    nearest best = {.asked = name, .distance = 1 + name.length / 2};
    if (best.distance > 4)
        best.distance = 4;
    (void)each_name(compare, &best);
    if (best.name)
        mlt_quit(MLT_EXIT_USAGE, "there is no option %s; did you mean %s%.*s?", option,
                 best.length > 1 ? "--" : "-", (int)best.length, best.name);
    mlt_quit(MLT_EXIT_USAGE, "there is no option %s; mpirun --help lists them all", option);
}

bool mlt_options_row(size_t i, mlt_option_text *out)
{
    if (i >= mlt_option_row_count)
        return false;
    *out = (mlt_option_text){mlt_option_rows[i].names, mlt_option_rows[i].argument,
                             mlt_option_rows[i].help};
    return true;
}

const char mlt_options_usage[] =
    "[options] program [arguments] [: [options] program [arguments]]...";
const char mlt_options_codes[] =
    "0: all ranks ended with 0; 1: a rank ended with 0 before MPI_Finalize, output could not be "
    "written, or the file of --coll is at fault; 2: the command line, a host file or a "
    "configuration file is wrong; 70: the machine refused memory, descriptors or processes, or a "
    "host is lost; 124: "
    "time limit; 125: deadlock; 126: the program cannot be run; 127: the program was not found; "
    "128 + N: signal N ended a rank; any other: the exit code of the first rank that failed";

static void help_of(const mlt_option_row *row)
{
    enum { COLUMN = 38 };
    char left[128];
    if (row->names) {
        snprintf(left, sizeof left, "  %s %s", row->names, row->argument ? row->argument : "");
        mlt_help_item(left, row->help, COLUMN);
    } else
        printf("\n%s:\n", row->help);
}

// A line for each exit code.
static void help_codes(void)
{
    enum { COLUMN = 14 };
    for (const char *at = mlt_options_codes; *at; at += strspn(at, "; ")) {
        char left[32], meaning[128];
        int whole = (int)strcspn(at, ";"), code = (int)strcspn(at, ":");
        snprintf(left, sizeof left, "  %.*s", code, at);
        snprintf(meaning, sizeof meaning, "%.*s", whole - code - 2, at + code + 2);
        mlt_help_item(left, meaning, COLUMN);
        at += whole;
    }
}

void mlt_option_take_help(mlt_option_reader *r, const mlt_option_row *ignored)
{
    printf("mpirun %s\n\n"
           "Starts a job of MPI ranks. Options may begin with one dash or two.\n",
           mlt_options_usage);
    for (size_t i = 0; i < mlt_option_row_count; i++)
        if (mlt_option_rows[i].help)
            help_of(&mlt_option_rows[i]);
    puts("\nAlso accepted, without effect:");
    for (size_t i = 0; i < mlt_option_row_count; i++)
        if (mlt_option_rows[i].names && !mlt_option_rows[i].help) {
            printf("  ");
            mlt_help_wrap(stdout, mlt_option_rows[i].names, 2, 2);
        }
    puts("\nExit code:");
    help_codes();
    exit(0);
}

static mlt_app *new_app(mlt_options *o)
{
    o->apps = mlt_xrealloc(o->apps, o->app_count + 1, sizeof *o->apps);
    mlt_app *app = &o->apps[o->app_count++];
    // What a worker or a rank is and has carries on to the next section.
    bool first = o->app_count == 1;
    *app = (mlt_app){.fine = 1,
                     .workers = first ? MLT_WORKERS_AUTO : app[-1].workers,
                     .grain = first ? o->grain : app[-1].grain,
                     .gpus = first ? NULL : app[-1].gpus};
    return app;
}

// "-n4": an option that is a number, and its value.
static const mlt_option_row *find_glued(mlt_option_reader *r, wanted asked)
{
    wanted name = {.name = asked.name, .length = strcspn(asked.name, "0123456789")};
    const mlt_option_row *row = each_name(is_wanted, &name);
    const char *digits = name.name + name.length;
    if (!row || !row->argument || strlen(row->argument) != 1 ||
        !isupper((unsigned char)*row->argument) || strspn(digits, "0123456789") != strlen(digits))
        return NULL;
    r->value = mlt_text_of("%s", digits);
    r->option = mlt_text_of("-%.*s", (int)name.length, name.name);
    return row;
}

// The option's row; NULL: it is another MPI's, and was taken.
static const mlt_option_row *find_option(mlt_option_reader *r, char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    wanted asked = {.name = name, .length = strlen(name)};
    const mlt_option_row *row = each_name(is_wanted, &asked);
    row = row ? row : find_glued(r, asked);
    if (row)
        return row;
    char *equals = strchr(word, '=');
    if (equals) {
        asked.length = (size_t)(equals - name);
        row = each_name(is_wanted, &asked);
        *equals = '\0';
        r->value = equals + 1;
    }
    if (!row && mlt_option_of_others(r))
        return NULL;
    if (!row)
        unknown(word, asked);
    if (!row->argument)
        mlt_quit(MLT_EXIT_USAGE, "option %s takes no value, but has '%s'", word, r->value);
    return row;
}

static void read_option(mlt_option_reader *r)
{
    char *word = *r->words++;
    r->option = word;
    const mlt_option_row *row = find_option(r, word);
    if (row)
        row->take(r, row);
}

// The file's sections run on the hosts that stand beside it, until one names others.
static void end_configfile(mlt_option_reader *r)
{
    mlt_app *first = &r->o->apps[r->file_app];
    if (!first->list && !first->file) {
        first->list = r->app->list;
        first->file = r->app->file;
        first->own_hosts = false;
    }
    r->o->app_count--;
}

static void begin_section(mlt_option_reader *r)
{
    r->app = new_app(r->o);
    r->took_file = false;
    r->env_before = r->o->env.count;
}

// In order, so that the last one counts.
static void carry_on(mlt_option_reader *r)
{
    for (size_t i = 0; i < r->o->carried.count; i++)
        mlt_texts_add(&r->app->env, r->o->carried.items[i]);
}

// One section, up to a colon or the end. False at the end of the words.
static bool read_section(mlt_option_reader *r)
{
    begin_section(r);
    r->ended = false;
    while (!r->ended && *r->words && (*r->words)[0] == '-' && (*r->words)[1]) {
        if (strcmp(*r->words, "--") == 0) {
            r->words++;
            break;
        }
        read_option(r);
    }
    carry_on(r);
    mlt_texts argv = {NULL, 0};
    while (*r->words && strcmp(*r->words, ":") != 0)
        mlt_texts_add(&argv, *r->words++);
    r->app->argv = argv.items;
    if (r->took_file && argv.items)
        mlt_quit(
            MLT_EXIT_USAGE,
            "'%s' stands after -configfile, whose file names the programs; put it into the file",
            argv.items[0]);
    if (r->took_file)
        end_configfile(r);
    else if (!argv.items)
        mlt_quit(MLT_EXIT_USAGE,
                 "no program to start was named%s; mpirun -n 4 ./program starts one",
                 r->o->app_count > 1 ? " in a section between colons" : "");
    if (!*r->words)
        return false;
    r->words++;
    return true;
}

void mlt_option_take_configfile(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *path = mlt_option_word(r);
    if (r->in_file)
        mlt_quit(MLT_EXIT_USAGE, "a configuration file cannot name another one ('%s')", path);
    // Its sections come in place of this one; what was said in this one for the whole job holds.
    mlt_app *own = r->app;
    size_t index = (size_t)(own - r->o->apps);
    mlt_app kept = *own;
    r->o->app_count--;
    mlt_words_file file;
    mlt_words_open(&file, path);
    while (mlt_words_line(&file)) {
        mlt_option_reader inner = {.o = r->o, .words = file.words, .in_file = true};
        while (read_section(&inner))
            ;
    }
    mlt_words_close(&file);
    if (r->o->app_count == index)
        mlt_quit(MLT_EXIT_USAGE, "configuration file '%s' names no program", path);
    r->app = new_app(r->o); // removed again at the end of the section
    *r->app = kept;
    r->took_file = true;
    r->file_app = index;
}

static mlt_grain initial_grain(void)
{
    const char *text = getenv("MILLET_GRAIN");
    char why[256];
    int64_t grain = MLT_GRAIN_PROCESS;
    const mlt_setting setting = {
        .name = "grain", .kind = MLT_SETTING_CHOICE, .choices = MLT_GRAIN_CHOICES, .value = &grain};
    if (text && *text && mlt_setting_parse(&setting, text, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE,
                 "MILLET_GRAIN is '%s', but should be auto, process, thread or fiber", text);
    return (mlt_grain)grain;
}

// The hosts of a section that names some. Workers of several cores take as many slots.
static const mlt_hosts *options_hosts_of(const mlt_app *app, const mlt_options *o)
{
    mlt_hosts *hosts = app->list ? app->list : app->file;
    if (app->list && app->file) {
        hosts = mlt_xcalloc(1, sizeof *hosts);
        mlt_hosts_choose(hosts, app->file, app->list);
    }
    mlt_hosts_trim(hosts, o->no_local);
    for (uint32_t h = 0; o->mapping.each && h < hosts->count; h++) {
        uint32_t fit = hosts->hosts[h].slots / o->mapping.each;
        hosts->hosts[h].slots = fit ? fit : 1;
    }
    return hosts;
}

// The host file that a variable names, for a job whose first section names no hosts. Those of other
// implementations are set by who makes a cluster for them, as Kubernetes' MPI Operator does.
static void take_file_of_variables(mlt_app *first)
{
    static const char *const files[] = {"MILLET_HOSTFILE",
                                        "HYDRA_HOST_FILE",
                                        "I_MPI_HYDRA_HOST_FILE",
                                        "OMPI_MCA_orte_default_hostfile",
                                        "PRTE_MCA_prte_default_hostfile",
                                        NULL};
    const char *where, *file = mlt_option_variable(files, &where);
    if (!file || first->list || first->file)
        return;
    if (access(file, R_OK) != 0)
        mlt_quit(MLT_EXIT_USAGE, "the variable %s names the host file '%s': %s", where, file,
                 strerror(errno));
    first->file = mlt_xcalloc(1, sizeof *first->file);
    first->own_hosts = true;
    mlt_hosts_add_file(first->file, file);
}

static char usual_shell[] = "ssh"; // if nobody names another

// Inside of a batch system's allocation its hosts are those of a job that names none.
static void use_allocation(mlt_options *o)
{
    mlt_allocation found;
    for (size_t a = 0; a < o->app_count; a++)
        if (o->apps[a].list || o->apps[a].file)
            return;
    mlt_hosts *hosts = mlt_xcalloc(1, sizeof *hosts);
    if (!mlt_allocation_find(&found, hosts)) {
        free(hosts);
        return;
    }
    o->apps[0].file = hosts;
    o->apps[0].own_hosts = true;
    if (found.shell && o->rsh == usual_shell)
        o->rsh = found.shell;
    else
        free(found.shell);
    o->allocation = mlt_text_of("%s's allocation (%s); agents start by %.*s", found.system,
                                found.source, (int)strcspn(o->rsh, " "), o->rsh);
}

static void settle_hosts(mlt_options *o)
{
    const mlt_hosts *before = NULL;
    for (size_t a = 0; a < o->app_count; a++) {
        mlt_app *app = &o->apps[a];
        app->hosts = app->list || app->file ? options_hosts_of(app, o) : before;
        before = app->hosts;
        if (!app->per_host)
            app->per_host = o->mapping.per_host;
    }
}

// What variables say about other hosts, before options do.
static void set_hosts_defaults(mlt_options *o)
{
    static const char *const shells[] = {"MILLET_RSH", "HYDRA_LAUNCHER_EXEC",
                                         "OMPI_MCA_plm_rsh_agent", NULL};
    // The second is how the MPI Operator spells the first.
    static const char *const shell_options[] = {
        "HYDRA_LAUNCHER_EXTRA_ARGS", "HYDRA_LAUNCH_EXTRA_ARGS",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "OMPI_MCA_plm_rsh_args", NULL};
    const char *where;
    char *rsh = mlt_option_variable(shells, &where), *agent = getenv("MILLET_AGENT");
    const char *silent = getenv("MILLET_SILENT"), *fan_out = getenv("MILLET_FAN_OUT");
    o->rsh = rsh ? rsh : usual_shell;
    const char *more = mlt_option_variable(shell_options, &where);
    if (more)
        o->rsh = mlt_text_of("%s %s", o->rsh, more);
    o->agent = agent && *agent ? agent : NULL;
    o->silent_ms = silent && *silent ? mlt_option_silence("MILLET_SILENT", silent) : MLT_SILENT_MS;
    o->fan_out = MLT_FAN_OUT;
    if (!fan_out || !*fan_out)
        return;
    char *words[] = {mlt_text_of("%s", fan_out), NULL};
    mlt_option_reader r = {.o = o, .words = words, .option = "MILLET_FAN_OUT"};
    mlt_option_take_fan_out(&r, NULL);
    free(words[0]);
}

static void begin_options(mlt_options *out)
{
    *out = (mlt_options){.gdb = -1, .grain = initial_grain(), .job = ""};
    mlt_option_net_variables(out);
    set_hosts_defaults(out);
}

static void read_words(mlt_option_reader *r, char **words)
{
    r->words = words;
    while (*r->words)
        read_option(r);
}

void mlt_options_read_child(char **words, char ***sections, uint32_t count, mlt_options *out)
{
    begin_options(out);
    mlt_option_reader r = {.o = out};
    for (uint32_t s = 0; s < count; s++) {
        begin_section(&r);
        if (s == 0)
            read_words(&r, words);
        read_words(&r, sections[2 * s]);
        carry_on(&r);
        r.app->argv = sections[2 * s + 1];
    }
    settle_hosts(out);
}

// For jobs whose command line is another launcher's, and for scripts.
static void read_variables(mlt_options *out)
{
    static const char *const limits[] = {"MILLET_TIMEOUT", "MPIEXEC_TIMEOUT", NULL};
    const char *where;
    char *limit = mlt_option_variable(limits, &where);
    if (limit)
        out->timeout_s = mlt_option_seconds(where, limit);
    out->report = mlt_option_is_yes("MILLET_REPORT");
}

void mlt_options_read(int argc, char **argv, mlt_options *out)
{
    begin_options(out);
    read_variables(out);
    mlt_option_reader r = {.o = out, .words = argv + (argc > 0)};
    if (!*r.words)
        mlt_quit(MLT_EXIT_USAGE, "no program to start was named; mpirun -n 4 ./program starts one, "
                                 "and mpirun --help shows the options");
    while (read_section(&r))
        ;
    take_file_of_variables(&out->apps[0]);
    use_allocation(out);
    settle_hosts(out);
    mlt_option_settle_fabric(out);
    if (out->output_directory && (out->outfile || out->errfile))
        mlt_quit(MLT_EXIT_USAGE,
                 "--output-filename and -outfile-pattern both say where output goes; use one");
    if (out->trace_part && !out->trace)
        mlt_quit(MLT_EXIT_USAGE, "--trace-only and --trace-paused say what is traced; --trace FILE "
                                 "or --record FILE, where to");
}
