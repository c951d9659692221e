// SPDX-License-Identifier: BSD-3-Clause
#include "win/settings.h"

mlt_win_settings mlt_win_conf;

static const mlt_setting settings[] = {
    {"windows", MLT_SETTING_CHOICE, "shared", "shared|messages",
     "one-sided communication between processes of a host: in memory that they share, which needs "
     "no help of the target; or by messages, where processes may not map each other's memory; "
     "MPI_Win_allocate_shared maps it in any case",
     &mlt_win_conf.windows, MLT_SCOPE_JOB},
};

const mlt_settings_table mlt_win_settings_table = {"win", settings,
                                                   sizeof settings / sizeof *settings};
