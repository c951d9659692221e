// SPDX-License-Identifier: BSD-3-Clause
// `millet goal dis`: a binary file as text, or as what lies in it: the schedules' layout.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "goal/sched.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/print.h"

enum { DIS_WHY_BYTES = 1024, DIS_ACTION_BYTES = 256 };

static void dis_list(FILE *to, const char *what, const mlt_act_list *dependents)
{
    if (!dependents->count)
        return;
    fprintf(to, "  %s", what);
    for (uint32_t i = 0; i < dependents->count; i++)
        fprintf(to, "%s%" PRIu32, i ? ", " : " ", dependents->offset[i]);
}

// An action's line: its offset, how many it waits for, what it does, and who waits for it.
static void layout_action(FILE *to, const mlt_goal_program *names, const mlt_goal_sched *sched,
                          const mlt_act *act)
{
    char text[DIS_ACTION_BYTES];
    mlt_goal_action action = mlt_act_action(act);
    const mlt_act_list *dependents = mlt_act_dependents(act);
    bool wide = dependents->count || act->type & MLT_ACT_STARTERS; // no blanks at the end of a line
    fprintf(to, "  %8td  %5u  %-*s", (const unsigned char *)act - sched->code, act->sources,
            wide ? 40 : 0, mlt_goal_print_action(names, 0, &action, text, sizeof text));
    dis_list(to, "->", dependents);
    if (act->type & MLT_ACT_STARTERS)
        dis_list(to, "when started ->", mlt_act_starters(act));
    fputc('\n', to);
}

static void layout_rank(FILE *to, const mlt_goal_sched *sched)
{
    const mlt_act_list *independent = (const mlt_act_list *)sched->code;
    mlt_goal_program *names = mlt_goal_program_new(1); // with the schedule's buffers, by number
    fprintf(to, "rank %" PRIu32 ": %" PRIu32 " action%s, %" PRIu64 " bytes%s", sched->rank,
            sched->actions, sched->actions == 1 ? "" : "s", sched->bytes,
            sched->flags & MLT_GOAL_SCHED_PLAIN ? ", matched by tag as messages come" : "");
    if (sched->window)
        fprintf(to, ", window %" PRIu32 " by %s", sched->window,
                sched->flags & MLT_GOAL_SCHED_SEGMENTS ? "segments" : "counters");
    fputc('\n', to);
    for (uint32_t b = 0; b < sched->buffers; b++) {
        const mlt_goal_sched_buffer *buffer = &sched->buffer[b];
        if (b)
            mlt_goal_buffer_add(names, 0, buffer->name, buffer->size);
        if (buffer->size)
            fprintf(to, "  buffer %s, %" PRIu64 " bytes\n", b ? buffer->name : "(memory)",
                    buffer->size);
    }
    dis_list(to, "independent:", independent);
    fprintf(to, "%s    offset  waits  action\n", independent->count ? "\n" : "");
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act))
        layout_action(to, names, sched, act);
    mlt_goal_program_free(names);
}

static int print_layout(const mlt_arg_command *command, const char *path, const char *out)
{
    char why[DIS_WHY_BYTES];
    mlt_source_file file;
    int code = mlt_source_file_read(command, path, &file);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_goal_image *image;
    if (!mlt_is_image(file.bytes, file.size)) {
        code = mlt_args_failed(command,
                               "'%s' is no image of Millet's, so it has no schedules; "
                               "millet goal asm makes one",
                               path);
    } else if (mlt_goal_image_open(path, file.bytes, file.size, &image, why, sizeof why) !=
               MLT_OK) {
        code = mlt_args_failed(command, "%s", why);
    } else {
        mlt_sink sink;
        code = mlt_sink_open(&sink, command, out);
        for (uint32_t r = 0; r < mlt_goal_image_ranks(image) && code == MLT_ARGS_GO; r++) {
            mlt_goal_sched *sched = mlt_goal_image_sched(image, r);
            if (sched)
                layout_rank(sink.to, sched);
            mlt_goal_sched_free(sched);
        }
        if (code == MLT_ARGS_GO)
            code = mlt_sink_close(&sink, command, true);
        mlt_goal_image_free(image);
    }
    mlt_source_file_drop(&file);
    return code;
}

static int print_text(const mlt_arg_command *command, const mlt_source_options *from,
                      const mlt_print_options *to, const char *path)
{
    mlt_source source;
    int code = mlt_source_read(command, from, path, &source);
    if (code == MLT_ARGS_GO && source.form == MLT_SOURCE_TEXT)
        code =
            mlt_args_failed(command, "%s is text already; millet goal fmt formats it", source.name);
    if (code == MLT_ARGS_GO)
        code = mlt_print_program(command, to, &source);
    mlt_source_free(&source);
    return code;
}

int mlt_goal_dis_main(int argc, char **argv)
{
    mlt_source_options from; // nothing of it is given: dis takes files
    mlt_print_options to;
    bool layout = false;
    mlt_arg from_args[MLT_SOURCE_ARGS], to_args[MLT_PRINT_ARGS];
    mlt_source_args(&from, from_args);
    mlt_print_args(&to, to_args);
    const mlt_arg args[] = {
        {"layout", 0, MLT_ARG_FLAG, &layout, NULL,
         .help = "show the layout of the file instead: offsets, how many actions each one waits "
                 "for, dependents"},
    };
    const mlt_arg_group groups[] = {{NULL, to_args, MLT_PRINT_ARGS}, {NULL, args, 1}};
    const mlt_arg_command command = {
        .name = "millet goal dis",
        .words = "FILE",
        .least = 1,
        .most = 1,
        .purpose =
            "Prints a binary file, Millet's or LogGOPSim's, as text. Such files have no labels.",
        .groups = groups,
        .count = 2};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    if (mlt_source_is_script(&from, words.items[0]))
        code = mlt_args_failed(&command, "'%s' is a script; millet goal gen prints its program",
                               words.items[0]);
    else
        code = layout ? print_layout(&command, words.items[0], to.out)
                      : print_text(&command, &from, &to, words.items[0]);
    mlt_arg_texts_free(&words);
    return code;
}
