// SPDX-License-Identifier: BSD-3-Clause
#include "boot/recorder.h"

#include <stdio.h>

#include "arch/arch.h"
#include "os/os.h"

_Static_assert(sizeof(mlt_recorder_call) == 32, "two calls a line of 64 bytes");
_Static_assert(sizeof(mlt_recorder) == MLT_LINE + MLT_RECORDER_CALLS * sizeof(mlt_recorder_call),
               "one line for the counts, then the calls");

static void write_names(mlt_job *job, const char *(*name)(uint16_t fn), uint32_t names)
{
    mlt_recorder_names *to = mlt_recorder_names_at(job);
    // relaxed: readers check what they find.
    if (atomic_exchange_explicit(&to->taken, 1, memory_order_relaxed))
        return;
    for (uint32_t i = 1; i < names && i < MLT_RECORDER_NAMES; i++)
        snprintf(to->names[i], MLT_RECORDER_NAME, "%s", name((uint16_t)i));
}

mlt_recorder *mlt_recorder_begin(mlt_job *job, uint32_t worker, mlt_recorder_mode mode,
                                 const char *(*name)(uint16_t fn), uint32_t names)
{
    if (mode == MLT_RECORDER_OFF)
        return NULL;
    mlt_recorder *recorder = mlt_recorder_at(job, mlt_job_place_at(job, worker)->local);
    write_names(job, name, names);
    atomic_store_explicit(&recorder->mode, mode, memory_order_relaxed);
    atomic_store_explicit(&recorder->begin_ticks, mlt_arch_cycles(), memory_order_relaxed);
    atomic_store_explicit(&recorder->begin_ns, mlt_os_now_ns(), memory_order_relaxed);
    return recorder;
}
