// SPDX-License-Identifier: BSD-3-Clause
// `millet goal fmt`: a program as text.
#include <string.h>

#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/source.h"
#include "tools/print.h"

// Text that takes the place of text must lose nothing: neither comments, nor by the other dialect
// memory.
static int may_replace(const mlt_arg_command *command, const mlt_print_options *to,
                       const char *path, const mlt_source *source)
{
    if (to->out)
        return mlt_args_wrong(command, "--in-place and -o both say where the text goes; use one");
    if (!path || strcmp(path, "-") == 0)
        return mlt_args_wrong(command, "--in-place needs a file");
    if (source->form != MLT_SOURCE_TEXT)
        return mlt_args_wrong(command,
                              "'%s' is no GOAL text, so text cannot take its place; use -o", path);
    if (to->dialect >= 0 && (mlt_goal_dialect)to->dialect != source->dialect)
        return mlt_args_wrong(command, "--in-place keeps the dialect of '%s'; use -o for the other",
                              path);
    mlt_source_file file;
    int code = mlt_source_file_read(command, path, &file);
    if (code != MLT_ARGS_GO)
        return code;
    bool comments = mlt_goal_has_comments(file.bytes, file.size);
    mlt_source_file_drop(&file);
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
    for (int i = 0; i < MLT_SOURCE_ARGS; i++) // here --in-place is the file's
        if (strcmp(from_args[i].name, "in-place") == 0)
            from_args[i].name = "alg-in-place";
    mlt_print_args(&to, to_args);
    const mlt_arg args[] = {
        {"in-place", 'i', MLT_ARG_FLAG, &in_place, NULL,
         .help =
             "replace the file by the text; refused if the file has comments, which would be lost"},
    };
    const mlt_arg_group groups[] = {{NULL, to_args, MLT_PRINT_ARGS},
                                    {NULL, args, 1},
                                    {"Programs without a file", from_args, MLT_SOURCE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet goal fmt",
        .words = "FILE",
        .most = 1,
        .purpose = "Prints a program as text, in the usual layout. Ranks with equal programs share "
                   "a block. Labels are made up where dependencies need them. Comments are lost.",
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
        code = may_replace(&command, &to, path, &source);
        to.out = path;
    }
    if (code == MLT_ARGS_GO)
        code = mlt_print_program(&command, &to, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&from.set);
    mlt_arg_texts_free(&words);
    return code;
}
