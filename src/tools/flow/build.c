// SPDX-License-Identifier: BSD-3-Clause
// `millet flow build`, `run` and `headers`: whose word is whose (this command's, the compiler's,
// mpirun's, the program's), then make.h.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/commands.h"
#include "tools/flow/input.h"
#include "tools/flow/make.h"
#include "tools/mpirun.h"

static mlt_flow_make build_make;
static mlt_arg_texts build_mpirun; // words for it
static char **build_behind;        // what stands behind `--`, up to a NULL

// ---- whose word is it

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

// Of options of one dash that a run has: those of the compiler, but for what mpirun calls alike.
static bool is_compilers(const char *word)
{
    static const char *const beginnings[] = {
        "-O", "-g", "-I",       "-L",       "-l",       "-W",        "-U",  "-std=",
        "-f", "-m", "-include", "-isystem", "-pthread", "-pedantic", "-cc="};
    static const char *const others[] = {"-f",
                                         "-l",
                                         "-genv",
                                         "-genvall",
                                         "-genvnone",
                                         "-genvlist",
                                         "-gwdir",
                                         "-machinefile",
                                         "-launcher",
                                         "-launcher-exec",
                                         "-localonly",
                                         "-memory-alloc-kinds",
                                         "-gpus",
                                         "-gpus-per-proc",
                                         "-memory-allocation-kinds",
                                         "-file",
                                         "-membind",
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

// A word, or an option of one dash, for the compiler; with its value, if that is the next word.
static size_t take_compilers(char **words)
{
    size_t count = mlt_flow_compiler_takes_value(words[0]) && words[1] ? 2 : 1;
    for (size_t i = 0; i < count; i++)
        mlt_arg_texts_add(&build_make.words, words[i]);
    return count;
}

// The first word is the .flow file, others are the compiler's.
static bool take_file(const char *word)
{
    if (build_make.path)
        return false;
    build_make.path = word;
    return true;
}

static size_t take_for_build(char **words)
{
    if (words[0][0] != '-' || !words[0][1])
        return take_file(words[0]) ? 0 : take_compilers(words);
    return begins(words[0], "--") ? 0 : take_compilers(words);
}

// Options that are neither ours nor the compiler's are mpirun's, with what follows and is no file.
static size_t take_for_run(char **words)
{
    bool option = words[0][0] == '-' && words[0][1];
    size_t count = 1;
    if (!option && take_file(words[0]))
        return 0;
    if (!option || is_compilers(words[0]))
        return take_compilers(words);
    while (words[count] && words[count][0] != '-' && !is_file(words[count]))
        count++;
    for (size_t i = 0; i < count; i++)
        mlt_arg_texts_add(&build_mpirun, words[i]);
    return count;
}

// The .flow file may follow the modules (*.c app.flow), but there is only one.
static void find_file(void)
{
    mlt_flow_make *m = &build_make;
    for (size_t i = 0; i < m->words.count; i++) {
        const char *word = m->words.items[i];
        if (*word == '-' || !mlt_flow_ends_with(word, ".flow"))
            continue;
        if (!mlt_flow_is_module_file(m->path))
            mlt_args_wrong("a program is one FILE.flow, but there are '%s' and '%s'", m->path,
                           word);
        m->words.items[i] = m->path;
        m->path = word;
    }
    if (mlt_flow_is_module_file(m->path))
        mlt_args_wrong("'%s' is a module, but FILE.flow is missing", m->path);
}

// ---- the commands

static mlt_arg build_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &build_make.out, "PROGRAM",
     .help = "write the program here (the file's name without .flow)"},
    {"define", 'D', MLT_ARG_TEXTS, &mlt_flow_defines, "NAME=N",
     .help = "give a constant another value; the program still takes -D", .glued = true},
    {"hostfile", 0, MLT_ARG_TEXT, &build_make.hostfile, "HOSTS",
     .help = "names and slots of hosts, which become part of the program"},
    {"keep", 0, MLT_ARG_TEXT, &build_make.keep, "DIR",
     .help = "keep the headers and the program's C in DIR (they are temporary)"},
    {"shared-statics", 0, MLT_ARG_FLAG, &build_make.shared_statics, NULL,
     .help = "allow modules to have variables outside the data section, which instances share"},
    {"verbose", 'v', MLT_ARG_FLAG, &build_make.verbose, NULL,
     .help = "print the compiler's commands"},
};

