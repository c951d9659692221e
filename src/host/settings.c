// SPDX-License-Identifier: BSD-3-Clause
#include "host/settings.h"

mlt_host_conf mlt_host_settings;

static const mlt_setting settings[] = {
    {"label", MLT_SETTING_BOOL, "no", NULL,
     "begin each line of output with [rank], where a process holds several ranks; mpirun -l sets "
     "it",
     &mlt_host_settings.label},
    {"outfile", MLT_SETTING_TEXT, "", NULL,
     "standard output of each rank into a file of this name; %r: rank, %h: host, %p: process id",
     &mlt_host_settings.outfile},
    {"errfile", MLT_SETTING_TEXT, "", NULL,
     "standard error of each rank into a file of this name, as outfile does for standard output",
     &mlt_host_settings.errfile},
};

const mlt_settings_table mlt_host_settings_table = {"host", settings,
                                                    sizeof settings / sizeof *settings};
