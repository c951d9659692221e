// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/options_table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "fiber/policy.h"
#include "fiber/stack.h"
#include "image/mode.h"
#include "launch/plan/bind.h"
#include "launch/plan/deal.h"
#include "launch/plan/hosts.h"
#include "launch/say.h"
#include "net/iface.h"

enum { OPTIONS_TABLE_MOST_RANKS = INT32_MAX, OPTIONS_TABLE_NAME_BYTES = 64 };

#define AT(member)     offsetof(mlt_options, member)
#define AT_APP(member) offsetof(mlt_app, member)

char *mlt_option_word(mlt_option_reader *r)
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

int64_t mlt_option_number(mlt_option_reader *r, int64_t least, int64_t most)
{
    const char *text = mlt_option_word(r);
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
static const char *next_choice(mlt_option_reader *r, const char *choices, const char *wanted,
                               int64_t *index)
{
    const char *word = mlt_option_word(r);
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

static char **options_table_text_at(mlt_option_reader *r, const mlt_option_row *row)
{
    return (char **)((char *)r->o + row->at);
}

static void take_flag(mlt_option_reader *r, const mlt_option_row *row)
{
    *(bool *)((char *)r->o + row->at) = true;
}

static void options_table_take_text(mlt_option_reader *r, const mlt_option_row *row)
{
    *options_table_text_at(r, row) = mlt_option_word(r);
}

// With as many words as its argument has.
static void ignore(mlt_option_reader *r, const mlt_option_row *row)
{
    for (const char *at = row->argument; at; at = strchr(at + 1, ' '))
        (void)mlt_option_word(r);
}

static void take_app_text(mlt_option_reader *r, const mlt_option_row *row)
{
    *(char **)((char *)r->app + row->at) = mlt_option_word(r);
}

static void take_app_ranks(mlt_option_reader *r, const mlt_option_row *row)
{
    *(uint32_t *)((char *)r->app + row->at) =
        (uint32_t)mlt_option_number(r, 1, OPTIONS_TABLE_MOST_RANKS);
}

static void take_nfg(mlt_option_reader *r, const mlt_option_row *row)
{
    take_app_ranks(r, row);
    r->app->said_fine = true;
}

static void take_workers(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
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

static void take_grain(mlt_option_reader *r, const mlt_option_row *row)
{
    int64_t grain;
    (void)next_choice(r, MLT_GRAIN_CHOICES, "auto, process, thread or fiber", &grain);
    r->app->grain = (mlt_grain)grain;
    r->app->said_grain = true;
    if (!r->app->said_workers)
        r->app->workers = MLT_WORKERS_AUTO; // that of a section before
}

// Lists of one section add up, and so do files.
static mlt_hosts *begun(mlt_option_reader *r, mlt_hosts **hosts)
{
    r->app->own_hosts = true;
    if (!*hosts)
        *hosts = mlt_xcalloc(1, sizeof **hosts);
    return *hosts;
}

static void take_hosts(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *list = mlt_option_word(r);
    mlt_hosts_add_list(begun(r, &r->app->list), r->option, list);
}

static void take_hostfile(mlt_option_reader *r, const mlt_option_row *row)
{
    mlt_hosts_add_file(begun(r, &r->app->file), mlt_option_word(r));
}

static void take_gpus(mlt_option_reader *r, const mlt_option_row *row)
{
    char why[256];
    r->app->gpus = mlt_option_word(r);
    if (!mlt_deal_known(r->app->gpus, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', which %s", r->option, r->app->gpus, why);
}

// "K V" or "K=V".
static char *next_variable(mlt_option_reader *r)
{
    char *name = mlt_option_word(r);
    if (!*name || *name == '=')
        mlt_quit(MLT_EXIT_USAGE, "option %s wants the name of a variable, not '%s'", r->option,
                 name);
    return strchr(name, '=') ? name : mlt_text_of("%s=%s", name, mlt_option_word(r));
}

static void take_genv(mlt_option_reader *r, const mlt_option_row *row)
{
    mlt_texts_add(&r->o->env, next_variable(r));
}

static void take_env(mlt_option_reader *r, const mlt_option_row *row)
{
    mlt_texts_add(&r->app->env, next_variable(r));
}

static void take_x(mlt_option_reader *r, const mlt_option_row *row)
{
    char *word = mlt_option_word(r);
    if (!*word || *word == '=')
        mlt_quit(MLT_EXIT_USAGE, "option %s wants NAME or NAME=VALUE, not '%s'", r->option, word);
    const char *now = strchr(word, '=') ? NULL : getenv(word);
    if (now)
        mlt_texts_add(&r->o->env, mlt_text_of("%s=%s", word, now));
    else if (strchr(word, '='))
        mlt_texts_add(&r->o->env, word);
}

static void take_genvnone(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->env_mode = MLT_ENV_NONE;
}

static void take_genvlist(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->env_mode = MLT_ENV_LIST;
    r->o->env_list = mlt_option_word(r);
}

static void take_envnone(mlt_option_reader *r, const mlt_option_row *row)
{
    r->app->env_mode = MLT_ENV_NONE;
}

static void take_envlist(mlt_option_reader *r, const mlt_option_row *row)
{
    r->app->env_mode = MLT_ENV_LIST;
    r->app->env_list = mlt_option_word(r);
}

static void take_stdin(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    char *end;
    long long n = strtoll(word, &end, 10);
    if (strcmp(word, "none") == 0)
        r->o->stdin_rank = MLT_STDIN_NONE;
    else if (strcmp(word, "all") == 0)
        r->o->stdin_rank = MLT_STDIN_ALL;
    else if (end != word && !*end && n >= 0 && n <= OPTIONS_TABLE_MOST_RANKS)
        r->o->stdin_rank = n;
    else
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be a rank, none or all", r->option,
                 word);
}

double mlt_option_seconds(const char *where, const char *text)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !isfinite(s) || s < 0 || s > 1e9)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be a number of seconds", where, text);
    return s;
}

int64_t mlt_option_silence(const char *where, const char *text)
{
    double s = mlt_option_seconds(where, text);
    if (s < 2 || s > 86400)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be from 2 to 86400 seconds", where, text);
    return (int64_t)(s * 1000);
}

static void take_silent(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->silent_ms = mlt_option_silence(r->option, mlt_option_word(r));
}

void mlt_option_take_fan_out(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->fan_out = mlt_option_number(r, 1, MLT_HOSTS_MOST);
}

// MPI_UNIVERSE_SIZE. SYSTEM: what note_universe of launch.c finds.
static void take_usize(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    char *end;
    errno = 0;
    long long n = strtoll(word, &end, 10);
    bool all = strcasecmp(word, "INFINITE") == 0;
    if (strcasecmp(word, "SYSTEM") == 0)
        return;
    if (!all && (*end || end == word || errno || n < 1 || n > INT32_MAX))
        mlt_quit(MLT_EXIT_USAGE,
                 "option %s is '%s', but should be a number of ranks from 1 to %d, SYSTEM or "
                 "INFINITE",
                 r->option, word, INT32_MAX);
    mlt_texts_add(&r->o->env, mlt_text_of("MILLET_UNIVERSE=%lld", all ? (long long)INT32_MAX : n));
}

static void take_timeout(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->timeout_s = mlt_option_seconds(r->option, mlt_option_word(r));
}

static void take_bind(mlt_option_reader *r, const mlt_option_row *row)
{
    char *word = mlt_option_word(r);
    char why[256];
    mlt_bind_modifiers ignored;
    if (!mlt_bind_word_read(word, &ignored, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
    *options_table_text_at(r, row) = word;
}

// --map-by and --rank-by, which also say which host gets which rank.
void mlt_option_take_mapping(mlt_option_reader *r, const mlt_option_row *row)
{
    char why[256];
    *options_table_text_at(r, row) = mlt_option_word(r);
    if (!mlt_mapping_read(r->o->map_by, r->o->rank_by, &r->o->mapping, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
    r->o->no_local |= r->o->mapping.no_local;
    r->o->no_oversubscribe |= r->o->mapping.no_oversubscribe;
}

static void take_cpu_set(mlt_option_reader *r, const mlt_option_row *row)
{
    char why[256];
    *options_table_text_at(r, row) = mlt_option_word(r);
    if (!mlt_bind_list_known(*options_table_text_at(r, row), why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
}

static void take_by(mlt_option_reader *r, const mlt_option_row *row)
{
    static char slot[] = "slot", node[] = "node";
    r->value = strstr(r->option, "node") ? node : slot;
    mlt_option_take_mapping(r, row);
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

// A fabric does not encrypt: whoever asks for both gets TCP, unless it must be the fabric.
void mlt_option_settle_fabric(mlt_options *o)
{
    if (o->fabric && o->encrypt && strncmp(o->fabric, "ofi", 3) == 0)
        mlt_quit(MLT_EXIT_USAGE,
                 "--encrypt and --fabric %s exclude each other: what goes by a fabric is not "
                 "encrypted; --fabric tcp or auto uses TCP",
                 o->fabric);
    if (o->fabric)
        mlt_texts_add(&o->env, mlt_text_of("MILLET_FABRIC=%s", o->encrypt ? "tcp" : o->fabric));
    if (o->fabric_trust)
        mlt_texts_add(&o->env, mlt_text_of("MILLET_FABRIC_TRUST=1"));
}

// Open MPI's parameters, of which some say something here.
static void take_mca(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *name = mlt_option_word(r);
    char *value = mlt_option_word(r);
    if (strcmp(name, "plm_rsh_agent") == 0 || strcmp(name, "plm_ssh_agent") == 0)
        r->o->rsh = value;
    bool without = strcmp(name, "btl_tcp_if_exclude") == 0;
    if (!without && strcmp(name, "btl_tcp_if_include") != 0)
        return;
    r->o->iface = without ? mlt_text_of("^%s", value) : value;
    check_iface(name, r->o->iface);
}

static void take_stage_file(mlt_option_reader *r, const mlt_option_row *row)
{
    r->o->stage = true;
    mlt_texts_add(&r->o->stage_files, mlt_option_word(r));
}

// The first of these variables that is set, and its value.
char *mlt_option_variable(const char *const *names, const char **found)
{
    for (; *names; names++) {
        char *value = getenv(*names);
        *found = *names;
        if (value && *value)
            return value;
    }
    return NULL;
}

bool mlt_option_is_yes(const char *variable)
{
    const char *text = getenv(variable);
    char why[256];
    int64_t yes = 0;
    const mlt_setting setting = {.name = variable, .kind = MLT_SETTING_BOOL, .value = &yes};
    if (text && *text && mlt_setting_parse(&setting, text, why, sizeof why) != MLT_OK)
        mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be yes or no", variable, text);
    return yes;
}

// Texts that options or variables say.
static const struct {
    size_t at;
    void (*check)(const char *where, const char *text);
    const char *variables[4];
} nets[] = {
    {AT(iface), check_iface, {"MILLET_IFACE", "HYDRA_IFACE", "OMPI_MCA_btl_tcp_if_include"}},
    {AT(port_range), check_ports, {"MILLET_PORT_RANGE", "MPIEXEC_PORT_RANGE", "MPICH_PORT_RANGE"}},
    {AT(fabric), check_fabric, {"MILLET_FABRIC"}},
};

static void take_net(mlt_option_reader *r, const mlt_option_row *row)
{
    options_table_take_text(r, row);
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (nets[i].at == row->at)
            nets[i].check(r->option, *options_table_text_at(r, row));
}

void mlt_option_net_variables(mlt_options *o)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const char *where;
        char *text = mlt_option_variable(nets[i].variables, &where);
        if (text)
            nets[i].check(where, text);
        *(char **)((char *)o + nets[i].at) = text;
    }
    o->encrypt = mlt_option_is_yes("MILLET_ENCRYPT");
    o->fabric_trust = mlt_option_is_yes("MILLET_FABRIC_TRUST");
}

// MPICH's has no value.
static void take_gdb(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *next = r->value ? r->value : *r->words;
    bool rank = r->value || !next || isdigit((unsigned char)next[strspn(next, "-")]);
    r->o->gdb = rank ? mlt_option_number(r, 0, OPTIONS_TABLE_MOST_RANKS) : 0;
    if (!rank)
        mlt_texts_add(&r->o->notes,
                      mlt_text_of("rank 0 is started under gdb; %s R chooses rank R", r->option));
}

// A setting of the library, as its variable. It holds for the whole job, so sections that say
// different things cannot both be right.
static void set(mlt_option_reader *r, const char *name, const char *value)
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
static void set_from_here(mlt_option_reader *r, const char *name, const char *value)
{
    mlt_texts_add(&r->o->carried, mlt_text_of("MILLET_%s=%s", name, value));
}

static void take_sched(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    uint64_t argument;
    char why[256];
    if (!mlt_policy_find(word, &argument, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, why);
    const char *file = mlt_policy_file(word);
    if (!file) {
        set_from_here(r, "SCHED", word);
        return;
    }
    char *whole = realpath(file, NULL); // ranks may start in another directory
    if (!whole)
        mlt_quit(MLT_EXIT_USAGE, "option %s: there is no file '%s'", r->option, file);
    set_from_here(r, "SCHED", mlt_text_of("plugin:%s", whole));
    free(whole);
}

const char *mlt_option_errhandler(const char *name)
{
    static const char *const known[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                        "mpi_errors_return"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(name, known[i]) == 0)
            return known[i];
    return NULL;
}

static void take_errhandler(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r), *known = mlt_option_errhandler(word);
    if (!known)
        mlt_quit(MLT_EXIT_USAGE,
                 "option %s is '%s', but should be mpi_errors_are_fatal, mpi_errors_abort or "
                 "mpi_errors_return",
                 r->option, word);
    set_from_here(r, "INITIAL_ERRHANDLER", known);
}

// Kinds that are not known are not supported, which the program is told.
static void take_memkinds(mlt_option_reader *r, const mlt_option_row *row)
{
    set_from_here(r, "MEMORY_ALLOC_KINDS", mlt_option_word(r));
}

static void take_stack_size(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    char why[256];
    int64_t bytes = 0;
    mlt_setting size = {.name = r->option, .kind = MLT_SETTING_SIZE, .value = &bytes};
    if (mlt_setting_parse(&size, word, why, sizeof why) || bytes < 0)
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be a size such as 64K or 1M",
                 r->option, word);
    r->o->stack_size = bytes;
    set_from_here(r, "STACK_SIZE", word);
    // The loader, which looks up a function at its first call, would take 3 KiB of such a stack.
    if (bytes && bytes < MLT_STACK_ROOMY)
        mlt_texts_add(&r->o->carried, mlt_text_of("LD_BIND_NOW=1"));
}

static void take_set(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    static const char prefix[] = "MILLET_";
    if (strncasecmp(word, prefix, sizeof prefix - 1) == 0)
        word += sizeof prefix - 1;
    size_t n = strcspn(word, "=");
    char name[OPTIONS_TABLE_NAME_BYTES];
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
static void take_coll(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *word = mlt_option_word(r);
    char *whole = realpath(word, NULL);
    set(r, "COLL", whole ? whole : word);
    free(whole);
}

static void take_force(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "FORCE", mlt_option_word(r));
}

static void take_reproducible(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "REPRODUCIBLE", "yes");
}

static void take_globals(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "GLOBALS", next_choice(r, MLT_GLOBALS_CHOICES, "auto, private or shared", NULL));
}

static void take_strict(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "TYPE_MISMATCH", "error");
    set(r, "STRICT", "yes");
}

// A file to write. Others' options of the same name have no value: what stands there then is the
// next option, or the program.
static char *next_new_file(mlt_option_reader *r)
{
    char *word = mlt_option_word(r);
    struct stat about;
    if (word[0] == '-' && word[1])
        mlt_quit(MLT_EXIT_USAGE, "option %s wants the name of a file to write, not '%s'", r->option,
                 word);
    if (stat(word, &about) == 0 && S_ISREG(about.st_mode) && access(word, X_OK) == 0)
        mlt_quit(MLT_EXIT_USAGE,
                 "option %s wants the name of a file to write, but '%s' is a program; put the name "
                 "before it",
                 r->option, word);
    return word;
}

static void take_new_file(mlt_option_reader *r, const mlt_option_row *row)
{
    *options_table_text_at(r, row) = next_new_file(r);
}

static void take_paths(mlt_option_reader *r, const mlt_option_row *row)
{
    *options_table_text_at(r, row) = next_new_file(r);
    set(r, "PATHS", "yes");
}

// Ranks may have other working directories.
static char *next_path(mlt_option_reader *r)
{
    const char *word = next_new_file(r);
    char *here = word[0] == '/' ? NULL : getcwd(NULL, 0);
    if (word[0] != '/' && !here)
        mlt_quit(MLT_EXIT_SYSTEM, "the working directory has no name: %s", strerror(errno));
    char *whole = here ? mlt_text_of("%s/%s", here, word) : mlt_text_of("%s", word);
    free(here);
    return whole;
}

static void options_table_take_trace(mlt_option_reader *r, const mlt_option_row *row)
{
    char *whole = next_path(r);
    *options_table_text_at(r, row) = whole;
    set(r, "TRACE", whole);
    r->o->trace_passing = false;
}

static void take_trace_only(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "TRACE_ONLY", mlt_option_word(r));
    r->o->trace_part = true;
}

static void take_trace_paused(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "TRACE_PAUSED", "yes");
    r->o->trace_part = true;
}

static void take_recorder(mlt_option_reader *r, const mlt_option_row *row)
{
    set(r, "RECORDER", next_choice(r, "off|on|all", "off, on or all", NULL));
}

static void take_record(mlt_option_reader *r, const mlt_option_row *row)
{
    *options_table_text_at(r, row) = next_path(r);
    set(r, "TRACE_RANKS", "yes");
    if (r->o->trace)
        return;
    r->o->trace = mlt_text_of("%s.mlt", r->o->record);
    r->o->trace_passing = true;
    set(r, "TRACE", r->o->trace);
}

static void take_progress(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *kind = r->value;
    r->value = NULL;
    if (kind && strcmp(kind, "plain") != 0)
        mlt_quit(MLT_EXIT_USAGE, "option %s is '%s', but should be plain, or have no value",
                 r->option, kind);
    r->o->progress = kind ? MLT_PROGRESS_PLAIN : MLT_PROGRESS_LINE;
}

static void take_version(mlt_option_reader *r, const mlt_option_row *row)
{
    puts("mpirun (Millet) " MLT_VERSION);
    exit(0);
}

// The word that follows stays, as the first one that is no option.
static void take_program(mlt_option_reader *r, const mlt_option_row *row)
{
    (void)row;
    if (r->value)
        mlt_quit(MLT_EXIT_USAGE, "option -e: the program is a word of its own: -e %s", r->value);
    r->ended = true;
}

const mlt_option_row mlt_option_rows[] = {
    {NULL, NULL, NULL, 0, "How many"},
    {"-n -np --np -c", "N", take_app_ranks, AT_APP(n),
     "number of workers, each a process by default (the slots of the section's hosts, or 1)"},
    {"-nfg", "K", take_nfg, AT_APP(fine),
     "ranks in each worker: N*K ranks in all, numbered worker by worker (1)"},
    {"--workers", "thread|process", take_workers, 0,
     "what a worker is (process if K is 1, else thread)"},
    {"--grain", "WHAT", take_grain, 0,
     "what a rank is: a process, a thread of one process, a fiber (ranks share one worker a core), "
     "or auto: fibers if there are more ranks than cores and the program allows it, else "
     "processes; MILLET_GRAIN does the same; -nfg and --workers count more (process)"},
    {"-ppn -N -perhost --npernode", "N", take_app_ranks, AT_APP(per_host),
     "workers on each host, in place of its slots; -n says how many there are in all"},
    {"-e", "PROGRAM", take_program, 0,
     "the program, after which its arguments follow; the same as PROGRAM alone"},
    {"-configfile --app", "FILE", mlt_option_take_configfile, 0,
     "read sections from FILE, one a line: options program arguments"},

    {NULL, NULL, NULL, 0, "Where"},
    {"-host -hosts -H", "LIST", take_hosts, 0,
     "hosts to run on, from this section on, with slots for n workers each (1): "
     "[user@]name[:n],...; node[01-16,20]:2 is 17 hosts; chooses among the hosts of a -hostfile, "
     "if there is one"},
    {"-hostfile -machinefile -f", "FILE", take_hostfile, 0,
     "hosts to run on, from this section on, one a line: name[:n] or [user@]name [slots=n]; "
     "MILLET_HOSTFILE, HYDRA_HOST_FILE or OMPI_MCA_orte_default_hostfile name one for all jobs"},
    {"--rsh --rsh-agent -launcher-exec", "COMMAND", options_table_take_text, AT(rsh),
     "the remote shell, called as ssh is: COMMAND host agent; local starts the agents of all hosts "
     "here, whatever their names, so that messages pass sockets; MILLET_RSH does the same (ssh)"},
    {"--launch-agent", "FILE", options_table_take_text, AT(agent),
     "the mpirun to start on other hosts; MILLET_AGENT does the same (this one, by its full name)"},
    {"--silent", "SECONDS", take_silent, 0,
     "a host that says nothing for so long is lost; MILLET_SILENT does the same (5)"},
    {"--fan-out", "N", mlt_option_take_fan_out, 0,
     "agents that mpirun starts itself, and that each of them starts; MILLET_FAN_OUT does the same "
     "(64)"},
    {"--map-by", "WORD", mlt_option_take_mapping, AT(map_by),
     "which worker goes where: slot fills hosts in their order, node lets them take turns, "
     "ppr:N:node puts N on each; core, socket, numa, ... is the order in which they are pinned; "
     "with :PE=N each has N cores (slot)"},
    {"--rank-by", "WORD", mlt_option_take_mapping, AT(rank_by),
     "how workers are numbered: slot, one host after the other, or node, in turn (as --map-by)"},
    {"-bynode -byslot", NULL, take_by, AT(map_by), "the same as --map-by node and --map-by slot"},
    {"-nolocal -no-local", NULL, take_flag, AT(no_local),
     "leave this host out if others are named"},
    {"--show-plan --dry-run", NULL, take_flag, AT(show_plan),
     "print which hosts get which processes, workers and ranks, and start nothing"},
    {"--display-map --display-allocation -print-rank-map", NULL, take_flag, AT(display_map),
     "print the same to standard error, and start them"},
    {"--report-bindings", NULL, take_flag, AT(report_bindings),
     "say to which processors each process and worker is pinned"},
    {"--stage", NULL, take_flag, AT(stage),
     "copy the programs and their own libraries to the other hosts, into a folder that is removed "
     "at the end; for hosts that do not see this host's files"},
    {"--stage-file", "FILE", take_stage_file, 0,
     "copy this file, too; ranks of other hosts start in the folder that has it; may be repeated"},
    {"--iface", "LIST", take_net, AT(iface),
     "use only these interfaces, subnets or addresses between hosts: eth0,10.0.0.0/8; ^docker0 "
     "uses all but it; MILLET_IFACE does the same (all)"},
    {"--port-range", "A-B", take_net, AT(port_range),
     "listen only at these ports, one a host; MILLET_PORT_RANGE does the same (any)"},
    {"--fabric", "WORD", take_net, AT(fabric),
     "send to other hosts by tcp, by a network of libfabric that is worth it (ofi; auto: if there "
     "is "
     "one), or by that provider (ofi:PROVIDER); MILLET_FABRIC does the same (tcp)"},
    {"--fabric-trust", NULL, take_flag, AT(fabric_trust),
     "take a provider of --fabric whose keys to memory can be guessed, too: whoever reaches its "
     "network could read messages; MILLET_FABRIC_TRUST does the same"},
    {"--encrypt", NULL, take_flag, AT(encrypt),
     "encrypt what ranks send to other hosts; MILLET_ENCRYPT does the same"},
    {"--bind-to", "WORD", take_bind, AT(bind_to),
     "pin workers to core, hwthread, socket, numa or none (core, if there is one for each that no "
     "other job has pinned workers to, and workers fill more than half of them or nothing else "
     "runs)"},
    {"--cpu-set --cpu-list", "LIST", take_cpu_set, AT(cpu_set),
     "processors that ranks may use on each host: 0-3,8 (those that mpirun may use)"},
    {"--nooversubscribe --no-oversubscribe", NULL, take_flag, AT(no_oversubscribe),
     "refuse to start more workers on a host than it has slots, or cores if nobody says slots"},
    {"--cpus-per-rank --cpus-per-proc", "N", mlt_option_take_cores, AT(map_by),
     "the same as PE=N of --map-by"},
    {"--gpus -gpus-per-proc", "N|LIST|auto|none", take_gpus, 0,
     "GPUs of its host for each rank, from this section on: N in turn, one of a LIST (0,2,3 or "
     "0-3; "
     "of one: 2,), its share of all, or none; sets CUDA_VISIBLE_DEVICES, and MILLET_GPU_DEVICE for "
     "ranks that share a process (all that CUDA_VISIBLE_DEVICES names)"},
    {"--mca --gmca", "NAME VALUE", take_mca, 0,
     "Open MPI's parameters: plm_rsh_agent is --rsh, btl_tcp_if_include and btl_tcp_if_exclude are "
     "--iface; others have no effect"},
    {"-wdir --wd", "DIR", take_app_text, AT_APP(dir),
     "working directory of this section's program"},
    {"-gwdir", "DIR", options_table_take_text, AT(dir), "working directory of all programs"},
    {"-path", "LIST", take_app_text, AT_APP(path),
     "search these directories for the program before PATH"},

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
    {"--timestamp --timestamp-output", NULL, take_flag, AT(timestamp),
     "begin each line of output with date and time, to the millisecond"},
    {"--output", "LIST", mlt_option_take_output, 0,
     "the same in Open MPI's words: tag, timestamp, merge, dir=DIR, with commas between them"},
    {"-outfile-pattern", "PATTERN", options_table_take_text, AT(outfile),
     "write standard output to files; %r is the rank, %h the host, %p the process id"},
    {"-errfile-pattern", "PATTERN", options_table_take_text, AT(errfile),
     "write standard error to files in the same way"},
    {"--output-filename", "DIR", options_table_take_text, AT(output_directory),
     "write both to DIR/1/rank.R/stdout and stderr"},
    {"--merge-stderr-to-stdout", NULL, take_flag, AT(merge),
     "send standard error where standard output goes"},
    {"--stdin -s", "R|none|all", take_stdin, 0, "which rank gets standard input (0)"},

    {NULL, NULL, NULL, 0, "Running"},
    {"--timeout", "SECONDS", take_timeout, 0,
     "end the job after that time, with a hang report and exit code 124; MILLET_TIMEOUT and "
     "MPIEXEC_TIMEOUT do the same"},
    {"-usize", "N|SYSTEM|INFINITE", take_usize, 0,
     "MPI_UNIVERSE_SIZE: that many ranks, the slots or cores there are, or as many as one likes "
     "(SYSTEM)"},
    {"-initial-errhandler", "NAME", take_errhandler, 0,
     "initial error handler, from this section on: mpi_errors_are_fatal, mpi_errors_abort or "
     "mpi_errors_return"},
    {"-memory-alloc-kinds --memory-allocation-kinds", "LIST", take_memkinds, 0,
     "kinds of memory that the program asks for, from this section on: mpi, system, cuda, "
     "cuda:device, ...; the info key mpi_memory_alloc_kinds tells it which are supported "
     "(mpi,system)"},
    {"--sched", "POLICY", take_sched, 0,
     "scheduling of fibers, from this section on: direct, rr, poll, random:SEED, priority, or "
     "FILE.so, a policy of your own"},
    {"--stack-size", "SIZE", take_stack_size, 0,
     "stack of each rank that is a fiber, from this section on, such as 64K; 4K at least"},
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
     "treat data that are received as another basic type of the same size as an error, not a note, "
     "and so requests of different sessions in one call; "
     "note at MPI_Finalize what was not received or not freed, and where it was made"},
    {"--report", NULL, take_flag, AT(report),
     "print one screen at the end: time, calls, bytes, memory; MILLET_REPORT=yes does the same"},
    {"--paths", "FILE", take_paths, AT(paths),
     "write the paths that collectives took, with times, to FILE: a drawing if its name ends with "
     ".svg; - is standard error"},
    {"--trace", "FILE", options_table_take_trace, AT(trace),
     "write what each rank does, with times, to FILE, for millet trace; ranks of other hosts send "
     "it their part"},
    {"--progress", "[=plain]", take_progress, 0,
     "show on the terminal how many ranks compute and wait, and how many messages they send; "
     "=plain: "
     "a line every 5 s, wherever standard error goes"},
    {"--live", "SOCKET", take_new_file, AT(live),
     "answer curl and Prometheus at this Unix socket, which only you can open: GET /metrics, GET "
     "/json; millet top needs no option"},
    {"--trace-only", "LIST", take_trace_only, 0,
     "keep only some ranks and calls: 0-3,MPI_Send,coll; p2p, coll and rma are kinds of calls"},
    {"--trace-paused", NULL, take_trace_paused, 0,
     "begin to trace when the program calls MPI_Pcontrol(1), or when asked: millet trace JOB "
     "start; MPI_Pcontrol(0) and millet trace JOB stop pause"},
    {"--record", "FILE", take_record, AT(record),
     "write what the run did as a GOAL program, for millet goal: its messages, and the time "
     "between its calls"},
    {"--recorder", "WHICH", take_recorder, 0,
     "show the last calls of ranks if the job crashes or hangs: on, all (of every rank, however "
     "many there are), or off (on)"},
    {"--gdb", "[R]", take_gdb, 0, "start rank R under gdb (0)"},
    {"-q --quiet", NULL, take_flag, AT(quiet), "print no notes"},
    {"-v --verbose -d", NULL, take_flag, AT(verbose),
     "say what is started and where; name all shared global variables"},
    {"-V --version", NULL, take_version, 0, "print the version"},
    {"-h --help -?", NULL, mlt_option_take_help, 0, "print this"},

    // What scripts for other launchers say, and what is true or harmless here anyway.
    {NULL, NULL, NULL, 0, NULL},
    {"-genvall -envall -localonly --oversubscribe --allow-run-as-root --use-hwthread-cpus "
     "-enable-x -disable-x -use-app-topology --report-state-on-timeout",
     NULL, ignore, 0, NULL},
    {"-soft -arch -file -launcher "
     "-rmk -demux -nameserver -topolib -order-nodes -bootstrap "
     "--personality --prefix -localhost",
     "WORD", ignore, 0, NULL},
    {"--pmixmca --prtemca", "NAME VALUE", ignore, 0, NULL},
};

const size_t mlt_option_row_count = sizeof mlt_option_rows / sizeof *mlt_option_rows;
