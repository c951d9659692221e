// SPDX-License-Identifier: BSD-3-Clause
// `millet goal fmt`: a program as text.
#include <ctype.h>
#include <string.h>

#include "tools/args.h"
#include "tools/goal.h"
#include "tools/print.h"
#include "tools/source.h"

// True if the '#' begins a comment: it is no mark of a rank, "rank #0, #1".
static bool begins_comment(const char *text, const char *at)
{
    const char *before = at;
    while (before > text && isspace((unsigned char)before[-1]))
        before--;
    if (before > text && before[-1] == ',')
        return false;
    return before - text < 4 || memcmp(before - 4, "rank", 4) != 0;
}

// Comments are no part of a program: printing it in the place of its text would lose them.
static bool has_comments(const mlt_file *file, mlt_goal_dialect dialect)
{
    const char *end = file->bytes + file->size;
    for (const char *c = file->bytes; c < end; c++) {
        if (dialect == MLT_GOAL_PAPER && *c == '#' && begins_comment(file->bytes, c))
            return true;
        if (*c == '/' && c + 1 < end && (c[1] == '/' || c[1] == '*'))
            return true;
    }
    return false;
}

static int may_replace(const mlt_arg_command *command, const char *out, const char *path,
                       const mlt_source *source)
{
    if (out)
        return mlt_args_wrong(command, "--in-place and -o both say where the text goes; use one");
    if (!path || strcmp(path, "-") == 0)
        return mlt_args_wrong(command, "--in-place needs a file");
    if (source->form != MLT_SOURCE_TEXT)
        return mlt_args_wrong(command,
                              "'%s' is no GOAL text, so text cannot take its place; use -o", path);
    mlt_file file;
    int code = mlt_file_read(command, path, &file);
    if (code != MLT_ARGS_GO)
        return code;
    bool comments = has_comments(&file, source->dialect);
    mlt_file_drop(&file);
    return comments ? mlt_args_failed(command,
                                      "'%s' has comments, which are not kept; use -o and another "
                                      "file",
                                      path)
                    : MLT_ARGS_GO;
}

int mlt_goal_fmt_main(int argc, char **argv)
{
    mlt_source_options from;
    mlt_print_options to;
    bool in_place = false;
    mlt_arg from_args[MLT_SOURCE_ARGS], to_args[MLT_PRINT_ARGS];
    mlt_source_args(&from, from_args);
    mlt_print_args(&to, to_args);
    const mlt_arg args[] = {
        {"in-place", 'i', MLT_ARG_FLAG, &in_place, NULL,
         .help = "the text takes the file's place; not if it has comments, which are not kept"},
    };
    const mlt_arg_group groups[] = {{NULL, to_args, MLT_PRINT_ARGS},
                                    {NULL, args, 1},
                                    {"Programs without a file", from_args, MLT_SOURCE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet goal fmt",
        .words = "FILE",
        .most = 1,
        .purpose = "Prints a program as text, in the usual layout. Ranks with equal programs share "
                   "a block, labels that dependencies need are made up. Comments are not kept.",
        .groups = groups,
        .count = 3};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source source;
    code = mlt_source_read_one(&command, &from, &words, &source);
    const char *path = words.count ? words.items[0] : NULL;
    if (code == MLT_ARGS_GO && in_place) {
        code = may_replace(&command, to.out, path, &source);
        to.out = path;
    }
    if (code == MLT_ARGS_GO)
        code = mlt_print_program(&command, &to, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&from.set);
    mlt_arg_texts_free(&words);
    return code;
}
