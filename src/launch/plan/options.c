// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/word.h"
#include "image/mode.h"
#include "launch/help.h"
#include "launch/plan/allocation.h"
#include "launch/plan/bind.h"
#include "launch/plan/hosts.h"
#include "launch/plan/words.h"
#include "launch/say.h"
#include "net/iface.h"

extern char **environ;

enum { MOST_RANKS = INT32_MAX, NAME_BYTES = 64 };

typedef struct reader {
    mlt_options *o;
    mlt_app *app;       // the current section's
    char **words;       // NULL at the end
    char *value;        // of "--option=value", until it is taken
    const char *option; // as the user wrote it
    bool in_file;       // words come from a -configfile
    bool took_file;     // the current section named one ...
    size_t file_app;    // ... whose first section has this index
    size_t env_before;  // what o->env had when it began
} reader;

typedef struct option_row {
    const char *names;    // spellings, separated by blanks; one or two dashes make no difference
    const char *argument; // as --help shows it; NULL: none
    void (*take)(reader *r, const struct option_row *row);
    size_t at;        // offset in mlt_options (take_flag, take_text)
    const char *help; // NULL: accepted, not shown
} option_row;

void mlt_texts_add(mlt_texts *texts, char *text)
{
    texts->items = mlt_take_more(texts->items, texts->count + 2, sizeof *texts->items);
    texts->items[texts->count++] = text;
    texts->items[texts->count] = NULL;
}

static char *next_word(reader *r)
{
    char *word = r->value;
    r->value = NULL;
    if (!word && *r->words)
        word = *r->words++;
    if (!word)
        mlt_quit(MLT_EXIT_USAGE, "option %s wants a value after it; mpirun --help shows which",
                 r->option);
    return word;
}

static int64_t next_number(reader *r, int64_t least, int64_t most)
{
    const char *text = next_word(r);
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno || n < least || n > most)
        mlt_quit(MLT_EXIT_USAGE,
                 "option %s is '%s', but should be a whole number from %lld to %lld", r->option,
                 text, (long long)least, (long long)most);
    return n;
}

