// SPDX-License-Identifier: BSD-3-Clause
// `millet goal opt`: a program through the passes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/help.h"
#include "base/memory.h"
#include "judge/check/check.h"
#include "judge/pass/pass.h"
#include "tools/commands.h"
#include "tools/goal/improve.h"
#include "tools/goal/machine.h"
#include "tools/goal/result.h"
#include "tools/goal/source.h"
#include "tools/print.h"

enum { FINDINGS = 3 };

static struct {
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
static void set_passes(const mlt_arg_texts *lists, const char *option, bool value, bool *on)
{
    for (size_t i = 0; i < lists->count; i++)
        for (const char *at = lists->items[i]; *at;) {
            size_t n = strcspn(at, ",");
            int pass = find_pass(at, n);
            if (pass < 0)
                mlt_args_wrong("option %s names '%.*s', which is no pass; --list shows them",
                               option, (int)n, at);
            on[pass] = value;
            at += n + (at[n] == ',');
        }
}

// The passes that run: those of --only, or those that are on initially and --pass, without
// --no-pass. Sizes given for a pass switch it on.
static bool *opt_choose(void)
{
    bool *on = mlt_xcalloc((size_t)mlt_passes_count + 1, sizeof *on);
    int segment = find_pass("segment", 7), window = find_pass("window", 6);
    for (int i = 0; i < mlt_passes_count; i++)
        on[i] = !opt_asked.only.count &&
                (mlt_passes[i].initially || (i == segment && opt_asked.segment) ||
                 (i == window && opt_asked.window));
    set_passes(&opt_asked.only, "--only", true, on);
    set_passes(&opt_asked.with, "--pass", true, on);
    set_passes(&opt_asked.without, "--no-pass", false, on);
    return on;
}

static void list_passes(void)
{
    for (int i = 0; i < mlt_passes_count; i++) {
        const mlt_pass *pass = &mlt_passes[i];
        int n = printf("%-12s %-4s%-8s", pass->name, pass->initially ? "on" : "off",
                       pass->global ? "global" : "");
        mlt_help_wrap(stdout, pass->help, n, n);
    }
}

// Asks the checker. What it finds ends the command.
static void verify(const mlt_goal_program *program, const mlt_goal_spec *spec, const char *when)
{
    if (!opt_asked.verify)
        return;
    mlt_goal_check_options options = {.is = spec, .limit = FINDINGS};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    if (!mlt_goal_verdict_ok(verdict)) {
        fprintf(stderr, "%s: %s:\n", mlt_args_command(), when);
        mlt_goal_verdict_print(verdict, stderr);
        exit(MLT_EXIT_FOUND);
    }
    if (!opt_asked.quiet)
        fprintf(stderr, "%-12s %s, %s\n", "verify", when,
                spec ? "the result is right" : "nothing is wrong (no result was named)");
}

static void run_passes(const bool *on, mlt_goal_program *program)
{
    mlt_pass_options options = {.segment = opt_asked.segment,
                                .window = (uint32_t)opt_asked.window,
                                .keep = opt_asked.keep,
                                .machine = mlt_machine_read()};
    for (int i = 0; i < mlt_passes_count; i++) {
        if (!on[i])
            continue;
        mlt_pass_report report;
        if (mlt_pass_run(&mlt_passes[i], program, &options, &report, MLT_ARGS_WHY) != MLT_OK)
            mlt_args_failed("pass %s: %s", mlt_passes[i].name, mlt_args_why);
        if (!opt_asked.quiet)
            fprintf(stderr, "%-12s %s\n", mlt_passes[i].name,
                    *report.text ? report.text : "nothing to do");
    }
}

static void opt_prepare(void)
{
    mlt_source_rename("segment", "alg-segment");        // here --segment is the pass's
    mlt_machine_args[MLT_MACHINE_ARGS - 1].help = NULL; // --exec is above: one option for both
}

static mlt_arg opt_args[] = {
    {"list", 0, MLT_ARG_FLAG, &opt_asked.list, NULL, .help = "list the passes and end"},
    {"pass", 'p', MLT_ARG_TEXTS, &opt_asked.with, "A,B", .help = "add these passes"},
    {"no-pass", 0, MLT_ARG_TEXTS, &opt_asked.without, "A,B", .help = "leave these passes out"},
    {"only", 0, MLT_ARG_TEXTS, &opt_asked.only, "A,B",
     .help = "use these passes alone; or with --machine these searches: order, tree, place"},
    {"segment", 0, MLT_ARG_SIZE, &opt_asked.segment, "BYTES",
     .help = "bytes of a piece of the pipeline; turns the pass segment on"},
    {"window", 0, MLT_ARG_NUMBER, &opt_asked.window, "N", .most = UINT32_MAX,
     .help = "actions between two no-ops; turns the pass window on"},
    {"keep", 0, MLT_ARG_TEXT, &opt_asked.keep, "NAMES",
     .help = "buffers whose contents matter at the end, such as out,buf (all)"},
    {"verify", 0, MLT_ARG_FLAG, &opt_asked.verify, NULL,
     .help = "run the checker before and after; write nothing if it finds something"},
    {"quiet", 'q', MLT_ARG_FLAG, &opt_asked.quiet, NULL, .help = "do not say what the passes did"},
};

// With a described machine: searches, instead of passes.
static int opt_for_machine(const mlt_arg_texts *words)
{
    const char *lost = mlt_args_given(MLT_ARG_LIST(opt_args), "pass no-pass segment window keep");
    if (lost)
        mlt_args_wrong(
            "--%s is for the passes, which --machine does not run: it searches; run both "
            "one after the other",
            lost);
    mlt_source_asked.files_have_op = true;
    mlt_source source = *mlt_source_read_one(words);
    const mlt_goal_spec *spec = mlt_result_read(&source);
    verify(source.program, spec, "before the searches");
    mlt_improve(&source, &opt_asked.only, opt_asked.quiet);
    verify(source.program, spec, "after the searches");
    mlt_print_program(&source);
    return MLT_EXIT_FINE;
}

static int opt_run(const mlt_arg_texts *words)
{
    mlt_arg *exec = &mlt_machine_args[MLT_MACHINE_ARGS - 1];
    if (opt_asked.list) {
        list_passes();
        return MLT_EXIT_FINE;
    }
    if (mlt_machine_file)
        return opt_for_machine(words);
    if (mlt_improve_given())
        mlt_args_wrong("--%s is for --machine FILE, which describes hosts and a network",
                       mlt_improve_given());
    if (opt_asked.only.count && (opt_asked.with.count || opt_asked.without.count))
        mlt_args_wrong(
            "--only names all the passes; --pass and --no-pass change the usual ones: use "
            "either");
    if ((exec->given = mlt_print_asked.exec_ns > 0))
        *(double *)exec->value = mlt_print_asked.exec_ns;
    mlt_source_asked.files_have_op = true;
    const mlt_source *source = mlt_source_read_one(words);
    bool *on = opt_choose();
    const mlt_goal_spec *spec = mlt_result_read(source);
    verify(source->program, spec, "before the passes");
    run_passes(on, source->program);
    verify(source->program, spec, "after the passes");
    mlt_print_program(source);
    return MLT_EXIT_FINE;
}

const mlt_command mlt_goal_opt_command = {
    .name = "millet goal opt",
    .help = "improve a program by passes",
    .words = "FILE",
    .most = 1,
    .purpose = "Improves a program by passes that keep its result, and prints it. Standard error "
               "gets what each pass did. With --machine it searches instead for what is faster on "
               "that network, judged by the simulator, proven by the checker: another order of "
               "sends, another tree, other places of ranks (--only order,tree,place).",
    .groups = {{NULL, MLT_ARG_LIST(mlt_print_args)},
               {"Passes", MLT_ARG_LIST(opt_args)},
               {"Searches for a described machine", MLT_ARG_LIST(mlt_improve_args)},
               {"The result for --verify (that of --alg is known)", MLT_ARG_LIST(mlt_result_args)},
               {"The machine, for passes that order by time", MLT_ARG_LIST(mlt_machine_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .prepare = opt_prepare,
    .run = opt_run};
