// SPDX-License-Identifier: BSD-3-Clause
#include "tools/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/help.h"
#include "base/word.h"
#include "tools/man.h"

// As users call it: "check" of "millet goal check".
static const char *short_name(const mlt_command *command)
{
    const char *blank = strrchr(command->name, ' ');
    return blank ? blank + 1 : command->name;
}

static void commands_help(const mlt_command *f, FILE *to)
{
    fprintf(to, "usage: %s COMMAND %s\n\n", f->name, f->words);
    mlt_help_wrap(to, f->purpose, 0, 0);
    fputc('\n', to);
    for (const mlt_command *const *c = f->all; *c; c++)
        fprintf(to, "  %-12s %s\n", short_name(*c), (*c)->help);
    fprintf(to, "\n  %s COMMAND --help says more\n  exit code: ", f->name);
    mlt_help_wrap(to, f->codes, 13, 2);
}

static int commands_unknown(const mlt_command *f, const char *name)
{
    const char *nearest = NULL;
    size_t best = 3;
    for (const mlt_command *const *c = f->all; *c; c++)
        mlt_word_nearer(name, short_name(*c), &nearest, &best);
    fprintf(stderr, "%s: there is no command '%s'; ", f->name, name);
    if (nearest)
        fprintf(stderr, "did you mean %s?\n", nearest);
    else
        fprintf(stderr, "%s --help lists them\n", f->name);
    return MLT_EXIT_WRONG;
}

// ---- pages of the manual

static void man_end(const mlt_command *f)
{
    mlt_man_codes(f->codes);
    mlt_man_section("SEE ALSO");
}

void mlt_command_man(const mlt_command *f)
{
    char usage[128];
    snprintf(usage, sizeof usage, "COMMAND %s", f->words);
    mlt_man_section("SYNOPSIS");
    mlt_man_usage(f->name, usage);
    mlt_man_section("DESCRIPTION");
    mlt_man_text(f->purpose);
    mlt_man_section("COMMANDS");
    for (const mlt_command *const *c = f->all; *c; c++)
        mlt_man_item(short_name(*c), NULL, (*c)->help);
    if (f->more) {
        mlt_man_section("EXAMPLES");
        mlt_man_text(f->more);
    }
    man_end(f);
    for (const mlt_command *const *c = f->all; *c; c++)
        mlt_man_see((*c)->name, false);
}

static int commands_man_of(const mlt_command *f, const mlt_command *command, char **argv)
{
    mlt_man_begin(command->name, command->help);
    if (command->all)
        mlt_command_man(command);
    else {
        mlt_arg_texts words = {NULL, 0};
        (void)!mlt_args_read(command, argv + 1, &words);
        man_end(f);
    }
    mlt_man_see(f->name, true);
    return MLT_EXIT_FINE;
}

// ---- running

static int run_family(const mlt_command *f, char **argv)
{
    const char *name = argv[1];
    if (!name) {
        commands_help(f, stderr);
        return MLT_EXIT_WRONG;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        commands_help(f, stdout);
        return MLT_EXIT_FINE;
    }
    for (const mlt_command *const *c = f->all; *c; c++)
        if (strcmp(name, short_name(*c)) == 0) {
            bool man = argv[2] && strcmp(argv[2], MLT_MAN_OPTION) == 0 && !argv[3];
            return man ? commands_man_of(f, *c, argv + 1) : mlt_command_run(*c, argv + 1);
        }
    if (f->number && name[strspn(name, "0123456789")] == '\0')
        return mlt_command_run(f->number, argv);
    return commands_unknown(f, name);
}

int mlt_command_run(const mlt_command *command, char **argv)
{
    if (command->all)
        return run_family(command, argv);
    mlt_arg_texts words = {NULL, 0};
    bool runs = mlt_args_read(command, argv + 1, &words);
    return runs ? command->run(&words) : MLT_EXIT_FINE;
}
