// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/machine.h"

#include <stddef.h>
#include <string.h>

#include "tools/progress.h"

enum { WHERE_BYTES = 512 };

const char *mlt_machine_params, *mlt_machine_file;
static mlt_loggops machine_asked;

mlt_arg mlt_machine_args[MLT_MACHINE_ARGS] = {
    {"params", 0, MLT_ARG_TEXT, &mlt_machine_params, "FILE",
     .help = "the machine's parameters, as `millet goal measure` writes them"},
    {"L", 0, MLT_ARG_REAL, &machine_asked.L, "NS", .help = "latency between two ranks (2500)"},
    {"o", 0, MLT_ARG_REAL, &machine_asked.o, "NS",
     .help = "CPU overhead of a message, at both ends (1500)"},
    {"g", 0, MLT_ARG_REAL, &machine_asked.g, "NS", .help = "gap between messages of a NIC (1000)"},
    {"G", 0, MLT_ARG_REAL, &machine_asked.G, "NS", .help = "gap per byte (6)"},
    {"O", 0, MLT_ARG_REAL, &machine_asked.O, "NS", .help = "CPU overhead per byte (0)"},
    {"S", 0, MLT_ARG_SIZE, &machine_asked.S, "BYTES",
     .help = "larger messages wait for their receive, by rendezvous (65535)"},
    {"exec", 0, MLT_ARG_REAL, &machine_asked.exec, "NS",
     .help = "cost of a local operation per byte (0)"},
};

static const mlt_arg *const parameters_begin = &mlt_machine_args[1],
                            *const parameters_end = &mlt_machine_args[MLT_MACHINE_ARGS];

static const char *given_parameter(void)
{
    return mlt_args_given(MLT_ARG_LIST(mlt_machine_args), "params L o g G O S exec");
}

bool mlt_machine_given(void)
{
    return mlt_machine_file || given_parameter();
}

// Where the value of a parameter is in that machine.
static void *field(mlt_loggops *machine, const mlt_arg *parameter)
{
    return (char *)machine + ((char *)parameter->value - (char *)&machine_asked);
}

// One line without its end and comment. True: it has a parameter.
static bool parse_line(const char *where, char *line, mlt_loggops *out)
{
    static const char between[] = " \t=:\r";
    char *name = line + strspn(line, between), what[WHERE_BYTES + 16];
    if (!*name)
        return false;
    size_t length = strcspn(name, between);
    char *value = name + length + strspn(name + length, between);
    const mlt_arg *p = parameters_begin;
    while (p < parameters_end && (strlen(p->name) != length || memcmp(p->name, name, length) != 0))
        p++;
    if (p == parameters_end)
        mlt_args_failed("%s: '%.*s' is no parameter; L, o, g, G, O, S and exec are there", where,
                        (int)length, name);
    size_t end = strlen(value); // blanks after it are no part of it
    while (end && strchr(between, value[end - 1]))
        value[--end] = '\0';
    snprintf(what, sizeof what, "%s: %s", where, p->name);
    mlt_arg arg = {.kind = p->kind, .value = field(out, p)};
    if (!mlt_arg_parse(&arg, what, value))
        mlt_args_failed("%s", mlt_args_why);
    return true;
}

void mlt_machine_parse(const char *name, const char *text, mlt_loggops *out)
{
    int number = 1;
    bool found = false;
    for (const char *at = text; *at; number++) {
        size_t length = strcspn(at, "\n");
        char line[256], where[WHERE_BYTES];
        snprintf(line, sizeof line, "%.*s", (int)(length < 255 ? length : 255), at);
        line[strcspn(line, "#")] = '\0';
        snprintf(where, sizeof where, "%s:%d", name, number);
        found |= parse_line(where, line, out);
        at += length + (at[length] == '\n');
    }
    if (!found)
        mlt_args_failed("'%s' has no parameter: lines such as 'L 2500' are expected", name);
}

mlt_loggops mlt_machine_read(void)
{
    mlt_loggops out = mlt_loggops_default;
    if (mlt_machine_params)
        mlt_machine_parse(mlt_machine_params, mlt_source_text(mlt_machine_params), &out);
    for (const mlt_arg *p = parameters_begin; p < parameters_end; p++)
        if (p->given)
            memcpy(field(&out, p), p->value, sizeof(double)); // all have as many bytes
    return out;
}
_Static_assert(sizeof(double) == sizeof(uint64_t), "S is copied as the others are");

mlt_cluster *mlt_machine_read_cluster(void)
{
    static mlt_cluster *cluster;
    if (!mlt_machine_file)
        return NULL;
    if (given_parameter())
        mlt_args_wrong("--machine describes the whole machine; --params, --L and the like are for "
                       "machines without a description");
    mlt_source_file file = mlt_source_file_read(mlt_machine_file);
    mlt_args_must(
        mlt_cluster_read(mlt_machine_file, file.bytes, file.size, &cluster, MLT_ARGS_WHY));
    return cluster;
}

mlt_sim_result *mlt_machine_simulate(const mlt_source *source, const mlt_loggops *machine,
                                     const mlt_cluster *cluster, bool keep_times, bool keep_path)
{
    mlt_progress progress;
    mlt_sim_result *result = NULL;
    mlt_sim_options options = {.machine = *machine,
                               .cluster = cluster,
                               .keep_times = keep_times,
                               .keep_path = keep_path,
                               .by_arrival = mlt_source_is_loggopsim(source),
                               .progress = mlt_progress_step,
                               .user = &progress};
    mlt_goal_program shell = *source->program;
    if (source->regular) {
        shell.ranks = mlt_goal_regular_ranks(source->regular);
        options.part = mlt_source_part;
        options.part_arg = (void *)(uintptr_t)source;
    }
    mlt_progress_begin(&progress, "simulating");
    mlt_status status = mlt_sim_simulate(&shell, &options, &result, MLT_ARGS_WHY);
    mlt_progress_end(&progress);
    if (status != MLT_OK)
        mlt_args_failed("%s: %s", source->name, mlt_args_why);
    return result;
}
