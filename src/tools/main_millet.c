// SPDX-License-Identifier: BSD-3-Clause
// The `millet` command: one table of subcommands.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/coll/tune.h"
#include "tools/flow/flow.h"
#include "tools/goal/goal.h"
#include "tools/info.h"
#include "tools/names/names.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv); // argv[0] is the subcommand's name
    const char *help;
} commands[] = {
    {"info", mlt_info_main, "version, settings, what is chosen on this machine, coverage of MPI"},
    {"goal", mlt_goal_main, "group operations as programs: check, run, simulate, draw them"},
    {"flow", mlt_flow_main, "modules and their wiring: check, build, run, draw .flow files"},
    {"names", mlt_names_main, "the name server, by which programs find each other"},
    {"tune", mlt_tune_main, "rules for collectives by what algorithms cost, here or simulated"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fprintf(to, "usage: millet COMMAND [options]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n  millet COMMAND --help says more; millet --version\n"
                "  programs are compiled with mpicc and started with mpirun\n");
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("Millet %s\n", MLT_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return 0;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "millet: there is no command '%s'\n", argv[1]);
    help(stderr);
    return 2;
}

// What nobody could read was not said: a full disk is told, whoever wrote.
int main(int argc, char **argv)
{
    int code = run(argc, argv);
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (code == 0 && failed) {
        fprintf(stderr, "millet: standard output cannot be written: %s\n", strerror(errno));
        code = 1;
    }
    return code;
}
