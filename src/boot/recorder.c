// SPDX-License-Identifier: BSD-3-Clause
#include "boot/recorder.h"

#include <stdio.h>

#include "arch/arch.h"
#include "os/os.h"

_Static_assert(sizeof(mlt_recorder) == 2 * MLT_RECORDER_RING, "workers have one after the other");

static void write_names(mlt_job *job, mlt_recorder_namer *namer, uint32_t names)
{
    mlt_recorder_names *to = mlt_recorder_names_at(job);
    // relaxed: readers check what they find.
    if (atomic_exchange_explicit(&to->taken, 1, memory_order_relaxed))
        return;
    for (uint32_t i = 1; i < names && i < MLT_RECORDER_NAMES; i++)
        snprintf(to->names[i], MLT_RECORDER_NAME, "%s", namer((uint16_t)i, &to->holds[i]));
}

mlt_recorder_head *mlt_recorder_init(mlt_recorder *recorder)
{
    mlt_recorder_head *head = &recorder->head;
    // The first call has a time.
    uint64_t first = (uintptr_t)&recorder->calls[MLT_RECORDER_STAMPED - 1];
    atomic_store_explicit(&head->begin_ticks, mlt_arch_cycles(), memory_order_relaxed);
    atomic_store_explicit(&head->begin_ns, mlt_os_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&head->next, first, memory_order_relaxed);
    return head;
}

mlt_recorder_head *mlt_recorder_begin(mlt_job *job, uint32_t worker, mlt_recorder_mode mode,
                                      mlt_recorder_namer *namer, uint32_t names)
{
    mlt_recorder *recorder = mlt_recorder_at(job, mlt_job_location_at(job, worker)->local);
    write_names(job, namer, names);
    atomic_store_explicit(&recorder->head.mode, mode, memory_order_relaxed);
    return mlt_recorder_init(recorder);
}

uint64_t mlt_recorder_mark(const mlt_recorder *recorder)
{
    const mlt_recorder_head *head = &recorder->head;
    uint64_t mark = atomic_load_explicit(&head->next, memory_order_relaxed);
    for (uint32_t i = 0; i < MLT_RECORDER_STAMPS; i++)
        mark = 31 * mark + atomic_load_explicit(&head->stamps[i], memory_order_relaxed);
    // Calls that were repeated are one, with a count.
    for (uint32_t i = 0; i < MLT_RECORDER_CALLS; i++)
        mark = 31 * mark + atomic_load_explicit(&recorder->calls[i].count, memory_order_relaxed);
    return mark;
}