// One of the words of `choices`, as settings have them; `wanted` says them to people. *index may be
// NULL.
static const char *next_choice(reader *r, const char *choices, const char *wanted, int64_t *index)
{
    const char *word = next_word(r);
    char why[256];
    int64_t value = 0;
    const mlt_setting s = {
        .name = r->option, .kind = MLT_SETTING_CHOICE, .choices = choices, .value = &value};
    if (mlt_setting_parse(&s, word, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be %s", r->option, word, wanted);
    if (index)
        *index = value;
    return word;
}

static char **text_at(reader *r, const option_row *row)
{
    return (char **)((char *)r->o + row->at);
}

static void take_flag(reader *r, const option_row *row)
{
    *(bool *)((char *)r->o + row->at) = true;
}

static void take_text(reader *r, const option_row *row)
{
    *text_at(r, row) = next_word(r);
}

static void ignore_flag(reader *r, const option_row *row)
{
}

static void ignore_word(reader *r, const option_row *row)
{
    (void)next_word(r);
}

static void ignore_two(reader *r, const option_row *row)
{
    (void)next_word(r);
    (void)next_word(r);
}

static void take_n(reader *r, const option_row *row)
{
    r->app->n = (uint32_t)next_number(r, 1, MOST_RANKS);
}

static void take_nfg(reader *r, const option_row *row)
{
    r->app->fine = (uint32_t)next_number(r, 1, MOST_RANKS);
    r->app->said_fine = true;
}

static void take_per_host(reader *r, const option_row *row)
{
    r->app->per_host = (uint32_t)next_number(r, 1, MOST_RANKS);
}

static void take_workers(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    r->app->said_workers = true;
    if (!r->app->said_grain)
        r->app->grain = MLT_GRAIN_PROCESS; // which is no wish
    if (strcmp(word, "thread") == 0 || strcmp(word, "threads") == 0)
        r->app->workers = MLT_WORKERS_THREAD;
    else if (strcmp(word, "process") == 0 || strcmp(word, "processes") == 0)
        r->app->workers = MLT_WORKERS_PROCESS;
    else
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be thread or process", r->option,
                 word);
}

static void take_grain(reader *r, const option_row *row)
{
    int64_t grain;
    (void)next_choice(r, MLT_GRAIN_CHOICES, "auto, process, thread or fiber", &grain);
    r->app->grain = (mlt_grain)grain;
    r->app->said_grain = true;
    if (!r->app->said_workers)
        r->app->workers = MLT_WORKERS_AUTO; // that of a section before
}

// Lists of one section add up, and so do files.
static mlt_hosts *begun(reader *r, mlt_hosts **hosts)
{
    r->app->own_hosts = true;
    if (!*hosts)
        *hosts = mlt_take(1, sizeof **hosts);
    return *hosts;
}

static void take_hosts(reader *r, const option_row *row)
{
    const char *list = next_word(r);
    mlt_hosts_add_list(begun(r, &r->app->list), r->option, list);
}

static void take_hostfile(reader *r, const option_row *row)
{
    mlt_hosts_add_file(begun(r, &r->app->file), next_word(r));
}

// "K V" or "K=V".
static char *next_variable(reader *r)
{
    char *name = next_word(r);
    if (!*name || *name == '=')
        mlt_quit(MLT_EXIT_USAGE, "option %s wants the name of a variable, not '%s'", r->option,
                 name);
    return strchr(name, '=') ? name : mlt_text_of("%s=%s", name, next_word(r));
}

static void take_genv(reader *r, const option_row *row)
{
    mlt_texts_add(&r->o->env, next_variable(r));
}

static void take_env(reader *r, const option_row *row)
{
    mlt_texts_add(&r->app->env, next_variable(r));
}

static void take_x(reader *r, const option_row *row)
{
    char *word = next_word(r);
    if (!*word || *word == '=')
        mlt_quit(MLT_EXIT_USAGE, "option %s wants NAME or NAME=VALUE, not '%s'", r->option, word);
    const char *now = strchr(word, '=') ? NULL : getenv(word);
    if (now)
        mlt_texts_add(&r->o->env, mlt_text_of("%s=%s", word, now));
    else if (strchr(word, '='))
        mlt_texts_add(&r->o->env, word);
}

static void take_genvnone(reader *r, const option_row *row)
{
    r->o->env_mode = MLT_ENV_NONE;
}

static void take_genvlist(reader *r, const option_row *row)
{
    r->o->env_mode = MLT_ENV_LIST;
    r->o->env_list = next_word(r);
}

static void take_envnone(reader *r, const option_row *row)
{
    r->app->env_mode = MLT_ENV_NONE;
}

static void take_envlist(reader *r, const option_row *row)
{
    r->app->env_mode = MLT_ENV_LIST;
    r->app->env_list = next_word(r);
}

static void take_dir(reader *r, const option_row *row)
{
    r->app->dir = next_word(r);
}

static void take_path(reader *r, const option_row *row)
{
    r->app->path = next_word(r);
}

static void take_stdin(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    char *end;
    long long n = strtoll(word, &end, 10);
    if (strcmp(word, "none") == 0)
        r->o->stdin_rank = MLT_STDIN_NONE;
    else if (strcmp(word, "all") == 0)
        r->o->stdin_rank = MLT_STDIN_ALL;
    else if (end != word && !*end && n >= 0 && n <= MOST_RANKS)
        r->o->stdin_rank = n;
    else
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be a rank, none or all", r->option,
                 word);
}

static double seconds(const char *where, const char *text)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !isfinite(s) || s < 0 || s > 1e9)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be a number of seconds", where, text);
    return s;
}

static int64_t silence(const char *where, const char *text)
{
    double s = seconds(where, text);
    if (s < 2 || s > 86400)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be from 2 to 86400 seconds", where, text);
    return (int64_t)(s * 1000);
}

static void take_silent(reader *r, const option_row *row)
{
    r->o->silent_ms = silence(r->option, next_word(r));
}

static void take_fan_out(reader *r, const option_row *row)
{
    r->o->fan_out = next_number(r, 1, MLT_HOSTS_MOST);
}

static void take_timeout(reader *r, const option_row *row)
{
    r->o->timeout_s = seconds(r->option, next_word(r));
}

