// SPDX-License-Identifier: BSD-3-Clause
// `millet flow new`: a folder with a first program, which runs as it is.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/args.h"
#include "tools/flow/flow.h"

static const char wiring[] =
    "// The wiring: which modules there are, and how elements go from one to the next.\n"
    "// s sends numbers, four squarers take turns at them, and p prints the sum of each four "
    "squares.\n"
    "const N = 4;\n"
    "\n"
    "Module Main is Root requires Module Source, Module Square, Module Print, Module Deal,\n"
    "                             Module Reduce {\n"
    "  void initialize() {\n"
    "    Source s;\n"
    "    Square q[N];\n"
    "    Print p;\n"
    "    Deal d;\n"
    "    Reduce r;\n"
    "    flow:\n"
    "      s -> d -> q;\n"
    "      q -> r(sum) -> p;\n"
    "  }\n"
    "}\n"
    "\n"
    "// The queues of each module, and what they carry.\n"
    "Declare Module Source { out double; }\n"
    "Declare Module Square { in double; out double; }\n"
    "Declare Module Print { in double; }\n";

static const char source[] =
    "// Sends 1, 2, 3, ...: 12 of them, or as many as the program's first argument says.\n"
    "#include <stdlib.h>\n"
    "\n"
    "#include \"Source.flow.h\" // made from the .flow file\n"
    "\n"
    "int Source_run(Source *my)\n"
    "{\n"
    "    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 12;\n"
    "    for (long i = 1; i <= most; i++) {\n"
    "        double value = (double)i;\n"
    "        flow_send(my, &value, 1);\n"
    "    }\n"
    "    return 0; // no more elements will come\n"
    "}\n";

static const char square[] = "// Squares what comes, and passes it on without copying it.\n"
                             "#include \"Square.flow.h\"\n"
                             "\n"
                             "int Square_run(Square *my)\n"
                             "{\n"
                             "    double *v;\n"
                             "    size_t n;\n"
                             "    while (flow_dequeue(my, &v, &n)) {\n"
                             "        for (size_t i = 0; i < n; i++)\n"
                             "            v[i] *= v[i];\n"
                             "        flow_give(my, v, n);\n"
                             "    }\n"
                             "    return 0;\n"
                             "}\n";

static const char print[] = "// Prints what comes.\n"
                            "#include <stdio.h>\n"
                            "\n"
                            "#include \"Print.flow.h\"\n"
                            "\n"
                            "int Print_run(Print *my)\n"
                            "{\n"
                            "    const double *v;\n"
                            "    size_t n;\n"
                            "    while (flow_dequeue(my, &v, &n))\n"
                            "        printf(\"%g\\n\", *v);\n"
                            "    return 0;\n"
                            "}\n";

static int write_text(const mlt_arg_command *command, const char *folder, const char *name,
                      const char *text)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return mlt_args_failed(command, "the name of '%s/%s' is too long", folder, name);
    FILE *file = fopen(path, "wx");
    bool whole = file && fputs(text, file) >= 0;
    whole = file && fclose(file) == 0 && whole;
    return whole ? MLT_ARGS_GO
                 : mlt_args_failed(command, "'%s' cannot be written: %s", path, strerror(errno));
}

static int make(const mlt_arg_command *command, const char *folder)
{
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    char file[NAME_MAX + 1];
    if (!*name || *name == '.' || snprintf(file, sizeof file, "%s.flow", name) >= (int)sizeof file)
        return mlt_args_wrong(command, "'%s' should be the name of a folder to make", folder);
    if (mkdir(folder, 0777) != 0)
        return mlt_args_failed(command, "folder '%s' cannot be made: %s", folder, strerror(errno));
    const struct {
        const char *name, *text;
    } files[] = {{file, wiring}, {"Source.c", source}, {"Square.c", square}, {"Print.c", print}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int code = write_text(command, folder, files[i].name, files[i].text);
        if (code != MLT_ARGS_GO)
            return code;
    }
    printf("%s has a program of three modules: %s, Source.c, Square.c, Print.c\n"
           "run it: millet flow run %s/%s %s/*.c\n",
           folder, file, folder, file, folder);
    return MLT_EXIT_FINE;
}

int mlt_flow_new_main(int argc, char **argv)
{
    mlt_arg_texts words = {NULL, 0};
    const mlt_arg_command command = {
        .name = "millet flow new",
        .words = "NAME",
        .least = 1,
        .most = 1,
        .purpose = "Makes a folder of that name with a first program: a .flow file and three "
                   "modules in C, to run and to change.",
    };
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = make(&command, words.items[0]);
    mlt_arg_texts_free(&words);
    return code;
}
