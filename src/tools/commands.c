// SPDX-License-Identifier: BSD-3-Clause
#include "tools/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/word.h"
#include "tools/args.h"

static void help(const mlt_commands *f, FILE *to)
{
    fprintf(to, "usage: %s COMMAND %s\n\n%s\n", f->name, f->usage, f->purpose);
    for (size_t i = 0; i < f->count; i++)
        fprintf(to, "  %-10s %s\n", f->all[i].name, f->all[i].help);
    fprintf(to, "\n  %s COMMAND --help says more\n  exit code: %s\n", f->name, f->codes);
}

static int unknown(const mlt_commands *f, const char *name)
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

int mlt_commands_run(const mlt_commands *f, int argc, char **argv)
{
    if (argc < 2) {
        help(f, stderr);
        return MLT_EXIT_WRONG;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(f, stdout);
        return MLT_EXIT_FINE;
    }
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(argv[1], f->all[i].name) == 0) {
            int code = f->all[i].run(argc - 1, argv + 1);
            if (fflush(stdout) != 0 || ferror(stdout)) {
                fprintf(stderr, "%s %s: standard output cannot be written: %s\n", f->name, argv[1],
                        strerror(errno));
                return MLT_EXIT_FOUND;
            }
            return code;
        }
    return unknown(f, argv[1]);
}