static void take_bind(reader *r, const option_row *row)
{
    char *word = next_word(r);
    char why[256];
    if (!mlt_bind_word_known(word, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
    *text_at(r, row) = word;
}

// --map-by and --rank-by, which also say which host gets which rank.
static void take_mapping(reader *r, const option_row *row)
{
    char why[256];
    *text_at(r, row) = next_word(r);
    if (!mlt_mapping_read(r->o->map_by, r->o->rank_by, &r->o->mapping, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
}

static void take_by(reader *r, const option_row *row)
{
    static char slot[] = "slot", node[] = "node";
    r->value = strstr(r->option, "node") ? node : slot;
    take_mapping(r, row);
}

// ---- Between hosts

static void check_iface(const char *where, const char *text)
{
    mlt_iface_filter filter;
    char why[256];
    if (mlt_iface_parse(&filter, text, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s': %s", where, text, why);
}

static void check_ports(const char *where, const char *text)
{
    mlt_iface_ports ports;
    char why[256];
    if (mlt_iface_ports_parse(&ports, text, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s': %s", where, text, why);
}

// What a process makes of it is wire/ofi/fabric.h; here it must be one of the words.
static void check_fabric(const char *where, const char *text)
{
    if (strcmp(text, "tcp") != 0 && strcmp(text, "auto") != 0 && strcmp(text, "ofi") != 0 &&
        (strncmp(text, "ofi:", 4) != 0 || !text[4] || strlen(text) > 40))
        mlt_quit(
            MLT_EXIT_USAGE,
            "%s is '%s', but should be tcp, auto, ofi or ofi:PROVIDER (`millet info --fabrics` "
            "lists providers)",
            where, text);
}

static void take_fabric(reader *r, const option_row *row)
{
    r->o->fabric = next_word(r);
    check_fabric(r->option, r->o->fabric);
}

// A fabric does not encrypt: whoever asks for both gets TCP, unless it must be the fabric.
static void settle_fabric(mlt_options *o)
{
    if (o->fabric && o->encrypt && strncmp(o->fabric, "ofi", 3) == 0)
        mlt_quit(MLT_EXIT_USAGE,
                 "--encrypt and --fabric %s exclude each other: what goes by a fabric is not "
                 "encrypted; --fabric tcp or auto uses TCP",
                 o->fabric);
    if (o->fabric)
        mlt_texts_add(&o->env, mlt_text_of("MILLET_FABRIC=%s", o->encrypt ? "tcp" : o->fabric));
}

static void take_iface(reader *r, const option_row *row)
{
    char *word = next_word(r);
    check_iface(r->option, word);
    r->o->iface = word;
}

static void take_ports(reader *r, const option_row *row)
{
    char *word = next_word(r);
    check_ports(r->option, word);
    r->o->port_range = word;
}

// Open MPI's parameters, of which some say something here.
static void take_mca(reader *r, const option_row *row)
{
    const char *name = next_word(r);
    char *value = next_word(r);
    if (strcmp(name, "plm_rsh_agent") == 0 || strcmp(name, "plm_ssh_agent") == 0)
        r->o->rsh = value;
    bool without = strcmp(name, "btl_tcp_if_exclude") == 0;
    if (!without && strcmp(name, "btl_tcp_if_include") != 0)
        return;
    r->o->iface = without ? mlt_text_of("^%s", value) : value;
    check_iface(name, r->o->iface);
}

static void take_stage_file(reader *r, const option_row *row)
{
    r->o->stage = true;
    mlt_texts_add(&r->o->stage_files, next_word(r));
}

// The first of these variables that is set, and its value.
static char *first_set(const char *const *names, const char **found)
{
    for (; *names; names++) {
        char *value = getenv(*names);
        *found = *names;
        if (value && *value)
            return value;
    }
    return NULL;
}

static bool is_yes(const char *variable)
{
    const char *text = getenv(variable);
    char why[256];
    int64_t yes = 0;
    const mlt_setting setting = {.name = variable, .kind = MLT_SETTING_BOOL, .value = &yes};
    if (text && *text && mlt_setting_parse(&setting, text, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be yes or no", variable, text);
    return yes;
}

static void read_net_variables(mlt_options *o)
{
    static const char *const ifaces[] = {"MILLET_IFACE", "HYDRA_IFACE",
                                         "OMPI_MCA_btl_tcp_if_include", NULL};
    static const char *const ports[] = {"MILLET_PORT_RANGE", "MPIEXEC_PORT_RANGE",
                                        "MPICH_PORT_RANGE", NULL};
    const char *where;
    o->iface = first_set(ifaces, &where);
    if (o->iface)
        check_iface(where, o->iface);
    o->port_range = first_set(ports, &where);
    if (o->port_range)
        check_ports(where, o->port_range);
    o->encrypt = is_yes("MILLET_ENCRYPT");
    static const char *const fabrics[] = {"MILLET_FABRIC", NULL};
    o->fabric = first_set(fabrics, &where);
    if (o->fabric)
        check_fabric(where, o->fabric);
}

static void take_gdb(reader *r, const option_row *row)
{
    r->o->gdb = next_number(r, 0, MOST_RANKS);
}

// A setting of the library, as its variable. It holds for the whole job, so sections that say
// different things cannot both be right.
static void set(reader *r, const char *name, const char *value)
{
    char *variable = mlt_text_of("MILLET_%s=%s", name, value);
    size_t prefix = strlen(variable) - strlen(value);
    for (size_t i = 0; i < r->env_before; i++) {
        const char *other = r->o->env.items[i];
        if (strncmp(other, variable, prefix) == 0 && strcmp(other, variable) != 0)
            mlt_quit(MLT_EXIT_USAGE,
                     "option %s says %s, but a section before says %s; it holds for all sections, "
                     "so they must agree",
                     r->option, variable, other);
    }
    mlt_texts_add(&r->o->env, variable);
}

// The same for the ranks of this section, and of later ones that say nothing else.
static void set_from_here(reader *r, const char *name, const char *value)
{
    mlt_texts_add(&r->o->carried, mlt_text_of("MILLET_%s=%s", name, value));
}

static bool policy_known(const char *text)
{
    static const char *const policies[] = {"direct", "rr", "priority"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(text, policies[i]) == 0)
            return true;
    char *end;
    if (strncmp(text, "random:", 7) != 0 || !isdigit((unsigned char)text[7]))
        return false;
    errno = 0;
    (void)strtoull(text + 7, &end, 0);
    return !*end && !errno;
}

static void take_sched(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    if (!policy_known(word))
        mlt_quit(MLT_EXIT_USAGE,
                 "option %s is '%s', but should be direct, rr, random:SEED or priority", r->option,
                 word);
    set_from_here(r, "SCHED", word);
}

static void take_errhandler(reader *r, const option_row *row)
{
    static const char *const known[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                        "mpi_errors_return"};
    const char *word = next_word(r);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(word, known[i]) == 0) {
            set_from_here(r, "INITIAL_ERRHANDLER", known[i]);
            return;
        }
    mlt_quit(MLT_EXIT_USAGE,
             "option %s is '%s', but should be mpi_errors_are_fatal, mpi_errors_abort or "
             "mpi_errors_return",
             r->option, word);
}

static void take_stack_size(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    char why[256];
    int64_t bytes = 0;
    mlt_setting size = {.name = r->option, .kind = MLT_SETTING_SIZE, .value = &bytes};
    if (mlt_setting_parse(&size, word, why, sizeof why) || bytes < 0)
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be a size such as 64K or 1M",
                 r->option, word);
    r->o->stack_size = bytes;
    set_from_here(r, "STACK_SIZE", word);
}

static void take_set(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    static const char prefix[] = "MILLET_";
    if (strncasecmp(word, prefix, sizeof prefix - 1) == 0)
        word += sizeof prefix - 1;
    size_t n = strcspn(word, "=");
    char name[NAME_BYTES];
    if (n == 0 || n >= sizeof name || word[n] != '=')
        mlt_quit(MLT_EXIT_USAGE, "option %s wants NAME=VALUE; `millet info` lists the names",
                 r->option);
    for (size_t i = 0; i < n; i++)
        name[i] = word[i] == '-' ? '_' : (char)toupper((unsigned char)word[i]);
    name[n] = '\0';
    if (strcmp(name, "GRAIN") == 0)
        mlt_quit(MLT_EXIT_USAGE, "option %s: grain is mpirun's own setting; use --grain %s",
                 r->option, word + n + 1);
    set(r, name, word + n + 1);
}

// The ranks may have another working directory: they get the whole path. A file that is not there
// is told with the others' faults, in launch/plan/coll.c.
static void take_coll(reader *r, const option_row *row)
{
    const char *word = next_word(r);
    char *whole = realpath(word, NULL);
    set(r, "COLL", whole ? whole : word);
    free(whole);
}

static void take_force(reader *r, const option_row *row)
{
    set(r, "FORCE", next_word(r));
}

static void take_reproducible(reader *r, const option_row *row)
{
    set(r, "REPRODUCIBLE", "yes");
}

static void take_globals(reader *r, const option_row *row)
{
    set(r, "GLOBALS", next_choice(r, MLT_GLOBALS_CHOICES, "auto, private or shared", NULL));
}

static void take_strict(reader *r, const option_row *row)
{
    set(r, "TYPE_MISMATCH", "error");
    set(r, "STRICT", "yes");
}

static void take_paths(reader *r, const option_row *row)
{
    *text_at(r, row) = next_word(r);
    set(r, "PATHS", "yes");
}

// Ranks may have other working directories.
static char *next_path(reader *r)
{
    const char *word = next_word(r);
    char *here = word[0] == '/' ? NULL : getcwd(NULL, 0);
    if (word[0] != '/' && !here)
        mlt_quit(MLT_EXIT_SYSTEM, "the working directory has no name: %s", strerror(errno));
    char *whole = here ? mlt_text_of("%s/%s", here, word) : mlt_text_of("%s", word);
    free(here);
    return whole;
}

static void take_trace(reader *r, const option_row *row)
{
    char *whole = next_path(r);
    *text_at(r, row) = whole;
    set(r, "TRACE", whole);
    r->o->trace_passing = false;
}

static void take_trace_only(reader *r, const option_row *row)
{
    set(r, "TRACE_ONLY", next_word(r));
    r->o->trace_part = true;
}

static void take_trace_paused(reader *r, const option_row *row)
{
    set(r, "TRACE_PAUSED", "yes");
    r->o->trace_part = true;
}

static void take_recorder(reader *r, const option_row *row)
{
    set(r, "RECORDER", next_choice(r, "off|on|all", "off, on or all", NULL));
}

static void take_record(reader *r, const option_row *row)
{
    *text_at(r, row) = next_path(r);
    if (r->o->trace)
        return;
    r->o->trace = mlt_text_of("%s.mlt", r->o->record);
    r->o->trace_passing = true;
    set(r, "TRACE", r->o->trace);
}

static void take_progress(reader *r, const option_row *row)
{
    const char *kind = r->value;
    r->value = NULL;
    if (kind && strcmp(kind, "plain") != 0)
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be plain, or have no value",
                 r->option, kind);
    r->o->progress = kind ? MLT_PROGRESS_PLAIN : MLT_PROGRESS_LINE;
}

static void take_configfile(reader *r, const option_row *row);
static void take_help(reader *r, const option_row *ignored);

static void take_version(reader *r, const option_row *row)
{
    puts("mpirun (Millet) " MLT_VERSION);
    exit(0);
}

#define AT(member) offsetof(mlt_options, member)

// A row without names starts a group; its help is the group's title.
static const option_row table[] = {
    {NULL, NULL, NULL, 0, "How many"},
    {"-n -np --np -c", "N", take_n, 0,
     "number of workers, each a process by default (the slots of the section's hosts, or 1)"},
    {"-nfg", "K", take_nfg, 0,
     "ranks in each worker: N*K ranks in all, numbered worker by worker (1)"},
    {"--workers", "thread|process", take_workers, 0,
     "what a worker is (process if K is 1, else thread)"},
    {"--grain", "WHAT", take_grain, 0,
     "what a rank is: a process, a thread of one process, a fiber (ranks share one worker a core), "
     "or auto: fibers if there are more ranks than cores and the program allows it, else "
     "processes; MILLET_GRAIN does the same; -nfg and --workers count more (process)"},
    {"-ppn -N -perhost --npernode", "N", take_per_host, 0,
     "workers on each host, in place of its slots; -n says how many there are in all"},
    {"-configfile --app", "FILE", take_configfile, 0,
     "read sections from FILE, one a line: options program arguments"},

    {NULL, NULL, NULL, 0, "Where"},
    {"-host -hosts -H", "LIST", take_hosts, 0,
     "hosts to run on, from this section on, with slots for n workers each (1): "
     "[user@]name[:n],...; node[01-16,20]:2 is 17 hosts; chooses among the hosts of a -hostfile, "
     "if there is one"},
    {"-hostfile -machinefile -f", "FILE", take_hostfile, 0,
     "hosts to run on, from this section on, one a line: name[:n] or [user@]name [slots=n]; "
     "MILLET_HOSTFILE, HYDRA_HOST_FILE or OMPI_MCA_orte_default_hostfile name one for all jobs"},
    {"--rsh --rsh-agent -launcher-exec", "COMMAND", take_text, AT(rsh),
     "the remote shell, called as ssh is: COMMAND host agent; MILLET_RSH does the same (ssh)"},
    {"--launch-agent", "FILE", take_text, AT(agent),
     "the mpirun to start on other hosts; MILLET_AGENT does the same (this one, by its full name)"},
    {"--silent", "SECONDS", take_silent, 0,
     "a host that says nothing for so long is lost; MILLET_SILENT does the same (5)"},
    {"--fan-out", "N", take_fan_out, 0,
     "agents that mpirun starts itself, and that each of them starts; MILLET_FAN_OUT does the same "
     "(64)"},
    {"--map-by", "WORD", take_mapping, AT(map_by),
     "which worker goes where: slot fills hosts in their order, node lets them take turns, "
     "ppr:N:node puts N on each; core, socket, numa, ... is the order in which they are pinned "
     "(slot)"},
    {"--rank-by", "WORD", take_mapping, AT(rank_by),
     "how workers are numbered: slot, one host after the other, or node, in turn (as --map-by)"},
    {"-bynode -byslot", NULL, take_by, AT(map_by), "the same as --map-by node and --map-by slot"},
    {"-nolocal -no-local", NULL, take_flag, AT(no_local),
     "leave this host out if others are named"},
    {"--show-plan --dry-run", NULL, take_flag, AT(show_plan),
     "print which hosts get which processes, workers and ranks, and start nothing"},
    {"--stage", NULL, take_flag, AT(stage),
     "copy the programs and their own libraries to the other hosts, into a folder that is removed "
     "at the end; for hosts that do not see this host's files"},
    {"--stage-file", "FILE", take_stage_file, 0,
     "copy this file, too; ranks of other hosts start in the folder that has it; may be repeated"},
    {"--iface", "LIST", take_iface, 0,
     "use only these interfaces, subnets or addresses between hosts: eth0,10.0.0.0/8; ^docker0 "
     "uses all but it; MILLET_IFACE does the same (all)"},
    {"--port-range", "A-B", take_ports, 0,
     "listen only at these ports, one a host; MILLET_PORT_RANGE does the same (any)"},
    {"--fabric", "WORD", take_fabric, 0,
     "send to other hosts by tcp, by a network of libfabric that is worth it (ofi; auto: if there "
     "is "
     "one), or by that provider (ofi:PROVIDER); MILLET_FABRIC does the same (tcp)"},
    {"--encrypt", NULL, take_flag, AT(encrypt),
     "encrypt what ranks send to other hosts; MILLET_ENCRYPT does the same"},
    {"--bind-to", "WORD", take_bind, AT(bind_to),
     "pin workers to core, hwthread, socket, numa or none (core, if workers fill more than half of "
     "the cores)"},
    {"-wdir --wd", "DIR", take_dir, 0, "working directory of this section's program"},
    {"-gwdir", "DIR", take_text, AT(dir), "working directory of all programs"},
    {"-path", "LIST", take_path, 0, "search these directories for the program before PATH"},

    {NULL, NULL, NULL, 0,
     "Environment (ranks get all of mpirun's variables unless told otherwise)"},
    {"-x", "NAME[=VALUE]", take_x, 0, "set a variable for all ranks; without =VALUE pass it on"},
    {"-genv", "NAME VALUE", take_genv, 0, "set a variable for all ranks"},
    {"-env", "NAME VALUE", take_env, 0, "set a variable for this section's ranks"},
    {"-genvlist", "A,B,...", take_genvlist, 0, "pass on only these variables"},
    {"-genvnone", NULL, take_genvnone, 0, "pass on no variables"},
    {"-envlist", "A,B,...", take_envlist, 0, "as -genvlist, for this section"},
    {"-envnone", NULL, take_envnone, 0, "as -genvnone, for this section"},
    {"--set", "NAME=VALUE", take_set, 0,
     "change a setting of the library; `millet info` lists them"},

    {NULL, NULL, NULL, 0, "Input and output"},
    {"-l -prepend-rank --tag-output", NULL, take_flag, AT(label),
     "begin each line of output with [rank]"},
    {"-outfile-pattern", "PATTERN", take_text, AT(outfile),
     "write standard output to files; %r is the rank, %h the host, %p the process id"},
    {"-errfile-pattern", "PATTERN", take_text, AT(errfile),
     "write standard error to files in the same way"},
    {"--output-filename", "DIR", take_text, AT(output_directory),
     "write both to DIR/1/rank.R/stdout and stderr"},
    {"--merge-stderr-to-stdout", NULL, take_flag, AT(merge),
     "send standard error where standard output goes"},
    {"--stdin -s", "R|none|all", take_stdin, 0, "which rank gets standard input (0)"},

    {NULL, NULL, NULL, 0, "Running"},
    {"--timeout", "SECONDS", take_timeout, 0,
     "end the job after that time, with a hang report and exit code 124; MILLET_TIMEOUT and "
     "MPIEXEC_TIMEOUT do the same"},
    {"-initial-errhandler", "NAME", take_errhandler, 0,
     "initial error handler, from this section on: mpi_errors_are_fatal, mpi_errors_abort or "
     "mpi_errors_return"},
    {"--sched", "POLICY", take_sched, 0,
     "scheduling of fibers, from this section on: direct, rr, random:SEED or priority"},
    {"--stack-size", "SIZE", take_stack_size, 0,
     "stack of each rank that is a fiber, from this section on, such as 64K"},
    {"--globals", "WHOSE", take_globals, 0,
     "private: ranks that share a process have their own global variables, as processes would, or "
     "the job does not start; auto: they have their own where that is possible; shared: they have "
     "them in common (" MLT_GLOBALS_DEFAULT ")"},
    {"--coll", "FILE", take_coll, 0,
     "use the rules and algorithms for collectives in this Lua file, which is checked before "
     "anything starts"},
    {"--force", "LIST", take_force, 0,
     "use these algorithms, whatever the rules say: allreduce=ring:segment=8K,bcast=chain"},
    {"--reproducible", NULL, take_reproducible, 0,
     "make reductions give the same bits with every algorithm and layout"},
    {"--strict", NULL, take_strict, 0,
     "treat data that are received as another basic type of the same size as an error, not a note; "
     "note at MPI_Finalize what was not received or not freed, and where it was made"},
    {"--report", NULL, take_flag, AT(report),
     "print one screen at the end: time, calls, bytes, memory; MILLET_REPORT=yes does the same"},
    {"--paths", "FILE", take_paths, AT(paths),
     "write the paths that collectives took, with times, to FILE: a drawing if its name ends with "
     ".svg; - is standard error"},
    {"--trace", "FILE", take_trace, AT(trace),
     "write what each rank does, with times, to FILE, for millet trace; on several hosts all must "
     "see the file"},
    {"--progress", "[=plain]", take_progress, 0,
     "show on the terminal how many ranks compute and wait, and how many messages they send; "
     "=plain: "
     "a line every 5 s, wherever standard error goes"},
    {"--live", "SOCKET", take_text, AT(live),
     "answer curl and Prometheus at this Unix socket, which only you can open: GET /metrics, GET "
     "/json; millet top needs no option"},
    {"--trace-only", "LIST", take_trace_only, 0,
     "keep only some ranks and calls: 0-3,MPI_Send,coll; p2p, coll and rma are kinds of calls"},
    {"--trace-paused", NULL, take_trace_paused, 0,
     "begin to trace when the program calls MPI_Pcontrol(1); MPI_Pcontrol(0) pauses"},
    {"--record", "FILE", take_record, AT(record),
     "write what the run did as a GOAL program, for millet goal: its messages, and the time "
     "between its calls"},
    {"--recorder", "WHICH", take_recorder, 0,
     "show the last calls of ranks if the job crashes or hangs: on, all (of every rank, however "
     "many there are), or off (on)"},
    {"--gdb", "R", take_gdb, 0, "start rank R under gdb"},
    {"--no-globals-note", NULL, take_flag, AT(no_globals),
     "do not name the global variables that ranks of one process share"},
    {"-q --quiet", NULL, take_flag, AT(quiet), "print no notes"},
    {"-v --verbose -d", NULL, take_flag, AT(verbose),
     "say what is started and where; name all shared global variables"},
    {"-V --version", NULL, take_version, 0, "print the version"},
    {"-h --help -?", NULL, take_help, 0, "print this"},

    // What scripts for other launchers say, and what is true or harmless here anyway.
    {NULL, NULL, NULL, 0, NULL},
    {"-genvall -envall -localonly --oversubscribe --nooversubscribe --allow-run-as-root "
     "--use-hwthread-cpus --report-bindings --display-map --display-allocation "
     "-disable-auto-cleanup -enable-x -disable-x -print-all-exitcodes "
     "-use-app-topology",
     NULL, ignore_flag, 0, NULL},
    {"-soft -arch -file -memory-alloc-kinds -usize -launcher "
     "-rmk -demux -nameserver -membind -topolib -order-nodes -bootstrap "
     "--personality --prefix -ckpointlib -localhost --cpus-per-proc "
     "--cpus-per-rank",
     "WORD", ignore_word, 0, NULL},
    {"--mca --gmca", "NAME VALUE", take_mca, 0, NULL},
    {"--pmixmca --prtemca", "NAME VALUE", ignore_two, 0, NULL},
};

enum { ROWS = sizeof table / sizeof *table };

// Calls see(spelling without dashes, its length, row) for all spellings until it returns true.
static const option_row *each_name(bool (*see)(void *arg, const char *name, size_t length),
                                   void *arg)
{
    for (size_t i = 0; i < ROWS; i++) {
        const char *at = table[i].names;
        while (at && *at) {
            size_t whole = strcspn(at, " "), dashes = strspn(at, "-");
            if (see(arg, at + dashes, whole - dashes))
                return &table[i];
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
    if (i >= ROWS)
        return false;
    *out = (mlt_option_text){table[i].names, table[i].argument, table[i].help};
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

static void help_of(const option_row *row)
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

static void take_help(reader *r, const option_row *ignored)
{
    printf("mpirun %s\n\n"
           "Starts a job of MPI ranks. Options may begin with one dash or two.\n",
           mlt_options_usage);
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].help)
            help_of(&table[i]);
    puts("\nAlso accepted, without effect:");
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].names && !table[i].help) {
            printf("  ");
            mlt_help_wrapped(stdout, table[i].names, 2, 2);
        }
    puts("\nExit code:");
    help_codes();
    exit(0);
}

static mlt_app *new_app(mlt_options *o)
{
    o->apps = mlt_take_more(o->apps, o->app_count + 1, sizeof *o->apps);
    mlt_app *app = &o->apps[o->app_count++];
    // What a worker or a rank is carries on to the next section.
    bool first = o->app_count == 1;
    *app = (mlt_app){.fine = 1,
                     .workers = first ? MLT_WORKERS_AUTO : app[-1].workers,
                     .grain = first ? o->grain : app[-1].grain};
    return app;
}

static void read_option(reader *r)
{
    char *word = *r->words++;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    wanted asked = {.name = name, .length = strlen(name)};
    r->option = word;
    const option_row *row = each_name(is_wanted, &asked);
    if (!row) {
        char *equals = strchr(word, '=');
        if (!equals)
            unknown(word, asked);
        asked.length = (size_t)(equals - name);
        row = each_name(is_wanted, &asked);
        *equals = '\0';
        if (!row)
            unknown(word, asked);
        if (!row->argument)
            mlt_quit(MLT_EXIT_USAGE, "option %s takes no value, but has '%s'", word, equals + 1);
        r->value = equals + 1;
    }
    row->take(r, row);
}

// The file's sections run on the hosts that stand beside it, until one names others.
static void end_configfile(reader *r)
{
    mlt_app *first = &r->o->apps[r->file_app];
    if (!first->list && !first->file) {
        first->list = r->app->list;
        first->file = r->app->file;
        first->own_hosts = false;
    }
    r->o->app_count--;
}

static void begin_section(reader *r)
{
    r->app = new_app(r->o);
    r->took_file = false;
    r->env_before = r->o->env.count;
}

// In order, so that the last one counts.
static void carry_on(reader *r)
{
    for (size_t i = 0; i < r->o->carried.count; i++)
        mlt_texts_add(&r->app->env, r->o->carried.items[i]);
}

// One section, up to a colon or the end. False at the end of the words.
static bool read_section(reader *r)
{
    begin_section(r);
    while (*r->words && (*r->words)[0] == '-' && (*r->words)[1]) {
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

static void take_configfile(reader *r, const option_row *row)
{
    const char *path = next_word(r);
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
        reader inner = {.o = r->o, .words = file.words, .in_file = true};
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

// The hosts of a section that names some.
static const mlt_hosts *hosts_of(const mlt_app *app, bool no_local)
{
    mlt_hosts *hosts = app->list ? app->list : app->file;
    if (app->list && app->file) {
        hosts = mlt_take(1, sizeof *hosts);
        mlt_hosts_choose(hosts, app->file, app->list);
    }
    mlt_hosts_trim(hosts, no_local);
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
    const char *where, *file = first_set(files, &where);
    if (!file || first->list || first->file)
        return;
    if (access(file, R_OK) != 0)
        mlt_quit(MLT_EXIT_USAGE, "the variable %s names the host file '%s': %s", where, file,
                 strerror(errno));
    first->file = mlt_take(1, sizeof *first->file);
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
    mlt_hosts *hosts = mlt_take(1, sizeof *hosts);
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
        app->hosts = app->list || app->file ? hosts_of(app, o->no_local) : before;
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
    char *rsh = first_set(shells, &where), *agent = getenv("MILLET_AGENT");
    const char *silent = getenv("MILLET_SILENT"), *fan_out = getenv("MILLET_FAN_OUT");
    o->rsh = rsh ? rsh : usual_shell;
    const char *more = first_set(shell_options, &where);
    if (more)
        o->rsh = mlt_text_of("%s %s", o->rsh, more);
    o->agent = agent && *agent ? agent : NULL;
    o->silent_ms = silent && *silent ? silence("MILLET_SILENT", silent) : MLT_SILENT_MS;
    o->fan_out = MLT_FAN_OUT;
    if (!fan_out || !*fan_out)
        return;
    char *words[] = {mlt_text_of("%s", fan_out), NULL};
    reader r = {.o = o, .words = words, .option = "MILLET_FAN_OUT"};
    take_fan_out(&r, NULL);
    free(words[0]);
}

static void begin_options(mlt_options *out)
{
    *out = (mlt_options){.gdb = -1, .grain = initial_grain(), .job = ""};
    read_net_variables(out);
    set_hosts_defaults(out);
}

static void read_words(reader *r, char **words)
{
    r->words = words;
    while (*r->words)
        read_option(r);
}

void mlt_options_read_kin(char **words, char ***sections, uint32_t count, mlt_options *out)
{
    begin_options(out);
    reader r = {.o = out};
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
    char *limit = first_set(limits, &where);
    if (limit)
        out->timeout_s = seconds(where, limit);
    out->report = is_yes("MILLET_REPORT");
}

void mlt_options_read(int argc, char **argv, mlt_options *out)
{
    begin_options(out);
    read_variables(out);
    reader r = {.o = out, .words = argv + (argc > 0)};
    if (!*r.words)
        mlt_quit(MLT_EXIT_USAGE, "no program to start was named; mpirun -n 4 ./program starts one, "
                                 "and mpirun --help shows the options");
    while (read_section(&r))
        ;
    take_file_of_variables(&out->apps[0]);
    use_allocation(out);
    settle_hosts(out);
    settle_fabric(out);
    if (out->output_directory && (out->outfile || out->errfile))
        mlt_quit(MLT_EXIT_USAGE,
                 "--output-filename and -outfile-pattern both say where output goes; use one");
    if (out->trace_part && !out->trace)
        mlt_quit(MLT_EXIT_USAGE, "--trace-only and --trace-paused say what is traced; --trace FILE "
                                 "or --record FILE, where to");
}
