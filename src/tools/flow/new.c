// SPDX-License-Identifier: BSD-3-Clause
// `millet flow new`: a folder with a first program, which runs as it is.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/commands.h"

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

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        mlt_args_failed("the name of '%s/%s' is too long", folder, name);
    FILE *file = fopen(path, "wx");
    bool whole = file && fputs(text, file) >= 0;
    if (!file || fclose(file) != 0 || !whole)
        mlt_args_failed("'%s' cannot be written: %s", path, strerror(errno));
}

static int new_run(const mlt_arg_texts *words)
{
    const char *folder = words->items[0], *slash = strrchr(folder, '/'),
               *name = slash ? slash + 1 : folder;
    char file[NAME_MAX + 1];
    if (!*name || *name == '.' || snprintf(file, sizeof file, "%s.flow", name) >= (int)sizeof file)
        mlt_args_wrong("'%s' should be the name of a folder to make", folder);
    if (mkdir(folder, 0777) != 0)
        mlt_args_failed("folder '%s' cannot be made: %s", folder, strerror(errno));
    write_text(folder, file, wiring);
    write_text(folder, "Source.c", source);
    write_text(folder, "Square.c", square);
    write_text(folder, "Print.c", print);
    printf("%s has a program of three modules: %s, Source.c, Square.c, Print.c\n"
           "run it: millet flow run %s/%s %s/*.c\n",
           folder, file, folder, file, folder);
    return MLT_EXIT_FINE;
}

const mlt_command mlt_flow_new_command = {
    .name = "millet flow new",
    .help = "make a folder with a first program",
    .words = "NAME",
    .least = 1,
    .most = 1,
    .purpose = "Makes a folder of that name with a first program: a .flow file and three "
               "modules in C, to run and to change.",
    .run = new_run};
