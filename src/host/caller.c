// SPDX-License-Identifier: BSD-3-Clause
#include "host/caller.h"

#include "host/entry.h"

mlt_rank *mlt_caller_rank(const void *caller)
{
    mlt_rank *me = mlt_entry_many() && mlt_sched_self ? mlt_rank_self() : NULL;
    bool runs = me && me->worker && !me->ended && mlt_sched_self == me->worker->sched;
    return runs && !mlt_caller_is_ours(caller) ? me : NULL;
}
