// SPDX-License-Identifier: BSD-3-Clause
#include "boot/bell.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/fd.h"

enum { NAME_SIZE = 32, TRIES = 4 };

static size_t spell(char name[NAME_SIZE], uint64_t bell)
{
    return (size_t)snprintf(name, NAME_SIZE, "millet-bell-%016" PRIx64, bell);
}

mlt_status mlt_bell_new(mlt_job_worker *worker, int *fd, char *why, size_t why_size)
{
    *fd = -1;
    for (int i = 0; i < TRIES; i++) { // another may have that name, in theory
        uint64_t bell = 0;
        if (mlt_os_random(&bell, sizeof bell) != MLT_OK || bell == 0)
            continue;
        char name[NAME_SIZE];
        size_t size = spell(name, bell);
        *fd = mlt_os_bell_new(name, size);
        if (*fd < 0)
            continue;
        // release: who reads the name finds the socket bound; pairs with mlt_bell_ring.
        atomic_store_explicit(&worker->bell, bell, memory_order_release);
        return MLT_OK;
    }
    snprintf(why, why_size, "no socket by which others can wake a worker (%s)", strerror(errno));
    return MLT_ERR_SYSTEM;
}

// The socket that this process rings from, made by the first ring; -1: none yet. Never closed: any
// thread may be about to use it.
static _Atomic int ringer = -1;

static int new_ringer(int old)
{
    int fd = mlt_os_bell_new("", 0);
    // acq_rel is more than needed: a descriptor is the kernel's, and is there for everybody.
    if (fd < 0 || atomic_compare_exchange_strong_explicit(&ringer, &old, fd, memory_order_acq_rel,
                                                          memory_order_acquire))
        return fd;
    mlt_os_close(fd); // another thread was faster
    return old;
}

void mlt_bell_ring(const mlt_job_worker *worker)
{
    // acquire: pairs with mlt_bell_new.
    uint64_t bell = atomic_load_explicit(&worker->bell, memory_order_acquire);
    if (!bell)
        return;
    char name[NAME_SIZE];
    size_t size = spell(name, bell);
    int saved = errno;
    int fd = atomic_load_explicit(&ringer, memory_order_acquire);
    if (fd < 0)
        fd = new_ringer(-1);
    // A full queue (EAGAIN) rings already. A program that closes descriptors that are not its own
    // may have closed ours, and another thing may have its number.
    if (fd >= 0 && mlt_os_bell_ring(fd, name, size) < 0 && errno != EAGAIN &&
        errno != ECONNREFUSED && (fd = new_ringer(fd)) >= 0)
        (void)mlt_os_bell_ring(fd, name, size);
    errno = saved;
}
