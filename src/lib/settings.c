// SPDX-License-Identifier: BSD-3-Clause
#include "lib/settings.h"

#include <string.h>

#include "base/log.h"
#include "coll/settings.h"
#include "file/settings.h"
#include "gpu/settings.h"
#include "host/settings.h"
#include "mpi/settings.h"
#include "p2p/worker.h"
#include "win/settings.h"
#if MLT_WITH_CSP
#include "csp/settings.h"
#endif
#if MLT_WITH_FLOW
#include "flow/settings.h"
#endif

size_t mlt_lib_settings(mlt_settings_table *tables, size_t most)
{
    const mlt_settings_table upper[] = {
#if MLT_WITH_CSP
        mlt_csp_settings,
#endif
#if MLT_WITH_FLOW
        mlt_flow_settings,
#endif
        mlt_coll_settings,
        mlt_file_settings_table,
        mlt_gpu_settings_table,
        mlt_host_settings_table,
        mlt_mpi_settings_table,
        mlt_win_settings_table
    };
    size_t lower = mlt_p2p_settings_count, count = sizeof upper / sizeof *upper;
    mlt_assert(lower + count <= most);
    memcpy(tables, mlt_p2p_settings, lower * sizeof *tables);
    memcpy(tables + lower, upper, sizeof upper);
    return lower + count;
}
