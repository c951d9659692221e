// SPDX-License-Identifier: BSD-3-Clause
// `millet goal opt`: a program through the passes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/help.h"
#include "base/memory.h"
#include "judge/check/check.h"
#include "judge/pass/pass.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/machine.h"
#include "tools/goal/result.h"
#include "tools/goal/source.h"
#include "tools/print.h"

enum { OPT_WHY_BYTES = 1024, FINDINGS = 3 };

typedef struct opt_asked {
    mlt_source_options source;
    mlt_result_options result;
    mlt_print_options print;
    mlt_machine_options machine;
    mlt_arg_texts with, without, only;
    uint64_t segment, window;
    const char *keep;
    bool verify, list, quiet;
} opt_asked;

static int find_pass(const char *name, size_t length)
{
    for (int i = 0; i < mlt_passes_count; i++)
        if (strlen(mlt_passes[i].name) == length && memcmp(mlt_passes[i].name, name, length) == 0)
            return i;
    return -1;
}

// Switches passes named in lists such as "dead,fuse".
static int set_passes(const mlt_arg_command *command, const mlt_arg_texts *lists,
                      const char *option, bool value, bool *on)
{
    for (size_t i = 0; i < lists->count; i++)
        for (const char *at = lists->items[i]; *at;) {
            size_t n = strcspn(at, ",");
            int pass = find_pass(at, n);
            if (pass < 0)
                return mlt_args_wrong(command,
                                      "option %s names '%.*s', which is no pass; --list shows them",
                                      option, (int)n, at);
            on[pass] = value;
            at += n + (at[n] == ',');
        }
    return MLT_ARGS_GO;
}

// The passes that run: those of --only, or those that are on initially and --pass, without
// --no-pass. Sizes given for a pass switch it on.
static int opt_choose(const mlt_arg_command *command, const opt_asked *a, bool *on)
{
    int segment = find_pass("segment", 7), window = find_pass("window", 6);
    for (int i = 0; i < mlt_passes_count; i++)
        on[i] = !a->only.count && (mlt_passes[i].initially || (i == segment && a->segment) ||
                                   (i == window && a->window));
    int code = set_passes(command, &a->only, "--only", true, on);
    if (code == MLT_ARGS_GO)
        code = set_passes(command, &a->with, "--pass", true, on);
    if (code == MLT_ARGS_GO)
        code = set_passes(command, &a->without, "--no-pass", false, on);
    return code;
}

static void list_passes(void)
{
    for (int i = 0; i < mlt_passes_count; i++) {
        const mlt_pass *pass = &mlt_passes[i];
        int n = printf("%-12s %-4s%-8s", pass->name, pass->initially ? "on" : "off",
                       pass->global ? "global" : "");
        mlt_help_wrapped(stdout, pass->help, n, n);
    }
}

// Asks the checker. False: it found something, which is printed.
static bool verified(const opt_asked *a, const mlt_goal_program *program, const mlt_goal_spec *spec,
                     const char *when)
{
    mlt_goal_check_options options = {.is = spec, .limit = FINDINGS};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    bool ok = mlt_goal_verdict_ok(verdict);
    if (!ok) {
        fprintf(stderr, "millet goal opt: %s:\n", when);
        mlt_goal_verdict_print(verdict, stderr);
    } else if (!a->quiet) {
        fprintf(stderr, "%-12s %s, %s\n", "verify", when,
                spec ? "the result is right" : "nothing is wrong (no result was named)");
    }
    mlt_goal_verdict_free(verdict);
    return ok;
}

static int run_passes(const mlt_arg_command *command, const opt_asked *a, const bool *on,
                      mlt_goal_program *program)
{
    char why[OPT_WHY_BYTES];
    mlt_pass_options options = {
        .segment = a->segment, .window = (uint32_t)a->window, .keep = a->keep};
    int code = mlt_machine_read(&a->machine, command, &options.machine);
    for (int i = 0; i < mlt_passes_count && code == MLT_ARGS_GO; i++) {
        if (!on[i])
            continue;
        mlt_pass_report report = {.changed = 0};
        if (mlt_passes[i].run(program, &options, &report, why, sizeof why) != MLT_OK)
            code = mlt_args_failed(command, "pass %s: %s", mlt_passes[i].name, why);
        else if (!a->quiet)
            fprintf(stderr, "%-12s %s\n", mlt_passes[i].name,
                    *report.text ? report.text : "nothing to do");
    }
    return code;
}

