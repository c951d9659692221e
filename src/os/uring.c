// SPDX-License-Identifier: BSD-3-Clause
// Two queues in memory that the kernel shares: entries (SQ), of which there is one at a time, since
// each is submitted at once; and results (CQ), which has room for all reads that may be under way.
// The kernel reads the entries' tail and writes the results' tail; heads are the other way round.
#include "os/uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "os/fd.h"
#include "os/file.h"

// Of newer headers than some systems have.
enum {
    OP_READ = 22,
    SETUP_CQSIZE = 1 << 3,
    SETUP_SINGLE_ISSUER = 1 << 12,
    SETUP_DEFER_TASKRUN = 1 << 13, // of Linux 6.1, which has all else that is used here
};

enum { ENTRIES = 1 };

struct mlt_os_uring {
    int fd;
    char *queues; // both
    size_t queues_bytes;
    struct io_uring_sqe *entries;
    _Atomic uint32_t *entries_tail;            // ours
    _Atomic uint32_t *results_head;            // ours
    _Atomic uint32_t *results_tail;            // the kernel's
    uint32_t entries_mask, results_mask, tail; // tail: of the entries
    uint32_t *places;                          // which entry comes next
    const struct io_uring_cqe *results;
};

// The kernel does its part of the work in our thread, and only within this call.
static int enter(int fd, unsigned submitted, unsigned flags)
{
    int saved = errno;
    int result =
        (int)TEMP_FAILURE_RETRY(syscall(SYS_io_uring_enter, fd, submitted, 0, flags, NULL, 0));
    errno = saved;
    return result;
}

static void *map(int fd, size_t bytes, off_t what)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    return at == MAP_FAILED ? NULL : at;
}

static bool map_queues(mlt_os_uring *u, const struct io_uring_params *p)
{
    size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
    size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    u->queues_bytes = sq > cq ? sq : cq;
    u->queues = map(u->fd, u->queues_bytes, (off_t)IORING_OFF_SQ_RING);
    u->entries = map(u->fd, p->sq_entries * sizeof *u->entries, (off_t)IORING_OFF_SQES);
    if (!u->queues || !u->entries)
        return false;
    u->entries_tail = (_Atomic uint32_t *)(void *)(u->queues + p->sq_off.tail);
    u->places = (uint32_t *)(void *)(u->queues + p->sq_off.array);
    u->results_head = (_Atomic uint32_t *)(void *)(u->queues + p->cq_off.head);
    u->results_tail = (_Atomic uint32_t *)(void *)(u->queues + p->cq_off.tail);
    u->results = (const struct io_uring_cqe *)(const void *)(u->queues + p->cq_off.cqes);
    u->entries_mask = p->sq_entries - 1;
    u->results_mask = p->cq_entries - 1;
    return true;
}

static bool make(mlt_os_uring *u, uint32_t most, int doorbell)
{
    struct io_uring_params params = {
        .flags = SETUP_CQSIZE | SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN, .cq_entries = most};
    u->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
    if (u->fd < 0 && errno == EINVAL) // it knows an older io_uring
        errno = ENOSYS;
    return u->fd >= 0 && map_queues(u, &params) &&
           syscall(SYS_io_uring_register, u->fd, IORING_REGISTER_EVENTFD, &doorbell, 1) == 0;
}

mlt_os_uring *mlt_os_uring_new(uint32_t most, int doorbell)
{
    mlt_os_uring *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->fd = -1;
    if (make(u, most, doorbell))
        return u;
    int error = errno;
    mlt_os_uring_free(u);
    errno = error;
    return NULL;
}

void mlt_os_uring_free(mlt_os_uring *u)
{
    if (u->queues)
        munmap(u->queues, u->queues_bytes);
    if (u->entries)
        munmap(u->entries, (u->entries_mask + 1) * sizeof *u->entries);
    mlt_os_close(u->fd);
    free(u);
}

bool mlt_os_uring_read(mlt_os_uring *u, int fd, void *to, uint32_t bytes, int64_t at, void *user)
{
    uint32_t place = u->tail & u->entries_mask;
    u->entries[place] = (struct io_uring_sqe){.opcode = OP_READ,
                                              .fd = fd,
                                              .addr = (uintptr_t)to,
                                              .len = bytes,
                                              .off = (uint64_t)at,
                                              .user_data = (uintptr_t)user};
    u->places[place] = place;
    // release: pairs with the kernel's acquire, which sees the entry
    atomic_store_explicit(u->entries_tail, u->tail + 1, memory_order_release);
    bool taken = enter(u->fd, 1, 0) == 1;
    u->tail += taken;
    if (!taken) // relaxed: the kernel looks at it only within the call
        atomic_store_explicit(u->entries_tail, u->tail, memory_order_relaxed);
    return taken;
}

static bool has_result(const mlt_os_uring *u)
{
    // relaxed: nobody else writes it. acquire: pairs with the kernel's release after the result.
    return atomic_load_explicit(u->results_head, memory_order_relaxed) !=
           atomic_load_explicit(u->results_tail, memory_order_acquire);
}

bool mlt_os_uring_take(mlt_os_uring *u, mlt_os_uring_result *result)
{
    if (!has_result(u)) {
        int entered = enter(u->fd, 0, IORING_ENTER_GETEVENTS);
        mlt_assert(entered >= 0);
        if (!has_result(u))
            return false;
    }
    uint32_t head = atomic_load_explicit(u->results_head, memory_order_relaxed);
    const struct io_uring_cqe *it = &u->results[head & u->results_mask];
    *result = (mlt_os_uring_result){.user = (void *)(uintptr_t)it->user_data,
                                    .moved = it->res > 0 ? it->res : 0,
                                    .error = it->res < 0 ? -it->res : 0};
    // release: the kernel may use the place again, as we have read it
    atomic_store_explicit(u->results_head, head + 1, memory_order_release);
    return true;
}

int mlt_os_uring_refused(void)
{
    int doorbell = mlt_os_eventfd_new(), error = errno;
    mlt_os_uring *u = doorbell < 0 ? NULL : mlt_os_uring_new(ENTRIES, doorbell);
    if (doorbell >= 0 && !u)
        error = errno;
    if (u)
        mlt_os_uring_free(u);
    mlt_os_close(doorbell);
    return u ? 0 : error;
}
