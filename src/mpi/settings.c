// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/settings.h"

#include <inttypes.h>
#include <limits.h>

#include "mpi/trace_only.h"

mlt_mpi_conf mlt_mpi_settings;

static const mlt_setting settings[] = {
    {"goal_window", MLT_SETTING_INT, "0", NULL,
     "a schedule looks at up to so many actions at a time, unless GOAL_Set says otherwise; 0: at "
     "all of them, which is fastest and takes a request for each message",
     &mlt_mpi_settings.goal_window, MLT_SCOPE_PROCESS},
    {"goal_offload", MLT_SETTING_BOOL, "no", NULL,
     "an extra thread drives the schedules of all ranks of a worker; this pays if the thread has a "
     "core for itself",
     &mlt_mpi_settings.goal_offload, MLT_SCOPE_PROCESS},
    {"reproducible", MLT_SETTING_BOOL, "no", NULL,
     "reductions give the same bits with every algorithm and wherever ranks run: their brackets "
     "depend on the number of ranks alone; mpirun --reproducible sets it",
     &mlt_mpi_settings.reproducible, MLT_SCOPE_JOB},
    {"strict", MLT_SETTING_BOOL, "no", NULL,
     "MPI_Finalize notes messages that were not received and handles that were not freed, and "
     "where they were made; mpirun --strict sets it",
     &mlt_mpi_settings.strict, MLT_SCOPE_JOB},
    {"initial_errhandler", MLT_SETTING_CHOICE, "mpi_errors_are_fatal",
     "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
     "the error handler that MPI_COMM_WORLD and MPI_COMM_SELF begin with; mpirun "
     "-initial-errhandler sets it",
     &mlt_mpi_settings.initial_errhandler, MLT_SCOPE_PROCESS},
    {"memory_alloc_kinds", MLT_SETTING_TEXT, "mpi,system", NULL,
     "the kinds of memory that the program asks support for, with commas between them: mpi, "
     "system, "
     "cuda, cuda:device and so on; the info key mpi_memory_alloc_kinds of MPI_COMM_WORLD tells "
     "which there are. mpirun -memory-alloc-kinds sets it",
     &mlt_mpi_settings.memory_alloc_kinds, MLT_SCOPE_PROCESS},
    {"trace", MLT_SETTING_TEXT, "", NULL,
     "a file that exists, to which all processes append what they do; mpirun --trace makes it and "
     "sets this",
     &mlt_mpi_settings.trace, MLT_SCOPE_JOB},
    {"trace_only", MLT_SETTING_TEXT, "", NULL,
     "what a trace keeps: a list of ranks, functions, and p2p, coll, rma; mpirun --trace-only sets "
     "it",
     &mlt_mpi_settings.trace_only, MLT_SCOPE_JOB},
    {"trace_ranks", MLT_SETTING_BOOL, "no", NULL,
     "ranks of a worker send each other messages in collectives, so that a trace has all of them; "
     "mpirun --record sets it",
     &mlt_mpi_settings.trace_ranks, MLT_SCOPE_JOB},
    {"trace_paused", MLT_SETTING_BOOL, "no", NULL,
     "a trace begins when the program calls MPI_Pcontrol(1), or by `millet trace JOB start`; "
     "mpirun "
     "--trace-paused sets it",
     &mlt_mpi_settings.trace_paused, MLT_SCOPE_JOB},
    {"recorder", MLT_SETTING_CHOICE, "on", "off|on|all",
     "workers keep their last calls, which mpirun shows if the job crashes or hangs; all: those of "
     "every rank, however many there are; mpirun --recorder sets it",
     &mlt_mpi_settings.recorder, MLT_SCOPE_JOB},
};

mlt_status mlt_mpi_settings_check(char *why, size_t why_size)
{
    int64_t window = mlt_mpi_settings.goal_window;
    if (mlt_trace_only_read(mlt_mpi_settings.trace_only, why, why_size) != MLT_OK)
        return MLT_ERR_INVALID;
    if (window >= 0 && window <= INT_MAX)
        return MLT_OK;
    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                    "setting 'goal_window' is '%" PRId64
                    "', but should be a number of actions from 0 (no "
                    "limit) to %d",
                    window, INT_MAX);
}

const mlt_settings_table mlt_mpi_settings_table = {"mpi", settings,
                                                   sizeof settings / sizeof *settings};
