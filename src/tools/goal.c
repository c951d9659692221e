// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal.h"

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
    {"check", mlt_goal_check_main, "prove a program: messages, deadlocks, races, its result"},
    {"fmt", mlt_goal_fmt_main, "print a program as text, in either dialect"},
    {"asm", mlt_goal_asm_main, "assemble a program into a binary file"},
    {"dis", mlt_goal_dis_main, "print a binary file as text"},
    {"opt", mlt_goal_opt_main, "improve a program by passes"},
    {"run", mlt_goal_run_main, "run a program for real, on ranks of this machine"},
    {"sim", mlt_goal_sim_main, "price a program under LogGOPS, for up to millions of ranks"},
    {"draw", mlt_goal_draw_main, "draw a program, or its simulated timeline, as SVG"},
    {"measure", mlt_goal_measure_main, "measure LogGOPS's parameters on this machine"},
    {"gen", mlt_goal_gen_main, "write a program: from an algorithm or a Lua script"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to)
{
    fprintf(to, "usage: millet goal COMMAND [options]\n\n"
                "Group operations as programs of send, receive and local work with dependencies.\n"
                "A program is a file, text or binary, or an algorithm: --alg bcast.binomial "
                "--ranks 8.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n  millet goal COMMAND --help says more\n"
                "  exit code: 0 fine; 1 something was found, or the input is at fault; 2 wrong "
                "usage;\n  70 no memory\n");
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
        fprintf(stderr, "millet goal: there is no command '%s'; did you mean %s?\n", name,
                commands[nearest].name);
    else
        fprintf(stderr, "millet goal: there is no command '%s'; millet goal --help lists them\n",
                name);
    return MLT_EXIT_WRONG;
}

int mlt_goal_main(int argc, char **argv)
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
                fprintf(stderr, "millet goal %s: standard output cannot be written: %s\n", argv[1],
                        strerror(errno));
                return MLT_EXIT_FOUND;
            }
            return code;
        }
    return unknown(argv[1]);
}
