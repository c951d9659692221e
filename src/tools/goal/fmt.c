// SPDX-License-Identifier: BSD-3-Clause
// `millet goal fmt`: a program as text.
#include <string.h>

#include "tools/commands.h"
#include "tools/goal/source.h"
#include "tools/print.h"

static bool fmt_in_place;

// Text that takes the place of text must lose nothing: neither comments, nor by the other dialect
// memory.
static void may_replace(const char *path, const mlt_source *source)
{
    if (mlt_print_asked.out)
        mlt_args_wrong("--in-place and -o both say where the text goes; use one");
    if (!path || strcmp(path, "-") == 0)
        mlt_args_wrong("--in-place needs a file");
    if (source->form != MLT_SOURCE_TEXT)
        mlt_args_wrong("'%s' is no GOAL text, so text cannot take its place; use -o", path);
    if (mlt_print_asked.dialect >= 0 &&
        (mlt_goal_dialect)mlt_print_asked.dialect != source->dialect)
        mlt_args_wrong("--in-place keeps the dialect of '%s'; use -o for the other", path);
    mlt_source_file file = mlt_source_file_read(path);
    if (mlt_goal_has_comments(file.bytes, file.size))
        mlt_args_failed("'%s' has comments, which are not kept; use -o and another file", path);
}

static void fmt_prepare(void)
{
    mlt_source_rename("in-place", "alg-in-place"); // here --in-place is the file's
}

static int fmt_run(const mlt_arg_texts *words)
{
    const mlt_source *source = mlt_source_read_one(words);
    const char *path = words->count ? words->items[0] : NULL;
    if (fmt_in_place) {
        may_replace(path, source);
        mlt_print_asked.out = path;
    }
    mlt_print_program(source);
    return MLT_EXIT_FINE;
}

static mlt_arg fmt_args[] = {
    {"in-place", 'i', MLT_ARG_FLAG, &fmt_in_place, NULL,
     .help = "replace the file by the text; refused if the file has comments, which would be lost"},
};

const mlt_command mlt_goal_fmt_command = {
    .name = "millet goal fmt",
    .help = "print a program as text, in either dialect",
    .words = "FILE",
    .most = 1,
    .purpose = "Prints a program as text, in the usual layout. Ranks with equal programs share "
               "a block. Labels are made up where dependencies need them. Comments are lost.",
    .groups = {{NULL, MLT_ARG_LIST(mlt_print_args)},
               {NULL, MLT_ARG_LIST(fmt_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .prepare = fmt_prepare,
    .run = fmt_run};