static int build_run(const mlt_arg_texts *words) // which take_for_build has
{
    find_file();
    for (char **word = build_behind; *word; word++)
        mlt_arg_texts_add(&build_make.words, *word);
    if (!build_make.out && strcmp(build_make.path, "-") == 0)
        mlt_args_wrong("a file of standard input has no name: say -o PROGRAM");
    if (!build_make.out)
        build_make.out = mlt_flow_stem(build_make.path);
    mlt_flow_make_program(&build_make);
    return MLT_EXIT_FINE;
}

const mlt_command mlt_flow_build_command = {
    .name = "millet flow build",
    .help = "make a program from a file and its modules in C",
    .words = "FILE.flow MODULE.c... [-- options of the compiler]",
    .least = 1,
    .most = 1,
    .purpose = "Checks the file, writes a header for each module and the program as C, and "
               "compiles them with the modules. Other files, and options with one dash such as "
               "-O0, -I, -L, -l, go to the compiler as they are, after -O2 -g. A variable of a "
               "module that is neither const nor in the data section is an error.",
    .groups = {{NULL, MLT_ARG_LIST(build_args)}},
    .behind = &build_behind,
    .other = take_for_build,
    .run = build_run};

// Runs the program as it was asked to be run. Its exit code, or 128 + its signal, as shells have
// it.
static int flow_run_program(const char *program)
{
    mlt_arg_texts words = {NULL, 0};
    char mpirun[PATH_MAX];
    if (build_mpirun.count) {
        mlt_mpirun_beside("mpirun", mpirun);
        mlt_arg_texts_add(&words, mpirun);
    }
    for (size_t i = 0; i < build_mpirun.count; i++)
        mlt_arg_texts_add(&words, build_mpirun.items[i]);
    mlt_arg_texts_add(&words, program);
    for (char **word = build_behind; *word; word++)
        mlt_arg_texts_add(&words, *word);
    int status = mlt_flow_execute((char *const *)words.items, -1);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void run_prepare(void)
{
    build_args[0].help = NULL; // -o is refused
}

static int flow_run_run(const mlt_arg_texts *words) // which take_for_run has
{
    if (build_make.out)
        mlt_args_wrong(
            "the program is deleted after the run; to keep it, use millet flow build -o");
    find_file();
    char *stem = mlt_flow_stem(build_make.path);
    char *program = mlt_text_of("%s/%.200s", mlt_flow_temporary(), *stem == '-' ? "app" : stem);
    build_make.out = program;
    mlt_flow_make_program(&build_make);
    return flow_run_program(program);
}

const mlt_command mlt_flow_run_command = {
    .name = "millet flow run",
    .help = "build a program and run it, alone or with mpirun",
    .words = "FILE.flow MODULE.c... [-n N] [-nfg K] [-- arguments of the program]",
    .least = 1,
    .most = 1,
    .purpose =
        "Builds as `millet flow build` does, but in a temporary folder, and runs the program: "
        "with mpirun if there are options for it, such as -n 4, -nfg 50 or --report, else "
        "alone. Options -O, -g, -I, -L, -lNAME, -W, -f, -m and -std go to the compiler.",
    .groups = {{NULL, MLT_ARG_LIST(build_args)}},
    .prepare = run_prepare,
    .behind = &build_behind,
    .other = take_for_run,
    .run = flow_run_run};

static const char *headers_folder = ".";

static int headers_run(const mlt_arg_texts *words)
{
    mlt_flow_input input = mlt_flow_input_read(words->items[0]);
    mlt_flow_make_headers(input.file, headers_folder);
    return MLT_EXIT_FINE;
}

static mlt_arg headers_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &headers_folder, "DIR",
     .help = "write to DIR (the current folder)"},
    MLT_FLOW_DEFINE_ARG,
};

const mlt_command mlt_flow_headers_command = {
    .name = "millet flow headers",
    .help = "write the headers that modules include",
    .words = "FILE.flow",
    .least = 1,
    .most = 1,
    .purpose = "Writes NAME.flow.h for each module, for editors and other build systems, and "
               "operations.flow.h if the file declares operations. Headers that would not "
               "change are left alone.",
    .groups = {{NULL, MLT_ARG_LIST(headers_args)}},
    .run = headers_run};
