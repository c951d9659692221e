// SPDX-License-Identifier: BSD-3-Clause
// The page mpirun(1): the launcher's table of options, and the settings of all layers.
#include <stdio.h>

#include "base/settings.h"
#include "launch/plan/options.h"
#include "lib/settings.h"
#include "tools/man.h"

static const char description[] =
    "Starts a job: one or more programs that talk to each other by MPI. `mpiexec` is the same "
    "program. Ranks run on this host, or on those that `-host` or `-hostfile` names.\n\n"
    "`-n N` starts N workers, and `-nfg K` runs K ranks in each of them, N*K in all. A worker is a "
    "process or, with `--workers thread`, a thread; the ranks of a worker are fibers, which take "
    "turns. Each rank has its own global variables, as if it were a process; where that is not "
    "possible, `mpirun` names those that ranks of one process share.\n\n"
    "Several programs make one job if colons stand between them. Such a part of the command line "
    "is a section. Options belong to their section, to all sections or to their section and those "
    "after it, as their help says. Options may begin with one dash or two, and a value may follow "
    "after a blank or after an equals sign.\n\n"
    "If one rank fails, `mpirun` ends the others. If no rank can ever go on, it says who waits for "
    "whom and ends the job. It leaves nothing behind: no process, no file, no shared memory, not "
    "even after kill -9.";

static const char examples[] =
    "Four ranks, each a process; four ranks, each a thread; a million ranks on two threads:\n\n"
    "  mpirun -n 4 ./ring\n"
    "  mpirun -n 4 --workers thread ./ring\n"
    "  mpirun -n 2 -nfg 500000 ./ring\n\n"
    "Begin each line of output with the rank, end after a minute, and print a report:\n\n"
    "  mpirun -n 4 -l --timeout 60 --report ./ring\n\n"
    "Two programs in one job; 48 ranks on three hosts:\n\n"
    "  mpirun -n 1 ./server : -n 3 ./client\n"
    "  mpirun -host a,b,c -n 48 ./ring";

static void put_options(void)
{
    mlt_option_text option;
    mlt_man_section("OPTIONS");
    for (size_t i = 0; mlt_options_row(i, &option); i++)
        if (!option.names && option.help)
            mlt_man_group(option.help);
        else if (option.help)
            mlt_man_item(option.names, option.argument, option.help);
    mlt_man_group("Accepted without effect");
    mlt_man_text("Scripts for other launchers use these options; here they have no effect.");
    for (size_t i = 0; mlt_options_row(i, &option); i++)
        if (option.names && !option.help)
            mlt_man_item(option.names, option.argument, "");
}

static void put_setting(const mlt_setting *setting)
{
    char name[80], text[1024];
    mlt_setting_variable(setting, name, sizeof name);
    snprintf(text, sizeof text, "%s (%s%s%s)", setting->help,
             setting->choices ? setting->choices : "",
             setting->choices ? "; default: " : "default: ",
             *setting->initial ? setting->initial : "empty");
    mlt_man_item(name, NULL, text);
}

static void put_environment(void)
{
    mlt_settings_table tables[MLT_SETTINGS_MOST];
    size_t count = mlt_lib_settings(tables, MLT_SETTINGS_MOST);
    mlt_man_section("ENVIRONMENT");
    mlt_man_item("MILLET_TIMEOUT, MPIEXEC_TIMEOUT", NULL, "as --timeout, if that is not given");
    mlt_man_item("MILLET_REPORT", NULL, "yes: as --report");
    mlt_man_text("The library has settings, which variables or `--set NAME=VALUE` change. "
                 "`millet info` shows their values. Unknown names are refused.");
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (tables[t].settings[i].scope != MLT_SCOPE_INTERNAL)
                put_setting(&tables[t].settings[i]);
}

void mlt_man_mpirun(void)
{
    mlt_man_begin("mpirun, mpiexec", "start MPI programs");
    mlt_man_section("SYNOPSIS");
    mlt_man_usage("mpirun", mlt_options_usage);
    mlt_man_section("DESCRIPTION");
    mlt_man_text(description);
    put_options();
    put_environment();
    mlt_man_codes(mlt_options_codes);
    mlt_man_section("EXAMPLES");
    mlt_man_text(examples);
    mlt_man_section("SEE ALSO");
    mlt_man_see("mpicc", false);
    mlt_man_see("millet", false);
    mlt_man_see("millet info", true);
}
