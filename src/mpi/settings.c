// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/settings.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "coll/settings.h"
#include "csp/settings.h"
#include "flow/settings.h"
#include "p2p/worker.h"

mlt_mpi_conf mlt_mpi_settings;

static const mlt_setting settings[] = {
    {"label", MLT_SETTING_BOOL, "no", NULL,
     "begin each line of output with [rank], where a process holds several ranks; mpirun -l sets "
     "it",
     &mlt_mpi_settings.label},
    {"outfile", MLT_SETTING_TEXT, "", NULL,
     "standard output of each rank into a file of this name; %r: rank, %h: host, %p: process id",
     &mlt_mpi_settings.outfile},
    {"goal_window", MLT_SETTING_INT, "0", NULL,
     "actions of a schedule that are looked at at once, unless GOAL_Set says; 0: all, which is "
     "fastest and takes a request a message",
     &mlt_mpi_settings.goal_window},
    {"goal_offload", MLT_SETTING_BOOL, "no", NULL,
     "a thread of its own drives the schedules of a rank that is alone in its worker; pays where a "
     "core is spare",
     &mlt_mpi_settings.goal_offload},
    {"reproducible", MLT_SETTING_BOOL, "no", NULL,
     "reductions give the same bits for every algorithm and wherever ranks run: brackets depend on "
     "the number of ranks alone, and ranks of a worker do not combine first; mpirun --reproducible "
     "sets it",
     &mlt_mpi_settings.reproducible},
    {"initial_errhandler", MLT_SETTING_CHOICE, "mpi_errors_are_fatal",
     "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
     "error handler that MPI_COMM_WORLD and MPI_COMM_SELF begin with; mpirun -initial-errhandler "
     "sets it",
     &mlt_mpi_settings.initial_errhandler},
    {"errfile", MLT_SETTING_TEXT, "", NULL, "the same for standard error",
     &mlt_mpi_settings.errfile},
};

mlt_status mlt_mpi_settings_check(char *why, size_t why_size)
{
    int64_t window = mlt_mpi_settings.goal_window;
    if (window >= 0 && window <= INT_MAX)
        return MLT_OK;
    snprintf(why, why_size,
             "setting 'goal_window' is '%" PRId64 "', but should be a number of actions from 0 (no "
             "limit) to %d",
             window, INT_MAX);
    return MLT_ERR_INVALID;
}

size_t mlt_mpi_all_settings(mlt_settings_table tables[MLT_SETTINGS_MOST])
{
    size_t n = mlt_p2p_settings_count;
    mlt_assert(n + 3 < MLT_SETTINGS_MOST);
    memcpy(tables, mlt_p2p_settings, n * sizeof *tables);
    tables[n++] = mlt_coll_settings;
    tables[n++] = mlt_csp_settings;
    tables[n++] = mlt_flow_settings;
    tables[n] = (mlt_settings_table){"mpi", settings, sizeof settings / sizeof *settings};
    return n + 1;
}
