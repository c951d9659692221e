// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/port_line.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "fiber/await.h"
#include "mpi/comm/bridge.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "os/fd.h"

// A worker with several threads has no watches: this one looks itself, outside of the gate, and from
// time to time does what the rank has to do.
static mlt_status await_outside(mlt_rank *me, mlt_await *fds, uint32_t count, int64_t deadline)
{
    enum { MOST = 2, LOOK_MS = 10 };
    struct pollfd looks[MOST];
    int ready = 0;
    mlt_assert(count <= MOST);
    do {
        for (uint32_t i = 0; i < count; i++)
            looks[i] = (struct pollfd){.fd = fds[i].fd, .events = fds[i].writes ? POLLOUT : POLLIN};
        mlt_outside outside = mlt_thread_step_out(me);
        ready = mlt_os_poll(looks, count, LOOK_MS);
        mlt_thread_step_in(me, outside);
        if (ready == 0)
            mlt_p2p_poll(me);
    } while (ready == 0 && !mlt_deadline_passed(deadline));
    for (uint32_t i = 0; i < count; i++)
        fds[i].ready = ready > 0 && looks[i].revents;
    return ready < 0 ? MLT_ERR_SYSTEM : MLT_OK;
}

// Parks the rank until the descriptor may be ready. False: it gave up, or cannot wait.
static bool port_line_await(mlt_rank *me, int fd, bool writes, mlt_port_line_wait *wait)
{
    uint16_t fn = me->fn;
    mlt_await fds[2] = {{.fd = fd, .writes = writes}, {.fd = wait ? wait->stop : -1}};
    mlt_wait what = {.call = mlt_mpi_call(me), .kind = MLT_WAIT_FD, .fd = fd};
    int64_t deadline = wait ? wait->deadline : MLT_NEVER;
    mlt_sched *sched = me->worker->sched;
    uint32_t count = wait && wait->stop >= 0 ? 2 : 1;
    mlt_status status = sched->gate ? await_outside(me, fds, count, deadline)
                                    : mlt_await_fds(sched, &what, fds, count, deadline);
    me->fn = fn; // what ran meanwhile may have called, too
    if (status != MLT_OK)
        return false;
    if (fds[0].ready || !wait)
        return true;
    wait->stopped = wait->stop >= 0 && fds[1].ready;
    wait->late = !wait->stopped && mlt_deadline_passed(deadline);
    return !wait->stopped && !wait->late;
}

// ---- desks

void mlt_port_why_alone(mlt_rank *me, char why[MLT_PORT_WHY])
{
    const char *lonely = me->worker->boot->lonely;
    snprintf(why, MLT_PORT_WHY,
             "this program was started without mpirun, and has no agent%s%.400s; start it with "
             "mpirun -n 1",
             lonely ? ": " : "", lonely ? lonely : "");
}

bool mlt_port_rpc_open(mlt_port_rpc *d, mlt_rank *me, char why[MLT_PORT_WHY])
{
    *d = (mlt_port_rpc){.me = me, .fd = -1, .in = {.fd = -1}};
    int ctl = me->worker->boot->ctl;
    if (ctl < 0 || !me->worker->wire) {
        mlt_port_why_alone(me, why);
        return false;
    }
    mlt_status status = mlt_rpc_open(ctl, &d->fd);
    if (status != MLT_OK)
        snprintf(why, MLT_PORT_WHY, "mpirun cannot be asked: %s",
                 status == MLT_ERR_CLOSED ? "it is gone" : strerror(errno));
    return status == MLT_OK;
}

void mlt_port_rpc_close(mlt_port_rpc *d)
{
    mlt_os_close_once(&d->fd);
    mlt_rpc_in_fini(&d->in);
}

bool mlt_port_ask(mlt_port_rpc *d, mlt_rpc_type question, const void *body, size_t length,
                  mlt_rpc_type answer, mlt_port_line_wait *wait, char why[MLT_PORT_WHY])
{
    mlt_status status = mlt_rpc_say(d->fd, question, body, length, -1);
    while (status == MLT_OK) {
        status = mlt_rpc_hear(d->fd, &d->in, &d->head);
        if (status != MLT_PENDING)
            break;
        status = port_line_await(d->me, d->fd, false, wait) ? MLT_OK : MLT_PENDING;
    }
    if (status == MLT_PENDING && wait && (wait->late || wait->stopped))
        return mlt_deny(why, MLT_PORT_WHY, "the other side did not come in time");
    if (status != MLT_OK)
        return mlt_deny(why, MLT_PORT_WHY, "mpirun does not answer: %s", strerror(errno));
    if (d->head.type == (uint32_t)answer)
        return true;
    return mlt_deny(why, MLT_PORT_WHY, "%s",
                    d->head.type == MLT_RPC_ERROR ? (const char *)mlt_rpc_body(&d->in)
                                                  : "mpirun answers something else");
}

// ---- lines

mlt_status mlt_port_line_write(mlt_rank *me, int fd, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = mlt_os_try_write(fd, (const char *)bytes + done, count - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN ? !port_line_await(me, fd, true, NULL) : errno != EINTR)
            return MLT_ERR_CLOSED;
    }
    return MLT_OK;
}

// As much as there is until *done is count.
static mlt_status read_on(mlt_rank *me, int fd, char *bytes, size_t count, size_t *done,
                          mlt_port_line_wait *wait)
{
    for (*done = 0; *done < count;) {
        ssize_t n = mlt_os_try_read(fd, bytes + *done, count - *done);
        if (n > 0)
            *done += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return MLT_ERR_CLOSED;
        else if (errno == EAGAIN && !port_line_await(me, fd, false, wait))
            return wait && (wait->late || wait->stopped) ? MLT_PENDING : MLT_ERR_CLOSED;
    }
    return MLT_OK;
}

mlt_status mlt_port_line_read(mlt_rank *me, int fd, void *bytes, size_t count,
                              mlt_port_line_wait *wait)
{
    size_t done;
    return read_on(me, fd, bytes, count, &done, wait);
}

mlt_status mlt_port_line_read_text(mlt_rank *me, int fd, char *text, size_t room,
                                   mlt_port_line_wait *wait)
{
    size_t done;
    mlt_status status = read_on(me, fd, text, room - 1, &done, wait);
    text[done] = '\0';
    return status == MLT_ERR_CLOSED ? MLT_OK : status;
}

mlt_status mlt_port_line_say(mlt_rank *me, int fd, const void *bytes, size_t count)
{
    uint32_t length = (uint32_t)count;
    mlt_status status = mlt_port_line_write(me, fd, &length, sizeof length);
    return status == MLT_OK ? mlt_port_line_write(me, fd, bytes, count) : status;
}

mlt_status mlt_port_line_hear(mlt_rank *me, int fd, mlt_text *message, mlt_port_line_wait *wait)
{
    uint32_t length;
    mlt_text_free(message);
    mlt_status status = mlt_port_line_read(me, fd, &length, sizeof length, wait);
    if (status != MLT_OK)
        return status;
    if (length > MLT_BRIDGE_MOST)
        return MLT_ERR_INVALID;
    size_t room = (size_t)length + 1;
    *message = (mlt_text){.text = mlt_xcalloc(room, 1), .length = length, .room = room};
    status = mlt_port_line_read(me, fd, message->text, length, wait);
    if (status != MLT_OK)
        mlt_text_free(message);
    return status;
}
