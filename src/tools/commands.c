// SPDX-License-Identifier: BSD-3-Clause
#include "tools/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/help.h"
#include "base/word.h"
#include "tools/args.h"
#include "tools/man.h"

static void commands_help(const mlt_commands *f, FILE *to)
{
    fprintf(to, "usage: %s COMMAND %s\n\n", f->name, f->usage);
    mlt_help_wrapped(to, f->purpose, 0, 0);
    fputc('\n', to);
    for (size_t i = 0; i < f->count; i++)
        fprintf(to, "  %-12s %s\n", f->all[i].name, f->all[i].help);
    fprintf(to, "\n  %s COMMAND --help says more\n  exit code: ", f->name);
    mlt_help_wrapped(to, f->codes, 13, 2);
}

static int commands_unknown(const mlt_commands *f, const char *name)
{
    const char *nearest = NULL;
    size_t best = 3;
    for (size_t i = 0; i < f->count; i++) {
        const char *other = f->all[i].name;
        size_t d = mlt_word_distance(name, strlen(name), other, strlen(other));
        if (d < best) {
            best = d;
            nearest = other;
        }
    }
    fprintf(stderr, "%s: there is no command '%s'; ", f->name, name);
    if (nearest)
        fprintf(stderr, "did you mean %s?\n", nearest);
    else
        fprintf(stderr, "%s --help lists them\n", f->name);
    return MLT_EXIT_WRONG;
}

// ---- pages of the manual

static void man_end(const mlt_commands *f)
{
    mlt_man_codes(f->codes);
    mlt_man_section("SEE ALSO");
}

void mlt_commands_man(const mlt_commands *f)
{
    char usage[128], name[64];
    snprintf(usage, sizeof usage, "COMMAND %s", f->usage);
    mlt_man_section("SYNOPSIS");
    mlt_man_usage(f->name, usage);
    mlt_man_section("DESCRIPTION");
    mlt_man_text(f->purpose);
    mlt_man_section("COMMANDS");
    for (size_t i = 0; i < f->count; i++)
        mlt_man_item(f->all[i].name, NULL, f->all[i].help);
    if (f->more) {
        mlt_man_section("EXAMPLES");
        mlt_man_text(f->more);
    }
    man_end(f);
    for (size_t i = 0; i < f->count; i++) {
        snprintf(name, sizeof name, "%s %s", f->name, f->all[i].name);
        mlt_man_see(name, false);
    }
}

static int commands_man_of(const mlt_commands *f, const mlt_command *command, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "%s %s", f->name, command->name);
    mlt_man_begin(name, command->help);
    if (command->family)
        mlt_commands_man(command->family);
    else {
        int code = command->run(2, argv);
        if (code)
            return code;
        man_end(f);
    }
    mlt_man_see(f->name, true);
    return MLT_EXIT_FINE;
}

// ---- running

static int commands_run(const mlt_commands *f, const mlt_command *command, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], MLT_MAN_OPTION) == 0)
        return commands_man_of(f, command, argv);
    if (command->family)
        return mlt_commands_run(command->family, argc, argv);
    int code = command->run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s %s: standard output cannot be written: %s\n", f->name, argv[0],
            strerror(errno));
    return MLT_EXIT_FOUND;
}

int mlt_commands_run(const mlt_commands *f, int argc, char **argv)
{
    if (argc < 2) {
        commands_help(f, stderr);
        return MLT_EXIT_WRONG;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        commands_help(f, stdout);
        return MLT_EXIT_FINE;
    }
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(argv[1], f->all[i].name) == 0)
            return commands_run(f, &f->all[i], argc - 1, argv + 1);
    if (f->number && argv[1][strspn(argv[1], "0123456789")] == '\0')
        return f->number(argc, argv);
    return commands_unknown(f, argv[1]);
}