static int optimise(const mlt_arg_command *command, const opt_asked *a, const mlt_source *source)
{
    bool *on = mlt_take((size_t)mlt_passes_count + 1, sizeof *on);
    mlt_goal_spec spec;
    bool known;
    int code = opt_choose(command, a, on);
    if (code == MLT_ARGS_GO)
        code = mlt_result_read(command, &a->result, &a->source, source, &spec, &known);
    if (code == MLT_ARGS_GO && a->verify &&
        !verified(a, source->program, known ? &spec : NULL, "before the passes"))
        code = MLT_EXIT_FOUND;
    if (code == MLT_ARGS_GO)
        code = run_passes(command, a, on, source->program);
    if (code == MLT_ARGS_GO && a->verify &&
        !verified(a, source->program, known ? &spec : NULL, "after the passes"))
        code = MLT_EXIT_FOUND;
    if (code == MLT_ARGS_GO)
        code = mlt_print_program(command, &a->print, source);
    free(on);
    return code;
}

static int opt_start(const mlt_arg_command *command, const opt_asked *a, const mlt_arg_texts *words)
{
    if (a->list) {
        list_passes();
        return MLT_EXIT_FINE;
    }
    if (a->only.count && (a->with.count || a->without.count))
        return mlt_args_wrong(command, "--only names all the passes; --pass and --no-pass change "
                                       "the usual ones: use either");
    mlt_source source;
    int code = mlt_source_read_one(command, &a->source, words, &source);
    if (code == MLT_ARGS_GO)
        code = optimise(command, a, &source);
    mlt_source_free(&source);
    return code;
}

int mlt_goal_opt_main(int argc, char **argv)
{
    opt_asked a = {.segment = 0};
    mlt_arg from[MLT_SOURCE_ARGS], result[MLT_RESULT_ARGS], print[MLT_PRINT_ARGS],
        machine[MLT_MACHINE_ARGS];
    mlt_source_args(&a.source, from);
    a.source.files_have_op = true;
    for (int i = 0; i < MLT_SOURCE_ARGS; i++) // here --segment is the pass's
        if (strcmp(from[i].name, "segment") == 0)
            from[i].name = "alg-segment";
    mlt_result_args(&a.result, result);
    mlt_print_args(&a.print, print);
    mlt_machine_args(&a.machine, machine);
    const mlt_arg args[] = {
        {"list", 0, MLT_ARG_FLAG, &a.list, NULL, .help = "list the passes and end"},
        {"pass", 'p', MLT_ARG_TEXTS, &a.with, "A,B", .help = "add these passes"},
        {"no-pass", 0, MLT_ARG_TEXTS, &a.without, "A,B", .help = "leave these passes out"},
        {"only", 0, MLT_ARG_TEXTS, &a.only, "A,B", .help = "use these passes alone"},
        {"segment", 0, MLT_ARG_SIZE, &a.segment, "BYTES",
         .help = "bytes of a piece of the pipeline; turns the pass segment on"},
        {"window", 0, MLT_ARG_NUMBER, &a.window, "N", .most = UINT32_MAX,
         .help = "actions between two no-ops; turns the pass window on"},
        {"keep", 0, MLT_ARG_TEXT, &a.keep, "NAMES",
         .help = "buffers whose contents matter at the end, such as out,buf (all)"},
        {"verify", 0, MLT_ARG_FLAG, &a.verify, NULL,
         .help = "run the checker before and after; write nothing if it finds something"},
        {"quiet", 'q', MLT_ARG_FLAG, &a.quiet, NULL, .help = "do not say what the passes did"},
    };
    mlt_arg_group groups[] = {
        {NULL, print, MLT_PRINT_ARGS},
        {"Passes", args, sizeof args / sizeof *args},
        {"The result for --verify (that of --alg is known)", result, MLT_RESULT_ARGS},
        {"The machine, for passes that order by time", machine, MLT_MACHINE_ARGS},
        {"Programs without a file", from, MLT_SOURCE_ARGS},
    };
    machine[MLT_MACHINE_ARGS - 1].help = NULL; // --exec is above: one option for both
    const mlt_arg_command command = {.name = "millet goal opt",
                                     .words = "FILE",
                                     .most = 1,
                                     .purpose =
                                         "Improves a program by passes that keep its result, and "
                                         "prints it. Standard error gets what each pass did.",
                                     .groups = groups,
                                     .count = sizeof groups / sizeof *groups};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    if (a.print.exec_ns > 0)
        a.machine.given[MLT_MACHINE_PARAMETERS - 1] = a.print.exec_ns;
    code = opt_start(&command, &a, &words);
    mlt_arg_texts_free(&a.with);
    mlt_arg_texts_free(&a.without);
    mlt_arg_texts_free(&a.only);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&words);
    return code;
}
