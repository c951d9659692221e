// SPDX-License-Identifier: BSD-3-Clause
#include "host/settings.h"

mlt_host_conf mlt_host_settings;

static const mlt_setting settings[] = {
    {"label", MLT_SETTING_BOOL, "no", NULL,
     "each line of output begins with [rank], in processes that hold several ranks; mpirun -l sets "
     "it",
     &mlt_host_settings.label},
    {"outfile", MLT_SETTING_TEXT, "", NULL,
     "standard output of each rank goes into a file of this name, in which %r is the rank, %h the "
     "host and %p the process id; mpirun -outfile-pattern sets it",
     &mlt_host_settings.outfile},
    {"errfile", MLT_SETTING_TEXT, "", NULL,
     "standard error of each rank goes into a file of this name, in which %r is the rank, %h the "
     "host and %p the process id; mpirun -errfile-pattern sets it",
     &mlt_host_settings.errfile},
};

const mlt_settings_table mlt_host_settings_table = {"host", settings,
                                                    sizeof settings / sizeof *settings};
