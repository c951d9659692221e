// SPDX-License-Identifier: BSD-3-Clause
// `millet goal dis`: a binary file as text, or as what lies in it: the schedules' layout.
#include <inttypes.h>
#include <stdio.h>

#include "goal/sched.h"
#include "tools/commands.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/print.h"

enum { DIS_ACTION_BYTES = 256 };

static bool dis_layout;

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
}

static void print_layout(const char *path)
{
    mlt_source_file file = mlt_source_file_read(path);
    mlt_goal_image *image;
    if (!mlt_is_image(file.bytes, file.size))
        mlt_args_failed(
            "'%s' is no image of Millet's, so it has no schedules; millet goal asm makes one",
            path);
    mlt_args_must(mlt_goal_image_open(path, file.bytes, file.size, &image, MLT_ARGS_WHY));
    mlt_sink sink = mlt_sink_open(mlt_print_asked.out);
    for (uint32_t r = 0; r < mlt_goal_image_ranks(image); r++) {
        mlt_goal_sched *sched = mlt_goal_image_sched(image, r);
        if (sched)
            layout_rank(sink.to, sched);
        mlt_goal_sched_free(sched);
    }
    mlt_sink_close(&sink);
}

static int dis_run(const mlt_arg_texts *words)
{
    const char *path = words->items[0];
    if (mlt_source_is_script(path))
        mlt_args_failed("'%s' is a script; millet goal gen prints its program", path);
    if (dis_layout) {
        print_layout(path);
        return MLT_EXIT_FINE;
    }
    const mlt_source *source = mlt_source_read_one(words);
    if (source->form == MLT_SOURCE_TEXT)
        mlt_args_failed("%s is text already; millet goal fmt formats it", source->name);
    mlt_print_program(source);
    return MLT_EXIT_FINE;
}

static mlt_arg dis_args[] = {
    {"layout", 0, MLT_ARG_FLAG, &dis_layout, NULL,
     .help = "show the layout of the file instead: offsets, how many actions each one waits "
             "for, dependents"},
};

const mlt_command mlt_goal_dis_command = {
    .name = "millet goal dis",
    .help = "print a binary file as text",
    .words = "FILE",
    .least = 1,
    .most = 1,
    .purpose = "Prints a binary file, Millet's or LogGOPSim's, as text. Such files have no labels.",
    .groups = {{NULL, MLT_ARG_LIST(mlt_print_args)}, {NULL, MLT_ARG_LIST(dis_args)}},
    .run = dis_run};
