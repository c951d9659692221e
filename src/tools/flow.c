// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/word.h"
#include "tools/args.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"check", mlt_flow_check_main, "read a file, tell what is wrong with it"},
    {"build", mlt_flow_build_main, "make a program of a file and its modules in C"},
    {"run", mlt_flow_run_main, "build, and run it, alone or with mpirun"},
    {"draw", mlt_flow_draw_main, "draw it as SVG, as written or as placed"},
    {"place", mlt_flow_place_main, "tell what would run where"},
    {"headers", mlt_flow_headers_main, "write the headers that modules include"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fprintf(to, "usage: millet flow COMMAND [options] FILE.flow ...\n\n"
                "Programs whose modules know only their queues; a .flow file says how they are "
                "wired.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n  millet flow COMMAND --help says more\n"
                "  exit code: 0 fine; 1 the file, a module or the machine is at fault; 2 wrong "
                "usage;\n  70 no memory; of run: the program's\n");
}

static int unknown(const char *name)
{
    int nearest = -1;
    size_t best = 3;
    for (int i = 0; i < COMMANDS; i++) {
        size_t d =
            mlt_word_distance(name, strlen(name), commands[i].name, strlen(commands[i].name));
        if (d < best) {
            best = d;
            nearest = i;
        }
    }
    if (nearest >= 0)
        fprintf(stderr, "millet flow: there is no command '%s'; did you mean %s?\n", name,
                commands[nearest].name);
    else
        fprintf(stderr, "millet flow: there is no command '%s'; millet flow --help lists them\n",
                name);
    return MLT_EXIT_WRONG;
}

int mlt_flow_main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return MLT_EXIT_WRONG;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return MLT_EXIT_FINE;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            int code = commands[i].run(argc - 1, argv + 1);
            if (fflush(stdout) != 0 || ferror(stdout)) {
                fprintf(stderr, "millet flow %s: standard output cannot be written: %s\n", argv[1],
                        strerror(errno));
                return MLT_EXIT_FOUND;
            }
            return code;
        }
    return unknown(argv[1]);
}
