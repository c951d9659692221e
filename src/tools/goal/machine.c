// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/machine.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/goal/source.h"

enum { MACHINE_WHY_BYTES = 512, LONGEST_FILE = 1 << 16 };

static const struct {
    const char *name, *word, *help;
    size_t at; // in mlt_loggops
} parameters[MLT_MACHINE_PARAMETERS] = {
    {"L", "NS", "latency between two ranks (2500)", offsetof(mlt_loggops, L)},
    {"o", "NS", "CPU overhead of a message, at both ends (1500)", offsetof(mlt_loggops, o)},
    {"g", "NS", "gap between messages of a NIC (1000)", offsetof(mlt_loggops, g)},
    {"G", "NS", "gap per byte (6)", offsetof(mlt_loggops, G)},
    {"O", "NS", "CPU overhead per byte (0)", offsetof(mlt_loggops, O)},
    {"S", "BYTES", "larger messages wait for their receive, by rendezvous (65535)",
     offsetof(mlt_loggops, S)},
    {"exec", "NS", "cost of a local operation per byte (0)", offsetof(mlt_loggops, exec)},
};

static bool is_size(int i)
{
    return parameters[i].name[0] == 'S';
}

void mlt_machine_args(mlt_machine_options *options, mlt_arg out[MLT_MACHINE_ARGS])
{
    *options = (mlt_machine_options){.S = UINT64_MAX};
    out[0] = (mlt_arg){.name = "params",
                       .kind = MLT_ARG_TEXT,
                       .value = &options->file,
                       .word = "FILE",
                       .help = "the machine's parameters, as `millet goal measure` writes them"};
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++) {
        options->given[i] = -1;
        out[i + 1] = (mlt_arg){.name = parameters[i].name,
                               .kind = is_size(i) ? MLT_ARG_SIZE : MLT_ARG_REAL,
                               .value = is_size(i) ? (void *)&options->S : &options->given[i],
                               .word = parameters[i].word,
                               .help = parameters[i].help};
    }
}

bool mlt_machine_given(const mlt_machine_options *options)
{
    bool given = options->file || options->S != UINT64_MAX;
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++)
        given = given || options->given[i] >= 0;
    return given;
}

static void *field(mlt_loggops *machine, int i)
{
    return (char *)machine + parameters[i].at;
}

static int machine_find(const char *name, size_t length)
{
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++)
        if (strlen(parameters[i].name) == length && memcmp(parameters[i].name, name, length) == 0)
            return i;
    return -1;
}

// One line without its end and comment; *found: it has a parameter. False: a message.
static bool parse_line(const char *where, char *line, mlt_loggops *out, bool *found, char *why,
                       size_t why_size)
{
    static const char between[] = " \t=:\r";
    char *name = line + strspn(line, between);
    if (!*name)
        return true;
    size_t length = strcspn(name, between);
    char *value = name + length + strspn(name + length, between);
    int i = machine_find(name, length);
    if (i < 0) {
        snprintf(why, why_size, "%s: '%.*s' is no parameter; L, o, g, G, O, S and exec are there",
                 where, (int)length, name);
        return false;
    }
    size_t end = strlen(value); // blanks after it are no part of it
    while (end && strchr(between, value[end - 1]))
        value[--end] = '\0';
    *found = true;
    char what[MACHINE_WHY_BYTES + 16];
    snprintf(what, sizeof what, "%s: %s", where, parameters[i].name);
    mlt_arg arg = {.kind = is_size(i) ? MLT_ARG_SIZE : MLT_ARG_REAL, .value = field(out, i)};
    return mlt_arg_parse(&arg, what, value, why, why_size);
}

bool mlt_machine_parse(const char *name, const char *text, mlt_loggops *out, char *why,
                       size_t why_size)
{
    int number = 1;
    bool found = false;
    for (const char *at = text; *at; number++) {
        size_t length = strcspn(at, "\n");
        char line[256], where[MACHINE_WHY_BYTES];
        snprintf(line, sizeof line, "%.*s", (int)(length < 255 ? length : 255), at);
        line[strcspn(line, "#")] = '\0';
        snprintf(where, sizeof where, "%s:%d", name, number);
        if (!parse_line(where, line, out, &found, why, why_size))
            return false;
        at += length + (at[length] == '\n');
    }
    if (!found)
        snprintf(why, why_size, "'%s' has no parameter: lines such as 'L 2500' are expected", name);
    return found;
}

void mlt_machine_print(const mlt_loggops *machine, FILE *to)
{
    mlt_loggops copy = *machine;
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++)
        if (is_size(i))
            fprintf(to, "%-4s %" PRIu64 "\n", parameters[i].name, copy.S);
        else
            fprintf(to, "%-4s %.6g\n", parameters[i].name, *(double *)field(&copy, i));
}

static int machine_read_file(const char *path, const mlt_arg_command *command, mlt_loggops *out)
{
    char why[MACHINE_WHY_BYTES];
    FILE *file = fopen(path, "r");
    if (!file)
        return mlt_args_failed(command, "'%s' cannot be read: %s", path, strerror(errno));
    char *text = mlt_take(1, LONGEST_FILE);
    size_t size = fread(text, 1, LONGEST_FILE - 1, file);
    int code = MLT_ARGS_GO;
    if (ferror(file))
        code = mlt_args_failed(command, "'%s' cannot be read: %s", path, strerror(errno));
    else if (size == LONGEST_FILE - 1 || strlen(text) != size)
        code = mlt_args_failed(command,
                               "'%s' is no file of parameters: lines such as 'L 2500' "
                               "are expected",
                               path);
    else if (!mlt_machine_parse(path, text, out, why, sizeof why))
        code = mlt_args_failed(command, "%s", why);
    free(text);
    fclose(file);
    return code;
}

int mlt_machine_read(const mlt_machine_options *options, const mlt_arg_command *command,
                     mlt_loggops *out)
{
    *out = mlt_loggops_default;
    if (options->file) {
        int code = machine_read_file(options->file, command, out);
        if (code != MLT_ARGS_GO)
            return code;
    }
    for (int i = 0; i < MLT_MACHINE_PARAMETERS; i++)
        if (!is_size(i) && options->given[i] >= 0)
            *(double *)field(out, i) = options->given[i];
    if (options->S != UINT64_MAX)
        out->S = options->S;
    return MLT_ARGS_GO;
}

// ---- described machines

const char mlt_machine_file_help[] =
    "a described machine: hosts, where ranks are, costs, and a network whose links messages share";

int mlt_machine_read_cluster(const mlt_machine_options *options, const char *path,
                             const mlt_arg_command *command, mlt_cluster **out)
{
    char why[MACHINE_WHY_BYTES];
    *out = NULL;
    if (!path)
        return MLT_ARGS_GO;
    if (mlt_machine_given(options))
        return mlt_args_wrong(command, "--machine describes the whole machine; --params, --L and "
                                       "the like are for machines without a description");
    mlt_source_file file;
    int code = mlt_source_file_read(command, path, &file);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_status status = mlt_cluster_read(path, file.bytes, file.size, out, why, sizeof why);
    mlt_source_file_drop(&file);
    return status == MLT_OK ? MLT_ARGS_GO : mlt_args_failed(command, "%s", why);
}
