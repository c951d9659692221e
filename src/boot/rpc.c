// SPDX-License-Identifier: BSD-3-Clause
#include "boot/rpc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "boot/ctl.h"
#include "os/fd.h"

mlt_status mlt_rpc_open(int ctl, int *fd)
{
    int pair[2];
    *fd = -1;
    if (ctl < 0)
        return MLT_ERR_CLOSED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return MLT_ERR_SYSTEM;
    mlt_ctl head = {.type = MLT_CTL_RPC, .rank = MLT_CTL_NO_RANK};
    mlt_status status = mlt_ctl_send_with(ctl, &head, NULL, pair[1]);
    close(pair[1]);
    if (status == MLT_OK)
        *fd = pair[0];
    else
        close(pair[0]);
    return status;
}

mlt_status mlt_rpc_say(int fd, mlt_rpc_type type, const void *body, size_t length, int pass)
{
    mlt_rpc_head head = {.type = type, .length = (uint32_t)length};
    size_t done = 0, all = sizeof head + length;
    while (done < all) {
        size_t in_head = done < sizeof head ? done : sizeof head;
        struct iovec parts[2] = {{(char *)&head + in_head, sizeof head - in_head}};
        if (length)
            parts[1] = (struct iovec){(char *)(uintptr_t)body + (done - in_head),
                                      length - (done - in_head)};
        ssize_t n = mlt_os_send_with(fd, parts, length ? 2 : 1, done == 0 ? pass : -1, true);
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            (void)mlt_os_poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else
            return MLT_ERR_CLOSED;
    }
    return MLT_OK;
}

// Reads up to so many bytes in all.
static mlt_status fill(int fd, mlt_rpc_in *in, size_t want)
{
    MLT_ARRAY_WANT(in->bytes, want + 1, in->room);
    while (in->count < want) {
        int passed;
        struct iovec part = {.iov_base = in->bytes + in->count, .iov_len = want - in->count};
        ssize_t n = mlt_os_receive_with(fd, &part, 1, &passed);
        if (n <= 0)
            return n < 0 && errno == EAGAIN ? MLT_PENDING : MLT_ERR_CLOSED;
        if (passed >= 0) {
            mlt_os_close(in->fd);
            in->fd = passed;
        }
        in->count += (size_t)n;
    }
    in->bytes[want] = '\0';
    return MLT_OK;
}

mlt_status mlt_rpc_hear(int fd, mlt_rpc_in *in, mlt_rpc_head *head)
{
    if (!in->bytes)
        in->fd = -1;
    mlt_status status = in->count < sizeof *head ? fill(fd, in, sizeof *head) : MLT_OK;
    if (status != MLT_OK)
        return status;
    memcpy(head, in->bytes, sizeof *head);
    if (head->length > MLT_RPC_MOST)
        return MLT_ERR_INVALID;
    status = fill(fd, in, sizeof *head + head->length);
    if (status == MLT_OK)
        in->count = 0; // the next message begins anew
    return status;
}

void mlt_rpc_in_fini(mlt_rpc_in *in)
{
    if (in->bytes && in->fd >= 0)
        close(in->fd);
    free(in->bytes);
    *in = (mlt_rpc_in){.fd = -1};
}
