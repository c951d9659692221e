// SPDX-License-Identifier: BSD-3-Clause
// `millet flow build`, `run` and `headers`: whose word is whose (this command's, the compiler's,
// mpirun's, the program's), then make.h.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "tools/args.h"
#include "tools/flow/flow.h"
#include "tools/flow/input.h"
#include "tools/flow/make.h"

// ---- whose word is it

typedef struct split {
    char **own; // for mlt_args_read
    int own_count;
    mlt_arg_texts compiler, mpirun;
    char **behind; // what stands behind `--`, up to a NULL
} split;

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

// Options of this command that have a value; others of two dashes are flags, or have it after '='.
static bool own_with_value(const char *word)
{
    static const char *const names[] = {"-o", "-D", "--output", "--define", "--hostfile", "--keep"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static bool build_is_own(const char *word, bool runs)
{
    static const char *const names[] = {"-o",         "-h",     "-v",     "--output", "--define",
                                        "--hostfile", "--keep", "--help", "--verbose"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strcspn(word, "=");
        if (n == strlen(names[i]) && strncmp(word, names[i], n) == 0)
            return true;
    }
    return begins(word, "-D") || (!runs && begins(word, "--"));
}

// Options of compilers whose value is the next word.
static bool compiler_with_value(const char *word)
{
    static const char *const names[] = {"-I",       "-L",       "-l",      "-U",       "-x",
                                        "-include", "-isystem", "-iquote", "-imacros", "-Xlinker",
                                        "-T",       "-u",       "-z",      "-B",       "--param"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

// Of options of one dash that a run has: those of the compiler, but for what mpirun calls alike.
static bool is_compilers(const char *word)
{
    static const char *const beginnings[] = {
        "-O", "-g", "-I",       "-L",       "-l",       "-W",        "-U",  "-std=",
        "-f", "-m", "-include", "-isystem", "-pthread", "-pedantic", "-cc="};
    static const char *const others[] = {"-f",         "-l",
                                         "-genv",      "-genvall",
                                         "-genvnone",  "-genvlist",
                                         "-gwdir",     "-machinefile",
                                         "-launcher",  "-launcher-exec",
                                         "-localonly", "-memory-alloc-kinds",
                                         "-file",      "-membind",
                                         "-localhost"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (begins(word, beginnings[i]))
            return true;
    return false;
}

static bool is_file(const char *word)
{
    return mlt_flow_is_module_file(word) || mlt_flow_ends_with(word, ".s") ||
           mlt_flow_ends_with(word, ".S") || mlt_flow_ends_with(word, ".so") ||
           mlt_flow_ends_with(word, ".flow");
}

// The first word is the .flow file, others are the compiler's. With `runs`, options that are
// neither ours nor the compiler's are mpirun's, with what follows and is no file.
static void split_words(int argc, char **argv, bool runs, split *s)
{
    *s = (split){.own = mlt_take((size_t)argc + 1, sizeof *s->own), .behind = argv + argc};
    bool file = false;
    s->own[s->own_count++] = argv[0];
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        bool option = word[0] == '-' && word[1];
        if (strcmp(word, "--") == 0) {
            s->behind = argv + i + 1;
            return;
        }
        if (!option && !file) {
            file = true;
            s->own[s->own_count++] = word;
        } else if (option && build_is_own(word, runs)) {
            s->own[s->own_count++] = word;
            if (own_with_value(word) && argv[i + 1])
                s->own[s->own_count++] = argv[++i];
        } else if (!option || !runs || is_compilers(word)) {
            mlt_arg_texts_add(&s->compiler, word);
            if (compiler_with_value(word) && argv[i + 1])
                mlt_arg_texts_add(&s->compiler, argv[++i]);
        } else {
            mlt_arg_texts_add(&s->mpirun, word);
            while (argv[i + 1] && argv[i + 1][0] != '-' && !is_file(argv[i + 1]))
                mlt_arg_texts_add(&s->mpirun, argv[++i]);
        }
    }
}

// The .flow file may follow the modules (*.c app.flow), but there is only one. MLT_ARGS_GO, or a
// message and the exit code.
static int find_file(const mlt_arg_command *command, split *s, const char **file)
{
    for (size_t i = 0; i < s->compiler.count; i++) {
        const char *word = s->compiler.items[i];
        if (*word == '-' || !mlt_flow_ends_with(word, ".flow"))
            continue;
        if (!mlt_flow_is_module_file(*file))
            return mlt_args_wrong(
                command, "a program is one FILE.flow, but there are '%s' and '%s'", *file, word);
        s->compiler.items[i] = *file;
        *file = word;
    }
    if (mlt_flow_is_module_file(*file))
        return mlt_args_wrong(command, "'%s' is a module, but FILE.flow is missing", *file);
    return MLT_ARGS_GO;
}

static void split_free(split *s)
{
    free(s->own);
    mlt_arg_texts_free(&s->compiler);
    mlt_arg_texts_free(&s->mpirun);
}

// ---- the commands

enum { MAKE_ARGS = 5 };

static void make_args(mlt_flow_make *make, bool out, mlt_arg args[MAKE_ARGS])
{
    const mlt_arg all[MAKE_ARGS] = {
        {"output", 'o', MLT_ARG_TEXT, &make->out, "PROGRAM",
         .help = out ? "write the program here (the file's name without .flow)" : NULL},
        {"define", 'D', MLT_ARG_TEXTS, &make->defines, "NAME=N",
         .help = "give a constant another value; the program still takes -D"},
        {"hostfile", 0, MLT_ARG_TEXT, &make->hostfile, "HOSTS",
         .help = "names and slots of hosts, which become part of the program"},
        {"keep", 0, MLT_ARG_TEXT, &make->keep, "DIR",
         .help = "keep the headers and the program's C in DIR (they are temporary)"},
        {"verbose", 'v', MLT_ARG_FLAG, &make->verbose, NULL,
         .help = "print the compiler's command"},
    };
    memcpy(args, all, sizeof all);
}

static void make_free(mlt_flow_make *make)
{
    mlt_arg_texts_free(&make->defines);
}

int mlt_flow_build_main(int argc, char **argv)
{
    mlt_flow_make make = {.path = NULL};
    mlt_arg args[MAKE_ARGS];
    make_args(&make, true, args);
    const mlt_arg_group groups[] = {{NULL, args, MAKE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet flow build",
        .words = "FILE.flow MODULE.c... [-- options of the compiler]",
        .least = 1,
        .most = 1,
        .purpose = "Checks the file, writes a header for each module and the program as C, and "
                   "compiles them with the modules. Other files, and options with one dash such as "
                   "-O0, -I, -L, -l, go to the compiler as they are, after -O2 -g.",
        .groups = groups,
        .count = 1};
    split s;
    mlt_arg_texts words = {NULL, 0};
    split_words(argc, argv, false, &s);
    int count = s.own_count;
    char **own = mlt_flow_argv(&count, s.own);
    int code = mlt_args_read(&command, count, own, &words, NULL);
    if (code == MLT_ARGS_GO) {
        code = find_file(&command, &s, &words.items[0]);
        char *stem = mlt_flow_stem(words.items[0]);
        for (char **word = s.behind; *word; word++)
            mlt_arg_texts_add(&s.compiler, *word);
        make.path = words.items[0];
        make.words = s.compiler;
        if (code == MLT_ARGS_GO && !make.out && strcmp(make.path, "-") == 0)
            code = mlt_args_wrong(&command, "a file of standard input has no name: say -o PROGRAM");
        else if (!make.out)
            make.out = stem;
        if (code == MLT_ARGS_GO)
            code = mlt_flow_make_program(&command, &make);
        if (code == MLT_ARGS_GO)
            code = MLT_EXIT_FINE;
        free(stem);
        make_free(&make);
        mlt_arg_texts_free(&words);
    }
    free(own);
    split_free(&s);
    return code;
}

// Runs the program as it was asked to be run. Its exit code, or 128 + its signal, as shells have
// it.
static int run_program(const mlt_arg_command *command, const char *program, const split *s)
{
    mlt_arg_texts words = {NULL, 0};
    char mpirun[PATH_MAX];
    int code = MLT_ARGS_GO;
    if (s->mpirun.count) {
        code = mlt_flow_beside(command, "mpirun", mpirun);
        mlt_arg_texts_add(&words, mpirun);
    }
    for (size_t i = 0; i < s->mpirun.count; i++)
        mlt_arg_texts_add(&words, s->mpirun.items[i]);
    mlt_arg_texts_add(&words, program);
    for (char **word = s->behind; *word; word++)
        mlt_arg_texts_add(&words, *word);
    if (code == MLT_ARGS_GO) {
        int status = mlt_flow_execute(command, (char *const *)words.items, -1);
        code = status == -1          ? MLT_EXIT_FOUND
               : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                     : WEXITSTATUS(status);
    }
    mlt_arg_texts_free(&words);
    return code;
}

int mlt_flow_run_main(int argc, char **argv)
{
    mlt_flow_make make = {.path = NULL};
    mlt_arg args[MAKE_ARGS];
    make_args(&make, false, args);
    const mlt_arg_group groups[] = {{NULL, args, MAKE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet flow run",
        .words = "FILE.flow MODULE.c... [-n N] [-nfg K] [-- arguments of the program]",
        .least = 1,
        .most = 1,
        .purpose =
            "Builds as `millet flow build` does, but in a temporary folder, and runs the program: "
            "with mpirun if there are options for it, such as -n 4, -nfg 50 or --report, else "
            "alone. Options -O, -g, -I, -L, -lNAME, -W, -f, -m and -std go to the compiler.",
        .groups = groups,
        .count = 1};
    split s;
    mlt_arg_texts words = {NULL, 0};
    split_words(argc, argv, true, &s);
    int count = s.own_count;
    char **own = mlt_flow_argv(&count, s.own);
    int code = mlt_args_read(&command, count, own, &words, NULL);
    if (code == MLT_ARGS_GO) {
        char folder[PATH_MAX], program[PATH_MAX + 256];
        if (make.out)
            code = mlt_args_wrong(
                &command,
                "the program is deleted after the run; to keep it, use millet flow build -o");
        else if ((code = find_file(&command, &s, &words.items[0])) == MLT_ARGS_GO)
            code = mlt_flow_temporary(&command, folder);
        if (code == MLT_ARGS_GO) {
            char *stem = mlt_flow_stem(words.items[0]);
            snprintf(program, sizeof program, "%s/%.200s", folder, *stem == '-' ? "app" : stem);
            free(stem);
            make.path = words.items[0];
            make.words = s.compiler;
            make.out = program;
            code = mlt_flow_make_program(&command, &make);
            if (code == MLT_ARGS_GO)
                code = run_program(&command, program, &s);
            mlt_flow_remove(folder);
        }
        make_free(&make);
        mlt_arg_texts_free(&words);
    }
    free(own);
    split_free(&s);
    return code;
}

int mlt_flow_headers_main(int argc, char **argv)
{
    mlt_arg_texts defines = {NULL, 0}, words = {NULL, 0};
    const char *folder = ".";
    const mlt_arg args[] = {
        {"output", 'o', MLT_ARG_TEXT, &folder, "DIR", .help = "write to DIR (the current folder)"},
        {"define", 'D', MLT_ARG_TEXTS, &defines, "NAME=N", .help = "give a constant another value"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet flow headers",
        .words = "FILE.flow",
        .least = 1,
        .most = 1,
        .purpose = "Writes NAME.flow.h for each module, for editors and other build systems, and "
                   "operations.flow.h if the file declares operations. Headers that would not "
                   "change are left alone.",
        .groups = groups,
        .count = 1};
    char **own = mlt_flow_argv(&argc, argv);
    int code = mlt_args_read(&command, argc, own, &words, NULL);
    if (code == MLT_ARGS_GO) {
        mlt_flow_input input;
        code = mlt_flow_input_read(&command, words.items[0], &defines, &input);
        if (code == MLT_ARGS_GO)
            code = mlt_flow_make_headers(&command, input.file, folder);
        if (code == MLT_ARGS_GO)
            code = MLT_EXIT_FINE;
        mlt_flow_input_free(&input);
        mlt_arg_texts_free(&defines);
        mlt_arg_texts_free(&words);
    }
    free(own);
    return code;
}
