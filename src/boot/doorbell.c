// SPDX-License-Identifier: BSD-3-Clause
#include "boot/doorbell.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/fd.h"
#include "os/jitter.h"
#include "os/os.h"

enum { NAME_SIZE = 40, TRIES = 4 };

static size_t spell(char name[NAME_SIZE], uint64_t doorbell)
{
    return (size_t)snprintf(name, NAME_SIZE, "millet-doorbell-%016" PRIx64, doorbell);
}

mlt_status mlt_doorbell_new(mlt_job_worker *worker, int *fd, char *why, size_t why_size)
{
    *fd = -1;
    for (int i = 0; i < TRIES; i++) { // another may have that name, in theory
        uint64_t doorbell = 0;
        if (mlt_os_random(&doorbell, sizeof doorbell) != MLT_OK || doorbell == 0)
            continue;
        char name[NAME_SIZE];
        size_t size = spell(name, doorbell);
        *fd = mlt_os_doorbell_new(name, size);
        if (*fd < 0)
            continue;
        // release: a reader of the name finds the socket bound; pairs with mlt_doorbell_ring.
        atomic_store_explicit(&worker->doorbell, doorbell, memory_order_release);
        return MLT_OK;
    }
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                    "no socket by which others can wake a worker (%s)", strerror(errno));
}

// The socket that this process rings from, made by the first ring: the number of its file, and
// below it the descriptor; 0: none yet. Never closed: any thread may be about to use it.
static _Atomic uint64_t ringer;

enum { FD_BITS = 24 };

// A program that closes descriptors that are not its own may have closed it, and another file may
// have its number. (A connected socket would swallow the ring without an error.)
static bool is_ours(uint64_t known)
{
    uint64_t number = mlt_os_file_number((int)(known & ((1 << FD_BITS) - 1)));
    return known && number << FD_BITS >> FD_BITS == known >> FD_BITS;
}

// -1: the system has no descriptor left.
static int ringer_fd(void)
{
    // acquire: whoever finds the number finds the socket made; pairs with the exchange below.
    uint64_t known = atomic_load_explicit(&ringer, memory_order_acquire);
    while (!is_ours(known)) {
        int fd = mlt_os_doorbell_new("", 0);
        if (fd < 0 || fd >> FD_BITS)
            return fd;
        uint64_t mine = mlt_os_file_number(fd) << FD_BITS | (uint64_t)fd;
        if (atomic_compare_exchange_strong_explicit(&ringer, &known, mine, memory_order_acq_rel,
                                                    memory_order_acquire))
            return fd;
        mlt_os_close(fd); // another thread was faster
    }
    return (int)(known & ((1 << FD_BITS) - 1));
}

// EAGAIN has two meanings: the doorbell's own queue is full, so it rings already; or too many of our
// earlier rings still wait to be heard by others (some 270 fill a send buffer). A new socket has an
// empty buffer, so that from there it can only mean the first. A datagram outlives its sender.
static bool ring_afresh(const char *name, size_t size)
{
    int fd = mlt_os_doorbell_new("", 0);
    if (fd < 0)
        return false;
    (void)mlt_os_doorbell_ring(fd, name, size);
    mlt_os_close(fd);
    return true;
}

// With no descriptor left: until others have heard, or the program has closed some. A sleeper looks
// by itself once a second, so there is no use in trying for longer.
static MLT_COLD void ring_slowly(const char *name, size_t size)
{
    enum { MOST = 1000, NAP_NS = 1000000 };
    for (int i = 0; i < MOST && !ring_afresh(name, size); i++) {
        mlt_os_sleep(NAP_NS);
        int fd = ringer_fd();
        if (fd >= 0 && mlt_os_doorbell_ring(fd, name, size) >= 0)
            return;
    }
}

void mlt_doorbell_ring(const mlt_job_worker *worker)
{
    // acquire: pairs with mlt_doorbell_new.
    uint64_t doorbell = atomic_load_explicit(&worker->doorbell, memory_order_acquire);
    if (!doorbell)
        return;
    char name[NAME_SIZE];
    size_t size = spell(name, doorbell);
    int saved = errno;
    int fd = ringer_fd();
    mlt_jitter();
    // Refused: its worker has ended.
    if (fd < 0 || (mlt_os_doorbell_ring(fd, name, size) < 0 && errno != ECONNREFUSED))
        ring_slowly(name, size);
    errno = saved;
}
