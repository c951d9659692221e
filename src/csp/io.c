// SPDX-License-Identifier: BSD-3-Clause
// Reading, writing, accepting and connecting that block only the calling process: try, and if it is
// not possible now, park until the IO scheduler says that it may be.
#include <errno.h>
#include <millet/csp.h>

#include "base/export.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/await.h"
#include "os/fd.h"

enum {
    TURN = 32,          // calls in a row that need not wait, then others run
    RETRY_NS = 1000000, // before a local connection is tried again; twice as long each time,
    RETRY_MOST_NS = 16 * RETRY_NS,
};

typedef struct fd_call {
    mlt_csp *csp;
    const char *call;
    int fd;
    csp_time deadline;
} fd_call;

// True, and errno says so.
static bool io_is_late(const fd_call *c)
{
    if (!mlt_deadline_passed(c->deadline))
        return false;
    errno = ETIMEDOUT;
    return true;
}

// Waits until the descriptor may be ready, or it is late. 0; or -1 and errno.
static int wait_ready(const fd_call *c, bool writes)
{
    if (io_is_late(c))
        return -1;
    mlt_csp_wait record;
    const mlt_wait *wait =
        mlt_csp_wait_for(&record, c->call, MLT_CSP_FD, writes ? c : NULL, (uint64_t)c->fd);
    mlt_await await = {.fd = c->fd, .writes = writes};
    mlt_status status = mlt_await_fds(c->csp->sched, wait, &await, 1, c->deadline);
    return status == MLT_OK ? 0 : -1; // late or not: what is there now is taken
}

// Waits for a moment, or until it is late.
static int wait_moment(const fd_call *c, int64_t ns)
{
    if (io_is_late(c))
        return -1;
    csp_time moment = csp_now() + ns;
    mlt_csp_wait record;
    const mlt_wait *wait = mlt_csp_wait_for(&record, c->call, MLT_CSP_FD, c, (uint64_t)c->fd);
    mlt_await_time(c->csp->sched, wait, c->deadline < moment ? c->deadline : moment);
    return 0;
}

// A peer that always has something, or takes everything at once, must not keep the others from
// running: now and then a call that could go on lets them.
static void take_turns(void)
{
    static _Thread_local uint32_t calls __attribute__((tls_model("initial-exec")));
    if (++calls % TURN == 0)
        mlt_p2p_poll(mlt_csp_rank());
}

static fd_call io_begin(const char *call, int fd, csp_time deadline)
{
    fd_call c = {.csp = mlt_csp_enter(call), .call = call, .fd = fd, .deadline = deadline};
    take_turns();
    return c;
}

// After a try that failed: 0: it is worth another one.
static int not_yet(const fd_call *c, bool writes)
{
    if (errno == EINTR)
        return 0;
    return errno == EAGAIN || errno == EWOULDBLOCK ? wait_ready(c, writes) : -1;
}

static ssize_t do_read(const fd_call *c, void *buffer, size_t bytes)
{
    for (;;) {
        ssize_t n = mlt_os_try_read(c->fd, buffer, bytes);
        if (n >= 0 || not_yet(c, false) != 0)
            return n;
    }
}

static ssize_t do_write(const fd_call *c, const void *data, size_t bytes, size_t *done)
{
    size_t written = 0;
    int failed = 0;
    do {
        ssize_t n = mlt_os_try_write(c->fd, (const char *)data + written, bytes - written);
        if (n >= 0)
            written += (size_t)n;
        else
            failed = not_yet(c, true);
    } while (!failed && written < bytes);
    if (done)
        *done = written;
    return failed ? -1 : (ssize_t)written;
}

static int do_accept(const fd_call *c, struct sockaddr *address, socklen_t *length)
{
    for (;;) {
        int fd = mlt_os_try_accept(c->fd, address, length);
        if (fd >= 0 || not_yet(c, false) != 0)
            return fd;
    }
}

static int do_connect(const fd_call *c, const struct sockaddr *address, socklen_t length)
{
    int done;
    int64_t retry_ns = RETRY_NS;
    while ((done = mlt_os_try_connect(c->fd, address, length)) != 0 && errno == EAGAIN) {
        if (wait_moment(c, retry_ns) != 0)
            return -1;
        retry_ns = retry_ns < RETRY_MOST_NS ? 2 * retry_ns : RETRY_MOST_NS;
    }
    while (done != 0 && errno == EINPROGRESS) {
        if (wait_ready(c, true) != 0)
            return -1;
        done = mlt_os_connected(c->fd);
    }
    return done;
}

MLT_EXPORT ssize_t csp_fd_read(int fd, void *buffer, size_t bytes)
{
    fd_call c = io_begin("csp_fd_read", fd, CSP_NEVER);
    return do_read(&c, buffer, bytes);
}

MLT_EXPORT ssize_t csp_fd_read_by(int fd, void *buffer, size_t bytes, csp_time deadline)
{
    fd_call c = io_begin("csp_fd_read_by", fd, deadline);
    return do_read(&c, buffer, bytes);
}

MLT_EXPORT ssize_t csp_fd_write(int fd, const void *data, size_t bytes)
{
    fd_call c = io_begin("csp_fd_write", fd, CSP_NEVER);
    return do_write(&c, data, bytes, NULL);
}

MLT_EXPORT ssize_t csp_fd_write_by(int fd, const void *data, size_t bytes, size_t *done,
                                   csp_time deadline)
{
    fd_call c = io_begin("csp_fd_write_by", fd, deadline);
    return do_write(&c, data, bytes, done);
}

MLT_EXPORT int csp_fd_accept(int fd, struct sockaddr *address, socklen_t *length)
{
    fd_call c = io_begin("csp_fd_accept", fd, CSP_NEVER);
    return do_accept(&c, address, length);
}

MLT_EXPORT int csp_fd_accept_by(int fd, struct sockaddr *address, socklen_t *length,
                                csp_time deadline)
{
    fd_call c = io_begin("csp_fd_accept_by", fd, deadline);
    return do_accept(&c, address, length);
}

MLT_EXPORT int csp_fd_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    fd_call c = io_begin("csp_fd_connect", fd, CSP_NEVER);
    return do_connect(&c, address, length);
}

MLT_EXPORT int csp_fd_connect_by(int fd, const struct sockaddr *address, socklen_t length,
                                 csp_time deadline)
{
    fd_call c = io_begin("csp_fd_connect_by", fd, deadline);
    return do_connect(&c, address, length);
}
