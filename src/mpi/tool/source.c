// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/source.h"

#include "mpi/info/info.h"
#include "mpi/tool/tool.h"
#include "mpi_bodies.h"

enum { TICKS_A_SECOND = 1000000000 };

static const struct {
    const char *name, *help;
} sources[MLT_SOURCES] = {
    [MLT_SOURCE_MESSAGES] = {"messages", "messages of the calling rank, and its waits"},
    [MLT_SOURCE_COLLECTIVES] = {"collectives", "plans of the calling rank's worker"},
    [MLT_SOURCE_HOSTS] = {"hosts", "what the calling rank's worker has to do with other hosts"},
};

int mlt_mpi_T_source_get_info(mlt_rank *me, mlt_tool *tool, int source_index, char *name,
                              int *name_len, char *desc, int *desc_len,
                              MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                              MPI_Count *max_ticks, MPI_Info *info)
{
    mlt_tool_text(sources[source_index].name, name, name_len);
    mlt_tool_text(sources[source_index].help, desc, desc_len);
    if (ordering)
        *ordering = MPI_T_SOURCE_ORDERED;
    if (ticks_per_second)
        *ticks_per_second = TICKS_A_SECOND;
    if (max_ticks)
        *max_ticks = INT64_MAX;
    if (info) {
        mlt_info *made = mlt_info_new();
        mlt_info_set(made, "clock", "CLOCK_MONOTONIC");
        *info = mlt_info_handle(made);
    }
    return MPI_SUCCESS;
}
