// SPDX-License-Identifier: BSD-3-Clause
#include "win/across.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/job.h"
#include "os/os.h"
#include "win/lock.h"

enum {
    ACROSS_FEW = 1 << 10, // bytes that lie on the stack
    ACROSS_STRIP =
        64 << 10 // bytes that are changed at a time, so that others get the guard in between
};

pid_t mlt_win_process_of(const mlt_win_part *part, const mlt_win_peer *peer)
{
    mlt_job *job = part->worker->boot->job;
    const mlt_job_proc *proc = mlt_job_proc_at(job, mlt_job_location_at(job, peer->worker)->proc);
    return (pid_t)atomic_load_explicit(&proc->pid, memory_order_relaxed);
}

static bool writes(const mlt_win_operation *operation)
{
    return operation->verb == MLT_WIN_SWAP || operation->op != MLT_REDUCE_NO_OP;
}

// One strip, through `copy`.
static mlt_status change_strip(mlt_win_part *part, pid_t pid, mlt_win_descriptor *descriptor,
                               const mlt_win_operation *operation, uint64_t at, uint64_t bytes,
                               const char *in, char *out, char *copy)
{
    mlt_win_guard(part, &descriptor->lock);
    mlt_status status = mlt_os_read_peer(pid, copy, at, bytes);
    if (status == MLT_OK) {
        mlt_win_change(operation, copy, bytes, in, out);
        if (writes(operation))
            status = mlt_os_write_peer(pid, at, copy, bytes);
    }
    mlt_win_unguard(&descriptor->lock);
    return status;
}

static mlt_status across_change(mlt_win_part *part, pid_t pid, mlt_win_descriptor *descriptor,
                                const mlt_win_call *call, uint64_t at, uint64_t done,
                                uint64_t bytes, char *copy, uint64_t room)
{
    const char *in = call->origin.buf;
    char *out = call->result.buf;
    mlt_status status = MLT_OK;
    while (done < bytes && status == MLT_OK) {
        uint64_t n = bytes - done < room ? bytes - done : room;
        status = change_strip(part, pid, descriptor, &call->operation, at + done, n,
                              in ? in + done : NULL, out ? out + done : NULL, copy);
        done += n;
    }
    return status;
}

static mlt_status swap(mlt_win_part *part, pid_t pid, mlt_win_descriptor *descriptor,
                       const mlt_win_call *call, uint64_t at)
{
    char in[64], copy[32];
    uint64_t bytes = call->operation.basic->size;
    memcpy(in, call->origin.buf, bytes);
    memcpy(in + bytes, call->compare, bytes);
    return change_strip(part, pid, descriptor, &call->operation, at, bytes, in, call->result.buf,
                        copy);
}

mlt_status mlt_win_do_across(mlt_win_part *part, const mlt_win_peer *peer,
                             mlt_win_descriptor *descriptor, const mlt_win_call *call, uint64_t at,
                             uint64_t done)
{
    pid_t pid = mlt_win_process_of(part, peer);
    uint64_t bytes = call->there.count * call->there.type->size;
    char few[ACROSS_FEW];
    if (bytes == 0)
        return MLT_OK;
    if (call->operation.verb == MLT_WIN_PUT)
        return mlt_os_write_peer(pid, at, call->origin.buf, bytes);
    if (call->operation.verb == MLT_WIN_GET)
        return mlt_os_read_peer(pid, call->result.buf, at, bytes);
    if (call->operation.verb == MLT_WIN_SWAP)
        return swap(part, pid, descriptor, call, at);
    uint64_t element = call->operation.basic->size;
    if (bytes <= ACROSS_FEW)
        return across_change(part, pid, descriptor, call, at, done, bytes, few, ACROSS_FEW);
    char *copy = mlt_xrealloc(NULL, ACROSS_STRIP, 1);
    mlt_status status = across_change(part, pid, descriptor, call, at, done, bytes, copy,
                                      ACROSS_STRIP / element * element);
    free(copy);
    return status;
}
