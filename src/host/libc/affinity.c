// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/affinity.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/export.h"
#include "base/memory.h"
#include "host/entry.h"
#include "host/libc/libc.h"
#include "host/own.h"

bool mlt_affinity_of(const mlt_rank *rank, cpu_set_t *mask)
{
    const mlt_rank_own *own = rank->own;
    if (!own || !own->affinity)
        return false;
    *mask = *own->affinity;
    return true;
}

#if MLT_TAKES_OVER

// The calling rank, if its thread is not its alone.
static mlt_rank *sharer(void)
{
    mlt_rank *me = mlt_entry_many() ? mlt_rank_self() : NULL;
    return me && me->worker && me->worker->count > 1 && me->worker->sched == mlt_sched_self ? me
                                                                                            : NULL;
}

static bool is_self(pid_t id)
{
    return id == 0 || id == gettid();
}

// The system's rule: some processor of the mask must exist. 0, or an error.
static int remember(mlt_rank *me, size_t bytes, const void *mask)
{
    long last = sysconf(_SC_NPROCESSORS_CONF);
    cpu_set_t wished;
    CPU_ZERO(&wished);
    memcpy(&wished, mask, bytes < sizeof wished ? bytes : sizeof wished);
    for (long cpu = last; cpu < CPU_SETSIZE; cpu++)
        CPU_CLR((size_t)cpu, &wished);
    if (CPU_COUNT(&wished) == 0)
        return EINVAL;
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->affinity)
        own->affinity = mlt_xcalloc(1, sizeof *own->affinity);
    *own->affinity = wished;
    return 0;
}

// What the system has answered becomes what the rank has wished for, if it has.
static void recall(const mlt_rank *me, size_t bytes, void *mask)
{
    cpu_set_t wished;
    if (!mlt_affinity_of(me, &wished))
        return;
    memset(mask, 0, bytes);
    memcpy(mask, &wished, bytes < sizeof wished ? bytes : sizeof wished);
}

MLT_INTERPOSE int sched_setaffinity(pid_t id, size_t bytes, const cpu_set_t *mask)
{
    mlt_rank *me = sharer();
    if (!me || !is_self(id))
        return MLT_LIBC(sched_setaffinity)(id, bytes, mask);
    int error = remember(me, bytes, mask);
    if (error)
        errno = error;
    return error ? -1 : 0;
}

MLT_INTERPOSE int sched_getaffinity(pid_t id, size_t bytes, cpu_set_t *mask)
{
    const mlt_rank *me = sharer();
    int result = MLT_LIBC(sched_getaffinity)(id, bytes, mask);
    if (me && is_self(id) && result == 0)
        recall(me, bytes, mask);
    return result;
}

MLT_INTERPOSE int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *mask)
{
    mlt_rank *me = sharer();
    if (!me || !pthread_equal(thread, pthread_self()))
        return MLT_LIBC(pthread_setaffinity_np)(thread, bytes, mask);
    return remember(me, bytes, mask);
}

MLT_INTERPOSE int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *mask)
{
    const mlt_rank *me = sharer();
    int error = MLT_LIBC(pthread_getaffinity_np)(thread, bytes, mask);
    if (me && pthread_equal(thread, pthread_self()) && error == 0)
        recall(me, bytes, mask);
    return error;
}

// LLVM's and Intel's OpenMP ask the system without libc's functions. As libc's, this one hands on six
// arguments, however many there are.
MLT_INTERPOSE long syscall(long number, ...)
{
    long args[6];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    if (MLT_UNLIKELY(number == SYS_sched_setaffinity) && sharer() && is_self((pid_t)args[0]))
        return sched_setaffinity(0, (size_t)args[1], (const cpu_set_t *)args[2]);
    long result = MLT_LIBC(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    if (MLT_UNLIKELY(number == SYS_sched_getaffinity) && result > 0 && is_self((pid_t)args[0])) {
        const mlt_rank *me = sharer();
        if (me)
            recall(me, (size_t)result, (void *)args[2]);
    }
    return result;
}

#endif
